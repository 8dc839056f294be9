package chain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestClassOf: classes are told by the text, in their order.
func TestClassOf(t *testing.T) {
	for text, want := range map[string]chain.Class{
		"max_tokens is 9; allowed: 8, of a context window of 10":     chain.MaxTokens,
		"This model's maximum context length is 8192 tokens":         chain.ContextOverflow,
		"prompt is too long: 9 tokens > 8 maximum":                   chain.ContextOverflow,
		"400 Bad Request: context_length_exceeded":                   chain.ContextOverflow,
		"429 Too Many Requests":                                      chain.RateLimit,
		"429: insufficient_quota, see your plan and billing details": chain.RateLimit,
		"overloaded_error: Overloaded":                               chain.Overloaded,
		"529 site is at its end":                                     chain.Overloaded,
		"503 Service Unavailable":                                    chain.ServerError,
		"500 Internal Server Error":                                  chain.ServerError,
		"402 Payment Required":                                       chain.Billing,
		"your credit balance is too low":                             chain.Billing,
		"401 Unauthorized":                                           chain.Auth,
		"no answer within 1m0s: context deadline exceeded":           chain.Timeout,
		"i/o timeout":                            chain.Timeout,
		"400 Bad Request: messages.0 is missing": chain.Format,
		"unreadable answer":                      chain.Format,
		"the moon is full, at 5003 o'clock":      chain.Unknown,
	} {
		if got := chain.ClassOf(errors.New(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := chain.ClassOf(fmt.Errorf("no: %w", context.DeadlineExceeded)); got != chain.Timeout {
		t.Error(got)
	}
	if got := chain.ClassOf(enginetest.Refused{}); got != chain.Auth {
		t.Error(got)
	}
}

// TestCooldown: GoClaw's vectors.
func TestCooldown(t *testing.T) {
	var minutes, hours []float64
	for n := 0; n <= 5; n++ {
		minutes, hours = append(minutes, chain.Cooldown(chain.RateLimit, n).Minutes()), append(hours, chain.Cooldown(chain.Billing, n).Hours())
	}
	if diff := cmp.Diff([][]float64{{0, 1, 5, 25, 60, 60}, {0, 5, 10, 20, 24, 24}}, [][]float64{minutes, hours}); diff != "" {
		t.Error(diff)
	}
}

// asker has a conversation, a chain of models, and a way to ask it by making checkpoints.
type asker struct {
	t     *testing.T
	e     *engine.Engine
	clock *enginetest.Clock
	said  int
}

func newAsker(t *testing.T, cooldown string, models ...*enginetest.LLM) *asker {
	t.Helper()
	a := &asker{t: t, clock: &enginetest.Clock{At: enginetest.Noon}}
	o := engine.Options{LLM: models[0], Now: a.clock.Now, Rolling: setup.Rolling{Cooldown: cooldown}, Conversation: setup.Conversation{BreakerThreshold: 1000, SummaryMaxCalls: 1000}}
	for _, m := range models[1:] {
		o.Fallbacks = append(o.Fallbacks, m)
	}
	a.e = enginetest.Open(t, o)
	return a
}

// ask says who answered; empty: nobody.
func (a *asker) ask() (by string, err error) {
	a.t.Helper()
	a.said++
	enginetest.Append(a.t, a.e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: fmt.Sprint("message ", a.said, strings.Repeat(" word", 2000))}}})
	m, err := a.e.Checkpoint(a.t.Context(), checkpoint.Request{Conversation: "talk"})
	if err == nil {
		by = m.Checkpoint.By
	}
	return by, err
}

func named(name string, answers ...any) *enginetest.LLM {
	m := enginetest.Answers(answers...)
	m.Name = name
	return m
}

