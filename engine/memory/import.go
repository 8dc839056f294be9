package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Import reads memories, one JSON object per line or as an array, with the keys of Export or of another store (Memory.UnmarshalJSON). What
// is known is left as it is: a memory by its id or key, and one without either where the file has one of its text, scope, category and
// time, if it names one, be that forgotten since. A row with a fault is left out and reported, and so is a message; where the first row is
// one, the file is taken for one of messages, and nothing is read. With q.Markdown every bullet is a memory (interchange.EachBullet). Errors are of the file or the model; batches before them are stored.
func (ms *Store) Import(ctx context.Context, in io.Reader, q interchange.ImportRequest) (*interchange.Imported, error) {
	result := &interchange.Imported{}
	if err := cmp.Or(fault.Member("trust", cmp.Or(Trust(q.Trust), Stated), Trusts()), fault.CheckText("name", q.Name)); err != nil {
		return result, fmt.Errorf("import: %w", err)
	}
	defer result.Sort()
	var batch []*draft
	var places []interchange.Position
	flush := func() error {
		if len(batch) == 0 || q.DryRun {
			batch, places = batch[:0], places[:0]
			return nil
		}
		if err := ms.storeImported(ctx, batch, q, &result.ID); err != nil {
			return err
		}
		for i, d := range batch {
			switch {
			case errors.Is(d.result.Err, fault.ErrExists), d.result.Err == nil && !d.result.Created:
				result.Known++
			case d.result.Err != nil:
				result.Fault(places[i], d.result.Err)
			default:
				result.Created++
				result.Unembedded(places[i], d.result.VectorErr)
			}
		}
		batch, places = batch[:0], places[:0]
		ms.opts.Progress("memories", result.Lines, 0)
		return nil
	}
	each := interchange.EachRow
	if q.Markdown {
		each = func(in io.Reader, do func(interchange.Row) error) error {
			return interchange.EachBullet(in, q.Name, do)
		}
	}
	err := each(in, func(r interchange.Row) error {
		result.Lines++
		d, defaulted, err := ms.parseMemory(r, q)
		if errors.Is(err, errMessage) && result.Lines == 1 {
			return err
		}
		if err != nil {
			result.Fault(r.Position, err)
			return nil
		}
		for _, field := range defaulted {
			if result.Defaulted == nil {
				result.Defaulted = map[string]int{}
			}
			result.Defaulted[field]++
		}
		batch, places = append(batch, d), append(places, r.Position)
		if len(batch) < interchange.ImportBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return result, fmt.Errorf("import: %w", err)
	}
	return result, nil
}

// storeImported stores a batch of an import. The first that has something new gives the import its row.
func (ms *Store) storeImported(ctx context.Context, batch []*draft, q interchange.ImportRequest, id *string) error {
	noted := ""
	err := ms.storeFrom(ctx, batch, func(tx *duck.Write, fresh []*draft) (err error) {
		if noted = *id; noted == "" {
			if noted, err = ms.noteImport(tx, q.Name, q.Agent); err != nil {
				return err
			}
		}
		for _, d := range fresh {
			d.sources = append(d.sources, Source{How: FromImport, Kind: ImportKind, ID: noted, Part: d.part})
		}
		return nil
	})
	if err == nil && noted != "" {
		*id = noted
	}
	return err
}

// parseMemory makes a row ready to be stored, and names the fields of which it had to take the default.
func (ms *Store) parseMemory(r interchange.Row, q interchange.ImportRequest) (d *draft, defaulted []string, err error) {
	if r.Broken != nil {
		return nil, nil, r.Broken
	}
	raw, err := object(r.JSON)
	if err != nil {
		return nil, nil, err
	}
	if isMessage(raw) {
		return nil, nil, errMessage
	}
	m := &Memory{}
	amiss := func(field string, err error) error {
		if q.Strict || field == "text" {
			return err
		}
		defaulted = append(defaulted, field)
		return nil
	}
	if err := m.readObject(raw, amiss); err != nil {
		return nil, nil, err
	}
	if m.Scope != "" && q.Scope == "" {
		if bad := ms.scopes.Now().Check(m.Scope); bad != nil {
			if err := amiss("scope", bad); err != nil {
				return nil, nil, err
			}
			m.Scope = ""
		}
	}
	m.Scope = cmp.Or(q.Scope, m.Scope)
	m.Source = cmp.Or(m.Source, legacySource)
	m.Trust = cmp.Or(Trust(q.Trust), m.Trust)
	d = &draft{memory: m, agent: q.Agent, imported: true, part: r.Position.String(), restated: m.ID == "" && m.Key == "", dated: !m.CreatedAt.IsZero(), result: &Remembered{}}
	return d, defaulted, ms.admit(d)
}

// errMessage refuses what would be remembered as if somebody had meant it to be.
var errMessage = fmt.Errorf("%w: a message of a conversation, and no memory; `memctl import --messages` reads messages", fault.ErrInvalid)

// isMessage reports whether a row is of ImportMessages: it names its conversation, and has nothing that only a memory has. An id is a memory's unless it is
// said who spoke. The memories of other stores may name a conversation too.
func isMessage(raw map[string]any) bool {
	conversation, _ := raw["conversation"].(string)
	if conversation == "" || raw["memory"] != nil {
		return false
	}
	for key := range raw {
		switch key {
		case "text", "key", foreignType, "metadata", "timestamp", "created_at", "source":
		case "id":
			if raw["role"] == nil && raw["speaker"] == nil {
				return false
			}
		default:
			if memoryKeys[key] != nil {
				return false
			}
		}
	}
	return true
}
