package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Failure is a request that got no answer. It holds no key, and nothing of what was sent but what the server repeated in its message.
type Failure struct {
	// Provider is the protocol, not who runs the server.
	Provider string
	Model    string
	// Status is the HTTP status of the answer; 0 when none came, or not to its end.
	Status int
	// Message is what the server said, or what is wrong with its answer: one line, at most 300 characters.
	Message string
	// RetryAfter is how long the server asks to wait; 0 when it doesn't say.
	RetryAfter time.Duration
	// Err is the cause, when there is one beside the status; context.DeadlineExceeded after a timeout.
	Err error
	// Final says that the same request would fail again, whatever the status.
	Final bool
}

// Error is the failure in one line: who was asked, the status unless it is one of success, and why.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", f.Provider, f.Model)
	if f.Status != 0 && f.Status != http.StatusOK {
		fmt.Fprintf(&b, ": %s", strings.TrimSpace(fmt.Sprintf("%d %s", f.Status, http.StatusText(f.Status))))
	}
	if f.Message != "" {
		fmt.Fprintf(&b, ": %s", f.Message)
	}
	if f.Err != nil {
		fmt.Fprintf(&b, ": %v", f.Err)
	}
	return b.String()
}

// Unwrap gives the cause: a network error, context.DeadlineExceeded for what took too long, or nil.
func (f *Failure) Unwrap() error { return f.Err }

// Unauthorized reports whether the server doesn't accept the key, or not for this model. Trying again is of no use.
func (f *Failure) Unauthorized() bool {
	return f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden
}

// Temporary reports whether the same request may succeed later: too many requests, the server's own errors, the network, a timeout.
func (f *Failure) Temporary() bool {
	return f.Status == 0 || f.Status == http.StatusRequestTimeout || f.Status == http.StatusTooManyRequests || f.Status >= 500
}

// refusesKey reports whether another key may be taken: this one is not, or not without money.
func (f *Failure) refusesKey() bool {
	return f.Unauthorized() || f.Status == http.StatusPaymentRequired
}

// busy reports whether the server has no time for this key now; it may have for another.
func (f *Failure) busy() bool {
	return f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable || f.Status == 529
}

// Fail describes a failure of this service, without its keys.
func (s *Service) Fail(status int, message string, err error) *Failure {
	for _, key := range s.Keys {
		if len(key) < 4 { // a placeholder for servers that want none
			continue
		}
		message = strings.ReplaceAll(message, key, "[key]")
		if err != nil && strings.Contains(err.Error(), key) {
			err = errors.New(strings.ReplaceAll(err.Error(), key, "[key]"))
		}
	}
	return &Failure{Provider: s.Provider, Model: s.Model, Status: status, Message: line(message), Err: err}
}
