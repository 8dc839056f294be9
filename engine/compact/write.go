package compact

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/window"
)

// together is how many summaries are written in one transaction at most where no model is waited for: a transaction takes as long as a leaf takes to make.
const together = 16

// madePass is a pass whose summary is made and not written yet.
type madePass struct {
	Pass
	items    []window.Item // that it stands for
	in       *summaryInput
	summary  *Summary
	document <-chan *index.Document
	calls    int
	started  time.Time
}

// isBehind reports whether items stand behind all that is made and not written yet.
func (k *compaction) isBehind(items []window.Item) bool {
	if len(k.made) == 0 {
		return true
	}
	last := k.made[len(k.made)-1].items
	return items[0].Position > last[len(last)-1].Position
}

// write puts what was made into the file, all of it in one transaction or nothing, and notes it in the result. What was said meanwhile is in the tokens
// before and after. Errors: ErrConflict when the context, or what a summary was made from, is not as it was read.
func (k *compaction) write(ctx context.Context) error {
	made := k.made
	if k.made = nil; len(made) == 0 {
		return nil
	}
	var documents []*index.Document
	for _, m := range made {
		documents = append(documents, <-m.document)
	}
	var items, tokens, said int
	err := k.compactor.file.Write(ctx, "write summary", func(tx *duck.Write) (err error) {
		var summaries []*Summary
		var places []window.Item
		if err := remove(ctx, tx, k.v.ID, made); err != nil {
			return err
		}
		for _, m := range made {
			if err := m.in.unchanged(ctx, tx.Conn); err != nil {
				return err
			}
			summaries, places = append(summaries, m.summary), append(places, m.summary.item())
		}
		if err := k.compactor.insertSummaries(ctx, tx, k.v, summaries, documents); err != nil {
			return err
		}
		if err := conversation.InsertItems(tx, k.v.ID, places...); err != nil {
			return err
		}
		if items, tokens, err = conversation.ContextSize(ctx, tx.Conn, k.v.ID); err != nil {
			return err
		}
		said = tokens - made[len(made)-1].TokensAfter
		var rows []*compactionRow
		for _, m := range made {
			rows = append(rows, &compactionRow{summary: m.summary, policy: DAG, items: m.Items, before: m.TokensBefore + said, after: m.TokensAfter + said, calls: m.calls, startedAt: m.started})
		}
		return k.compactor.record(ctx, tx, k.v.ID, rows...)
	})
	if err != nil {
		k.known = nil
		return err
	}
	if k.known != nil && (items != k.known.items || tokens != k.known.tokens) {
		k.known = nil // somebody else wrote too
	}
	k.stored, k.written = tokens, *k.sweeping
	for _, m := range made {
		m.TokensBefore, m.TokensAfter = m.TokensBefore+said, m.TokensAfter+said
		k.result.Passes, k.result.Changed = append(k.result.Passes, m.Pass), true
		k.result.VectorErr = cmp.Or(k.result.VectorErr, m.summary.VectorErr)
	}
	return nil
}

// remove takes what passes replace out of the context, if all of it stands there still, nothing stands between the items of a pass, and none has become
// longer. The passes are in the order of the context. Errors: ErrConflict.
func remove(ctx context.Context, tx *duck.Write, conversationID string, made []*madePass) error {
	first, last := made[0].items, made[len(made)-1].items
	stand, err := duck.List(ctx, tx.Conn, "context_range", func(rows *sql.Rows, i *window.Item) error {
		return rows.Scan(&i.Position, &i.Ref, &i.Tokens)
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(first[0].Position)), sql.Named("to", int64(last[len(last)-1].Position)))
	if err != nil {
		return err
	}
	for _, m := range made {
		from, to := m.items[0].Position, m.items[len(m.items)-1].Position
		for len(stand) > 0 && stand[0].Position < from {
			stand = stand[1:]
		}
		for n, was := range m.items {
			if len(stand) == 0 {
				return fmt.Errorf("%w: %d of %d items left the context", fault.ErrConflict, len(m.items)-n, len(m.items))
			}
			if is := stand[0]; is.Position != was.Position || is.Ref != was.Ref || is.Tokens != was.Tokens {
				return fmt.Errorf("%w: the context changed at position %d", fault.ErrConflict, is.Position)
			}
			stand = stand[1:]
		}
		if err := conversation.RemoveItems(ctx, tx, conversationID, from, to); err != nil {
			return err
		}
	}
	return nil
}
