package compact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
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
func (cp *Compactor) Debts(ctx context.Context) (all []Debt, err error) {
	err = cp.file.Read(ctx, "debts", func(c *duck.Conn) error {
		all, err = duck.List(ctx, c, "debt_list", func(rows *sql.Rows, d *Debt) error {
			return rows.Scan(&d.ConversationID, &d.Reason, &d.Budget, &d.RequestedAt, &d.Attempts, duck.TimeOf(&d.NextAttemptAt), duck.TextOf(&d.LastError))
		})
		return err
	})
	return all, err
}

// putDebt notes that a conversation is to be compacted later; one that is noted already keeps its time and its attempts.
func (cp *Compactor) putDebt(ctx context.Context, conversationID string, budget int) error {
	return cp.file.Write(ctx, "defer compaction", func(tx *duck.Write) error {
		changed, err := tx.Exec(ctx, "debt_renew", sql.Named("conversation_id", conversationID), sql.Named("budget", int64(budget)))
		if err != nil || changed > 0 {
			return err
		}
		_, err = tx.Exec(ctx, "debt_insert", sql.Named("conversation_id", conversationID), sql.Named("reason", "over its threshold"),
			sql.Named("budget", int64(budget)), sql.Named("requested_at", cp.file.Now()))
		return err
	})
}

// CompactPending makes one sweep of each conversation whose compaction was put off and whose time has come, and gives what became of each. It is
// for a host's ticker, and for the moments when nobody waits for an answer. A debt is paid when the context is below its threshold, or nothing
// more can be done; a sweep that ends before that goes on at the next call. A conversation that fails waits 5 minutes, then twice as long each
// time, up to 30; its error is among those joined in the result. While the model is left alone, for a refused key or what it has cost, debts
// stay as they are.
func (cp *Compactor) CompactPending(ctx context.Context) (done []*Compacted, err error) {
	debts, err := cp.Debts(ctx)
	if err != nil {
		return nil, fmt.Errorf("compact pending: %w", err)
	}
	var errs []error
	for _, d := range debts {
		if cp.file.Now().Before(d.NextAttemptAt) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return done, errors.Join(append(errs, err)...)
		}
		result, err := cp.Compact(ctx, Request{Conversation: d.ConversationID, Budget: d.Budget, now: true})
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
			if conversation.Unauthorized(err) {
				err = nil // the breaker says when to go on
			} else {
				err = cp.failDebt(ctx, d, err)
			}
		case result.Changed && !result.Reached, result.Reason == conversation.ReasonOpen, result.Reason == conversation.ReasonSpent: // it goes on next time
		default:
			err = cp.file.Write(ctx, "compact pending", func(tx *duck.Write) error {
				return deleteDebt(ctx, tx, d.ConversationID)
			})
		}
		if err != nil {
			return done, errors.Join(append(errs, err)...)
		}
	}
	return done, errors.Join(errs...)
}

// deleteDebt forgets a debt that is paid, or that of a conversation which ended.
func deleteDebt(ctx context.Context, tx *duck.Write, conversationID string) error {
	_, err := tx.Exec(ctx, "debt_delete", sql.Named("conversation_id", conversationID))
	return err
}

// failDebt notes a failed attempt.
func (cp *Compactor) failDebt(ctx context.Context, d Debt, why error) error {
	wait := min(firstBackoff<<min(d.Attempts, 10), mostBackoff)
	return cp.file.Write(ctx, "compact pending", func(tx *duck.Write) error {
		_, err := tx.Exec(ctx, "debt_fail", sql.Named("conversation_id", d.ConversationID), sql.Named("next_attempt_at", cp.file.Now().Add(wait)),
			sql.Named("last_error", conversation.CleanText(why.Error())))
		return err
	})
}
