package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// shorts are the short string properties with their accessors.
var shorts = []struct {
	flag uint16
	get  func(*Properties) ([]byte, bool)
}{
	{PropContentType, (*Properties).ContentType}, {PropContentEncoding, (*Properties).ContentEncoding},
	{PropCorrelationID, (*Properties).CorrelationID}, {PropReplyTo, (*Properties).ReplyTo},
	{PropExpiration, (*Properties).Expiration}, {PropMessageID, (*Properties).MessageID}, {PropType, (*Properties).Type},
	{PropUserID, (*Properties).UserID}, {PropAppID, (*Properties).AppID}, {PropClusterID, (*Properties).ClusterID},
}

// allFlags is all 14 properties.
const allFlags uint16 = 0xFFFC

// props builds a property list by hand: text in the short strings.
func props(flags uint16, text string, headers Table) []byte {
	raw := be.AppendUint16(nil, flags)
	for flag := PropContentType; flag > 0; flag >>= 1 {
		if flags&flag == 0 {
			continue
		}
		switch flag {
		case PropHeaders:
			raw = append(be.AppendUint32(raw, uint32(len(headers))), headers...)
		case PropDeliveryMode:
			raw = append(raw, 2)
		case PropPriority:
			raw = append(raw, 9)
		case PropTimestamp:
			raw = be.AppendUint64(raw, 1<<63)
		default:
			raw = append(append(raw, byte(len(text))), text...)
		}
	}
	return raw
}

// Checklist 41: all 14 properties, singly, all together, none; empty is not absent.
func TestProperties(t *testing.T) {
	sets := []uint16{0, allFlags, PropHeaders | PropDeliveryMode}
	for flag := PropContentType; flag >= PropClusterID; flag >>= 1 {
		sets = append(sets, flag, allFlags&^flag)
	}
	for _, flags := range sets {
		for _, text := range []string{"", "text", "\xFF\x00", strings.Repeat("l", 255)} {
			var p Properties
			raw := props(flags, text, oneOfEach)
			if err := ParseProperties(raw, &p); err != nil {
				t.Fatalf("%016b: %v", flags, err)
			}
			checkProperties(t, &p, flags, text)
			if got := AppendProperties(nil, &p, nil, nil); !bytes.Equal(got, raw) {
				t.Errorf("%016b: copied as %q, was %q", flags, got, raw)
			}
		}
	}
}

func checkProperties(t *testing.T, p *Properties, flags uint16, text string) {
	t.Helper()
	if p.Flags() != flags {
		t.Errorf("flags %016b, want %016b", p.Flags(), flags)
	}
	for _, s := range shorts {
		got, ok := s.get(p)
		if ok != (flags&s.flag != 0) || ok != p.Has(s.flag) || ok && string(got) != text {
			t.Errorf("%016b: property %016b is %q, %v", flags, s.flag, got, ok)
		}
	}
	wantHeaders := ""
	if flags&PropHeaders != 0 {
		wantHeaders = string(oneOfEach)
	}
	prio, hasPrio := p.Priority()
	ts, hasTS := p.Timestamp()
	if string(p.Headers()) != wantHeaders ||
		hasPrio != (flags&PropPriority != 0) || hasPrio && prio != 9 ||
		hasTS != (flags&PropTimestamp != 0) || hasTS && ts != 1<<63 ||
		(p.DeliveryMode() == 2) != (flags&PropDeliveryMode != 0) {
		t.Errorf("%016b: headers %q, priority %d %v, timestamp %d %v, mode %d", flags, p.Headers(), prio, hasPrio, ts, hasTS, p.DeliveryMode())
	}
}

