package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is a request that got no answer. It holds no key and nothing of the prompt but what the server repeated in its message.
type Error struct {
	// Provider is "openai" or "anthropic": the protocol, not who runs the server.
	Provider string
	Model    string
	// Status is the HTTP status of the answer; 0 when none came, or not to its end.
	Status int
	// Message is what the server said, or what is wrong with its answer: one line, at most 300 characters.
	Message string
	// RetryAfter is how long the server asks to wait; 0 when it doesn't say.
	RetryAfter time.Duration
	// Err is the cause, when there is one beside the status.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "llm: %s %s", e.Provider, e.Model)
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

// Unwrap returns the cause: a network error, context.DeadlineExceeded for a request that took too long, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Unauthorized reports whether the server doesn't accept the key, or not for this model. Trying again is of no use.
func (e *Error) Unauthorized() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Temporary reports whether the same request may succeed later: too many requests, the server's own errors, the network, a timeout.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}
