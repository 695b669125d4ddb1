package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/amqp/wire"
)

// parseArguments makes a field table of a JSON object, as RabbitMQ does: integers
// become long, other numbers double, null void. RabbitMQ writes no arguments as []
// at times. The order of the keys is kept.
func parseArguments(raw json.RawMessage) (wire.Table, error) {
	raw = bytes.TrimSpace(raw)
	if s := string(raw); s == "" || s == "null" || s == "[]" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("arguments must be an object")
	}
	table, err := parseObject(d)
	if err != nil {
		return nil, err
	}
	if err := table.Validate(); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return table, nil
}

// parseObject reads entries up to the closing brace. Depth was bounded before.
func parseObject(d *json.Decoder) (wire.Table, error) {
	var table wire.Table
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string) // what else stands before a colon was refused by the decoder
		if len(key) > 255 {
			return nil, fmt.Errorf("argument name of %d bytes", len(key))
		}
		if seen[key] {
			return nil, fmt.Errorf("argument %q is there twice", key)
		}
		seen[key] = true
		val, err := parseValue(d)
		if err != nil {
			return nil, err
		}
		table = wire.AppendRaw(table, key, val)
	}
	_, err := d.Token()
	return table, err
}

func parseValue(d *json.Decoder) (wire.Value, error) {
	t, err := d.Token()
	if err != nil {
		return wire.Value{}, err
	}
	switch t := t.(type) {
	case nil:
		return wire.Value{Tag: 'V'}, nil
	case bool:
		return wire.BoolValue(t), nil
	case string:
		return wire.StringValue(t), nil
	case json.Number:
		return parseNumber(string(t))
	case json.Delim:
		if t == '{' {
			table, err := parseObject(d)
			return wire.TableValue(table), err
		}
		var array wire.Array
		for d.More() {
			val, err := parseValue(d)
			if err != nil {
				return wire.Value{}, err
			}
			array = wire.AppendValue(array, val)
		}
		_, err := d.Token()
		return wire.ArrayValue(array), err
	}
	return wire.Value{}, fmt.Errorf("value %v has no place in arguments", t)
}

func parseNumber(s string) (wire.Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return wire.Value{}, fmt.Errorf("number %s does not fit in 64 bits", s)
		}
		return wire.LongValue(n), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return wire.Value{}, fmt.Errorf("number %s does not fit in a double", s)
	}
	bits := math.Float64bits(f)
	data := make([]byte, 8)
	for i := range data {
		data[i] = byte(bits >> (56 - 8*i))
	}
	return wire.Value{Tag: 'd', Data: data}, nil
}

// appendArguments writes a table as a JSON object, the reverse as far as JSON goes:
// widths of integers and the like are lost. Of duplicate keys the first is written,
// the one that counts.
func appendArguments(dst []byte, t wire.Table) []byte {
	dst = append(dst, '{')
	seen := map[string]bool{}
	for k, v := range t.All() {
		if seen[string(k)] {
			continue
		}
		if len(seen) > 0 {
			dst = append(dst, ',')
		}
		seen[string(k)] = true
		dst = append(appendText(dst, k), ':')
		dst = appendValue(dst, v)
	}
	return append(dst, '}')
}

func appendValue(dst []byte, v wire.Value) []byte {
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	if b, ok := v.Bytes(); ok {
		return appendText(dst, b)
	}
	if b, ok := v.Bool(); ok {
		return strconv.AppendBool(dst, b)
	}
	if n, ok := v.Timestamp(); ok {
		return appendUnsigned(dst, n)
	}
	if f, ok := v.Float(); ok {
		return appendDouble(dst, f)
	}
	if scale, n, ok := v.Decimal(); ok {
		return appendDouble(dst, float64(n)/math.Pow10(int(scale)))
	}
	if t, ok := v.Table(); ok {
		return appendArguments(dst, t)
	}
	if a, ok := v.Array(); ok {
		dst = append(dst, '[')
		first := true
		for e := range a.All() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

// appendUnsigned keeps a timestamp a number where it can be read back as one.
func appendUnsigned(dst []byte, n uint64) []byte {
	if n > math.MaxInt64 {
		return appendDouble(dst, float64(n))
	}
	return strconv.AppendUint(dst, n, 10)
}

// appendDouble writes a double so that it is read back as one. JSON has no word for
// what is not a number: its name goes out as a string.
func appendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return appendText(dst, []byte(strconv.FormatFloat(f, 'g', -1, 64)))
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if !bytes.ContainsAny(dst[from:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendText writes a JSON string. Bytes that are no text go out in base64, since
// JSON carries text only.
func appendText(dst, s []byte) []byte {
	text := string(s)
	if !utf8.Valid(s) {
		text = base64.StdEncoding.EncodeToString(s)
	}
	return append(dst, quote(text)...)
}

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return []byte(`""`) // cannot happen: strings always encode
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