// Checklist 39 and 42: NaN, infinity and invalid UTF-8 in headers are just bytes.
func TestHeadersAreNotJudged(t *testing.T) {
	for name, entry := range map[string]string{
		"NaN": "\x01kd\x7F\xF8\x00\x00\x00\x00\x00\x01", "-Inf": "\x01kf\xFF\x80\x00\x00",
		"UTF-8": "\x02\xFF\xFES\x00\x00\x00\x01\xFF", "true as 7": "\x01kt\x07",
	} {
		var p Properties
		if err := ParseProperties(props(PropHeaders, "", Table(entry)), &p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// amqp.md 5: malformed property lists are 501.
func TestMalformedProperties(t *testing.T) {
	const prefix = "malformed content header: "
	for _, row := range []struct{ name, raw, want string }{
		{"nothing", "", "no property flags"},
		{"half the flags", "\x80", "no property flags"},
		{"bit 0", "\x00\x01", "unknown property flags"},
		{"bit 1", "\x00\x02", "unknown property flags"},
		{"trailing", "\x00\x00x", "octets after the last property"},
		{"no content type", "\x80\x00", "a property is longer than the header"},
		{"short content type", "\x80\x00\x05abc", "a property is longer than the header"},
		{"short timestamp", "\x00\x40\x00\x00", "a property is longer than the header"},
		{"no priority", "\x08\x00", "a property is longer than the header"},
		{"no headers length", "\x20\x00\x00\x00", "a property is longer than the header"},
		{"4 GiB headers", "\x20\x00\xFF\xFF\xFF\xFF", "a property is longer than the header"},
		{"bad headers", "\x20\x00\x00\x00\x00\x03\x01k?", "unknown field type 63"},
		{"headers end early", "\x20\x00\x00\x00\x00\x02\x01k", "field table ends within an entry"},
	} {
		p := Properties{Raw: []byte("left from the last message"), flags: allFlags}
		err := ParseProperties([]byte(row.raw), &p)
		wantWireError(t, row.name, err, 501, prefix+row.want)
		if p.Raw != nil || p.Flags() != 0 || p.Headers() != nil {
			t.Errorf("%s: the view is not empty", row.name)
		}
	}
}

func TestDecodeHeader(t *testing.T) {
	h, err := DecodeHeader([]byte("\x00\x3C\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02\x80\x00\x01a"))
	if err != nil || h.Class != 60 || h.Weight != 1 || h.BodySize != 1<<32+2 || string(h.Props) != "\x80\x00\x01a" {
		t.Errorf("got %+v, %v", h, err)
	}
	_, err = DecodeHeader([]byte("\x00\x3C\x00\x00\x00"))
	wantWireError(t, "short", err, 501, "type 2, all octets = <<0,60,0,0,0>>: unknown_frame")
}

// amqp.md 7 [M]: what no edit names keeps its bytes.
func TestAppendProperties(t *testing.T) {
	reply := AppendShortstr(nil, "amq.rabbitmq.reply-to.x")
	set := func(key string, n int32) HeaderEdit {
		return HeaderEdit{Key: key, Value: AppendValue(nil, IntValue(n))}
	}
	remove := func(key string) HeaderEdit { return HeaderEdit{Key: key, Remove: true} }
	headers := Table("\x01ct\x07" + "\x03BCCA\x00\x00\x00\x00" + "\x01aL\x00\x00\x00\x00\x00\x00\x00\x01" + "\x01ct\x00" + "\x03BCCV")
	for _, row := range []struct {
		name    string
		raw     []byte
		props   []PropEdit
		headers []HeaderEdit
		want    []byte
	}{
		{"remove BCC, duplicates too", props(PropHeaders, "", headers), nil, []HeaderEdit{remove("BCC")},
			props(PropHeaders, "", Table("\x01ct\x07\x01aL\x00\x00\x00\x00\x00\x00\x00\x01\x01ct\x00"))},
		{"replace in place, duplicates vanish", props(PropHeaders, "", headers), nil, []HeaderEdit{set("c", 5), remove("BCC")},
			props(PropHeaders, "", Table("\x01cI\x00\x00\x00\x05\x01aL\x00\x00\x00\x00\x00\x00\x00\x01"))},
		{"append", props(PropHeaders|PropPriority, "", Table("\x01kV")), nil, []HeaderEdit{set("x", 1), set("y", 2)},
			props(PropHeaders|PropPriority, "", Table("\x01kV\x01xI\x00\x00\x00\x01\x01yI\x00\x00\x00\x02"))},
		{"create headers", props(PropContentType|PropClusterID, "t", nil), nil, []HeaderEdit{remove("n"), set("x", 1)},
			props(PropContentType|PropHeaders|PropClusterID, "t", Table("\x01xI\x00\x00\x00\x01"))},
		{"removing from nothing creates nothing", props(PropAppID, "t", nil), nil, []HeaderEdit{remove("n")}, props(PropAppID, "t", nil)},
		{"the last header goes", props(PropHeaders, "", Table("\x01kV")), nil, []HeaderEdit{remove("k")}, props(PropHeaders, "", nil)},
		{"remove expiration", props(allFlags, "t", headers), []PropEdit{{Flag: PropExpiration, Remove: true}}, nil, props(allFlags&^PropExpiration, "t", headers)},
		{"set reply-to", props(0, "", nil), []PropEdit{{Flag: PropReplyTo, Value: reply}}, nil, props(PropReplyTo, "amq.rabbitmq.reply-to.x", nil)},
		{"replace reply-to", props(PropReplyTo, "short", nil), []PropEdit{{Flag: PropReplyTo, Value: reply}}, nil, props(PropReplyTo, "amq.rabbitmq.reply-to.x", nil)},
		{"replace all headers, then one", props(PropHeaders, "", headers), []PropEdit{{Flag: PropHeaders, Value: []byte("\x00\x00\x00\x03\x01kV")}},
			[]HeaderEdit{set("x", 1)}, props(PropHeaders, "", Table("\x01kV\x01xI\x00\x00\x00\x01"))},
		{"remove headers", props(PropHeaders, "", headers), []PropEdit{{Flag: PropHeaders, Remove: true}}, []HeaderEdit{remove("c")}, props(0, "", nil)},
	} {
		var p Properties
		if err := ParseProperties(row.raw, &p); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		got := AppendProperties([]byte("before"), &p, row.props, row.headers)
		if string(got) != "before"+string(row.want) {
			t.Errorf("%s:\n got %q\nwant %q", row.name, got[6:], row.want)
		}
		if err := ParseProperties(got[6:], &p); err != nil {
			t.Errorf("%s: the result: %v", row.name, err)
		}
	}
	var none Properties
	if got := AppendProperties(nil, &none, nil, []HeaderEdit{set("x", 1)}); string(got) != "\x20\x00\x00\x00\x00\x07\x01xI\x00\x00\x00\x01" {
		t.Errorf("from no properties: %q", got)
	}
}

// More edits than the usual dozen.
func TestManyHeaderEdits(t *testing.T) {
	var tab Table
	var edits []HeaderEdit
	for i := range 200 {
		key := fmt.Sprint("k", i)
		if i%2 == 0 {
			tab = AppendInt(AppendInt(tab, key, -1), key, -2)
		}
		edits = append(edits, HeaderEdit{Key: key, Remove: i%3 == 0, Value: AppendValue(nil, IntValue(int32(i)))})
	}
	var p Properties
	if err := ParseProperties(props(PropHeaders, "", tab), &p); err != nil {
		t.Fatal(err)
	}
	if err := ParseProperties(AppendProperties(nil, &p, nil, edits), &p); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int64{}
	for k, v := range p.Headers().All() {
		n, _ := v.Int()
		seen[string(k)] = n
	}
	if p.Headers().Len() != 133 || len(seen) != 133 {
		t.Errorf("%d entries, %d keys", p.Headers().Len(), len(seen))
	}
	for i := range 200 {
		if n, ok := seen[fmt.Sprint("k", i)]; ok != (i%3 != 0) || ok && n != int64(i) {
			t.Errorf("k%d is %d, %v", i, n, ok)
		}
	}
}

// X3: the headers of a content header have the frame's whole budget and no more.
func TestPropertiesLimits(t *testing.T) {
	var p Properties
	if err := ParseProperties(props(PropHeaders, "", nest("\x01kF", 64)), &p); err != nil {
		t.Error(err)
	}
	err := ParseProperties(props(PropHeaders, "", nest("\x01kF", 65)), &p)
	wantWireError(t, "65 levels", err, 501, "malformed content header: field table nested deeper than 64 levels")
	err = ParseProperties(props(PropHeaders, "", AppendArrayEntry(nil, "a", voids(8192))), &p)
	wantWireError(t, "8193 values", err, 501, "malformed content header: more than 8192 field values in a frame")
}
