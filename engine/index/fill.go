package index

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// Embedded is how many vectors were made.
type Embedded struct {
	Vectors     int `json:"vectors"`                // of live documents and their passages
	PastVectors int `json:"past_vectors,omitempty"` // of those of the past
}

// EmbedMissing gives a vector of the file's model to every document, live or of the past, and every passage of such, that has none. Words stay as they are. It can be
// broken off at any moment, and the next call goes on. Errors: ErrNoEmbedder where nobody brought the model; ErrBadVector when all is done but for texts of
// which it gives no usable vector.
func (ix *Index) EmbedMissing(ctx context.Context) (Embedded, error) {
	by, of := ix.Embedder()
	if by == nil {
		return Embedded{}, fmt.Errorf("embed: %w: vectors need Options.Embedder", fault.ErrNoEmbedder)
	}
	return filling{ix, "embed", by, of}.all(ctx)
}

// filling gives vectors of one of the file's models to what has none. The model thinks without any lock; each batch is written in a transaction of its own.
type filling struct {
	ix *Index
	op string // what it is a part of
	by setup.Embedder
	of Model
}

// slowBatch is how many vectors of a slow model are made and written at a time, so that Progress moves and little is to be made again when it is broken off.
const slowBatch = 256

// batch is how many are made and written at a time.
func (f filling) batch() int {
	if slow(f.by) {
		return slowBatch
	}
	return rebuildBatch
}

// all fills the present, then the past. Where the model gives unusable vectors, that is the error when the rest is done.
func (f filling) all(ctx context.Context) (made Embedded, err error) {
	made.Vectors, err = f.present(ctx)
	if err != nil && !errors.Is(err, fault.ErrBadVector) {
		return made, f.unlessDropped(err)
	}
	var failed error
	made.PastVectors, failed = f.past(ctx)
	return made, cmp.Or(err, f.unlessDropped(failed))
}

// unlessDropped is an error, or that the model was dropped meanwhile.
func (f filling) unlessDropped(err error) error {
	f.ix.models.RLock()
	defer f.ix.models.RUnlock()
	if err != nil && !f.ix.has(f.of) {
		return fmt.Errorf("%s: %w: %s was dropped", f.op, fault.ErrConflict, f.of)
	}
	return err
}

// present gives a vector to every live document, and every passage of such, that has none.
func (f filling) present(ctx context.Context) (done int, err error) {
	var total int
	err = f.ix.file.Read(ctx, f.op, func(c *duck.Conn) error {
		return c.EachIn(ctx, f.of.Table(), "vectors_missing_count", func(rows *sql.Rows) error { return rows.Scan(&total) })
	})
	if err != nil {
		return 0, err
	}
	return f.each(ctx, "vectors", total, f.missing, f.insertWanted)
}

// past gives a vector to every document of the past, and every passage of such, that has none.
func (f filling) past(ctx context.Context) (done int, err error) {
	return f.each(ctx, "vectors of the past", 0, f.missingPast, f.insertPast)
}

// each makes the vectors of what is missing, a batch at a time; total is how many there are, where that is known.
func (f filling) each(ctx context.Context, what string, total int, missing func(ctx context.Context, after int32) ([]unembedded, []string, error),
	insert func(ctx context.Context, tx *duck.Write, all []unembedded, texts []string, vectors [][]float32) error) (done int, err error) {
	ix := f.ix
	var after int32
	var bad *Unusable
	for {
		all, texts, err := missing(ctx, after)
		if err != nil {
			return done, err
		}
		if len(all) == 0 {
			break
		}
		after = all[len(all)-1].number
		vectors, err := ix.embedWith(ctx, f.by, texts)
		if err != nil && !errors.As(err, &bad) {
			return done, fmt.Errorf("%s: %w", f.op, err)
		}
		if err := ix.file.Write(ctx, f.op, func(tx *duck.Write) error { return insert(ctx, tx, all, texts, vectors) }); err != nil {
			return done, err
		}
		done += len(all)
		ix.opts.Progress(what, done, total)
		if len(all) < f.batch() { // what comes now comes with a vector
			break
		}
	}
	if bad != nil {
		return done, fmt.Errorf("%s: %w", f.op, bad)
	}
	return done, nil
}

// missingPast gives the next documents and passages of the past without a vector, and the texts to embed.
func (f filling) missingPast(ctx context.Context, after int32) (all []unembedded, texts []string, err error) {
	err = f.ix.file.Read(ctx, f.op, func(c *duck.Conn) error {
		all, err = duck.List(ctx, c, "past_missing", func(rows *sql.Rows, u *unembedded) error {
			return rows.Scan(&u.number, &u.docNo, &u.start, &u.length)
		}, sql.Named("n", f.of.N), sql.Named("after", after), sql.Named("limit", int64(f.batch())))
		if err != nil || len(all) == 0 {
			return err
		}
		var docNos []int32
		for _, u := range all {
			docNos = append(docNos, u.docNo)
		}
		embedded := map[int32]string{}
		err = f.ix.past.Texts(ctx, c, docNos, func(docNo int32, _ []Field, text string) { embedded[docNo] = text })
		for _, u := range all {
			texts = append(texts, u.of(embedded[u.docNo]))
		}
		return err
	})
	return all, texts, err
}