// TestLadder: a model that fails rests, and longer with each failure; classes that another model can't do better in end the chain.
func TestLadder(t *testing.T) {
	first, second := named("first", errors.New("429"), errors.New("429"), errors.New("402 billing"), "well"), named("second", "answer")
	a := newAsker(t, setup.CooldownLadder, first, second)
	for _, step := range []struct {
		after time.Duration
		by    string
		calls int // of the first in all
	}{{0, "second", 1}, {59 * time.Second, "second", 1}, {time.Second, "second", 2}, {5*time.Minute - time.Second, "second", 2}, {time.Second, "second", 3},
		{20*time.Hour - time.Second, "second", 3}, {time.Second, "first", 4}, {0, "first", 5}} {
		a.clock.Advance(step.after)
		if by, err := a.ask(); by != step.by || len(first.Calls()) != step.calls {
			t.Errorf("after %v: %q, %v, %d calls; want %q after %d", step.after, by, err, len(first.Calls()), step.by, step.calls)
		}
	}
	stopped := newAsker(t, setup.CooldownLadder, named("first", errors.New("what is this?")), second)
	before := len(second.Calls())
	if by, err := stopped.ask(); by != "" || !errors.Is(err, chain.ErrUnanswered) || len(second.Calls()) != before {
		t.Errorf("%q, %v: nobody else is asked after an error of no known class", by, err)
	}
	resting := newAsker(t, setup.CooldownLadder, named("only", errors.New("503")))
	resting.ask()
	if _, err := resting.ask(); !errors.Is(err, chain.ErrUnanswered) || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("%v", err)
	}
}

// TestCounterAsksTheLast: by the rule of the counter the last model is asked however often it failed, for nobody comes after it.
func TestCounterAsksTheLast(t *testing.T) {
	only := named("only", errors.New("503"))
	a := newAsker(t, "", only)
	for n := range 5 {
		if _, err := a.ask(); !errors.Is(err, chain.ErrUnanswered) || len(only.Calls()) != n+1 {
			t.Errorf("%v, %d calls", err, len(only.Calls()))
		}
	}
	if all, err := a.e.FailingModels(t.Context()); err != nil || len(all) != 1 || all[0].Failures != 5 || all[0].LastClass != chain.ServerError {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestTooLong: a question that is too long is asked again with three quarters of the material, twice.
func TestTooLong(t *testing.T) {
	too := errors.New("maximum context length")
	m := named("small", too, too, "short enough")
	a := newAsker(t, "", m)
	for range 40 {
		a.said++
		enginetest.Append(t, a.e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: strings.Repeat("word ", 400)}}})
	}
	if by, err := a.ask(); by != "small" || err != nil {
		t.Errorf("%q, %v", by, err)
	}
	var sizes []int
	for _, c := range m.Calls() {
		sizes = append(sizes, len(c.Prompt))
	}
	if len(sizes) != 3 || sizes[1] > sizes[0] || sizes[2] >= sizes[1] || sizes[2] < sizes[0]/2 {
		t.Errorf("prompts of %v bytes", sizes)
	}
	never := named("tiny", too)
	b := newAsker(t, "", never)
	if _, err := b.ask(); !errors.Is(err, too) || len(never.Calls()) != 3 {
		t.Errorf("%v after %d calls", err, len(never.Calls()))
	}
}

// TestGuarded: the calls that a conversation may spend are those of all models.
func TestGuarded(t *testing.T) {
	m := named("first", errors.New("503"))
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{LLM: m, Fallbacks: []setup.LLM{named("second", errors.New("503"))}, Now: clock.Now, Conversation: setup.Conversation{SummaryMaxCalls: 3}})
	enginetest.Say(t, e, "talk", 100, 100)
	for range 2 {
		if _, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); !errors.Is(err, chain.ErrUnanswered) {
			t.Error(err)
		}
	}
	if _, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); !errors.Is(err, chain.ErrUnanswered) || !strings.Contains(err.Error(), conversation.ReasonSpent) {
		t.Error(err)
	}
	if n := len(m.Calls()); n != 2 {
		t.Errorf("%d calls of the first", n)
	}
}
