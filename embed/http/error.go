package remote

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Error is a request that gave no vectors. It holds no key, and nothing of the texts but what the server repeated in its message.
type Error struct {
	Provider string
	Model    string
	// Status is the HTTP status of the answer; 0 when none came, or not to its end.
	Status int
	// Message is what the server said, or what is wrong with its answer: one line.
	Message string
	// RetryAfter is how long the server asks to wait; 0 when it doesn't say.
	RetryAfter time.Duration
	// Err is the cause, when there is one beside the status.
	Err error

	tooLong bool // a text is longer than the model takes
	tooMany bool // there are too many texts in one request, or they are too long together
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Provider, e.Model)
	if e.Status != 0 && e.Status != http.StatusOK {
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

// Unwrap returns the cause: a network error, context.DeadlineExceeded for what took too long, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Unauthorized reports whether the server doesn't accept the key, wants money for it, or not for this model.
func (e *Error) Unauthorized() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusPaymentRequired || e.Status == http.StatusForbidden
}

// Temporary reports whether the same request may succeed later: too many requests, the server's own errors, the network, a timeout.
func (e *Error) Temporary() bool {
	return e.Status == 0 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// busy reports whether the server has no time for this key now; it may have for another.
func (e *Error) busy() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable || e.Status == 529
}

// Servers say in words alone that a text is too long, or a batch too large.
var (
	saysTooLong = regexp.MustCompile(`(?i)context (length|window|size)|(too|so) long|too many tokens|token limit|max(imum)? .{0,40}(token|length)|` +
		`(exceed|longer|larger|greater|more|less)\w* .{0,60}(token|character|length)|too large to process`)
	saysTooMany = regexp.MustCompile(`(?i)batch|too many (inputs|texts|items)|per request|array`)
)

// judge finds out whether a failure is one of length.
func (e *Error) judge() {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError: // the last is Ollama's and llama.cpp's
		e.tooLong = saysTooLong.MatchString(e.Message)
		e.tooMany = e.Status == http.StatusRequestEntityTooLarge || saysTooMany.MatchString(e.Message) && e.Status != http.StatusInternalServerError
	}
}
