package lineage

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// successions are which memories ended which, around some of them. What follows is a function of these and of what is withdrawn: a memory is ended by the first of those
// that ended it and stand, and where one is withdrawn, those that ended that one take its place.
type successions struct {
	x     *act
	by    map[string][]ending // by the older one, in the order it was noted
	ended map[string][]string // by the newer one
}

// ending is one memory that ended another, which had ended at a time before or had no fact key.
type ending struct {
	by      string
	at      time.Time
	unkeyed bool
	noted   time.Time
}

// successions reads all that is linked with some memories.
func (x *act) successions(ctx context.Context, of []string) (*successions, error) {
	s := &successions{x, map[string][]ending{}, map[string][]string{}}
	seen := map[string]bool{}
	for level := of; len(level) > 0; {
		for _, id := range level {
			seen[id] = true
		}
		asked := level
		level = nil
		err := x.tx.Each(ctx, "lineage_successions", func(rows *sql.Rows) error {
			var newer, older string
			var e ending
			var keyed sql.NullBool
			if err := rows.Scan(&newer, &older, duck.TimeOf(&e.at), &keyed, &e.noted); err != nil {
				return err
			}
			e.by, e.unkeyed = newer, keyed.Valid && !keyed.Bool
			if !slices.Contains(s.ended[newer], older) {
				s.by[older], s.ended[newer] = append(s.by[older], e), append(s.ended[newer], older)
			}
			for _, id := range []string{newer, older} {
				if !seen[id] && !slices.Contains(level, id) {
					level = append(level, id)
				}
			}
			return nil
		}, sql.Named("ids", asked))
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// succeed settles who ended whom after some memories were withdrawn, or came back.
func (x *act) succeed(ctx context.Context, moved []string, since time.Time) error {
	if len(moved) == 0 {
		return nil
	}
	s, err := x.successions(ctx, moved)
	if err != nil || len(s.by) == 0 {
		return err
	}
	if x.undoing {
		if err := s.meanwhile(moved, since); err != nil {
			return err
		}
	}
	around, err := s.around(ctx, moved)
	if err != nil {
		return err
	}
	var newer []string
	for _, id := range around {
		was, is, err := s.endAnew(ctx, id)
		if err != nil {
			return err
		}
		for _, by := range []string{was, is} {
			if by != "" && !slices.Contains(newer, by) {
				newer = append(newer, by)
			}
		}
	}
	for _, id := range newer {
		if err := s.replaceAnew(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range around {
		if err := s.agree(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// meanwhile has what superseded a memory while the one that had superseded it was withdrawn end that one too.
func (s *successions) meanwhile(back []string, since time.Time) error {
	for _, id := range back {
		for _, older := range s.ended[id] {
			for _, e := range s.by[older] {
				if e.by == id || e.noted.Before(since) || slices.ContainsFunc(s.by[id], func(of ending) bool { return of.by == e.by }) {
					continue
				}
				if err := s.x.memories.NoteEnded(s.x.tx, e.by, id); err != nil {
					return err
				}
				s.by[id], s.ended[e.by] = append(s.by[id], ending{by: e.by, noted: s.x.at}), append(s.ended[e.by], id)
			}
		}
	}
	return nil
}

// around gives the memories whose end may change: those that moved, and what they ended, through all that is withdrawn.
func (s *successions) around(ctx context.Context, moved []string) ([]string, error) {
	all := slices.Clone(moved)
	for i := 0; i < len(all); i++ {
		out, err := s.out(ctx, all[i])
		if err != nil {
			return nil, err
		}
		if i >= len(moved) && !out {
			continue
		}
		for _, older := range s.ended[all[i]] {
			if !slices.Contains(all, older) {
				all = append(all, older)
			}
		}
	}
	return all, nil
}

// out reports whether a memory is withdrawn, or gone.
func (s *successions) out(ctx context.Context, id string) (bool, error) {
	m, err := s.x.load(ctx, id)
	return m == nil || m.RetractedBy != "", err
}

// ender is the memory that ends one, as things stand; empty: none does.
func (s *successions) ender(ctx context.Context, id string) (string, error) {
	return s.enderBeyond(ctx, id, map[string]bool{})
}

func (s *successions) enderBeyond(ctx context.Context, id string, seen map[string]bool) (string, error) {
	if seen[id] {
		return "", nil
	}
	seen[id] = true
	for _, e := range s.by[id] {
		out, err := s.out(ctx, e.by)
		if err != nil {
			return "", err
		}
		if !out {
			return e.by, nil
		}
		if by, err := s.enderBeyond(ctx, e.by, seen); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// endAnew gives a memory the end that follows, and says who ended it before and who does now.
func (s *successions) endAnew(ctx context.Context, id string) (was, is string, err error) {
	m, err := s.x.load(ctx, id)
	if err != nil || m == nil || len(s.by[id]) == 0 {
		return "", "", err
	}
	linked := func(r memory.Relation) bool {
		return r.Type == "superseded_by" && s.by[r.TargetID] != nil || r.Type == "superseded_by" && s.ended[r.TargetID] != nil
	}
	if was = m.SupersededBy; was == "" {
		for _, r := range m.Relations {
			if linked(r) {
				was = r.TargetID
			}
		}
	}
	if is, err = s.ender(ctx, id); err != nil || was == is {
		return was, is, err
	}
	m.Relations = slices.DeleteFunc(slices.Clone(m.Relations), linked)
	first := s.by[id][0]
	if is == "" {
		m.InvalidatedAt, m.SupersededBy = first.at, ""
		if first.unkeyed {
			m.FactKey = ""
		}
		s.x.note(kinds.Memory, id, Restored, was, "")
		return was, is, nil
	}
	newer, err := s.x.load(ctx, is)
	if err != nil {
		return was, is, err
	}
	if m.InvalidatedAt = newer.ValidFrom; m.InvalidatedAt.Before(m.ValidFrom) {
		m.InvalidatedAt = m.ValidFrom
	}
	if m.FactKey == "" {
		m.FactKey = newer.FactKey
	}
	m.SupersededBy = ""
	m.Relations = append(m.Relations, memory.Relation{Type: "superseded_by", TargetID: is})
	what := Relinked
	if was == "" {
		what = Ended
	}
	s.x.note(kinds.Memory, id, what, is, "")
	return was, is, nil
}

// replaceAnew has a newer memory name what it superseded, as things stand: what lies between is withdrawn, or back.
func (s *successions) replaceAnew(ctx context.Context, id string) error {
	m, err := s.x.load(ctx, id)
	if err != nil || m == nil || m.RetractedBy != "" || m.Supersedes == "" {
		return err
	}
	older := m.Supersedes
	for at, steps := older, 0; at != "" && steps <= len(s.by); steps++ { // up, past what came back between
		by, err := s.ender(ctx, at)
		if err != nil {
			return err
		}
		if by == id {
			older = at
			break
		}
		at = by
	}
	if older, err = s.standing(ctx, older, id, map[string]bool{}); err != nil || older == "" || older == m.Supersedes {
		return err
	}
	m.Supersedes = older
	s.x.note(kinds.Memory, id, Relinked, older, "")
	return nil
}

// standing is a memory itself where it stands, or what it ended, if that stands and is ended by another now.
func (s *successions) standing(ctx context.Context, id, by string, seen map[string]bool) (string, error) {
	out, err := s.out(ctx, id)
	if err != nil || seen[id] {
		return "", err
	}
	seen[id] = true
	if !out {
		ender, err := s.ender(ctx, id)
		if err != nil || ender != by {
			return "", err
		}
		return id, nil
	}
	for _, older := range s.ended[id] {
		if found, err := s.standing(ctx, older, by, seen); found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

// agree has a memory name the one that superseded it, where that says so.
func (s *successions) agree(ctx context.Context, id string) error {
	m, err := s.x.load(ctx, id)
	if err != nil || m == nil || len(s.by[id]) == 0 {
		return err
	}
	by, err := s.ender(ctx, id)
	if err != nil {
		return err
	}
	m.SupersededBy = ""
	if by == "" {
		return nil
	}
	newer, err := s.x.load(ctx, by)
	if err == nil && newer.Supersedes == id {
		m.SupersededBy = by
	}
	return err
}
