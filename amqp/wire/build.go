package wire

// Tables and arrays are built by appending: each function returns dst with one
// more entry. They do not look for the key, so a key given twice is there twice.

// AppendValue writes a tag and its value, as it stands in arrays and behind keys.
func AppendValue(dst []byte, v Value) []byte {
	dst = append(dst, v.Tag)
	if layout[v.Tag] == prefixed {
		return appendBlob(dst, v.Data)
	}
	return append(dst, v.Data...)
}

// AppendRaw adds an entry with a value of any type.
func AppendRaw(dst Table, key string, v Value) Table {
	return AppendValue(AppendShortstr(dst, key), v)
}

// AppendString adds a long string (S).
func AppendString(dst Table, key, val string) Table {
	return AppendLongstr(append(AppendShortstr(dst, key), 'S'), val)
}

// AppendLong adds a signed 64-bit integer (l).
func AppendLong(dst Table, key string, val int64) Table {
	return be.AppendUint64(append(AppendShortstr(dst, key), 'l'), uint64(val))
}

// AppendInt adds a signed 32-bit integer (I).
func AppendInt(dst Table, key string, val int32) Table {
	return be.AppendUint32(append(AppendShortstr(dst, key), 'I'), uint32(val))
}

// AppendBool adds a boolean (t).
func AppendBool(dst Table, key string, val bool) Table {
	return append(AppendShortstr(dst, key), 't', bit(val, 0))
}

// AppendTimestamp adds seconds since the epoch (T).
func AppendTimestamp(dst Table, key string, seconds uint64) Table {
	return be.AppendUint64(append(AppendShortstr(dst, key), 'T'), seconds)
}

// AppendVoid adds a key without a value (V).
func AppendVoid(dst Table, key string) Table {
	return append(AppendShortstr(dst, key), 'V')
}

// AppendTableEntry adds a nested table (F).
func AppendTableEntry(dst Table, key string, val Table) Table {
	return appendTable(append(AppendShortstr(dst, key), 'F'), val)
}

// AppendArrayEntry adds an array (A).
func AppendArrayEntry(dst Table, key string, val Array) Table {
	return appendBlob(append(AppendShortstr(dst, key), 'A'), val)
}

// StringValue is a long string (S).
func StringValue(s string) Value { return Value{Tag: 'S', Data: []byte(s)} }

// LongValue is a signed 64-bit integer (l).
func LongValue(n int64) Value { return Value{Tag: 'l', Data: be.AppendUint64(nil, uint64(n))} }

// IntValue is a signed 32-bit integer (I).
func IntValue(n int32) Value { return Value{Tag: 'I', Data: be.AppendUint32(nil, uint32(n))} }

// BoolValue is a boolean (t).
func BoolValue(b bool) Value { return Value{Tag: 't', Data: []byte{bit(b, 0)}} }

// TimestampValue is seconds since the epoch (T).
func TimestampValue(seconds uint64) Value {
	return Value{Tag: 'T', Data: be.AppendUint64(nil, seconds)}
}

// TableValue is a nested table (F), not copied.
func TableValue(t Table) Value { return Value{Tag: 'F', Data: t} }

// ArrayValue is an array (A), not copied.
func ArrayValue(a Array) Value { return Value{Tag: 'A', Data: a} }
