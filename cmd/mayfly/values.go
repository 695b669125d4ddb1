package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// The parsers of settings: each takes where the value goes and answers how its
// text gets there. Their errors say what is wanted; the caller says for which key.

func str(at func(*config) *string) func(*config, string) error {
	return func(c *config, v string) error { *at(c) = v; return nil }
}

func oneOf(at func(*config) *string, words ...string) func(*config, string) error {
	return func(c *config, v string) error {
		for _, w := range words {
			if v == w {
				*at(c) = v
				return nil
			}
		}
		return fmt.Errorf("want one of %s", strings.TrimPrefix(strings.Join(words, ", "), ", "))
	}
}

func boolean(at func(*config) *bool) func(*config, string) error {
	return func(c *config, v string) (err error) {
		if *at(c), err = strconv.ParseBool(v); err != nil {
			return errors.New("want true or false")
		}
		return nil
	}
}

// integer parses a number within bounds.
func integer(put func(*config, int), low, high int) func(*config, string) error {
	return func(c *config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a number from %d to %d", low, high)
		}
		put(c, n)
		return nil
	}
}

// words parses a list with commas between; the empty text is the empty list.
func words(at func(*config) *[]string) func(*config, string) error {
	return func(c *config, v string) error {
		*at(c) = nil
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				*at(c) = append(*at(c), w)
			}
		}
		return nil
	}
}

func duration(at func(*config) *time.Duration) func(*config, string) error {
	return func(c *config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return errors.New("want a duration such as 5s or 10m")
		}
		*at(c) = d
		return nil
	}
}

var sizeUnits = []struct {
	suffix string
	size   int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

func bytesize(at func(*config) *int64) func(*config, string) error {
	return func(c *config, v string) error {
		n, err := parseSize(v)
		if err != nil {
			return err
		}
		*at(c) = n
		return nil
	}
}

func parseSize(v string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(v, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n >= 0 && n <= (1<<62)/u.size {
			return n * u.size, nil
		}
	}
	return 0, errors.New("want a size such as 512MiB or 1GB")
}

// amount is a size in bytes, or a share of something.
type amount struct {
	bytes int64
	share float64 // 0 = bytes counts
}

func (a amount) of(total int64) int64 {
	if a.share > 0 {
		return int64(float64(total) * a.share)
	}
	return a.bytes
}

func sizeOrShare(at func(*config) *amount) func(*config, string) error {
	return func(c *config, v string) error {
		if digits, ok := strings.CutSuffix(v, "%"); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil || !(n > 0 && n <= 100) {
				return errors.New("want a share such as 60%")
			}
			*at(c) = amount{share: n / 100}
			return nil
		}
		n, err := parseSize(v)
		if err != nil {
			return errors.New("want a size such as 512MiB or a share such as 60%")
		}
		*at(c) = amount{bytes: n}
		return nil
	}
}

// address takes host:port, :port or [ipv6]:port, and off.
func address(at func(*config) *string) func(*config, string) error {
	return func(c *config, v string) error {
		if v != "off" {
			_, port, err := net.SplitHostPort(v)
			if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
				return errors.New("want host:port, :port or off")
			}
		}
		*at(c) = v
		return nil
	}
}
