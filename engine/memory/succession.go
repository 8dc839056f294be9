package memory

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// succession is what memories say of who replaced whom, where some of them come from another file: theirs may not be what is said here.
type succession struct {
	fresh    map[string]*Memory // on their way into the file
	replaces map[string]string  // what those that are there say they replaced, by id
	claims   [][2]string        // of those that are there: its id, and that of a fresh one that it says replaced it
}

// settle makes agree what fresh memories, and those that name them, say of each other. A newer one that says nothing takes the older's word;
// where it replaced another, or is there already, the older one keeps its claim as a relation.
func (ms *Store) settle(ctx context.Context, tx *duck.Write, drafts []*draft) error {
	s := succession{fresh: map[string]*Memory{}, replaces: map[string]string{}}
	ids, named := []string{}, []string{}
	for _, d := range drafts {
		s.fresh[d.memory.ID] = d.memory
		if d.chosen {
			ids = append(ids, d.memory.ID)
		}
		if d.memory.SupersededBy != "" {
			named = append(named, d.memory.SupersededBy)
		}
	}
	if len(ids) == 0 && len(named) == 0 {
		return nil
	}
	err := tx.Each(ctx, "memory_succession", func(rows *sql.Rows) error {
		var id, replaces, by string
		err := rows.Scan(&id, duck.TextOf(&replaces), duck.TextOf(&by))
		s.replaces[id] = replaces
		if s.fresh[by] != nil {
			s.claims = append(s.claims, [2]string{id, by})
		}
		return err
	}, sql.Named("ids", ids), sql.Named("named", named))
	if err != nil {
		return err
	}
	for _, claim := range s.claims {
		if s.believes(claim[0], claim[1]) {
			continue
		}
		older, docNo, err := MemoryByID(ctx, tx.Conn, claim[0])
		if err != nil {
			return err
		}
		if err := older.unclaim(); err != nil {
			return err
		}
		if err := ms.updateMemory(ctx, tx, older, docNo); err != nil {
			return err
		}
	}
	for _, d := range drafts {
		if by := d.memory.SupersededBy; by != "" && !s.believes(d.memory.ID, by) {
			if err := d.memory.unclaim(); err != nil {
				return err
			}
		}
	}
	return nil
}

// believes reports whether the newer one says the same, or is not there to say anything.
func (s *succession) believes(older, newer string) bool {
	if m := s.fresh[newer]; m != nil {
		m.Supersedes = cmp.Or(m.Supersedes, older)
		return m.Supersedes == older
	}
	replaced, there := s.replaces[newer]
	return !there || replaced == older
}

// unclaim keeps who replaced the memory as a relation only.
func (m *Memory) unclaim() error {
	m.Relations = append([]Relation{{Type: "superseded_by", TargetID: m.SupersededBy}}, m.Relations...)
	m.SupersededBy = ""
	return m.normaliseRelations()
}
