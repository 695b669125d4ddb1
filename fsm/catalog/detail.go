package catalog

import (
	"slices"
	"strconv"
	"strings"

	"mayfly/amqp/wire"
	"mayfly/dlx"
	"mayfly/ttl"
)

// The details of bad values, as RabbitMQ prints them.

func detailInt(n int64, what string) string { return "{" + what + "," + strconv.FormatInt(n, 10) + "}" }

func unacceptableType(v wire.Value) string { return "{unacceptable_type," + v.TypeName() + "}" }

func checkInt(v wire.Value) string {
	if _, ok := v.Int(); !ok {
		return `"expected integer, got ` + v.TypeName() + `"`
	}
	return ""
}

func checkNotNegative(v wire.Value) string {
	if n, ok := v.Int(); ok && n < 0 {
		return detailInt(n, "value_negative")
	}
	return checkInt(v)
}

func checkPositive(v wire.Value) string {
	if n, ok := v.Int(); ok && n == 0 {
		return detailInt(n, "value_zero")
	}
	return checkNotNegative(v)
}

func checkTTL(v wire.Value) string {
	if n, ok := v.Int(); ok && n > ttl.Max {
		return detailInt(n, "value_too_large")
	}
	return checkNotNegative(v)
}

func checkExpires(v wire.Value) string {
	if n, ok := v.Int(); ok && n == 0 {
		return detailInt(n, "value_zero")
	}
	return checkTTL(v)
}

func checkMaxPriority(v wire.Value) string {
	if n, ok := v.Int(); ok && n > 255 {
		return detailInt(n, "max_value_exceeded")
	}
	return checkNotNegative(v)
}

func checkVersion(v wire.Value) string {
	if d := checkNotNegative(v); d != "" {
		return d
	}
	if n, _ := v.Int(); n != 1 && n != 2 {
		return `"unsupported queue version '` + v.Text() + `'"`
	}
	return ""
}

func checkMode(v wire.Value) string {
	if v.Tag != 'S' {
		return unacceptableType(v)
	}
	if s := string(v.Data); s != "default" && s != "lazy" {
		return `"unsupported queue mode '` + s + `'"`
	}
	return ""
}

func checkType(v wire.Value) string {
	if v.Tag != 'S' {
		return unacceptableType(v)
	}
	switch s := string(v.Data); s {
	case typeClassic, typeQuorum, "undefined":
		return ""
	default:
		return `"unsupported queue type '` + s + `'"`
	}
}

func checkString(v wire.Value) string {
	if v.Tag != 'S' {
		return unacceptableType(v)
	}
	return ""
}

func checkBool(v wire.Value) string {
	if v.Tag != 't' {
		return unacceptableType(v)
	}
	return ""
}

func checkNothing(wire.Value) string { return "" }

// oneOf takes RabbitMQ's words; its detail for others is a word too.
func oneOf(detail string, words ...string) func(wire.Value) string {
	return func(v wire.Value) string {
		if v.Tag != 'S' {
			return unacceptableType(v)
		}
		if !slices.Contains(words, string(v.Data)) {
			return detail
		}
		return ""
	}
}

// value takes our own words.
func value(words ...string) func(wire.Value) string {
	return func(v wire.Value) string {
		if v.Tag != 'S' {
			return unacceptableType(v)
		}
		if !slices.Contains(words, string(v.Data)) {
			return unacceptableValue(string(v.Data))
		}
		return ""
	}
}

func unacceptableValue(s string) string { return `{unacceptable_value,<<"` + s + `">>}` }

func checkReasons(v wire.Value) string {
	_, detail := parseReasons(v)
	return detail
}

// parseReasons takes an array of strings, or one string with commas (D-12). None at
// all is no set of reasons: to forward nothing, name no exchange.
func parseReasons(v wire.Value) (set dlx.Reasons, detail string) {
	var words []string
	if array, ok := v.Array(); ok {
		for e := range array.All() {
			if e.Tag != 'S' {
				return 0, unacceptableType(e)
			}
			words = append(words, string(e.Data))
		}
	} else if v.Tag == 'S' {
		for w := range strings.SplitSeq(string(v.Data), ",") {
			words = append(words, strings.TrimSpace(w))
		}
	} else {
		return 0, unacceptableType(v)
	}
	if len(words) == 0 {
		return 0, unacceptableValue("")
	}
	for _, w := range words {
		r, ok := dlx.ParseReason(w)
		if !ok {
			return 0, unacceptableValue(w)
		}
		set = set.With(r)
	}
	return set, ""
}
