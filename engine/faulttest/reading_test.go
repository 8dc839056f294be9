package faulttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// reading is what a process that reads a whole file says of it.
type reading struct {
	Found   string // where damage was found; empty: nowhere
	Fault   string // what must not be
	Content string // a line for each table and each thing that was looked for
}

// look has a folder made and read.
func look(t *testing.T, r *juror, m image) (v reading) {
	if died := r.putFolder(t, "read", m, &v); died != "" {
		v = reading{Fault: died}
	}
	return v
}

// putFolder makes a folder and puts it to a child of a role.
func (j *juror) putFolder(t *testing.T, role string, m image, answer any) (died string) {
	folder, err := newFolder()
	if err != nil {
		t.Error(err)
		return err.Error()
	}
	defer os.RemoveAll(folder)
	if err := m.make(folder); err != nil {
		t.Error(err)
		return err.Error()
	}
	return j.put(role, folder, answer)
}

// read is the child that reads files: folders, one a line.
func read([]string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var folder string
		if err := json.Unmarshal(in.Bytes(), &folder); err != nil {
			return err
		}
		tell(readWhole(folder))
	}
	return nil
}

// readWhole reads everything in a file, by tables and by its verbs.
func readWhole(folder string) (v reading) {
	ctx := context.Background()
	l := newLife(folder)
	l.begin(999)
	if err := l.open(ctx); err != nil {
		v.Found = "by open"
		if !errors.Is(err, engine.ErrCorrupt) {
			v.Fault = "does not open, but not as a damaged file: " + err.Error()
		}
		return v
	}
	defer l.close()
	faults, err := l.engine.Check(ctx)
	if err != nil || len(faults) > 0 {
		v.Found = "by check"
		return v
	}
	if v.Content, err = wholeContent(ctx, l.engine); err != nil {
		v.Found = "by reading"
	}
	return v
}

// wholeContent is a line for everything that the file says: for each table its rows and a hash of them, and what is found by keys and words.
func wholeContent(ctx context.Context, e *engine.Engine) (string, error) {
	tables, err := e.Query(ctx, "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL", 0)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, row := range tables.Rows {
		name := row[0].(string)
		t, err := e.Query(ctx, `SELECT count(*)::VARCHAR || ' ' || coalesce(bit_xor(hash(r)), 0)::VARCHAR FROM "`+name+`" r`, 0)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&all, name, t.Rows[0][0])
	}
	memories, err := e.List(ctx, memory.ListRequest{Standing: "any", Limit: 20})
	if err != nil {
		return "", err
	}
	for i, m := range memories {
		again, err := e.Get(ctx, memory.GetRequest{ID: m.ID})
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&all, again.ID, again.Text)
		if i >= 3 {
			continue
		}
		found, err := e.Recall(ctx, recall.Query{Text: again.Text, Limit: 3})
		if err != nil {
			return "", err
		}
		for _, h := range found.Hits {
			fmt.Fprint(&all, h.ID, " ")
		}
		fmt.Fprintln(&all)
	}
	return all.String(), nil
}
