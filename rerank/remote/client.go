// Package remote reranks texts by asking a server: Jina, Cohere, Voyage, SiliconFlow, Pinecone, DashScope, and text-embeddings-inference wherever it runs.
//
// The package reads no environment variable and writes no log.
package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// least is the time below which nobody is asked: no server answers in it.
const least = 100 * time.Millisecond

// Waits between requests when the server names none: the first, doubled each time, and the longest.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 2 * time.Second
)

// maxBody is what an answer may have.
const maxBody = 4 << 20

// Client asks one model of one server. It may be used by several goroutines.
type Client struct {
	config Config // without its keys
	shape  shape
	way    *wire.Service // which has them
}

// New returns a client. The error names every bad field.
func New(config Config) (*Client, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	c := &Client{config: config, shape: shapes[config.Provider]}
	c.way = &wire.Service{Provider: config.Provider, Model: config.Model, Keys: config.Keys, KeyHeader: c.shape.header, Headers: c.shape.headers, Client: config.HTTPClient,
		Patience: wire.Patience{Retries: config.Retries, First: firstWait, Longest: longestWait, Least: least}}
	if config.Key != "" {
		c.way.Keys = append([]string{config.Key}, config.Keys...)
	}
	c.config.Key, c.config.Keys = "", nil
	return c, nil
}

// Model is the name of the model that scores; for tei without a name "tei".
func (c *Client) Model() string { return c.config.Model }

// Rerank gives one score per text, from 0 to 1, in their order; NaN to blank texts, which no server takes, to those beyond MaxPairs, and to those that the
// answer leaves out. A query without a word asks nobody. The error is ctx.Err() when ctx was cancelled, else an *Error.
func (c *Client) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	var places []int
	var sent []string
	query = c.clean(query)
	for i, text := range texts {
		scores[i] = math.NaN()
		if len(sent) == c.config.MaxPairs || query == "" {
			continue
		}
		if text = c.clean(text); text != "" {
			places, sent = append(places, i), append(sent, text)
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	for len(sent) > 0 {
		n := min(len(sent), c.shape.most)
		given, err := c.ask(limited, query, sent[:n])
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		for i, score := range given {
			scores[places[i]] = score
		}
		places, sent = places[n:], sent[n:]
	}
	return scores, nil
}

// clean is a text as it is sent: valid, of bounded length, without white space around it.
func (c *Client) clean(text string) string {
	most := 4 * c.config.MaxCharacters // bytes that so many code points may take
	text = strings.TrimSpace(text)
	text = strings.ToValidUTF8(text[:min(len(text), most)], "\uFFFD")
	at := 0
	for i := range text {
		if at++; at > c.config.MaxCharacters {
			return strings.TrimSpace(text[:i])
		}
	}
	return strings.TrimSpace(text)
}

// ask scores as many texts as one request takes, by the key that is taken, as often as that may help. The error is an *Error.
func (c *Client) ask(ctx context.Context, query string, texts []string) ([]float64, error) {
	body, err := c.shape.body(c.config.Model, query, texts)
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	scores := make([]float64, len(texts))
	failure := c.way.Ask(ctx, func(ctx context.Context, key string) *wire.Failure {
		answer, failure := c.way.Post(ctx, c.config.URL, key, body, maxBody, "")
		if failure != nil {
			return failure
		}
		for i := range scores {
			scores[i] = math.NaN()
		}
		if err := read(answer, scores); err != nil {
			return c.way.Fail(http.StatusOK, answerMessage(answer, err), nil)
		}
		return nil
	})
	if failure != nil {
		return nil, c.failed(ctx, failure)
	}
	return scores, nil
}
