// Package llm asks chat models for text: any server that speaks OpenAI's chat completions, and Anthropic's messages.
//
// A Client sends one system text and one prompt and gives back the answer's text, nothing else: no streaming, no tools, no history.
// What a model thinks aloud is not its answer. The package reads no environment variable and writes no log.
package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
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
	provider, model string
	timeout         time.Duration
	retries         int
	room            int

	// send makes one request. The key lives in this closure alone, so that no way of printing a Client shows it.
	send func(ctx context.Context, system, prompt string, maxTokens int) (string, used, error)
}

// used is how many tokens a server says that a request took; zero: it does not say.
type used struct{ prompt, answer int }

// newClient fills in what both providers share; config is valid and has its defaults.
func newClient(provider string, config Config) *Client {
	c := &Client{provider: provider, model: config.Model, timeout: config.Timeout, retries: config.Retries}
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
	for attempt := 0; ; attempt++ {
		text, spent, err := c.request(ctx, system, prompt, maxTokens+c.room)
		if err == nil {
			return answer(text), spent.prompt, spent.answer, nil
		}
		if ctx.Err() != nil {
			return "", 0, 0, ctx.Err()
		}
		wait, again := c.wait(err, attempt)
		if !again {
			return "", 0, 0, err
		}
		select {
		case <-ctx.Done():
			return "", 0, 0, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// request makes one request within the timeout. Its error is an *Error, or anything once ctx has ended.
func (c *Client) request(ctx context.Context, system, prompt string, maxTokens int) (string, used, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	text, spent, err := c.send(limited, system, prompt, maxTokens)
	if err == nil {
		return text, spent, nil
	}
	if limited.Err() != nil {
		return "", used{}, &Error{Provider: c.provider, Model: c.model, Message: fmt.Sprintf("no answer within %v", c.timeout), Err: limited.Err()}
	}
	if failure, ok := errors.AsType[*Error](err); ok {
		return "", used{}, failure
	}
	// The transport has turned everything else into an Error: what is left are answers that the SDK can't read.
	return "", used{}, &Error{Provider: c.provider, Model: c.model, Status: 200, Message: "unreadable answer", Err: err}
}

// wait is how long to wait before the next request, if there shall be one. A request that ran into the timeout isn't repeated: a
// model that is too slow would be too slow again. Nor is one whose server asks for a longer wait than a request may take.
func (c *Client) wait(err error, attempt int) (time.Duration, bool) {
	failure, ok := errors.AsType[*Error](err)
	if !ok || attempt >= c.retries || !failure.Temporary() || errors.Is(failure.Err, context.DeadlineExceeded) {
		return 0, false
	}
	if failure.RetryAfter > 0 {
		return failure.RetryAfter, failure.RetryAfter <= c.timeout
	}
	wait := min(firstWait<<min(attempt, 10), longestWait)
	return wait - rand.N(wait/4), true
}
