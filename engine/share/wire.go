package share

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// protocol is the version of what is said on a connection. It changes when a verb's request or answer would be misread.
const protocol = 1

// maxRequest is how long a line of a client may be, in bytes.
const maxRequest = 1 << 20

// hello is the first line of a client.
type hello struct {
	Mallard int `json:"mallard"` // protocol
	Caller
}

// welcome is the first line of a holder.
type welcome struct {
	Mallard int `json:"mallard"` // protocol
	Process int `json:"process"`
	failure
}

// request is a further line of a client.
type request struct {
	Verb    string `json:"verb"`
	Request any    `json:"request"`
}

// reply is a further line of a holder.
type reply struct {
	Answer any `json:"answer,omitempty"`
	failure
}

// failure is an error on its way to another process.
type failure struct {
	Error string   `json:"error,omitempty"`
	Kinds []string `json:"kinds,omitempty"` // the errors of kinds that it is
}

// kinds are the errors that a caller may ask for with errors.Is.
var kinds = append(fault.Sentinels(), context.Canceled, context.DeadlineExceeded)

func failureOf(err error) (f failure) {
	if err == nil {
		return f
	}
	f.Error = err.Error()
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			f.Kinds = append(f.Kinds, kind.Error())
		}
	}
	return f
}

// err is the error as the holder had it, in its words.
func (f failure) err() error {
	if f.Error == "" {
		return nil
	}
	e := &farError{said: f.Error}
	for _, kind := range kinds {
		for _, name := range f.Kinds {
			if name == kind.Error() {
				e.kinds = append(e.kinds, kind)
			}
		}
	}
	return e
}

// farError is an error of another process.
type farError struct {
	said  string
	kinds []error
}

func (e *farError) Error() string   { return e.said }
func (e *farError) Unwrap() []error { return e.kinds }

// lineOf is what a client says. JSON has no text that is not UTF-8, and would be given another one.
func lineOf(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(b) >= maxRequest {
		return nil, tooLong(len(b))
	}
	if bytes.Contains(bytes.ReplaceAll(b, []byte(`\\`), nil), []byte(`\ufffd`)) {
		return nil, fmt.Errorf("%w: the request has a text that is not; allowed: valid UTF-8", engine.ErrInvalid)
	}
	return append(b, '\n'), nil
}
