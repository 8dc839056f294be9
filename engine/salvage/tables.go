package salvage

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/upkeep"
)

const (
	vectorRows  = 2048 // DuckDB reads rows of a group so many at a time: all of them or none
	fewestTried = 32   // among rows that can't be read together, ranges as short are looked for that can
)

// remade are the tables that are not copied: the index is made anew from the rows, and the record of migrations by these. What a model said before is not worth a damaged row.
var remade = []string{"embedding_cache", "documents", "terms", "surfaces", "postings", "kind_stats", "past_documents", "past_postings", "migrations"}

// rowRange is a run of rows of a table.
type rowRange struct {
	table    *storedTable
	from, to int64
}

func (r rowRange) task(act string, columns []string) task {
	return task{Act: act, Table: r.table.Name, Keyed: r.table.Keyed, From: r.from, To: r.to, Columns: columns}
}

// believed is the task once damaged blocks are believed.
func (t task) believed() task {
	t.Believed = true
	return t
}

// copyTables copies all that can be read. Rows in damaged blocks come last, when those are believed.
func (s *salvage) copyTables(ctx context.Context, all *stored) error {
	var doubtful []rowRange
	tables := slices.DeleteFunc(slices.Clone(all.Tables), func(t storedTable) bool {
		vectors := t.Name == "models" || strings.HasPrefix(t.Name, "vectors_")
		return slices.Contains(remade, t.Name) || vectors && (all.Model == 0 || t.Name != "models" && t.Name != (index.Model{N: all.Model}).Table())
	})
	if all.Unknown {
		s.step("which model the vectors are of can't be read; those of the model at hand are made")
	}
	for n := range tables {
		t := &tables[n]
		s.request.Options.Progress("tables", n, len(tables))
		s.found.Tables = append(s.found.Tables, RecoveredTable{Table: t.Name})
		refused, err := s.copyTable(ctx, t)
		if err != nil {
			return err
		}
		doubtful = append(doubtful, refused...)
	}
	if len(doubtful) == 0 {
		return nil
	}
	if err := s.believe(); err != nil {
		return err
	}
	for n, d := range doubtful {
		s.request.Options.Progress("doubtful rows", n, len(doubtful))
		if err := s.copyDoubtful(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// believe believes all damaged blocks.
func (s *salvage) believe() error {
	s.reader.stop()
	if len(s.data) == 0 {
		return nil
	}
	file, err := os.OpenFile(s.copied(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	s.step("rows in these damaged blocks are read as they are: %v", s.data)
	return duckfile.Believe(file, s.data)
}

// copyTable copies a table as a whole, or else by groups and in these by vectors of rows, and gives what can't be read.
func (s *salvage) copyTable(ctx context.Context, t *storedTable) (refused []rowRange, err error) {
	done, err := s.copyRows(ctx, rowRange{t, 0, t.End})
	if done || err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, task{Act: grouping, Table: t.Name})
	if err != nil {
		return nil, err
	}
	for from, n := int64(0), 0; from < t.End; n++ {
		to := t.End
		if n < len(a.Groups) {
			to = min(from+a.Groups[n], t.End)
		}
		group := rowRange{t, from, to}
		from = to
		if done, err := s.copyRows(ctx, group); done || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		for at := group.from; at < group.to; at += vectorRows {
			vector := rowRange{t, at, min(at+vectorRows, group.to)}
			done, err := s.copyRows(ctx, vector)
			if err != nil {
				return nil, err
			}
			if !done {
				refused = append(refused, vector)
			}
		}
	}
	return refused, nil
}

// copyRows copies a range, with all columns; done is false where it can't be read.
func (s *salvage) copyRows(ctx context.Context, r rowRange) (done bool, err error) {
	a, err := s.ask(ctx, r.task(copying, r.table.Columns))
	t := s.table(r)
	if err != nil || a.Error != "" {
		if err == nil && t.Why == "" {
			t.Why = a.Error
		}
		return false, err
	}
	t.Rows += int(a.Copied)
	t.Lost += int(a.Counted - a.Copied)
	return true, nil
}

// copyDoubtful copies a range of which something is damaged: as it is, without columns that can't be read and may be missing, or what can be
// copied of its halves.
func (s *salvage) copyDoubtful(ctx context.Context, r rowRange) error {
	columns := r.table.Columns
	a, err := s.ask(ctx, r.task(copying, columns).believed())
	if err != nil {
		return err
	}
	if a.Error != "" {
		bad, err := s.badColumns(ctx, r)
		if err != nil {
			return err
		}
		needed := slices.ContainsFunc(bad, func(c string) bool { return !slices.Contains(r.table.Optional, c) })
		if !needed && len(bad) > 0 {
			columns = slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(bad, c) })
			if a, err = s.ask(ctx, r.task(copying, columns).believed()); err != nil {
				return err
			}
		}
		if a.Error != "" && len(bad) == 0 && r.to-r.from > fewestTried {
			middle := (r.from + r.to) / 2
			if err := s.copyDoubtful(ctx, rowRange{r.table, r.from, middle}); err != nil {
				return err
			}
			return s.copyDoubtful(ctx, rowRange{r.table, middle, r.to})
		}
		if a.Error != "" {
			return s.loseRows(ctx, r)
		}
		t := s.table(r)
		for _, c := range bad {
			if !slices.Contains(t.Without, c) {
				t.Without = append(t.Without, c)
			}
		}
	}
	t := s.table(r)
	t.Rows += int(a.Copied)
	t.Doubtful += int(a.Copied)
	t.Lost += int(a.Counted - a.Copied)
	return s.name(ctx, r, &t.DoubtfulIDs)
}

// badColumns are the columns of a range that can't be read. One that ends the process is one of them.
func (s *salvage) badColumns(ctx context.Context, r rowRange) (bad []string, err error) {
	for _, column := range r.table.Columns {
		a, err := s.ask(ctx, r.task(trying, []string{column}).believed())
		if err != nil {
			return nil, err
		}
		if a.Error != "" || len(a.Bad) > 0 {
			bad = append(bad, column)
		}
	}
	return bad, nil
}

// loseRows notes that a range is lost. Where not even the number of its rows can be told, all that were ever there count.
func (s *salvage) loseRows(ctx context.Context, r rowRange) error {
	a, err := s.ask(ctx, r.task(counting, nil))
	if err != nil {
		return err
	}
	if a.Error != "" {
		a.Counted = r.to - r.from
	}
	t := s.table(r)
	t.Lost += int(a.Counted)
	return s.name(ctx, r, &t.LostIDs)
}

// name adds the first ids of a range, where a table's rows have any.
func (s *salvage) name(ctx context.Context, r rowRange, ids *[]string) error {
	if r.table.Columns[0] != "id" || len(*ids) >= upkeep.MostSubjects {
		return nil
	}
	a, err := s.ask(ctx, r.task(naming, r.table.Columns[:1]))
	if err == nil && a.Error == "" {
		*ids = append(*ids, a.Names[:min(len(a.Names), upkeep.MostSubjects-len(*ids))]...)
	}
	return err
}

// table is what is said of the table of a range.
func (s *salvage) table(r rowRange) *RecoveredTable { return tableOf(s.found.Tables, r.table.Name) }

// tableOf finds a table by its name; one that is not there is empty.
func tableOf(all []RecoveredTable, name string) *RecoveredTable {
	if i := slices.IndexFunc(all, func(t RecoveredTable) bool { return t.Table == name }); i >= 0 {
		return &all[i]
	}
	return &RecoveredTable{}
}

func (s *salvage) ask(ctx context.Context, t task) (*answer, error) {
	t.Damaged, t.Fresh = s.copied(), s.fresh()
	a, err := s.reader.ask(ctx, t, s.request.Options)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Table, err)
	}
	return a, nil
}
