package index

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// ftsSetting is the mark of the index: the totals that it is of.
const ftsSetting = "fts"

// FTSIndex is what a file has of the extension's index.
type FTSIndex struct {
	Documents int  `json:"documents"`
	Stale     bool `json:"stale"` // words were written since; it is made anew before it is used
}

// FTSState looks at the index as c's transaction sees it; nil: there is none.
func (ix *Index) FTSState(ctx context.Context, c *duck.Conn) (*FTSIndex, error) {
	var documents, among int
	var marked bool
	_, err := c.One(ctx, "fts_state", []any{&documents, &among, &marked}, sql.Named("kinds", duck.FilterArg(kinds.All())))
	if err != nil || among == 0 {
		return nil, err
	}
	return &FTSIndex{documents, !marked || among < len(kinds.All())}, nil
}

// Fresh reports whether there is an index that no write made stale.
func (x *FTSIndex) Fresh() bool { return x != nil && !x.Stale }

// FTSReady reports whether the recall in whose transaction c is may take its words from the query recall_ask_fts. If not, though fts
// was asked for, postings have the same, and notice says why. Call RefreshFTS before that transaction begins.
func (ix *Index) FTSReady(ctx context.Context, c *duck.Conn) (ready bool, notice string, err error) {
	if ix.opts.Lexical != setup.FTSBackend {
		return false, "", nil
	}
	x, err := ix.FTSState(ctx, c)
	switch {
	case err != nil || x.Fresh():
		return err == nil, "", err
	case !ix.opts.ReadOnly:
		return false, "documents were written while the fts index was made, so this recall went by postings", nil
	case x == nil:
		return false, "the file has no fts index, and this handle can't make one, so this recall went by postings", nil
	}
	return false, "the fts index is stale, and this handle can't make it anew, so this recall went by postings", nil
}

// RefreshFTS makes the index anew if words were written since, in one transaction that ctx can break off. A read-only engine can't,
// and leaves it as it is. Errors: ErrNoFTS without the extension.
func (ix *Index) RefreshFTS(ctx context.Context, op string) (built bool, err error) {
	if !ix.opts.LoadsFTS() {
		return false, fmt.Errorf("%s: %w: open the file with Options.Lexical fts, or name the extension's file with Options.FTS", op, fault.ErrNoFTS)
	}
	var x *FTSIndex
	look := func(c *duck.Conn) (err error) {
		x, err = ix.FTSState(ctx, c)
		return err
	}
	if err := ix.file.Read(ctx, op, look); err != nil || x.Fresh() || ix.opts.ReadOnly {
		return false, err
	}
	var flush error
	err = ix.file.WriteThen(ctx, op, func(tx *duck.Write) error {
		if err := look(tx.Conn); err != nil || x.Fresh() { // another recall made it in the meantime
			return err
		}
		built = true
		return ix.buildFTS(ctx, tx)
	}, func() {
		if ix.unmarked = false; built { // a crash now would have to write every row of the index again
			flush = ix.file.Checkpoint(ctx)
		}
	})
	if err == nil && flush != nil {
		err = fmt.Errorf("%s: %w", op, flush)
	}
	return built && err == nil, err
}

// rebuildFTS makes the index anew where there is one that RebuildIndex has made stale.
func (ix *Index) rebuildFTS(ctx context.Context, op string) (built bool, err error) {
	var x *FTSIndex
	err = ix.file.Read(ctx, op, func(c *duck.Conn) (err error) {
		x, err = ix.FTSState(ctx, c)
		return err
	})
	if err != nil || x == nil || !ix.opts.LoadsFTS() {
		return false, err
	}
	return ix.RefreshFTS(ctx, op)
}

// buildFTS makes the index from the rows. The transaction has written nothing yet.
func (ix *Index) buildFTS(ctx context.Context, tx *duck.Write) error {
	if err := tx.ExecDDL(ctx, sqlfiles.Query("fts_collect")); err != nil {
		return err
	}
	var batch [][]driver.Value
	done, total := 0, int(ix.file.Size.Load())
	flush := func() error {
		err := tx.AppendAllTemp("fts_texts", slices.Values(batch))
		done, batch = done+len(batch), batch[:0]
		ix.opts.Progress("texts", done, total)
		return errors.Join(err, ctx.Err())
	}
	err := ix.eachDocument(ctx, func(d *Document) error {
		if d.Retired {
			return nil
		}
		text, doubled := d.Words.ftsText()
		if batch = append(batch, []driver.Value{string(d.Kind), d.No, doubled, text}); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	if err := DropFTS(ctx, tx); err != nil {
		return err
	}
	for i, kind := range kinds.All() {
		for _, name := range []string{"fts_source", "fts_create", "fts_settle"} { // the second looks for what the first made: one by one
			if err := tx.ExecDDL(ctx, sqlfiles.Query(name), "{kind}", string(kind)); err != nil {
				return duck.QueryError(name, err)
			}
		}
		ix.opts.Progress("fts", i+1, len(kinds.All()))
	}
	if err := ix.markFTS(ctx, tx); err != nil {
		return err
	}
	return tx.ExecDDL(ctx, sqlfiles.Query("fts_collected"))
}

// markFTS says in the file that the index is that of the present totals. The first write of words after it takes the mark away.
func (ix *Index) markFTS(ctx context.Context, tx *duck.Write) error {
	var totals string
	if _, err := tx.One(ctx, "fts_totals", []any{&totals}); err != nil {
		return err
	}
	return ix.file.PutSetting(ctx, tx, ftsSetting, json.RawMessage(totals))
}

// DropFTS deletes the index.
func DropFTS(ctx context.Context, tx *duck.Write) error {
	for _, kind := range kinds.All() {
		if err := tx.ExecDDL(ctx, sqlfiles.Query("fts_drop"), "{kind}", string(kind)); err != nil {
			return duck.QueryError("fts_drop", err)
		}
	}
	return nil
}

// ftsText gives the words as a text of terms that the extension can count: each as often as it counts, or twice as often where one
// counts half.
func (x Indexed) ftsText() (text string, doubled bool) {
	times := float32(1)
	for _, n := range x.Frequency {
		if n != float32(math.Trunc(float64(n))) {
			times = 2
		}
	}
	var b strings.Builder
	for term, n := range x.Frequency {
		for range int(n * times) {
			b.WriteString(term)
			b.WriteByte(' ')
		}
	}
	return b.String(), times == 2
}

// unmarkFTS notes that the index of the text extension is stale, before words change. Only the first one after the index was made, or the file opened, has to write that down.
func (ix *Index) unmarkFTS(ctx context.Context, tx *duck.Write) error {
	if ix.unmarked {
		return nil
	}
	_, err := ix.file.DeleteSetting(ctx, tx, ftsSetting)
	ix.unmarked = err == nil
	return err
}
