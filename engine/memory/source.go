package memory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// How is what a source is to a memory.
type How string

// What a memory is made from.
const (
	Drawn        How = "drawn"        // from messages
	Asked        How = "asked"        // of a model: the call that found it
	Merged       How = "merged"       // the older memory whose text went into it
	FromImport   How = "imported"     // a file
	Named        How = "named"        // by who remembered it
	Supported    How = "supported"    // messages that say the same
	Superseding  How = "superseded"   // the older memory that it ended
	Contradicted How = "contradicted" // messages that say the opposite
	Summarised   How = "summarised"   // what a message or summary is to a summary
)

// Carries reports whether a memory stands on what is so. The older memory that it ended is none of that, nor what contradicts it.
func (h How) Carries() bool { return h != Superseding && h != Contradicted }

// The kinds of sources beside kinds.Kind.
const (
	ImportKind kinds.Kind = "import"
	CallKind   kinds.Kind = "call"
)

// Source is something that a memory came from.
type Source struct {
	How    How
	Kind   kinds.Kind // message, summary, memory, import or call
	ID     string
	Part   string    // where in an import
	Label  string    // of Supported and Contradicted: the context
	SaidAt time.Time // likewise
}

// mostSources is how many sources a caller may name for one memory.
const mostSources = 1000

// ended is a memory that a newer one ended, as it was before.
type ended struct {
	id    string
	at    time.Time
	keyed bool
}

// notes keeps what a memory was that the draft is about to end.
func (d *draft) notes(older *Memory) {
	d.ended = append(d.ended, ended{older.ID, older.InvalidatedAt, older.FactKey != ""})
}

// From has the proposal be stored with what it came from.
func (p *Proposal) From(sources ...Source) { p.draft.sources = append(p.draft.sources, sources...) }

// resolve finds out what the sources are that callers named. A draft with one that is not there, or that its agent may not read, is left out and says so.
func (ms *Store) resolve(ctx context.Context, c *duck.Conn, drafts []*draft) ([]*draft, error) {
	named := []string{}
	for _, d := range drafts {
		named = append(named, d.named...)
	}
	if len(named) == 0 {
		return drafts, nil
	}
	type of struct {
		kind  kinds.Kind
		scope string
		live  bool
	}
	known := map[string]of{}
	err := c.Each(ctx, "memory_sources_named", func(rows *sql.Rows) error {
		var id string
		var s of
		err := rows.Scan(&id, &s.kind, duck.TextOf(&s.scope), &s.live)
		known[id] = s
		return err
	}, sql.Named("ids", named))
	scopes := ms.scopes.Now()
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool {
		d.sources = slices.DeleteFunc(d.sources, func(s Source) bool { return s.How == Named })
		for _, id := range d.named {
			s, ok := known[id]
			switch {
			case !ok || s.scope != "" && !scopes.Sees(d.agent, s.scope):
				d.result.Err = fmt.Errorf("%w: source %s; give the whole id of a message, summary, memory or import", fault.ErrNotFound, fault.Quote(id))
			case !s.live:
				d.result.Err = fault.Invalid("sources", id, "what can be recalled, or an import that is not retracted")
			default:
				d.sources = append(d.sources, Source{How: Named, Kind: s.kind, ID: id})
			}
		}
		return d.result.Err != nil
	}), err
}

// insertSources writes what drafts came from, and what each of them ended.
func (ms *Store) insertSources(ctx context.Context, tx *duck.Write, drafts []*draft) error {
	var rows [][]driver.Value
	at := ms.file.Now()
	var claimed []string
	for _, d := range drafts {
		if d.memory.Supersedes != "" {
			claimed = append(claimed, d.memory.Supersedes)
		}
	}
	var there []string
	if len(claimed) > 0 {
		var err error
		if there, err = duck.Column[string](ctx, tx.Conn, "memories_there", sql.Named("ids", claimed)); err != nil {
			return err
		}
	}
	for _, d := range drafts {
		for _, s := range d.sources {
			rows = append(rows, s.row(d.memory.ID, 0, at))
		}
		for _, e := range d.ended {
			row := Source{How: Superseding, Kind: kinds.Memory, ID: e.id}.row(d.memory.ID, 0, at)
			row[8], row[9] = duck.NullTime(e.at), e.keyed
			rows = append(rows, row)
		}
		older := d.memory.Supersedes
		if slices.Contains(there, older) && !slices.ContainsFunc(d.ended, func(e ended) bool { return e.id == older }) { // an import says so
			rows = append(rows, Source{How: Superseding, Kind: kinds.Memory, ID: older}.row(d.memory.ID, 0, at))
		}
	}
	return tx.AppendRows("memory_sources", rows)
}

// row gives a source as the columns of the table memory_sources, in their order.
func (s Source) row(memoryID string, derivation int, at time.Time) []driver.Value {
	return []driver.Value{memoryID, int32(derivation), string(s.How), string(s.Kind), s.ID, duck.NullText(s.Part), duck.NullText(s.Label), duck.NullTime(s.SaidAt), nil, nil, at}
}

// addSources gives a memory another derivation.
func (ms *Store) addSources(ctx context.Context, tx *duck.Write, id string, sources []Source) error {
	var next int
	if _, err := tx.One(ctx, "memory_derivations", []any{&next}, sql.Named("id", id)); err != nil {
		return err
	}
	var rows [][]driver.Value
	for _, s := range sources {
		rows = append(rows, s.row(id, next, ms.file.Now()))
	}
	return tx.AppendRows("memory_sources", rows)
}

// NoteEnded notes that a memory ended an older one that had been withdrawn then.
func (ms *Store) NoteEnded(tx *duck.Write, newer, older string) error {
	return tx.AppendRows("memory_sources", [][]driver.Value{Source{How: Superseding, Kind: kinds.Memory, ID: older}.row(newer, 0, ms.file.Now())})
}

// noteImport gives a run of import its id and its row.
func (ms *Store) noteImport(tx *duck.Write, name, agent string) (id string, err error) {
	if id, err = ms.file.NewID(ids.Import, ms.file.Now()); err != nil {
		return "", err
	}
	return id, tx.AppendRows("imports", [][]driver.Value{{id, duck.NullText(name), duck.NullText(agent), ms.file.Now()}})
}

// ForgetSources removes what is known of a source that is gone for good.
func (ms *Store) ForgetSources(ctx context.Context, tx *duck.Write, ids []string) error {
	_, err := tx.Exec(ctx, "memory_sources_gone", sql.Named("ids", ids))
	return err
}
