package main

import (
	"bytes"
	"fmt"
	"go/format"
)

// generate renders the whole file.
func generate(ms []method) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from methods.txt by gen; DO NOT EDIT.\n\npackage wire\n\n")
	ids(&b, ms)
	names(&b, ms)
	directions(&b, ms)
	factory(&b, ms)
	for _, m := range ms {
		structure(&b, m)
		appender(&b, m)
		decoder(&b, m)
	}
	return format.Source(b.Bytes())
}

func ids(b *bytes.Buffer, ms []method) {
	b.WriteString("// The ids of all methods.\nconst (\n")
	for _, m := range ms {
		fmt.Fprintf(b, "%sID ID = %d<<16 | %d\n", m.goName, m.class, m.number)
	}
	b.WriteString(")\n\n")
}

func names(b *bytes.Buffer, ms []method) {
	b.WriteString("// methodName is the protocol's name of a method, \"\" for an unknown one.\n")
	b.WriteString("func methodName(id ID) string {\nswitch id {\n")
	for _, m := range ms {
		fmt.Fprintf(b, "case %sID:\nreturn %q\n", m.goName, m.name)
	}
	b.WriteString("}\nreturn \"\"\n}\n\n")
}

func directions(b *bytes.Buffer, ms []method) {
	b.WriteString("// FromClient tells whether a client may send the method at all; false for unknown ones.\n")
	b.WriteString("func (id ID) FromClient() bool {\nswitch id {\ncase ")
	first := true
	for _, m := range ms {
		if m.direction == "S" {
			continue
		}
		if !first {
			b.WriteString(",\n")
		}
		first = false
		b.WriteString(m.goName + "ID")
	}
	b.WriteString(":\nreturn true\n}\nreturn false\n}\n\n")
}

func factory(b *bytes.Buffer, ms []method) {
	b.WriteString("// newMethod makes an empty method to decode into, nil for an unknown id.\n")
	b.WriteString("func newMethod(id ID) decodable {\nswitch id {\n")
	for _, m := range ms {
		fmt.Fprintf(b, "case %sID:\nreturn new(%s)\n", m.goName, m.goName)
	}
	b.WriteString("}\nreturn nil\n}\n\n")
}

func structure(b *bytes.Buffer, m method) {
	fmt.Fprintf(b, "// %s is %s (%d.%d).\ntype %s struct {\n", m.goName, m.name, m.class, m.number, m.goName)
	for _, f := range m.fields {
		if f.goName != "" {
			fmt.Fprintf(b, "%s %s\n", f.goName, kinds[f.kind])
		}
	}
	fmt.Fprintf(b, "}\n\n// ID returns %sID.\nfunc (*%s) ID() ID { return %sID }\n\n", m.goName, m.goName, m.goName)
}

func appender(b *bytes.Buffer, m method) {
	fmt.Fprintf(b, "// Append writes the arguments.\nfunc (m *%s) Append(dst []byte) []byte {\n", m.goName)
	for i := 0; i < len(m.fields); i++ {
		f := m.fields[i]
		if f.kind == "bit" {
			n := bitRun(m.fields[i:])
			appendBits(b, m.fields[i:i+n])
			i += n - 1
			continue
		}
		value := "m." + f.goName
		if f.goName == "" {
			value = map[string]string{"u16": "0", "text": `""`, "long": `""`}[f.kind]
		}
		fmt.Fprintf(b, "dst = %s(dst, %s)\n", appenders[f.kind], value)
	}
	b.WriteString("return dst\n}\n\n")
}

var appenders = map[string]string{
	"u8": "append", "u16": "be.AppendUint16", "u32": "be.AppendUint32", "u64": "be.AppendUint64",
	"table": "appendTable", "long": "AppendLongstr", "blob": "appendBlob", "name": "AppendShortstr", "text": "AppendShortstr",
}

// bitRun counts the consecutive bits that share one octet.
func bitRun(fs []field) int {
	n := 0
	for n < len(fs) && n < 8 && fs[n].kind == "bit" {
		n++
	}
	return n
}

func appendBits(b *bytes.Buffer, fs []field) {
	b.WriteString("dst = append(dst, 0")
	for i, f := range fs {
		if f.goName != "" {
			fmt.Fprintf(b, "|bit(m.%s, %d)", f.goName, i)
		}
	}
	b.WriteString(")\n")
}

func decoder(b *bytes.Buffer, m method) {
	fmt.Fprintf(b, "func (m *%s) decode(d *decoder) {\n", m.goName)
	for i := 0; i < len(m.fields); i++ {
		f := m.fields[i]
		if f.kind == "bit" {
			n := bitRun(m.fields[i:])
			decodeBits(b, m.fields[i:i+n])
			i += n - 1
			continue
		}
		if f.goName == "" {
			fmt.Fprintf(b, "d.skip%s()\n", goName(f.kind))
			continue
		}
		fmt.Fprintf(b, "m.%s = d.%s()\n", f.goName, readers[f.kind])
	}
	b.WriteString("}\n\n")
}

func decodeBits(b *bytes.Buffer, fs []field) {
	used := false
	for _, f := range fs {
		used = used || f.goName != ""
	}
	if !used {
		b.WriteString("d.u8()\n")
		return
	}
	b.WriteString("bits := d.u8()\n")
	for i, f := range fs {
		if f.goName != "" {
			fmt.Fprintf(b, "m.%s = bits&(1<<%d) != 0\n", f.goName, i)
		}
	}
}

var readers = map[string]string{
	"u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
	"table": "tableValue", "long": "long", "blob": "blob", "name": "name", "text": "text",
}
