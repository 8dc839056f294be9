package remote

import (
	"net/http"
	"regexp"

	"github.com/mallardmem/mallard/wire"
)

// Error is a request that gave no vectors. It holds no key, and nothing of the texts but what the server repeated in its message.
type Error struct {
	wire.Failure

	tooLong bool // a text is longer than the model takes
	tooMany bool // there are too many texts in one request, or they are too long together
}

// Unauthorized reports whether the server doesn't accept the key, wants money for it, or not for this model.
func (e *Error) Unauthorized() bool {
	return e.Failure.Unauthorized() || e.Status == http.StatusPaymentRequired
}

// Servers say in words alone that a text is too long, or a batch too large.
var (
	saysTooLong = regexp.MustCompile(`(?i)context (length|window|size)|(too|so) long|too many tokens|token limit|max(imum)? .{0,40}(token|length)|` +
		`(exceed|longer|larger|greater|more|less)\w* .{0,60}(token|character|length)|too large to process`)
	saysTooMany = regexp.MustCompile(`(?i)batch|too many (inputs|texts|items)|per request|array`)
)

// judged finds out whether a failure is one of length.
func judged(f *wire.Failure) *Error {
	e := &Error{Failure: *f}
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError: // the last is Ollama's and llama.cpp's
		e.tooLong = saysTooLong.MatchString(e.Message)
		e.tooMany = e.Status == http.StatusRequestEntityTooLarge || saysTooMany.MatchString(e.Message) && e.Status != http.StatusInternalServerError
	}
	return e
}
