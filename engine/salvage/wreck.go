package salvage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// wreck is the copy of a damaged file, open for reading, and beside it the new file. The zero value is none.
type wreck struct {
	damaged, fresh string
	db             *sql.DB
}

// do does a task. DuckDB may abort the process in it.
func (w *wreck) do(ctx context.Context, t task) *answer {
	a := &answer{}
	if t.Act == greeting {
		return a
	}
	err := w.open(ctx, t)
	if err == nil {
		switch t.Act {
		case listing:
			err = w.list(ctx, a)
		case copying:
			err = w.copy(ctx, t, a)
		case counting:
			err = w.count(ctx, t, a)
		case trying:
			w.try(ctx, t, a)
		case naming:
			err = w.rows(ctx, w.text("recover_keys", t, "{column}", duck.QuotedName(t.Columns[0]), "{limit}", strconv.Itoa(upkeep.MostSubjects)), func(rows *sql.Rows) error {
				var name string
				err := rows.Scan(&name)
				a.Names = append(a.Names, strings.ToValidUTF8(name, "\ufffd"))
				return err
			})
		case grouping:
			err = w.rows(ctx, w.text("recover_groups", t), func(rows *sql.Rows) error {
				var n int64
				err := rows.Scan(&n)
				a.Groups = append(a.Groups, n)
				return err
			})
		default:
			err = fmt.Errorf("unknown task %s", fault.Quote(t.Act))
		}
	}
	if err != nil {
		a.Error = strings.ToValidUTF8(duck.FirstLine(err.Error()), "\ufffd")
		if duck.Invalidates(err) {
			w.close() // it answers nothing any more
		}
	}
	return a
}

func (w *wreck) close() {
	if w.db != nil {
		w.db.Close()
	}
	*w = wreck{}
}

// open opens the files of a task, unless they are.
func (w *wreck) open(ctx context.Context, t task) error {
	if w.db != nil && w.damaged == t.Damaged && w.fresh == t.Fresh {
		return nil
	}
	w.close()
	db, err := duck.OpenBeside(ctx, t.Damaged, t.Fresh, setup.Options{Threads: t.Threads, MemoryLimit: t.MemoryLimit})
	if err != nil {
		return err
	}
	w.db, w.damaged, w.fresh = db, t.Damaged, t.Fresh
	return nil
}

// list says what the damaged file has.
func (w *wreck) list(ctx context.Context, a *answer) error {
	a.Stored = &stored{}
	err := w.rows(ctx, sqlfiles.Query("recover_tables"), func(rows *sql.Rows) error {
		var t storedTable
		var columns, optional duckdb.Composite[[]string]
		err := rows.Scan(&t.Name, &t.End, &t.Keyed, &columns, &optional)
		t.Columns, t.Optional = columns.Get(), optional.Get()
		a.Stored.Tables = append(a.Stored.Tables, t)
		return err
	})
	if err != nil {
		return err
	}
	w.db.QueryRowContext(ctx, sqlfiles.Query("recover_version")).Scan(&a.Stored.Version) // where it can't be read, the newest is taken
	err = w.db.QueryRowContext(ctx, sqlfiles.Query("recover_models")).Scan(&a.Stored.Model, &a.Stored.Dims)
	vectors := slices.ContainsFunc(a.Stored.Tables, func(t storedTable) bool { return strings.HasPrefix(t.Name, "vectors_") })
	a.Stored.Unknown = err != nil && (vectors || !errors.Is(err, sql.ErrNoRows))
	return nil
}

// copy takes rows over into the new file.
func (w *wreck) copy(ctx context.Context, t task, a *answer) error {
	if err := w.count(ctx, t, a); err != nil {
		return err
	}
	name := "recover_copy"
	if t.Believed {
		name = "recover_copy_believed"
	}
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = duck.QuotedName(c)
	}
	text := w.text(name, t, "{columns}", strings.Join(columns, ", "))
	if t.Keyed {
		text += " " + sqlfiles.Query("recover_keyed")
	}
	result, err := w.db.ExecContext(ctx, text)
	if err != nil {
		return err
	}
	a.Copied, err = result.RowsAffected()
	return err
}

func (w *wreck) count(ctx context.Context, t task, a *answer) error {
	return w.db.QueryRowContext(ctx, w.text("recover_count", t)).Scan(&a.Counted)
}

// try says which columns can't be read.
func (w *wreck) try(ctx context.Context, t task, a *answer) {
	for _, column := range t.Columns {
		err := w.rows(ctx, w.text("recover_column", t, "{column}", duck.QuotedName(column)), func(*sql.Rows) error { return nil })
		if err != nil {
			a.Bad = append(a.Bad, column)
		}
		if err != nil && duck.Invalidates(err) {
			w.close()
			if w.open(ctx, t) != nil {
				a.Bad = slices.Clone(t.Columns)
				return
			}
		}
	}
}

func (w *wreck) rows(ctx context.Context, text string, scan func(*sql.Rows) error) error {
	rows, err := w.db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// text is a statement about the rows of a task.
func (w *wreck) text(name string, t task, more ...string) string {
	return strings.NewReplacer(append(more, "{table}", duck.QuotedName(t.Table), "{name}", strings.ReplaceAll(t.Table, "'", "''"), "{from}", strconv.FormatInt(t.From, 10),
		"{to}", strconv.FormatInt(t.To, 10))...).Replace(sqlfiles.Query(name))
}
