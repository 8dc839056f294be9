package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"
)

// Waits between requests when the server names none: the first, doubled each time, and the longest.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
)

// post gets the vectors of texts as the server gives them, from whichever key is taken, as often as may be. The error is an *Error.
func (c *Client) post(ctx context.Context, p purpose, texts []string) ([][]float32, error) {
	body, err := json.Marshal(c.shape.body(c.config, p, texts))
	if err != nil {
		return nil, c.way.fail(0, "", err)
	}
	keys := c.config.Keys
	if len(keys) == 0 {
		keys = []string{""}
	}
	refused := make([]bool, len(keys))
	for attempt := 0; ; attempt++ {
		vectors, failure := c.round(ctx, keys, refused, body, len(texts))
		if failure == nil {
			return vectors, nil
		}
		wait, again := c.wait(ctx, failure, attempt)
		if !again {
			return nil, failure
		}
		select {
		case <-ctx.Done():
			return nil, failure
		case <-time.After(wait):
		}
	}
}

// round asks with each key in its turn, until one is taken. Of failures that gives the busy key that may be asked again soonest, else the refused one.
func (c *Client) round(ctx context.Context, keys []string, refused []bool, body []byte, n int) ([][]float32, *Error) {
	first := int(c.turn.Add(1) - 1)
	var busy, unauthorized *Error
	for i := range keys {
		k := (first + i) % len(keys)
		if refused[k] {
			continue
		}
		vectors, failure := c.way.ask(ctx, keys[k], body, n)
		switch {
		case failure == nil:
			return vectors, nil
		case ctx.Err() != nil:
			return nil, failure
		case failure.Unauthorized():
			refused[k], unauthorized = true, failure
		case failure.busy():
			if busy == nil || failure.RetryAfter < busy.RetryAfter {
				busy = failure
			}
		default:
			return nil, failure
		}
	}
	return nil, cmp.Or(busy, unauthorized)
}

// wait is how long to wait before the next round, if there shall be one. A request that ran into the timeout isn't repeated: a model that is too slow
// would be too slow again. Nor is one whose next would come when ctx is over, or whose server asks for a longer wait than a request may take.
func (c *Client) wait(ctx context.Context, failure *Error, attempt int) (time.Duration, bool) {
	if ctx.Err() != nil || attempt >= c.config.Retries || !failure.Temporary() || failure.tooLong || failure.tooMany || errors.Is(failure.Err, context.DeadlineExceeded) {
		return 0, false
	}
	wait := failure.RetryAfter
	if wait == 0 {
		wait = min(firstWait<<min(attempt, 10), longestWait)
		wait -= rand.N(wait / 4)
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return 0, false
	}
	return wait, wait <= c.config.Timeout
}
