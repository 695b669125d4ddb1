package admin

import (
	"bufio"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
)

// fault is an answer that is not what was asked for. Without a name its body is empty.
type fault struct {
	status       int
	name, reason string // keys error and reason
	challenge    bool   // asks for a login
	allow        string // the header of that name
	retry        int    // seconds, of Retry-After
}

// The faults of operations.md 1.1. A caller who is known and may not is told 401,
// as RabbitMQ does: its clients look for that, never for 403.
var (
	notFound      = &fault{status: http.StatusNotFound, name: "Object Not Found", reason: "Not Found"}
	noCredentials = &fault{status: http.StatusUnauthorized, challenge: true}
	wrongLogin    = &fault{status: http.StatusUnauthorized, challenge: true, name: "not_authorized", reason: "Not_Authorized"}
	wrongObject   = refused("User not authorised to access object")
	wrongVhost    = refused("User not authorised to access virtual host")
	tooManyLogins = &fault{status: http.StatusTooManyRequests, retry: 1, name: "too_many_requests", reason: "Too many failed logins"}
	loginBusy     = &fault{status: http.StatusServiceUnavailable, retry: 1, name: "busy", reason: "No turn to verify the password in time"}
	internalError = &fault{status: http.StatusInternalServerError, name: "internal_error", reason: "Internal Server Error"}
)

func refused(reason string) *fault {
	return &fault{status: http.StatusUnauthorized, name: "not_authorised", reason: reason}
}

func badRequest(reason string) *fault {
	return &fault{status: http.StatusBadRequest, name: "bad_request", reason: reason}
}

func notBuilt(what string) *fault {
	return &fault{status: http.StatusNotImplemented, name: "not_implemented", reason: what + " is not built yet"}
}

const realm = `Basic realm="Mayfly Management"`

func (f *fault) write(w http.ResponseWriter) {
	if f.challenge {
		w.Header().Set("WWW-Authenticate", realm)
	}
	if f.allow != "" {
		w.Header().Set("Allow", f.allow)
	}
	if f.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.retry))
	}
	if f.name == "" {
		w.WriteHeader(f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	encoder(w).Encode(struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}{f.name, f.reason})
}

func encoder(w interface{ Write([]byte) (int, error) }) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// replyJSON answers 200 with one value. What goes wrong now is the socket's: there
// is nobody left to tell.
func replyJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder(w).Encode(v)
}

// replyList answers 200 with a list, an element at a time: no list is ever in
// memory as one document (operations.md 1.2).
func replyList[T any](w http.ResponseWriter, all iter.Seq[T]) {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriter(w)
	e := encoder(b)
	b.WriteByte('[')
	first := true
	for v := range all {
		if !first {
			b.WriteByte(',')
		}
		first = false
		if e.Encode(v) != nil {
			return
		}
	}
	b.WriteString("]\n")
	b.Flush()
}