// insertPast writes the vectors of those that still want one. Their texts can't have changed.
func (f filling) insertPast(ctx context.Context, tx *duck.Write, all []unembedded, texts []string, vectors [][]float32) error {
	if !f.ix.has(f.of) {
		return fmt.Errorf("%w: %s was dropped", fault.ErrConflict, f.of)
	}
	numbers := make([]int32, len(all))
	for i, u := range all {
		numbers[i] = u.number
	}
	wanted, err := duck.Column[int32](ctx, tx.Conn, "past_wanted", sql.Named("numbers", numbers), sql.Named("n", f.of.N))
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	var made []embedded
	sums := f.ix.sums(f.by, texts)
	for i, u := range all {
		if vectors[i] != nil && slices.Contains(wanted, u.number) {
			rows = append(rows, []driver.Value{u.number, int32(f.of.N), vectors[i]})
			if sums != nil {
				made = append(made, embedded{u.number, sums[i], vectors[i]})
			}
		}
	}
	if err := tx.AppendRows("past_vectors", rows); err != nil {
		return err
	}
	return f.ix.remember(ctx, tx, f.of.fingerprint, made, true)
}

// unembedded is a document without a vector, or a passage of one.
type unembedded struct {
	number, docNo int32
	kind          kinds.Kind
	owner         string
	start, length int32 // of a passage; a document has the length -1
}

// of gives what is embedded of it, of all that is embedded of its document.
func (u unembedded) of(embedded string) string {
	if u.length < 0 {
		return embedded
	}
	return embedded[min(int(u.start), len(embedded)):min(int(u.start+u.length), len(embedded))]
}

// missing gives the next documents and passages without a vector, and the texts to embed.
func (f filling) missing(ctx context.Context, after int32) (all []unembedded, texts []string, err error) {
	err = f.ix.file.Read(ctx, f.op, func(c *duck.Conn) error {
		err := c.EachIn(ctx, f.of.Table(), "vectors_missing", func(rows *sql.Rows) error {
			var u unembedded
			err := rows.Scan(&u.number, &u.docNo, &u.kind, &u.owner, &u.start, &u.length)
			all = append(all, u)
			return err
		}, sql.Named("after", after), sql.Named("limit", int64(f.batch())))
		if err == nil {
			texts, err = f.ix.embeddedTexts(ctx, c, all)
		}
		return err
	})
	return all, texts, err
}

// embeddedTexts gives what is embedded of documents and passages.
func (ix *Index) embeddedTexts(ctx context.Context, c *duck.Conn, all []unembedded) ([]string, error) {
	owners := map[kinds.Kind][]string{}
	for i, u := range all {
		if i == 0 || all[i-1].owner != u.owner { // passages of one document mostly stand together
			owners[u.kind] = append(owners[u.kind], u.owner)
		}
	}
	byID := map[string]string{}
	err := ix.eachOwner(ctx, c, owners, func(id string, _ []Field, embedded string) { byID[id] = embedded })
	texts := make([]string, len(all))
	for i, u := range all {
		texts[i] = u.of(byID[u.owner])
	}
	return texts, err
}

// insertWanted writes the vectors of documents and passages that still want one, for these texts: in between they may have been changed or forgotten.
func (f filling) insertWanted(ctx context.Context, tx *duck.Write, all []unembedded, texts []string, vectors [][]float32) error {
	ix := f.ix
	if !ix.has(f.of) {
		return fmt.Errorf("%w: %s was dropped", fault.ErrConflict, f.of)
	}
	numbers := make([]int32, len(all))
	for i, u := range all {
		numbers[i] = u.number
	}
	wanted := map[int32]bool{}
	err := tx.EachIn(ctx, f.of.Table(), "vectors_wanted", func(rows *sql.Rows) error {
		var no int32
		if err := rows.Scan(&no); err != nil {
			return err
		}
		wanted[no] = true
		return nil
	}, sql.Named("numbers", numbers))
	if err != nil {
		return err
	}
	now, err := ix.embeddedTexts(ctx, tx.Conn, all)
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	var made []embedded
	sums := ix.sums(f.by, texts)
	for i, u := range all {
		if wanted[u.number] && now[i] == texts[i] && vectors[i] != nil {
			rows = append(rows, []driver.Value{u.number, vectors[i]})
			if sums != nil {
				made = append(made, embedded{u.number, sums[i], vectors[i]})
			}
			if f.of == ix.Chosen {
				ix.noteVector(u, vectors[i])
			}
		}
	}
	if err := tx.AppendRows(f.of.Table(), rows); err != nil {
		return err
	}
	return ix.remember(ctx, tx, f.of.fingerprint, made, true)
}
