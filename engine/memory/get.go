package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Level says how much of a memory's text to give.
type Level string

// The three levels.
const (
	Abstract Level = "l0"   // one line
	Overview Level = "l1"   // short Markdown
	Full     Level = "full" // everything
)

// Levels lists them all.
func Levels() []Level { return []Level{Abstract, Overview, Full} }

// GetRequest names a memory.
type GetRequest struct {
	ID    string // whole, or its unique ending of six characters or more
	Agent string // empty: an internal caller
	Moment
}

// Get gives one memory, forgotten or not; with AsOf or KnownAt as it was then, if it was known and true. Errors: ErrNotFound, ErrAmbiguous; a memory in a scope
// that the agent may not read is not found.
func (ms *Store) Get(ctx context.Context, r GetRequest) (m *Memory, err error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	err = ms.at(ctx, "get", r.Moment, func(c *duck.Conn) error {
		m, _, err = ms.find(ctx, c, r.ID, r.Agent)
		return err
	})
	return m, err
}

// find reads a memory by its id or the ending of it.
func (ms *Store) find(ctx context.Context, c *duck.Conn, id, agent string) (*Memory, int32, error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, 0, err
	}
	m, docNo, err := MemoryByID(ctx, c, id)
	if err != nil {
		return nil, 0, err
	}
	scopes := ms.scopes.Now()
	if m == nil && len(id) >= ids.MinShort {
		visible, _ := scopes.ForReading(agent, nil)
		found, err := duck.Column[string](ctx, c, "memory_ending", sql.Named("ending", id), sql.Named("scopes", duck.ListArg(visible)))
		if err != nil {
			return nil, 0, err
		}
		whole, err := ids.One("memory", id, found, ids.Itself)
		if err != nil {
			return nil, 0, err
		}
		if m, docNo, err = MemoryByID(ctx, c, whole); err != nil {
			return nil, 0, err
		}
	}
	if m == nil || !scopes.Sees(agent, m.Scope) {
		return nil, 0, ids.NotFound("memory", id)
	}
	return m, docNo, nil
}

// MemoryByID gives nil when there is none.
func MemoryByID(ctx context.Context, c *duck.Conn, id string) (m *Memory, docNo int32, err error) {
	err = c.Each(ctx, "memory_by_id", func(rows *sql.Rows) (err error) {
		m, docNo, err = scanMemory(rows)
		return err
	}, sql.Named("id", id))
	return m, docNo, err
}

// MemoriesByID gives those of these ids that are there, in no order, without their relations.
func MemoriesByID(ctx context.Context, c *duck.Conn, ids []string) (all []*Memory, err error) {
	err = c.Each(ctx, "memories_by_id", func(rows *sql.Rows) error {
		m, _, err := scanMemory(rows)
		all = append(all, m)
		return err
	}, sql.Named("ids", ids))
	return all, err
}

// ListRequest filters memories. A nil slice is no restriction, an empty one matches nothing.
type ListRequest struct {
	Agent      string // empty: an internal caller
	Scopes     []string
	Categories []Category
	Tiers      []Tier
	States     []State
	Where      map[string]string // metadata that it has, all of it, as in recall.Query
	// Standing is current, superseded, expired, forgotten or any; default all but forgotten. Not with a Moment, of which there is only what was true.
	Standing     string
	Since, Until time.Time // of CreatedAt: from Since, before Until
	Limit        int       // 1 to 100,000; default 20
	Offset       int
	Moment
}

// List gives memories, newest first; with AsOf or KnownAt those that were true and known then, as they were.
func (ms *Store) List(ctx context.Context, r ListRequest) ([]*Memory, error) {
	if r.Limit == 0 {
		r.Limit = 20
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	scopes, _ := ms.scopes.Now().ForReading(r.Agent, r.Scopes)
	pointers, values := Where(r.Where)
	if !r.IsZero() {
		r.Standing = "any" // of those of the moment, forgotten since or not
	}
	var all []*Memory
	err := ms.at(ctx, "list", r.Moment, func(c *duck.Conn) error {
		return c.Each(ctx, "memory_list", func(rows *sql.Rows) error {
			m, _, err := scanMemory(rows)
			all = append(all, m)
			return err
		}, sql.Named("scopes", duck.ListArg(scopes)), sql.Named("categories", duck.ListArg(r.Categories)), sql.Named("tiers", duck.ListArg(r.Tiers)),
			sql.Named("states", duck.ListArg(r.States)), sql.Named("standing", duck.NullText(r.Standing)), sql.Named("since", duck.NullTime(duck.UTC(r.Since))),
			sql.Named("until", duck.NullTime(duck.UTC(r.Until))), sql.Named("at", ms.file.Now()), sql.Named("limit", int64(r.Limit)), sql.Named("offset", int64(r.Offset)),
			sql.Named("pointers", pointers), sql.Named("values", values))
	})
	return all, err
}

func (r ListRequest) validate() error {
	if r.Limit < 1 || r.Limit > 100_000 {
		return fault.Invalid("limit", r.Limit, "1 to 100000")
	}
	if r.Offset < 0 {
		return fault.Invalid("offset", r.Offset, "0 or more")
	}
	if err := fault.Member("standing", cmp.Or(r.Standing, "any"), []string{"current", "superseded", "expired", "forgotten", "any"}); err != nil {
		return err
	}
	if r.Standing != "" && !r.IsZero() {
		return fault.Invalid("standing", r.Standing, "nothing with as_of or known_at, which give what was true")
	}
	return cmp.Or(r.Validate(), fault.CheckTexts("scopes", r.Scopes), fault.Members("categories", r.Categories, Categories()), fault.Members("tiers", r.Tiers, Tiers()), fault.Members("states", r.States, States()), CheckWhere(r.Where))
}
