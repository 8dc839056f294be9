package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// Waits between requests when the server names none: the first, doubled each time, and the longest.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
)

// An answer may have leastBody, and numberBytes for each number that was asked for.
const (
	leastBody   = 1 << 20
	numberBytes = 32
)

// newService is how the server is asked.
func newService(s shape, c Config) *wire.Service {
	return &wire.Service{Provider: c.Provider, Model: c.Model, Keys: c.Keys, KeyHeader: s.keyHeader, Client: wire.Client(c.HTTPClient),
		Patience: wire.Patience{Timeout: c.Timeout, Retries: c.Retries, First: firstWait, Longest: longestWait}}
}

// fail describes a failure in one line, without the keys.
func (c *Client) fail(status int, message string, err error) *Error {
	return judged(c.way.Fail(status, message, err))
}

// post gets the vectors of texts as the server gives them, from whichever key is taken, as often as may be. The error is an *Error.
func (c *Client) post(ctx context.Context, p purpose, texts []string) (vectors [][]float32, err error) {
	body, err := json.Marshal(c.shape.body(c.config, p, texts))
	if err != nil {
		return nil, c.fail(0, "", err)
	}
	most, of := leastBody+int64(len(texts))*int64(c.config.Dims)*numberBytes, fmt.Sprintf(", for %d vectors", len(texts))
	failure := c.way.Ask(ctx, func(ctx context.Context, key string) *wire.Failure {
		answer, failure := c.way.Post(ctx, c.address, key, body, most, of)
		if failure == nil {
			failure = c.way.Reported(http.StatusOK, answer)
		}
		if failure != nil {
			found := judged(failure)
			failure.Final = found.tooLong || found.tooMany // a server of one's own may call that its own error
			return failure
		}
		if vectors, err = read(answer, c.shape.rows, len(texts), c.config.Dims); err != nil {
			return c.way.Fail(http.StatusOK, err.Error(), nil)
		}
		return nil
	})
	if failure != nil {
		return nil, judged(failure)
	}
	return vectors, nil
}
