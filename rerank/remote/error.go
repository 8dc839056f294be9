package remote

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The reasons of an Error.
const (
	ReasonInvalidResponse = "invalid_response" // an answer that can't be read, or without a score
	ReasonHTTPError       = "http_error"       // a status that is no success
	ReasonTimeout         = "timeout"          // no answer in time, or no time left to ask
	ReasonRequestError    = "request_error"    // no connection, or one that broke off
)

// Error is a call that got no scores. It holds no key and nothing of query and texts but what the server repeated in its message.
type Error struct {
	Provider, Model string
	// Why is one of the reasons.
	Why string
	// Status is the HTTP status of the answer; 0 when none came, or not to its end.
	Status int
	// Message is what the server said, or what is wrong with its answer: one line, at most 300 characters.
	Message string
	// RetryAfter is how long the server asks to wait; 0 when it doesn't say.
	RetryAfter time.Duration
	// Err is the cause, when there is one beside the status; context.DeadlineExceeded after a timeout.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rerank: %s %s", e.Provider, e.Model)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %s", strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))))
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason is why there are no scores, as traces tell it.
func (e *Error) Reason() string { return e.Why }

// Unauthorized reports whether the server doesn't accept the key, or not for this model. Trying again is of no use.
func (e *Error) Unauthorized() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Temporary reports whether the same request may succeed later: too many requests, the server's own errors, the network, a timeout.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}
