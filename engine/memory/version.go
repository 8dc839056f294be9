package memory

import (
	"context"
	"database/sql"
	"reflect"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// uses are the columns that say how a memory was used: a change of these alone makes no version.
var uses = map[string]bool{
	"access_count": true, "last_accessed_at": true, "injected_count": true, "last_injected_at": true, "bad_recall_count": true,
	"last_confirmed_use_at": true, "suppressed_until_turn": true, "suppressed_until": true, "updated_at": true,
}

// sameBut reports whether two memories are the same but for their use.
func sameBut(a, b *Memory) (bool, error) {
	for _, c := range columns {
		if uses[c.name] {
			continue
		}
		x, err := c.of(a)
		if err != nil {
			return false, err
		}
		y, err := c.of(b)
		if err != nil || !reflect.DeepEqual(x, y) {
			return false, err
		}
	}
	return len(a.Relations) == len(b.Relations) && (len(a.Relations) == 0 || reflect.DeepEqual(a.Relations, b.Relations)), nil
}

// keepVersion keeps a memory as it is in the file, which is was, if m is another, until that was updated.
func (ms *Store) keepVersion(ctx context.Context, tx *duck.Write, was, m *Memory) error {
	if same, err := sameBut(was, m); same || err != nil {
		return err
	}
	if !m.UpdatedAt.After(was.UpdatedAt) {
		m.UpdatedAt = ms.file.Now()
	}
	_, err := tx.Exec(ctx, "version_keep", sql.Named("id", m.ID), sql.Named("at", m.UpdatedAt))
	return err
}

// keepText keeps what the text of a memory, whose row is changed already, was found by until now: under its own number where the memory leaves the present, else under a new one, for
// the memory goes on with its own. What comes back into the present has nothing in the past any more.
func (ms *Store) keepText(ctx context.Context, tx *duck.Write, m *Memory, docNo int32) error {
	var length float32
	var live bool
	if _, err := tx.One(ctx, "document_length", []any{&length, &live}, sql.Named("doc_no", docNo)); err != nil {
		return err
	}
	if !live {
		return ms.index.DropPast(ctx, tx, []int32{docNo})
	}
	former := docNo
	if m.RetiredAt.IsZero() {
		numbers, err := ms.index.NextDocNos(ctx, tx.Conn, 1)
		if err != nil {
			return err
		}
		former = numbers[0]
		if _, err := tx.Exec(ctx, "version_renumber", sql.Named("id", m.ID), sql.Named("doc_no", docNo), sql.Named("former", former)); err != nil {
			return err
		}
	}
	return ms.index.Keep(ctx, tx, kinds.Memory, docNo, former, m.UpdatedAt)
}

// versions gives what a memory was, oldest first, and the numbers of the documents.
func versions(ctx context.Context, c *duck.Conn, id string) (all []*Version, docNos []int32, err error) {
	err = c.Each(ctx, "versions_of", func(rows *sql.Rows) error {
		v := &Version{}
		m, docNo, err := scanMemory(rows, &v.KnownFrom, &v.KnownUntil)
		v.Memory = m
		all, docNos = append(all, v), append(docNos, docNo)
		return err
	}, sql.Named("id", id))
	return all, docNos, err
}

// purgeVersions removes all that a memory was, with what it was found by, and adds the words of its texts to those that leave.
func (ms *Store) purgeVersions(ctx context.Context, tx *duck.Write, m *Memory, docNo int32, leaving index.Leaving) error {
	all, docNos, err := versions(ctx, tx.Conn, m.ID)
	if err != nil {
		return err
	}
	for _, v := range all {
		for written, term := range ms.index.Analyse(v.Memory.fields()).Surfaces {
			leaving[written] = term
		}
	}
	if err := ms.index.DropPast(ctx, tx, append(docNos, docNo)); err != nil {
		return err
	}
	for _, query := range []string{"versions_delete", "versions_dropped_delete", "versions_to"} {
		if _, err := tx.Exec(ctx, query, sql.Named("id", m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// past gives the documents of what memories were.
func (ms *Store) past() index.Past {
	return index.Past{
		Drop: ms.dropRetiredBefore,
		Documents: func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*index.Document, time.Time) error) error {
			return c.EachOf(ctx, of, "memory_past_documents", func(rows *sql.Rows) error {
				var until time.Time
				m, docNo, err := scanMemory(rows, &until)
				if err != nil {
					return err
				}
				m.RetiredAt = time.Time{} // in the past it was not
				d := &index.Document{Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
				ms.describe(d, m, docNo)
				d.Stand = index.Stand{SessionNo: docNo}
				d.Divide(m.embedded())
				return do(d, until)
			})
		},
		Texts: func(ctx context.Context, c *duck.Conn, docNos []int32, do func(int32, []index.Field, string)) error {
			return c.Each(ctx, "memory_past_texts", func(rows *sql.Rows) error {
				var docNo int32
				var m Memory
				err := rows.Scan(&docNo, &m.Text, duck.TextOf(&m.L0), duck.TextOf(&m.L1), duck.TextOf(&m.L2))
				if err == nil {
					do(docNo, m.fields(), m.embedded())
				}
				return err
			}, sql.Named("doc_nos", docNos))
		},
	}
}
