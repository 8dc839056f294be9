package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Proposal is a memory that may be stored: made ready, with its id, its words and its vector, and not yet decided on.
type Proposal struct{ draft *draft }

// Propose makes memories ready without any lock. A request that is not usable gives its error and no proposal. An error means that the model failed for
// another reason than being slow or absent.
func (ms *Store) Propose(ctx context.Context, requests []RememberRequest) (proposals []*Proposal, errs []error, err error) {
	proposals, errs = make([]*Proposal, len(requests)), make([]error, len(requests))
	var usable []*draft
	for i, r := range requests {
		d := r.draft()
		d.result = &Remembered{}
		if errs[i] = ms.admit(d); errs[i] != nil {
			continue
		}
		if d.memory.ID == "" {
			if d.memory.ID, err = ms.file.NewID(ids.Memory, ms.file.Now()); err != nil {
				return nil, nil, err
			}
		}
		d.result.ID = d.memory.ID
		proposals[i] = &Proposal{d}
		usable = append(usable, d)
	}
	return proposals, errs, ms.prepare(ctx, usable)
}

// Memory is the proposal as it would be stored. Its texts are settled; relations and contexts may still change.
func (p *Proposal) Memory() *Memory { return p.draft.memory }

// Vector is that of the memory; nil: it has none.
func (p *Proposal) Vector() []float32 { return p.draft.document.Vector }

// VectorErr says why the model gave no vector.
func (p *Proposal) VectorErr() error { return p.draft.result.VectorErr }

// Terms are the words of the memory, stemmed, each once.
func (p *Proposal) Terms() map[string]float32 { return p.draft.document.Words.Frequency }

// Supersede has the proposal end a memory when it is accepted: one of the file, or another proposal that is accepted with it and stands before it.
func (p *Proposal) Supersede(id string) error {
	p.draft.replace(id)
	p.draft.ends = append(p.draft.ends, id)
	return p.draft.memory.normaliseRelations()
}

// Relate gives the proposal a relation.
func (p *Proposal) Relate(kind, id string) error {
	p.draft.memory.Relations = append(p.draft.memory.Relations, Relation{Type: kind, TargetID: id})
	return p.draft.memory.normaliseRelations()
}

// Edit is a change of a memory that leaves its texts as they are.
type Edit struct {
	ID      string
	Change  func(*Memory)
	Sources []Source // what it follows from, as a derivation of its own
}

// Accept stores proposals and edits of other memories, in a transaction of the caller's. Edits come after the proposals, and may be of them. Errors:
// ErrNotFound or ErrInvalid where a memory that is to be ended or edited was forgotten, purged or superseded meanwhile: nothing is to be committed then.
func (ms *Store) Accept(ctx context.Context, tx *duck.Write, proposals []*Proposal, edits []Edit) error {
	var drafts []*draft
	byID := map[string]*draft{}
	for _, p := range proposals {
		d := p.draft
		for _, id := range d.ends {
			if older := byID[id]; older != nil {
				d.notes(older.memory)
				if err := older.memory.endBy(d.memory, ms.file.Now()); err != nil {
					return err
				}
			}
		}
		d.ends = slices.DeleteFunc(d.ends, func(id string) bool { return byID[id] != nil })
		byID[d.memory.ID] = d
		drafts = append(drafts, d)
	}
	if len(drafts) > 0 {
		if err := ms.insertMemories(ctx, tx, drafts); err != nil {
			return err
		}
	}
	for _, e := range edits {
		if err := ms.editNow(ctx, tx, e); err != nil {
			return err
		}
		if len(e.Sources) > 0 {
			if err := ms.addSources(ctx, tx, e.ID, e.Sources); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ms *Store) editNow(ctx context.Context, tx *duck.Write, e Edit) error {
	m, docNo, err := MemoryByID(ctx, tx.Conn, e.ID)
	if err != nil {
		return err
	}
	if m == nil || !m.RetiredAt.IsZero() {
		return fmt.Errorf("%w: memory %s is gone", fault.ErrNotFound, e.ID)
	}
	e.Change(m)
	m.UpdatedAt = ms.file.Now()
	if err := m.normalise(ms.file.Now()); err != nil {
		return err
	}
	if err := ms.updateMemory(ctx, tx, m, docNo); err != nil {
		return err
	}
	d := &index.Document{No: docNo, Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
	ms.describe(d, m, docNo)
	return ms.index.UpdateDocument(ctx, tx, d)
}
