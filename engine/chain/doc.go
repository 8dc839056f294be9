// Package chain asks language models for summaries and checkpoints, one after the other, and remembers which of them failed.
//
// It owns the table summarizer_state, which has a row for each model that failed when it was last asked: so it is known after the file is opened again.
//
// The first model is the one of Options.LLM, behind the guard that conversation keeps of it; Options.Fallbacks follow. A model that fails is left out for a while, by
// one of two rules (setup.Rolling.Cooldown). A question that is too long for a model is asked again with less of its material before anybody else is asked.
//
// What bites: by the rule of the counter the last model of the chain is always asked, for nobody comes after it; on the ladder all may rest at once.
package chain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
)

// Chain asks the models of an engine.
type Chain struct {
	file   *duck.File
	talk   *conversation.Store
	opts   setup.Options
	models []setup.LLM
}

// New gives the chain of an engine's models.
func New(file *duck.File, talk *conversation.Store, o setup.Options) *Chain {
	c := &Chain{file: file, talk: talk, opts: o}
	if o.LLM != nil {
		c.models = append(c.models, o.LLM)
	}
	c.models = append(c.models, o.Fallbacks...)
	return c
}

// Empty reports whether there is no model at all.
func (c *Chain) Empty() bool { return len(c.models) == 0 }

// Question is what a chain is asked.
type Question struct {
	ConversationID string // whose calls of models are counted
	System         string
	// Prompt makes the question with so many tokens of material, Limit at first.
	Prompt    func(limit int) string
	Limit     int
	MaxTokens int // of the answer
}

// Answer is what a model said. Fallback: it was not the first one. Calls are of all models, also where none answered.
type Answer struct {
	Text     string
	Model    string
	Fallback bool
	Calls    int
}

// Of a question that is too long it is tried so often again, with three quarters of the material each time, as long as that is leastLimit or more.
const (
	mostShrinks = 2
	leastLimit  = 500
)

var (
	errBlank   = errors.New("the answer is blank: malformed response")
	errSpent   = errors.New(conversation.ReasonSpent)
	errResting = errors.New("every model is left alone for now, for it failed before")
)

// ErrUnanswered wraps the error of a question that no model answered.
var ErrUnanswered = errors.New("no model answered")

// Ask gives the first answer that one of the models has. It is called without any lock. Errors: ErrUnanswered with those of all models, or the context's.
func (c *Chain) Ask(ctx context.Context, q Question) (a Answer, err error) {
	states, err := c.states(ctx)
	if err != nil {
		return a, err
	}
	var errs []error
	for i, m := range c.models {
		if c.rests(states[m.Model()], i == len(c.models)-1) || i == 0 && c.opts.LLM != nil && c.talk.Guard.Closed("", false) == conversation.ReasonOpen {
			continue
		}
		text, class, err := c.ask(ctx, m, i == 0 && c.opts.LLM != nil, q, &a.Calls)
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		if errors.Is(err, errSpent) {
			errs = append(errs, err)
			break
		}
		if noting := c.note(ctx, states[m.Model()], m.Model(), class, err != nil); noting != nil {
			return a, noting
		}
		if err == nil {
			a.Text, a.Model, a.Fallback = text, m.Model(), i > 0
			return a, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", m.Model(), err))
		if c.opts.Rolling.Cooldown == setup.CooldownLadder && !class.FailsOver() {
			break
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errResting)
	}
	return a, fmt.Errorf("%w: %w", ErrUnanswered, errors.Join(errs...))
}

// ask asks one model, which may be the one that the guard watches, with less material where that is too much for it.
func (c *Chain) ask(ctx context.Context, m setup.LLM, guarded bool, q Question, calls *int) (text string, class Class, err error) {
	limit := q.Limit
	for shrinks := 0; ; shrinks++ {
		if !c.talk.Guard.Spend(q.ConversationID) {
			return "", "", errSpent
		}
		*calls++
		text, err = c.complete(ctx, m, q.System, q.Prompt(limit), q.MaxTokens)
		if guarded {
			c.talk.Guard.Answered(err)
		}
		if err == nil {
			return text, "", nil
		}
		class = ClassOf(err)
		limit = limit * 3 / 4
		if class != ContextOverflow || shrinks == mostShrinks || limit < leastLimit || ctx.Err() != nil {
			return "", class, err
		}
	}
}

func (c *Chain) complete(ctx context.Context, m setup.LLM, system, prompt string, maxTokens int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.opts.Conversation.SummaryTimeout))
	defer cancel()
	answer, err := m.Complete(ctx, system, prompt, maxTokens)
	if err != nil {
		return "", err
	}
	if answer = strings.TrimSpace(conversation.CleanText(answer)); answer == "" {
		return "", errBlank
	}
	return answer, nil
}

// State is what is remembered of a model that failed.
type State struct {
	Name        string    `json:"name"`
	Failures    int       `json:"failures"` // in a row
	LastAttempt time.Time `json:"last_attempt_at"`
	LastClass   Class     `json:"last_class"`
	RestsUntil  time.Time `json:"rests_until,omitzero"`
}

func (c *Chain) states(ctx context.Context) (map[string]State, error) {
	all := map[string]State{}
	err := c.file.Read(ctx, "models that failed", func(conn *duck.Conn) error {
		return conn.Each(ctx, "chain_states", func(rows *sql.Rows) error {
			var s State
			err := rows.Scan(&s.Name, &s.Failures, &s.LastAttempt, &s.LastClass, duck.TimeOf(&s.RestsUntil))
			all[s.Name] = s
			return err
		})
	})
	return all, err
}

// rests reports whether a model is left out.
func (c *Chain) rests(s State, last bool) bool {
	now, o := c.file.Now(), c.opts.Rolling
	if o.Cooldown == setup.CooldownLadder {
		return now.Before(s.RestsUntil)
	}
	return !last && s.Failures >= o.FailureThreshold && now.Sub(s.LastAttempt) <= time.Duration(o.FailureReset)
}

// note writes down that a model failed, or forgets that it did. A model that was not asked is not noted: the time of its last attempt stays.
func (c *Chain) note(ctx context.Context, s State, name string, class Class, failed bool) error {
	if !failed && s.Failures == 0 || c.opts.ReadOnly {
		return nil
	}
	now := c.file.Now()
	if now.Sub(s.LastAttempt) > time.Duration(c.opts.Rolling.FailureReset) && c.opts.Rolling.Cooldown == setup.CooldownCounter {
		s.Failures = 0
	}
	s = State{Name: name, Failures: s.Failures + 1, LastAttempt: now, LastClass: class, RestsUntil: now.Add(Cooldown(class, s.Failures+1))}
	return c.file.Write(ctx, "note how a model answered", func(tx *duck.Write) error {
		if _, err := tx.Exec(ctx, "chain_forget", sql.Named("name", name)); err != nil || !failed {
			return err
		}
		_, err := tx.Exec(ctx, "chain_note", sql.Named("name", s.Name), sql.Named("failures", int64(s.Failures)), sql.Named("last_attempt_at", s.LastAttempt),
			sql.Named("last_class", string(s.LastClass)), sql.Named("rests_until", s.RestsUntil))
		return err
	})
}

// Failing lists the models that failed when they were last asked, by name.
func (c *Chain) Failing(ctx context.Context) ([]State, error) {
	states, err := c.states(ctx)
	if err != nil {
		return nil, fmt.Errorf("failing models: %w", err)
	}
	all := []State{}
	for _, s := range states {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
