package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// Covered is how many vectors there are of how many that are wanted.
type Covered struct {
	Has   int `json:"has"`
	Wants int `json:"wants"`
}

// ModelState is a model of the file, and how far its vectors are: each count is exact.
type ModelState struct {
	N           int    `json:"n"` // its vectors are in vectors_<n>
	Model       string `json:"model"`
	Dims        int    `json:"dims"`
	Fingerprint string `json:"fingerprint"`
	Chosen      bool   `json:"chosen"`         // recall goes by it
	Next        bool   `json:"next,omitempty"` // RebuildIndex was making its vectors, to take the chosen one's place
	// Documents are the live ones, Passages those of long ones, Past the documents and passages of the past.
	Documents Covered `json:"documents"`
	Passages  Covered `json:"passages"`
	Past      Covered `json:"past"`
}

// Whole reports whether nothing wants a vector.
func (s ModelState) Whole() bool {
	return s.Documents.Has == s.Documents.Wants && s.Passages.Has == s.Passages.Wants && s.Past.Has == s.Past.Wants
}

// Missing says in words what wants a vector.
func (s ModelState) Missing() string {
	var parts []string
	for _, c := range []struct {
		what string
		of   Covered
	}{{"documents", s.Documents}, {"passages", s.Passages}, {"documents and passages of the past", s.Past}} {
		if lacks := c.of.Wants - c.of.Has; lacks > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", lacks, c.of.Wants, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// stateOf counts the vectors of a model, as the connection sees the file.
func stateOf(ctx context.Context, c *duck.Conn, ms Models, m Model) (*ModelState, error) {
	s := &ModelState{N: m.N, Model: m.Name, Dims: m.Dims, Fingerprint: m.fingerprint, Chosen: m == ms.Chosen, Next: m == ms.Next}
	return s, c.EachIn(ctx, m.Table(), "model_coverage", func(rows *sql.Rows) error {
		return rows.Scan(&s.Documents.Has, &s.Documents.Wants, &s.Passages.Has, &s.Passages.Wants, &s.Past.Has, &s.Past.Wants)
	}, sql.Named("n", m.N))
}

// ModelStates gives the file's models, the chosen one first.
func (ix *Index) ModelStates(ctx context.Context) (all []ModelState, err error) {
	err = ix.file.Read(ctx, "models", func(c *duck.Conn) error {
		ms, err := ModelsOf(ctx, c)
		for _, m := range ms.All() {
			if err != nil {
				break
			}
			var s *ModelState
			if s, err = stateOf(ctx, c, ms, m); err == nil {
				all = append(all, *s)
			}
		}
		return err
	})
	return all, err
}

// AddModelRequest brings a model.
type AddModelRequest struct {
	// Embedder makes the vectors. It is kept until the engine is closed: after UseModel, what is asked and written goes by it.
	Embedder setup.Embedder
}

// AddedModel is how far a model's vectors are, and how many of them were made now.
type AddedModel struct {
	ModelState
	Embedded
}

// mostRounds is how often AddModel looks for what was written meanwhile. Each round has only that of the one before it to do.
const mostRounds = 10

// AddModel embeds the whole file with a further model, beside the chosen one: live documents, passages and the past, a thousand at a time, each batch in a transaction of
// its own. Recall goes by the chosen model meanwhile, and what is written, changed and forgotten is caught up with. It can be broken off at any moment, also by a crash; the next
// call goes on. Of a model that the file has it makes what is missing. A file without a model takes it as its own. What is written later has a vector of the chosen model alone:
// another call catches up. Errors: ErrNoEmbedder; ErrModelMismatch where the file knows the model with other dimensions; ErrConflict where it was dropped meanwhile; ErrBadVector
// when all is done but for texts of which it gives no usable vector, and then the state is given too.
func (ix *Index) AddModel(ctx context.Context, r AddModelRequest) (*AddedModel, error) {
	const op = "add model"
	if r.Embedder == nil {
		return nil, fmt.Errorf("%s: %w: Embedder is nil", op, fault.ErrNoEmbedder)
	}
	if dims := r.Embedder.Dims(); dims < 1 || dims > setup.MostDims {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("Embedder.Dims", dims, fmt.Sprintf("1 to %d", setup.MostDims)))
	}
	var m Model
	err := ix.change(ctx, op, func(tx *duck.Write) (err error) {
		m, err = ix.place(ctx, tx, r.Embedder)
		return err
	})
	if err != nil {
		return nil, err
	}
	ix.bring(r.Embedder)
	added := &AddedModel{}
	var bad error
	for range mostRounds {
		made, err := filling{ix, op, r.Embedder, m}.all(ctx)
		added.Vectors, added.PastVectors = added.Vectors+made.Vectors, added.PastVectors+made.PastVectors
		if bad = err; err != nil && !errors.Is(err, fault.ErrBadVector) {
			return nil, err
		}
		if err != nil || made == (Embedded{}) {
			break
		}
	}
	err = ix.file.Read(ctx, op, func(c *duck.Conn) error {
		ms, err := ModelsOf(ctx, c)
		if err != nil {
			return err
		}
		if !ms.has(m) {
			return fmt.Errorf("%w: %s was dropped", fault.ErrConflict, m)
		}
		s, err := stateOf(ctx, c, ms, m)
		added.ModelState = *s
		return err
	})
	return added, cmp.Or(err, bad)
}

// place gives the file's model that an embedder is, which is a new one where the file has none.
func (ix *Index) place(ctx context.Context, tx *duck.Write, by setup.Embedder) (Model, error) {
	for _, m := range ix.All() { // of the same one twice, which a rebuild makes, the chosen
		if m.fingerprint == by.Fingerprint() {
			return m, m.fits(by)
		}
	}
	m := ix.modelOf(by)
	if ix.Chosen.N == 0 {
		return m, ix.firstModel(ctx, tx, m)
	}
	if ix.Next.N == 0 { // of a file that was saved from damage, the setting may name a number that is free now
		if _, err := ix.file.DeleteSetting(ctx, tx, nextSetting); err != nil {
			return m, err
		}
	}
	return m, ix.insertModel(ctx, tx, m, false)
}

// UseModelRequest says by which model to go.
type UseModelRequest struct {
	Model        string // its name, its number in the file, or its fingerprint
	AllowMissing bool   // use it also where vectors are missing: what has none is found by its words alone
}

// UseModel lets recall go by the vectors of a model that the file has, from one moment to the next: it changes one row, in one transaction. The former model's vectors stay, so that
// one can go back. Where the engine was given the model, as Options.Embedder or by AddModel, what is asked and written goes by it from then on; else recall is
// lexical, and what is written has no vector, until the file is opened with it. Errors: ErrNotFound, ErrAmbiguous; ErrMissingVectors where the model lacks some and AllowMissing
// is false, and then nothing is changed.
func (ix *Index) UseModel(ctx context.Context, r UseModelRequest) (s *ModelState, err error) {
	err = ix.change(ctx, "use model", func(tx *duck.Write) error {
		m, err := ix.named(r.Model)
		if err != nil {
			return err
		}
		if s, err = stateOf(ctx, tx.Conn, ix.Models, m); err != nil || m == ix.Chosen {
			return err
		}
		if !s.Whole() && !r.AllowMissing {
			return fmt.Errorf("%w: %s lacks those of %s; call Engine.AddModel, which makes them, or set AllowMissing", fault.ErrMissingVectors, m, s.Missing())
		}
		s.Chosen, s.Next = true, false
		return ix.chooseModel(ctx, tx, m)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// DropModelRequest says which model to drop.
type DropModelRequest struct {
	Model string // its name, its number in the file, or its fingerprint
}

// DropModel removes a model with all its vectors, and gives what there was of them. Errors: ErrNotFound, ErrAmbiguous; ErrInvalid for the chosen model.
func (ix *Index) DropModel(ctx context.Context, r DropModelRequest) (s *ModelState, err error) {
	err = ix.change(ctx, "drop model", func(tx *duck.Write) error {
		m, err := ix.named(r.Model)
		if err != nil {
			return err
		}
		if m == ix.Chosen {
			return fault.Invalid("model", r.Model, "one that is not chosen: call Engine.UseModel with another first")
		}
		if s, err = stateOf(ctx, tx.Conn, ix.Models, m); err != nil {
			return err
		}
		if err := ix.forgetNext(ctx, tx, m); err != nil {
			return err
		}
		return m.drop(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// named gives the file's model of a name, number or fingerprint. The caller has the writer's lock.
func (ix *Index) named(name string) (Model, error) {
	if err := fault.CheckText("model", name); err != nil {
		return Model{}, err
	}
	var named []Model
	var has []string
	for _, m := range ix.All() {
		has = append(has, fmt.Sprintf("%s (%d)", m.Name, m.N))
		switch name {
		case strconv.Itoa(m.N), m.fingerprint:
			return m, nil
		case m.Name:
			named = append(named, m)
		}
	}
	switch {
	case has == nil:
		return Model{}, fmt.Errorf("%w: model %s; the file has none", fault.ErrNotFound, fault.Quote(name))
	case named == nil:
		return Model{}, fmt.Errorf("%w: model %s; the file has %s", fault.ErrNotFound, fault.Quote(name), strings.Join(has, ", "))
	case len(named) > 1:
		return Model{}, fmt.Errorf("%w: model %s; name it by its number: %s", fault.ErrAmbiguous, fault.Quote(name), strings.Join(has, ", "))
	}
	return named[0], nil
}
