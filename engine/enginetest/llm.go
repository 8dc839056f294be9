package enginetest

import (
	"context"
	"strings"
	"sync"
)

// LLM is a language model whose answers a test writes.
type LLM struct {
	Name   string                                                                          // default "scripted"
	Answer func(ctx context.Context, system, prompt string, maxTokens int) (string, error) // required

	mu    sync.Mutex
	calls []Call
}

// Call is one question that an LLM was asked.
type Call struct {
	System, Prompt string
	MaxTokens      int
}

// Model is the LLM's name.
func (l *LLM) Model() string {
	if l.Name == "" {
		return "scripted"
	}
	return l.Name
}

// Complete notes the question and gives the test's answer.
func (l *LLM) Complete(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
	l.mu.Lock()
	l.calls = append(l.calls, Call{system, prompt, maxTokens})
	l.mu.Unlock()
	return l.Answer(ctx, system, prompt, maxTokens)
}

// Calls lists what the LLM was asked so far.
func (l *LLM) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Call{}, l.calls...)
}

// Tokens is a text of exactly n tokens, as chars4 counts.
func Tokens(n int) string { return strings.Repeat("word ", n)[:4*n] }

// Refused is the error of a model that does not accept the key.
type Refused struct{}

func (Refused) Error() string { return "401 key refused" }

// Unauthorized is true.
func (Refused) Unauthorized() bool { return true }
