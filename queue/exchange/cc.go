package exchange

import "mayfly/amqp/wire"

// SplitCC adds the extra routing keys of a message's CC and BCC headers to cc and
// bcc. They must be arrays; members that are no long strings are skipped (D-6).
// detail is empty when they are fine, else what follows "invalid message: ".
// The keys alias the headers.
func SplitCC(headers wire.Table, cc, bcc [][]byte) (_, _ [][]byte, detail string) {
	if len(headers) == 0 {
		return cc, bcc, ""
	}
	if cc, detail = appendKeys(cc, headers, "CC"); detail == "" {
		bcc, detail = appendKeys(bcc, headers, "BCC")
	}
	return cc, bcc, detail
}

func appendKeys(dst [][]byte, headers wire.Table, name string) ([][]byte, string) {
	v, ok := headers.Get(name)
	if !ok {
		return dst, ""
	}
	list, ok := v.Array()
	if !ok {
		return dst, "{unacceptable_type_in_header,\"" + name + "\"," + v.TypeName() + "}"
	}
	for e := range list.All() {
		if e.Tag == 'S' {
			dst = append(dst, e.Data)
		}
	}
	return dst, ""
}
