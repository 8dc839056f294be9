package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// LexicalBackend says where the words of a question are looked up.
type LexicalBackend string

// The backends. Both give the same scores.
const (
	// PostingsBackend is our own index, written in the same transaction as the row.
	PostingsBackend LexicalBackend = "postings"
	// FTSBackend is the index of DuckDB's text extension, made anew before a recall when documents were written since.
	FTSBackend LexicalBackend = "fts"
)

// LexicalBackends lists them all.
func LexicalBackends() []LexicalBackend { return []LexicalBackend{PostingsBackend, FTSBackend} }

// loadsFTS reports whether an open engine has the text extension.
func (o Options) loadsFTS() bool { return o.FTS != "" || o.Lexical == FTSBackend }

// loadFTS loads the text extension into a new instance, before that is sealed: from its file, else as DuckDB has installed it, else
// from the network.
func loadFTS(ctx context.Context, execer driver.ExecerContext, o Options) error {
	if o.FTS != "" {
		path, err := filepath.Abs(o.FTS)
		if err == nil {
			err = execText(ctx, execer, sqlfiles.Query("fts_load"), "{path}", strings.ReplaceAll(path, "'", "''"))
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoFTS, o.FTS, err)
		}
		return nil
	}
	if execText(ctx, execer, sqlfiles.Query("fts_load_installed")) == nil {
		return nil
	}
	err := execText(ctx, execer, sqlfiles.Query("fts_install"))
	if err == nil {
		err = execText(ctx, execer, sqlfiles.Query("fts_load_installed"))
	}
	if err != nil {
		return fmt.Errorf("%w: it is not installed, and can't be fetched; name its file with Options.FTS: %w", ErrNoFTS, err)
	}
	return nil
}

// FTSIndex is what a file has of the extension's index.
type FTSIndex struct {
	Documents int  `json:"documents"`
	Stale     bool `json:"stale"` // words were written since; it is made anew before it is used
}

// ftsIndex looks at the index as c's transaction sees it; nil: there is none.
func (e *Engine) ftsIndex(ctx context.Context, c *connection) (*FTSIndex, error) {
	var documents, kinds int
	var marked bool
	_, err := c.one(ctx, "fts_state", []any{&documents, &kinds, &marked}, sql.Named("kinds", filterArg(Kinds())))
	if err != nil || kinds == 0 {
		return nil, err
	}
	return &FTSIndex{documents, !marked || kinds < len(Kinds())}, nil
}

func (x *FTSIndex) fresh() bool { return x != nil && !x.Stale }

// ftsReady reports whether the recall in whose transaction c is may take its words from the query recall_ask_fts. If not, though fts
// was asked for, postings have the same, and notice says why. Call refreshFTS before that transaction begins.
func (e *Engine) ftsReady(ctx context.Context, c *connection) (ready bool, notice string, err error) {
	if e.opts.Lexical != FTSBackend {
		return false, "", nil
	}
	x, err := e.ftsIndex(ctx, c)
	switch {
	case err != nil || x.fresh():
		return err == nil, "", err
	case !e.opts.ReadOnly:
		return false, "documents were written while the fts index was made, so this recall went by postings", nil
	case x == nil:
		return false, "the file has no fts index, and this handle can't make one, so this recall went by postings", nil
	}
	return false, "the fts index is stale, and this handle can't make it anew, so this recall went by postings", nil
}

