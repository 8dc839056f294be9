package foreign_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/foreign"
	"github.com/mallardmem/mallard/engine/session"
)

// host is a database of a host's that a test writes.
type host struct {
	*sql.DB
	path string
}

// made makes a database, in the journal mode that hosts use, by some statements.
func made(t testing.TB, statements ...string) host {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h := host{db, path}
	h.do(t, "PRAGMA journal_mode = wal")
	for _, s := range statements {
		h.do(t, s)
	}
	return h
}

func (h host) do(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := h.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// insert writes a row of some columns and values, given in turn.
func (h host) insert(t testing.TB, table string, pairs ...any) {
	t.Helper()
	var names, marks []string
	var values []any
	for i := 0; i < len(pairs); i += 2 {
		names, marks, values = append(names, pairs[i].(string)), append(marks, "?"), append(values, pairs[i+1])
	}
	h.do(t, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", ")), values...)
}

// read imports a database.
func (h host) read(t testing.TB, e *engine.Engine) session.FileReport {
	t.Helper()
	return read(t, e, foreign.Request{Paths: []string{h.path}})
}

func read(t testing.TB, e *engine.Engine, r foreign.Request) session.FileReport {
	t.Helper()
	if r.Extension == "" {
		r.Driver = "sqlite"
	}
	report, err := foreign.Import(t.Context(), e, r)
	if err != nil {
		t.Fatal(err)
	}
	f := report.Files[0]
	if f.Error != "" {
		t.Fatal(f.Error)
	}
	return f
}

// open makes an engine in memory, without a model.
func open(t testing.TB) *engine.Engine { return enginetest.Open(t, engine.Options{}) }

func rows(t testing.TB, e *engine.Engine, query string) (all [][]string) {
	t.Helper()
	table, err := e.Query(t.Context(), query, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, fmt.Sprint(cell))
		}
		all = append(all, cells)
	}
	return all
}

// heard gives what a conversation has: role, key without its host, and text, in order; of a message that is set aside, why.
func heard(t testing.TB, e *engine.Engine, key string) (all []string) {
	t.Helper()
	for _, r := range rows(t, e, `SELECT coalesce(m.set_aside || ': ', '') || m.role || ' ' || coalesce(m.caller_key, '') || ' ' || m.text FROM main.messages AS m
		JOIN main.conversations AS c ON c.id = m.conversation_id WHERE c.session_key = '`+key+`' ORDER BY m.seq`) {
		all = append(all, r[0])
	}
	return all
}

func same(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
