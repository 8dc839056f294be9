// Package llm asks chat models for text: any server that speaks OpenAI's chat completions, and Anthropic's messages.
//
// A Client sends one system text and one prompt and gives back the answer's text, nothing else: no streaming, no tools, no history.
// What a model thinks aloud is not its answer. The package reads no environment variable and writes no log.
package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// Waits between requests when the server names none: the first, doubled each time, and the longest.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 8 * time.Second
)

// reasoningRoom is what a reasoning model may spend on thinking, in tokens, beside its answer.
const reasoningRoom = 2048

// Client asks one model of one server. It may be used by several goroutines.
type Client struct {
	model string
	room  int
	way   *wire.Service

	// send makes one request. The key lives here and behind way alone, so that no way of printing a Client shows it.
	send func(ctx context.Context, system, prompt string, maxTokens int) (string, used, error)
}

// used is how many tokens a server says that a request took; zero: it does not say.
type used struct{ prompt, answer int }

// newClient fills in what both providers share; config is valid and has its defaults.
func newClient(provider string, config Config) *Client {
	c := &Client{model: config.Model, way: &wire.Service{Provider: provider, Model: config.Model, Client: config.HTTPClient,
		Patience: wire.Patience{Timeout: config.Timeout, Retries: config.Retries, First: firstWait, Longest: longestWait, Stays: true}}}
	if config.Key != "" {
		c.way.Keys = []string{config.Key}
	}
	if config.Reasoning {
		c.room = reasoningRoom
	}
	return c
}

// Model is the name of the model that answers.
func (c *Client) Model() string { return c.model }

// Complete returns the model's answer to prompt, in valid UTF-8 and without white space around it. An empty system text is left out.
//
// The answer has at most maxTokens tokens, at least 1; one that was cut off there is returned as it is. A model that gave no text,
// only thought, or refused, gives "".
//
// A request that failed for a passing reason is repeated. The error is ctx.Err() when ctx ended, else an *Error.
func (c *Client) Complete(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
	text, _, _, err := c.CompleteCounted(ctx, system, prompt, maxTokens)
	return text, err
}

// CompleteCounted is Complete, and tells the tokens of the question and of the answer as the server counted them; zeros: it did not.
func (c *Client) CompleteCounted(ctx context.Context, system, prompt string, maxTokens int) (answered string, promptTokens, answerTokens int, err error) {
	if maxTokens < 1 {
		return "", 0, 0, fmt.Errorf("llm: maxTokens is %d; allowed: at least 1", maxTokens)
	}
	system, prompt = strings.ToValidUTF8(system, "\uFFFD"), strings.ToValidUTF8(prompt, "\uFFFD")
	var text string
	var spent used
	failure := c.way.Ask(ctx, func(ctx context.Context, _ string) *wire.Failure {
		if text, spent, err = c.send(ctx, system, prompt, maxTokens+c.room); err == nil {
			return nil
		}
		if failed, ok := errors.AsType[*Error](err); ok {
			return &failed.Failure
		}
		// The transport has turned everything else into an Error: what is left are answers that the SDK can't read.
		return c.way.Fail(http.StatusOK, "unreadable answer", err)
	})
	switch {
	case failure == nil:
		return answer(text), spent.prompt, spent.answer, nil
	case ctx.Err() != nil:
		return "", 0, 0, ctx.Err()
	}
	return "", 0, 0, &Error{*failure}
}
