package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// HistoryRequest names a memory.
type HistoryRequest struct {
	ID    string // whole, or its unique ending of six characters or more
	Agent string // empty: an internal caller
}

// History is all that a memory was, and is.
type History struct {
	ID       string     `json:"id"`
	Versions []*Version `json:"versions"` // oldest first; the last is the present
	// Dropped is how many versions before these were given up for their space, DroppedUntil until when they were known.
	Dropped      int       `json:"dropped,omitempty"`
	DroppedUntil time.Time `json:"dropped_until,omitzero"`
}

// Version is a memory as it was known from one moment until another.
type Version struct {
	Memory     *Memory   `json:"memory"`
	KnownFrom  time.Time `json:"known_from"`
	KnownUntil time.Time `json:"known_until,omitzero"` // absent: it is so now
	Changes    []Change  `json:"changes"`              // against the version before; none in the first
}

// Change is a field that differs from what it was. Values are as in JSON; empty ones are absent.
type Change struct {
	Field string `json:"field"`
	Old   any    `json:"old,omitempty"`
	New   any    `json:"new,omitempty"`
}

// History gives every version of a memory, forgotten or not, with what each changed. How often a memory was used makes no version. An agent that may read the memory where it
// is now sees versions of other scopes only where it may read these as well. Errors: those of Get.
func (ms *Store) History(ctx context.Context, r HistoryRequest) (*History, error) {
	h := &History{Versions: []*Version{}}
	err := ms.file.Read(ctx, "history", func(c *duck.Conn) error {
		m, _, err := ms.find(ctx, c, r.ID, r.Agent)
		if err != nil {
			return err
		}
		h.ID = m.ID
		former, _, err := versions(ctx, c, m.ID)
		if err != nil {
			return err
		}
		var dropped int32
		if _, err := c.One(ctx, "versions_dropped_of", []any{&dropped, &h.DroppedUntil}, sql.Named("id", m.ID)); err != nil {
			return err
		}
		h.Dropped = int(dropped)
		from := duck.OrTime(h.DroppedUntil, m.RecordedAt)
		if len(former) > 0 {
			from = former[len(former)-1].KnownUntil
		}
		for _, v := range append(former, &Version{Memory: m, KnownFrom: from}) {
			if ms.scopes.Now().Sees(r.Agent, v.Memory.Scope) {
				h.Versions = append(h.Versions, v)
			}
		}
		return h.compare()
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// compare fills in what each version changed.
func (h *History) compare() error {
	for i, v := range h.Versions {
		v.Changes = []Change{}
		if i == 0 {
			continue
		}
		was, err := shown(h.Versions[i-1].Memory)
		if err != nil {
			return err
		}
		is, err := shown(v.Memory)
		if err != nil {
			return err
		}
		both := maps.Clone(was)
		maps.Copy(both, is)
		for _, field := range slices.SortedFunc(maps.Keys(both), inOrder) {
			if !uses[field] && !reflect.DeepEqual(was[field], is[field]) {
				v.Changes = append(v.Changes, Change{field, was[field], is[field]})
			}
		}
	}
	return nil
}

// shown is a memory as JSON has it, by field.
func shown(m *Memory) (fields map[string]any, err error) {
	b, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(b, &fields)
	}
	return fields, err
}

// inOrder puts fields into the order of the columns, and what has none behind them.
func inOrder(a, b string) int {
	place := func(field string) int {
		if i := slices.IndexFunc(columns, func(c column) bool { return c.name == field }); i >= 0 {
			return i
		}
		return len(columns)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// dropRetiredBefore gives up the versions that were known only until before a moment, and what they and memories forgotten before it are found by. It gives the number of
// versions. Recall, Get and List of an earlier moment then find nothing of them; History says how many there were.
func (ms *Store) dropRetiredBefore(ctx context.Context, before time.Time) (dropped int, err error) {
	err = ms.file.Write(ctx, "drop versions", func(tx *duck.Write) error {
		at := duck.UTC(before).Format(stamp)
		if _, err := tx.One(ctx, "versions_leaving", []any{&dropped}, sql.Named("before", duck.UTC(before))); err != nil {
			return err
		}
		for _, query := range []string{"versions_drop_begin", "versions_drop"} {
			if err := tx.ExecDDL(ctx, sqlfiles.Query(query), "{before}", at); err != nil {
				return err
			}
		}
		gone, err := duck.Column[int32](ctx, tx.Conn, "versions_dropped_documents")
		if err != nil {
			return err
		}
		return ms.index.DropPast(ctx, tx, gone)
	})
	return dropped, err
}
