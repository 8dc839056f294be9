package compact

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/window"
)

// conflictOf compares items as they were with what stands there now. Errors: ErrConflict.
func conflictOf(was, now []window.Item) error {
	same := slices.EqualFunc(was, now, func(a, b window.Item) bool { return a.Position == b.Position && a.Ref == b.Ref && a.Tokens == b.Tokens })
	if !same {
		return fmt.Errorf("%w: the context is not as it was read", fault.ErrConflict)
	}
	return nil
}

// write puts the leaf in the place of what it stands for, and notes what it owes. Errors: ErrConflict when the context, or an older summary, is not as it was read.
func (k *rolling) write(ctx context.Context, t *told, started time.Time) error {
	cp, in := k.compactor, t.in
	for _, m := range in.of(in.ranges[len(in.ranges)-1]) {
		in.summaries.refer(m.Text, m.ToolText())
	}
	now := cp.file.Now()
	s := &Summary{Kind: LeafKind, Text: t.text, Model: t.model, Level: t.level, Fallback: len(t.left) > 0, Attempts: 1, FileIDs: in.summaries.fileIDs, CreatedAt: now, UpdatedAt: now}
	d := cp.DescribeSummary(ctx, s)
	row := &compactionRow{summary: s, policy: Rolling, source: t.source, checkpointID: t.checkpointID, calls: t.calls, items: len(in.items), startedAt: started, firstKept: in.end()}
	row.lastError = failureOf(t.failure)
	if n := len(t.left); n > 0 {
		if row.retryFrom = t.left[n-1].from; n == 1 {
			row.carried = t.carried
		}
	}
	err := cp.file.Write(ctx, "write summary", func(tx *duck.Write) (err error) {
		if err := standing(ctx, tx.Conn, k.v.ID, in.items); err != nil {
			return err
		}
		if err := in.summaries.unchanged(ctx, tx.Conn); err != nil {
			return err
		}
		if row.from, err = rangeFrom(ctx, tx.Conn, k.v.ID, in.end()); err != nil {
			return err
		}
		if _, row.before, err = conversation.ContextSize(ctx, tx.Conn, k.v.ID); err != nil {
			return err
		}
		changed, err := cp.replace(ctx, tx, k.v, s, d, in.end())
		if err == nil && !changed {
			err = fmt.Errorf("%w: nothing stands before message %d", fault.ErrConflict, in.end())
		}
		if err != nil {
			return err
		}
		if _, row.after, err = conversation.ContextSize(ctx, tx.Conn, k.v.ID); err != nil {
			return err
		}
		if err := cp.record(ctx, tx, k.v.ID, row); err != nil {
			return err
		}
		return settle(ctx, tx, s.ID, t.told, t.left, t.source, t.carried, row.lastError)
	})
	if err != nil {
		return err
	}
	k.v.Compactions++
	k.result.Passes = append(k.result.Passes, Pass{SummaryID: s.ID, Kind: s.Kind, Level: s.Level, Fallback: s.Fallback, Items: row.items, TokensBefore: row.before, TokensAfter: row.after,
		Source: row.source, CheckpointID: row.checkpointID, FirstKept: row.firstKept})
	k.result.VectorErr = cmp.Or(k.result.VectorErr, s.VectorErr)
	cp.opts.Progress("summaries", len(k.result.Passes), 0)
	return nil
}

func failureOf(err error) string {
	if err == nil {
		return ""
	}
	return conversation.CleanText(err.Error())
}

// retryRanges has a rolling summary tell of what it owes, the oldest range first, as far as models answer; known is false where it owes nothing. What it
// stands for stays as it is. Errors: ErrConflict, and those of the models, when nothing could be told.
func (cp *Compactor) retryRanges(ctx context.Context, r RewriteRequest) (s *Summary, known bool, err error) {
	in := &owing{wanted: map[string]bool{}}
	err = cp.file.Read(ctx, "read summary", func(c *duck.Conn) error {
		if in.v, s, err = cp.findSummary(ctx, c, r.ID, r.Agent); err != nil {
			return err
		}
		if in.ranges, err = pendingOf(ctx, c, []string{s.ID}); err != nil || len(in.ranges) == 0 {
			return err
		}
		in.base = in.ranges[0].carried
		for _, source := range s.Sources {
			in.wanted[source.ID] = source.Kind == kinds.Message
		}
		in.said, err = conversation.Said(ctx, c, in.v.ID, in.ranges[0].from, in.end()-1)
		return err
	})
	if err != nil || len(in.ranges) == 0 {
		return s, false, err
	}
	t, err := cp.fold(ctx, in, r.Instructions)
	if err != nil {
		return nil, true, err
	}
	estimator, err := in.v.Tokenizer()
	if err != nil {
		return nil, true, err
	}
	written := s.Attempts
	if t.calls > 0 || cp.chain.Empty() { // else nothing was said in those ranges, and the text stays
		if s.Text = t.text; len(t.left) > 0 {
			s.Text = in.stub(t.carried, t.left, cp, failureNote)
		}
		if most := s.SourceTokens - 1; estimator.Tokens(s.Text) > most {
			s.Text = window.Cut(s.Text, most, estimator.Tokens)
		}
		if len(t.told) > 0 && len(t.left) == 0 {
			s.Level, s.Model = t.level, t.model
		}
	}
	s.Tokens, s.Fallback, s.Attempts, s.UpdatedAt = estimator.Tokens(s.Text), len(t.left) > 0, written+1, cp.file.Now()
	d := cp.DescribeSummary(ctx, s)
	err = cp.file.Write(ctx, "write summary", func(tx *duck.Write) error {
		now, docNo, err := SummaryByID(ctx, tx.Conn, s.ID)
		if err != nil {
			return err
		}
		if now == nil || now.Attempts != written {
			return fmt.Errorf("%w: summary %s", fault.ErrConflict, s.ID)
		}
		if err := cp.updateSummary(ctx, tx, in.v, s, d, docNo); err != nil {
			return err
		}
		return settle(ctx, tx, s.ID, t.told, t.left, t.source, t.carried, failureOf(t.failure))
	})
	if err == nil && len(t.told) == 0 {
		err = t.failure
	}
	return s, true, err
}

// RetryPending has summaries tell of what they owe, in every conversation: of the policy Rolling range by range, the oldest first, and else those made without the
// model that was asked, as RetryFallbacks does. It is for a host's ticker, gives which summaries owe nothing any more by it, and is no error where there is no model;
// what fails stays marked, and is told of in the error.
func (cp *Compactor) RetryPending(ctx context.Context) (*Retried, error) {
	r, err := cp.RetryFallbacks(ctx, RetryRequest{})
	if errors.Is(err, fault.ErrNoLLM) {
		return r, nil
	}
	if errors.Is(err, chain.ErrUnanswered) && ctx.Err() == nil {
		err = fmt.Errorf("retry pending: %d left: %w", r.Left, err)
	}
	return r, err
}

// settleSummary has a summary owe nothing any more: it is gone, or says something else.
func settleSummary(ctx context.Context, tx *duck.Write, id string) error {
	_, err := tx.Exec(ctx, "compactions_settle", sql.Named("summary_id", id))
	return err
}
