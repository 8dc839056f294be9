package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/wire"
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
	wire.Failure
	// Why is one of the reasons.
	Why string
}

func (e *Error) Error() string { return "rerank: " + e.Failure.Error() }

// Reason is why there are no scores, as traces tell it.
func (e *Error) Reason() string { return e.Why }

// failed is what became of a call, whose time may be over.
func (c *Client) failed(ctx context.Context, f *wire.Failure) *Error {
	e := &Error{*f, ReasonHTTPError}
	switch {
	case e.Status >= 200 && e.Status <= 299:
		e.Why = ReasonInvalidResponse
	case e.Status == 0 && ctx.Err() != nil:
		e.Why, e.Message, e.Err = ReasonTimeout, fmt.Sprintf("no answer within %v", c.config.Timeout), ctx.Err()
	case e.Status == 0 && errors.Is(e.Err, context.DeadlineExceeded):
		e.Why = ReasonTimeout
	case e.Status == 0:
		e.Why = ReasonRequestError
	}
	return e
}
