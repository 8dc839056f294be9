package compact

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/window"
)

// together is how many leaves are written in one transaction at most where no model is waited for: a transaction takes as long as a leaf takes to make.
const together = 8

// madePass is a pass whose summary is made and not written yet.
type madePass struct {
	Pass
	items    []window.Item // that it stands for
	in       *summaryInput
	summary  *Summary
	document *index.Document
	calls    int
	started  time.Time
}

// write puts what was made into the file, all of it in one transaction or nothing, and notes it in the result. What was said meanwhile is in the tokens
// before and after. Errors: ErrConflict when the context, or what a summary was made from, is not as it was read.
func (k *compaction) write(ctx context.Context) error {
	made := k.made
	if k.made = nil; len(made) == 0 {
		return nil
	}
	var items, tokens, said int
	err := k.compactor.file.Write(ctx, "write summary", func(tx *duck.Write) (err error) {
		var summaries []*Summary
		var documents []*index.Document
		var places []window.Item
		for _, m := range made {
			if err := m.in.unchanged(ctx, tx.Conn); err != nil {
				return err
			}
			if err := remove(ctx, tx, k.v.ID, m.items); err != nil {
				return err
			}
			summaries, documents, places = append(summaries, m.summary), append(documents, m.document), append(places, m.summary.item())
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
		return k.record(tx, made, said)
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
	}
	return nil
}

// record notes the passes, with so many tokens more as were said meanwhile.
func (k *compaction) record(tx *duck.Write, made []*madePass, said int) error {
	var rows [][]driver.Value
	for _, m := range made {
		id, err := k.compactor.file.NewID(ids.Compaction, k.compactor.file.Now())
		if err != nil {
			return err
		}
		s := m.summary
		rows = append(rows, []driver.Value{id, k.v.ID, s.ID, s.Kind, int32(s.Depth), string(s.Level), s.Model, int32(m.Items), int32(m.TokensBefore + said),
			int32(m.TokensAfter + said), int32(m.calls), m.started, k.compactor.file.Now()})
	}
	return tx.AppendRows("compactions", rows)
}

// remove takes items out of the context, if they still stand there, nothing stands between them, and none has become longer.
// Errors: ErrConflict.
func remove(ctx context.Context, tx *duck.Write, conversationID string, items []window.Item) error {
	from, to := items[0].Position, items[len(items)-1].Position
	n := 0
	err := tx.Each(ctx, "context_range", func(rows *sql.Rows) error {
		var position, tokens int
		var ref string
		if err := rows.Scan(&position, &ref, &tokens); err != nil {
			return err
		}
		if n >= len(items) || items[n].Position != position || items[n].Ref != ref || items[n].Tokens != tokens {
			return fmt.Errorf("%w: the context changed at position %d", fault.ErrConflict, position)
		}
		n++
		return nil
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
	if err != nil {
		return err
	}
	if n != len(items) {
		return fmt.Errorf("%w: %d of %d items left the context", fault.ErrConflict, len(items)-n, len(items))
	}
	return conversation.RemoveItems(ctx, tx, conversationID, from, to)
}