// refreshFTS makes the index anew if words were written since, in one transaction that ctx can break off. A read-only engine can't,
// and leaves it as it is. Errors: ErrNoFTS without the extension.
func (e *Engine) refreshFTS(ctx context.Context, op string) (built bool, err error) {
	if !e.opts.loadsFTS() {
		return false, fmt.Errorf("%s: %w: open the file with Options.Lexical fts, or name the extension's file with Options.FTS", op, ErrNoFTS)
	}
	var x *FTSIndex
	look := func(c *connection) (err error) {
		x, err = e.ftsIndex(ctx, c)
		return err
	}
	if err := e.read(ctx, op, look); err != nil || x.fresh() || e.opts.ReadOnly {
		return false, err
	}
	var flush error
	err = e.writeThen(ctx, op, func(c *connection) error {
		if err := look(c); err != nil || x.fresh() { // another recall made it in the meantime
			return err
		}
		built = true
		return e.buildFTS(ctx, c)
	}, func() {
		if e.unmarked = false; built { // a crash now would have to write every row of the index again
			flush = e.checkpoint(ctx)
		}
	})
	if err == nil && flush != nil {
		err = fmt.Errorf("%s: %w", op, flush)
	}
	return built && err == nil, err
}

// rebuildFTS makes the index anew where there is one that RebuildIndex has made stale.
func (e *Engine) rebuildFTS(ctx context.Context, op string) (built bool, err error) {
	var x *FTSIndex
	err = e.read(ctx, op, func(c *connection) (err error) {
		x, err = e.ftsIndex(ctx, c)
		return err
	})
	if err != nil || x == nil || !e.opts.loadsFTS() {
		return false, err
	}
	return e.refreshFTS(ctx, op)
}

// buildFTS makes the index from the rows. The caller is in a write transaction that has written nothing yet.
func (e *Engine) buildFTS(ctx context.Context, c *connection) error {
	if err := c.execDDL(ctx, sqlfiles.Query("fts_collect")); err != nil {
		return err
	}
	var batch [][]driver.Value
	done, total := 0, int(e.size.Load())
	flush := func() error {
		err := c.appendAll("temp", "fts_texts", slices.Values(batch))
		done, batch = done+len(batch), batch[:0]
		e.opts.Progress("texts", done, total)
		return errors.Join(err, ctx.Err())
	}
	err := e.eachDocument(ctx, func(d *document) error {
		if d.retired {
			return nil
		}
		text, doubled := d.words.ftsText()
		if batch = append(batch, []driver.Value{string(d.kind), d.no, doubled, text}); len(batch) < rebuildBatch {
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
	if err := dropFTS(ctx, c); err != nil {
		return err
	}
	for i, kind := range Kinds() {
		for _, name := range []string{"fts_source", "fts_create", "fts_settle"} { // the second looks for what the first made: one by one
			if err := c.execDDL(ctx, sqlfiles.Query(name), "{kind}", string(kind)); err != nil {
				return queryError(name, err)
			}
		}
		e.opts.Progress("fts", i+1, len(Kinds()))
	}
	return c.execDDL(ctx, sqlfiles.Query("fts_mark"))
}

// dropFTS deletes the index. The caller is in a write transaction.
func dropFTS(ctx context.Context, c *connection) error {
	for _, kind := range Kinds() {
		if err := c.execDDL(ctx, sqlfiles.Query("fts_drop"), "{kind}", string(kind)); err != nil {
			return queryError("fts_drop", err)
		}
	}
	return nil
}

// ftsText gives the words as a text of terms that the extension can count: each as often as it counts, or twice as often where one
// counts half.
func (x indexed) ftsText() (text string, doubled bool) {
	times := float32(1)
	for _, n := range x.frequency {
		if n != float32(math.Trunc(float64(n))) {
			times = 2
		}
	}
	var b strings.Builder
	for term, n := range x.frequency {
		for range int(n * times) {
			b.WriteString(term)
			b.WriteByte(' ')
		}
	}
	return b.String(), times == 2
}

// unmarkFTS notes that the index of the text extension is stale, before words change. The caller is in a write transaction; only
// the first one after the index was made, or the file opened, has to write that down.
func (e *Engine) unmarkFTS(ctx context.Context, c *connection) error {
	if e.unmarked {
		return nil
	}
	_, err := c.exec(ctx, "setting_delete", sql.Named("name", "fts"))
	e.unmarked = err == nil
	return err
}
