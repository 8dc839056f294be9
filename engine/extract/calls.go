package extract

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// mostAttempts is how often a question is put: a model that fails, or gives what can't be read, is asked once more.
const mostAttempts = 2

var (
	errOpen  = errors.New(conversation.ReasonOpen)
	errSpent = errors.New(conversation.ReasonSpent)
)

// call is a row of model_calls.
type call struct {
	label, conversationID string
	attempt               int
	prompt, answer        int // tokens
	told                  bool
	outcome               string
	started               time.Time
	seconds               float64
}

// ask puts a question to the model, each time within the timeout, until take can use the answer. Every call is a row in the file before its answer is used; from
// those rows follows whether there may be another one, also after the file was closed. No lock is held while the model thinks.
func (x *run) ask(ctx context.Context, conversationID, label, prompt string, take func(answer string) error) (err error) {
	for attempt := 1; attempt <= mostAttempts; attempt++ {
		if err := x.mayAsk(ctx); err != nil {
			return err
		}
		made := call{label: label, conversationID: conversationID, attempt: attempt, started: x.file.Now()}
		var answer string
		answer, err = x.complete(ctx, prompt, &made)
		if err == nil {
			if err = take(answer); err != nil {
				made.outcome = "unusable"
			}
		}
		x.report.Calls++
		if noted := x.noteCall(context.WithoutCancel(ctx), made); noted != nil {
			return noted
		}
		if err == nil || ctx.Err() != nil || made.outcome == "refused" {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s with %s: %w", label, x.opts.LLM.Model(), err)
	}
	return nil
}

// complete is one call.
func (x *run) complete(ctx context.Context, prompt string, made *call) (answer string, err error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(x.opts.Extraction.Timeout))
	defer cancel()
	begun := time.Now()
	if counting, ok := x.opts.LLM.(setup.Counting); ok {
		answer, made.prompt, made.answer, err = counting.CompleteCounted(limited, prompts.ExtractSystem(), prompt, answerTokens)
	} else {
		answer, err = x.opts.LLM.Complete(limited, prompts.ExtractSystem(), prompt, answerTokens)
	}
	made.seconds = time.Since(begun).Seconds()
	if made.told = made.prompt > 0; !made.told {
		var estimator text.Estimator
		made.prompt, made.answer = estimator.Tokens(prompts.ExtractSystem())+estimator.Tokens(prompt), estimator.Tokens(answer)
	}
	x.conversations.Guard.Answered(err)
	switch {
	case err == nil:
		made.outcome = "answered"
	case conversation.Unauthorized(err):
		made.outcome = "refused"
	case limited.Err() != nil:
		made.outcome, err = "late", cmp.Or(ctx.Err(), fmt.Errorf("no answer within %v", time.Duration(x.opts.Extraction.Timeout)))
	default:
		made.outcome = "failed"
	}
	return answer, err
}

// mayAsk says why the model is not to be asked: too many calls, or too many that refused the key.
func (x *run) mayAsk(ctx context.Context) error {
	if x.conversations.Guard.Closed("", false) == conversation.ReasonOpen {
		return errOpen
	}
	now, o := x.file.Now(), x.opts.Conversation
	var calls, refused int
	err := x.file.Read(ctx, "extract", func(c *duck.Conn) error {
		_, err := c.One(ctx, "extract_calls", []any{&calls, &refused}, sql.Named("since", now.Add(-time.Duration(x.opts.Extraction.CallWindow))),
			sql.Named("cooled", now.Add(-time.Duration(o.BreakerCooldown))), sql.Named("last", int64(o.BreakerThreshold)))
		return err
	})
	switch {
	case err != nil:
		return err
	case refused >= o.BreakerThreshold:
		return errOpen
	case calls >= x.opts.Extraction.MaxCalls:
		return errSpent
	}
	return nil
}

// noteCall writes a call down.
func (x *run) noteCall(ctx context.Context, made call) error {
	var cost driver.Value
	if o := x.opts.Extraction; o.PromptPrice > 0 || o.AnswerPrice > 0 {
		cost = (float64(made.prompt)*o.PromptPrice + float64(made.answer)*o.AnswerPrice) / 1e6
	}
	return x.file.Write(ctx, "extract", func(tx *duck.Write) error {
		id, err := x.file.NewID(ids.Call, made.started)
		if err != nil {
			return err
		}
		x.called = id
		return tx.AppendRows("model_calls", [][]driver.Value{{id, made.label, x.opts.LLM.Model(), duck.NullText(made.conversationID), int32(made.attempt),
			int32(made.prompt), int32(made.answer), made.told, cost, made.outcome, made.started, made.seconds}})
	})
}
