package dlx

import "mayfly/amqp/wire"

// A history beyond these is a loop that nothing else ends (D-34).
const (
	maxPairs  = 1000
	maxXDeath = 64 << 10
)

// Parts are the pieces of a dead message's envelope.
type Parts struct {
	Exchange    []byte
	Key         []byte
	Props       []byte
	Annotations []byte
}

// Target is where a queue sends its dead: its dead-letter exchange, "" being the
// default one, and the key that replaces the message's own, if there is one.
type Target struct {
	Exchange string
	Key      string
	HasKey   bool
}

// Moved is a letter made into a message. Its body is the old one. Everything
// aliases the parts or the Rewriter and is good until the next Rewrite.
type Moved struct {
	Exchange    []byte
	Key         []byte
	Extra       [][]byte   // further keys to route by: CC, BCC (D-3)
	Headers     wire.Table // of Props, for a headers exchange
	Props       []byte
	Annotations []byte
	Notes       *Notes // Cycles is to be asked for each queue that the routing gives
}

// Rewriter makes letters into messages. It keeps its buffers from one to the
// next; it belongs to one goroutine. The zero value is ready.
type Rewriter struct {
	notes  Notes
	props  wire.Properties
	moved  Moved
	cc     [][]byte // keys of the CC header, as long as they count
	extra  [][]byte // Moved.Extra
	target []byte   // Moved.Exchange and Moved.Key
	out    []byte   // Moved.Props
	ann    []byte   // Moved.Annotations
	queue  []byte
	died   [][]byte   // keys at this death
	values []byte     // of the headers
	item   wire.Table // one element of x-death
	keys   wire.Array // its routing-keys
	list   wire.Array // x-death
}

// Rewrite gives the message that a letter becomes (D-3 to D-8, D-20 to D-26).
// queue is where it died. A cause other than NotDropped means that there is no
// such message. The error means that the parts are no envelope of ours.
//
// It runs once for a letter, on the leader; what it gives is replicated as bytes.
func (w *Rewriter) Rewrite(in Parts, l *Letter, queue string, to Target) (*Moved, Cause, error) {
	if err := w.notes.Parse(in.Annotations); err != nil {
		return nil, NotDropped, err
	}
	if err := wire.ParseProperties(in.Props, &w.props); err != nil {
		return nil, NotDropped, err
	}
	w.cc = w.cc[:0]
	if !w.notes.Rerouted {
		w.cc = appendKeys(w.cc, w.props.Headers())
	}
	w.record(in, l, queue)
	if len(w.notes.Deaths) > maxPairs {
		return nil, History, nil
	}

	m := &w.moved
	w.target = append(append(w.target[:0], to.Exchange...), to.Key...)
	*m = Moved{Exchange: w.target[:len(to.Exchange)], Key: in.Key, Notes: &w.notes}
	if to.HasKey {
		m.Key = w.target[len(to.Exchange):]
		w.notes.Rerouted, w.notes.BCC = true, w.notes.BCC[:0]
	} else {
		w.extra = append(append(w.extra[:0], w.cc...), w.notes.BCC...)
		m.Extra = w.extra
	}
	if !w.rewriteProps(in.Exchange) {
		return nil, History, nil
	}
	m.Props, m.Headers = w.out, w.props.Headers()
	w.ann = w.notes.Append(w.ann[:0])
	m.Annotations = w.ann
	return m, NotDropped, nil
}

// record adds the death at hand to the notes.
func (w *Rewriter) record(in Parts, l *Letter, queue string) {
	w.queue = append(w.queue[:0], queue...)
	w.died = append(append(w.died[:0], in.Key), w.cc...)
	expiration, _ := w.props.Expiration()
	w.notes.record(Death{
		Queue:      w.queue,
		Reason:     l.Reason,
		Time:       l.At.Seconds(),
		Exchange:   in.Exchange,
		Keys:       w.died,
		Expiration: expiration,
	})
}

// rewriteProps writes the new properties: the old bytes without expiration (D-7)
// and with the seven death headers, which overwrite whatever a client had put
// there (D-25). exchange is the one it was last published to. w.props views the
// result. It is false when the history does not fit into a header (D-34).
func (w *Rewriter) rewriteProps(exchange []byte) bool {
	first, last := &w.notes.First, &w.notes.Deaths[0]
	w.encodeXDeath()
	if len(w.list) > maxXDeath {
		return false
	}
	w.values = w.values[:0]
	edits := [...]wire.HeaderEdit{
		{Key: "x-death", Value: w.value('A', w.list)},
		{Key: "x-first-death-exchange", Value: w.value('S', first.Exchange)},
		{Key: "x-first-death-queue", Value: w.value('S', first.Queue)},
		{Key: "x-first-death-reason", Value: w.reason(first.Reason)},
		{Key: "x-last-death-exchange", Value: w.value('S', exchange)},
		{Key: "x-last-death-queue", Value: w.value('S', last.Queue)},
		{Key: "x-last-death-reason", Value: w.reason(last.Reason)},
	}
	gone := [...]wire.PropEdit{{Flag: wire.PropExpiration, Remove: true}}
	w.out = wire.AppendProperties(w.out[:0], &w.props, gone[:], edits[:])
	return wire.ParseProperties(w.out, &w.props) == nil
}

// value is a tag and a value in w.values, which may move when it grows: what was
// cut from it before stays good.
func (w *Rewriter) value(tag byte, data []byte) []byte {
	start := len(w.values)
	w.values = wire.AppendValue(w.values, wire.Value{Tag: tag, Data: data})
	return w.values[start:]
}

func (w *Rewriter) reason(r Reason) []byte {
	start := len(w.values)
	w.values = wire.AppendLongstr(append(w.values, 'S'), r.String())
	return w.values[start:]
}

// encodeXDeath writes the elements of x-death, fields in the order of D-22, into w.list.
func (w *Rewriter) encodeXDeath() {
	w.list = w.list[:0]
	for i := range w.notes.Deaths {
		d := &w.notes.Deaths[i]
		t := w.item[:0]
		if d.Expiration != nil {
			t = wire.AppendRaw(t, "original-expiration", wire.Value{Tag: 'S', Data: d.Expiration})
		}
		t = wire.AppendLong(t, "count", int64(d.Count))
		t = wire.AppendString(t, "reason", d.Reason.String())
		t = wire.AppendRaw(t, "queue", wire.Value{Tag: 'S', Data: d.Queue})
		t = wire.AppendTimestamp(t, "time", d.Time)
		t = wire.AppendRaw(t, "exchange", wire.Value{Tag: 'S', Data: d.Exchange})
		w.keys = w.keys[:0]
		for _, k := range d.Keys {
			w.keys = wire.AppendValue(w.keys, wire.Value{Tag: 'S', Data: k})
		}
		t = wire.AppendArrayEntry(t, "routing-keys", w.keys)
		w.item = t
		w.list = wire.AppendValue(w.list, wire.TableValue(t))
	}
}

// appendKeys adds the keys of the CC header. Members that are no strings were
// skipped at publish and are here (D-6).
func appendKeys(dst [][]byte, headers wire.Table) [][]byte {
	v, _ := headers.Get("CC")
	list, _ := v.Array()
	for e := range list.All() {
		if e.Tag == 'S' {
			dst = append(dst, e.Data)
		}
	}
	return dst
}
