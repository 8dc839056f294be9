package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Debt is a conversation whose compaction was put off.
type Debt struct {
	ConversationID string    `json:"conversation_id"`
	Reason         string    `json:"reason"`
	Budget         int       `json:"budget"`
	RequestedAt    time.Time `json:"requested_at"`
	Attempts       int       `json:"attempts"` // that failed
	NextAttemptAt  time.Time `json:"next_attempt_at,omitzero"`
	LastError      string    `json:"last_error,omitempty"`
}

// How long a debt waits after a failure: twice as long each time, up to the most.
const (
	firstBackoff = 5 * time.Minute
	mostBackoff  = 30 * time.Minute
)

// Debts lists the conversations whose compaction was put off, oldest first.
func (e *Engine) Debts(ctx context.Context) (all []Debt, err error) {
	err = e.read(ctx, "debts", func(c *connection) error {
		return c.each(ctx, "debt_list", func(rows *sql.Rows) error {
			var d Debt
			defer func() { all = append(all, d) }()
			return rows.Scan(&d.ConversationID, &d.Reason, &d.Budget, &d.RequestedAt, &d.Attempts, timeOf(&d.NextAttemptAt), textOf(&d.LastError))
		})
	})
	return all, err
}

// putDebt notes that a conversation is to be compacted later; one that is noted already keeps its time and its attempts.
func (e *Engine) putDebt(ctx context.Context, conversationID string, budget int) error {
	return e.write(ctx, "defer compaction", func(c *connection) error {
		changed, err := c.exec(ctx, "debt_renew", sql.Named("conversation_id", conversationID), sql.Named("budget", int64(budget)))
		if err != nil || changed > 0 {
			return err
		}
		_, err = c.exec(ctx, "debt_insert", sql.Named("conversation_id", conversationID), sql.Named("reason", "over its threshold"),
			sql.Named("budget", int64(budget)), sql.Named("requested_at", e.now()))
		return err
	})
}

// CompactPending makes one sweep of each conversation whose compaction was put off and whose time has come, and gives what became of each. It is
// for a host's ticker, and for the moments when nobody waits for an answer. A debt is paid when the context is below its threshold, or nothing
// more can be done; a sweep that ends before that goes on at the next call. A conversation that fails waits 5 minutes, then twice as long each
// time, up to 30; its error is among those joined in the result. While the model is left alone, for a refused key or what it has cost, debts
// stay as they are.
func (e *Engine) CompactPending(ctx context.Context) (done []*Compacted, err error) {
	debts, err := e.Debts(ctx)
	if err != nil {
		return nil, fmt.Errorf("compact pending: %w", err)
	}
	var errs []error
	for _, d := range debts {
		if e.now().Before(d.NextAttemptAt) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return done, errors.Join(append(errs, err)...)
		}
		result, err := e.Compact(ctx, CompactRequest{Conversation: d.ConversationID, Budget: d.Budget, now: true})
		if result != nil {
			done = append(done, result)
		}
		if err == nil && result.Reason == reasonTime && !result.Changed {
			err = errOutOfTime
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return done, errors.Join(append(errs, err)...)
		case err != nil:
			errs = append(errs, fmt.Errorf("conversation %s: %w", d.ConversationID, err))
			if unauthorized(err) {
				err = nil // the breaker says when to go on
			} else {
				err = e.failDebt(ctx, d, err)
			}
		case result.Changed && !result.Reached, result.Reason == reasonOpen, result.Reason == reasonSpent: // it goes on next time
		default:
			err = e.write(ctx, "compact pending", func(c *connection) error {
				_, err := c.exec(ctx, "debt_delete", sql.Named("conversation_id", d.ConversationID))
				return err
			})
		}
		if err != nil {
			return done, errors.Join(append(errs, err)...)
		}
	}
	return done, errors.Join(errs...)
}

// failDebt notes a failed attempt.
func (e *Engine) failDebt(ctx context.Context, d Debt, why error) error {
	wait := min(firstBackoff<<min(d.Attempts, 10), mostBackoff)
	return e.write(ctx, "compact pending", func(c *connection) error {
		_, err := c.exec(ctx, "debt_fail", sql.Named("conversation_id", d.ConversationID), sql.Named("next_attempt_at", e.now().Add(wait)),
			sql.Named("last_error", cleanText(why.Error())))
		return err
	})
}
