package lineage

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// descent is all that descends from a source, and what else it stands on.
type descent struct {
	roots     map[string]time.Time // what is withdrawn at first, and since when: the source, and summaries over it
	memories  []string             // that descend from it, the nearest first; the source too where it is one
	of        map[string]bool      // the same
	because   map[string]string    // of each, what it descends from directly
	observed  []string             // memories that were contradicted by what descends
	edges     []edge               // all to these and to those
	withdrawn map[string][]withdrawal
}

// descend finds what descends from a source. roots has it, and summaries that stood for it; but is the retraction that is looked at, and what that has withdrawn
// is among what descends, also where a purge took away how.
func descend(ctx context.Context, c *duck.Conn, source *Node, roots map[string]time.Time, but string) (*descent, error) {
	d := &descent{roots: roots, of: map[string]bool{}, because: map[string]string{}, withdrawn: map[string][]withdrawal{}}
	if source.Kind == kinds.Memory {
		d.add(source.ID, source.ID)
	}
	for level := slices.Sorted(maps.Keys(roots)); len(level) > 0; {
		found, err := below(ctx, c, level)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, e := range found {
			if e.toKind != kinds.Memory || d.said(e, roots[e.from]) {
				continue
			}
			if e.how == memory.Contradicted {
				d.observed = append(d.observed, e.to)
			}
			if e.how.Carries() && !d.of[e.to] {
				d.add(e.to, e.from)
				level = append(level, e.to)
			}
		}
	}
	withdrawn, err := duck.Column[string](ctx, c, "lineage_withdrawn_by", sql.Named("retraction_id", but))
	if err != nil {
		return nil, err
	}
	for _, id := range withdrawn {
		if !d.of[id] {
			d.add(id, source.ID)
		}
	}
	return d, d.readSources(ctx, c, but)
}

func (d *descent) add(id, because string) {
	d.memories, d.of[id], d.because[id] = append(d.memories, id), true, because
}

// said reports whether an edge comes from what a summary has said only since it was made anew.
func (d *descent) said(e edge, since time.Time) bool {
	return e.fromKind == kinds.Summary && e.noted.After(since) && !since.IsZero()
}

// readSources reads all that the memories stand on, and which of that is withdrawn by others.
func (d *descent) readSources(ctx context.Context, c *duck.Conn, but string) (err error) {
	sources := append(slices.Clone(d.memories), d.observed...)
	if d.edges, err = above(ctx, c, sources); err != nil {
		return err
	}
	for _, e := range d.edges {
		sources = append(sources, e.from)
	}
	if len(sources) == 0 {
		return nil
	}
	return c.Each(ctx, "lineage_withdrawn", func(rows *sql.Rows) error {
		var id string
		var w withdrawal
		err := rows.Scan(&id, &w.at, duck.TextOf(&w.retraction), &w.direct)
		if w.direct || !d.of[id] { // of what descends it is found out
			d.withdrawn[id] = append(d.withdrawn[id], w)
		}
		return err
	}, sql.Named("ids", sources), sql.Named("but", but))
}

// withdrawal is why a source does not stand, apart from the retraction that is looked at.
type withdrawal struct {
	at         time.Time
	retraction string
	direct     bool // it was retracted itself; else, of a memory, what it came from
}

// state is what stands and what does not, with the roots withdrawn or without.
type state struct {
	*descent
	active bool              // the roots are withdrawn
	stands map[string]bool   // of the memories that descend, those that stand
	causes map[string]string // of the others, the retraction that keeps them out; empty: the one that is looked at
}

// settle finds out which memories stand: those that are withdrawn by nobody directly, and of which a derivation has nothing but sources that stand. It begins with none,
// so memories that stand only on each other do not.
func (d *descent) settle(active bool) *state {
	s := &state{d, active, map[string]bool{}, map[string]string{}}
	groups := map[string]map[int][]edge{}
	for _, e := range d.edges {
		if e.how.Carries() && d.of[e.to] {
			if groups[e.to] == nil {
				groups[e.to] = map[int][]edge{}
			}
			groups[e.to][e.derivation] = append(groups[e.to][e.derivation], e)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, id := range d.memories {
			if s.stands[id] || s.directly(id) {
				continue
			}
			whole := groups[id][0] == nil // it was made by itself
			for _, group := range groups[id] {
				whole = whole || s.holds(group)
			}
			if whole {
				s.stands[id], changed = true, true
			}
		}
	}
	for changed := !active; changed; {
		changed = false
		for _, id := range d.memories {
			if s.stands[id] || s.causes[id] != "" {
				continue
			}
			if s.causes[id] = s.cause(id, groups[id]); s.causes[id] != "" {
				changed = true
			}
		}
	}
	return s
}

// directly reports whether a memory is withdrawn itself.
func (s *state) directly(id string) bool {
	if _, root := s.roots[id]; root && s.active {
		return true
	}
	return slices.ContainsFunc(s.withdrawn[id], func(w withdrawal) bool { return w.direct })
}

// holds reports whether all sources of a derivation stand.
func (s *state) holds(group []edge) bool {
	return !slices.ContainsFunc(group, s.broken)
}

// broken reports whether a source does not stand.
func (s *state) broken(e edge) bool {
	if since, root := s.roots[e.from]; root && s.active && !s.said(e, since) {
		return true
	}
	if s.of[e.from] {
		return !s.stands[e.from]
	}
	return slices.ContainsFunc(s.withdrawn[e.from], func(w withdrawal) bool { return !s.said(e, w.at) })
}

// cause is a retraction that keeps a memory out, other than the one that is looked at; empty: none is known yet.
func (s *state) cause(id string, groups map[int][]edge) string {
	for _, w := range s.withdrawn[id] {
		if w.direct {
			return w.retraction
		}
	}
	for _, group := range groups {
		for _, e := range group {
			for _, w := range s.withdrawn[e.from] {
				if !s.said(e, w.at) {
					return w.retraction
				}
			}
			if of := s.causes[e.from]; of != "" {
				return of
			}
		}
	}
	return ""
}
