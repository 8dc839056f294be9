package engine_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// What the tests of the file share: files to try things on, and a plain DuckDB that looks into them or breaks them.

// newFile is a path in a folder of its own.
func newFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "mallard.db")
}

// openFile opens a file that the test closes itself.
func openFile(t testing.TB, path string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func closeFile(t testing.TB, e *engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// plainDuckDB opens a file as any other program would, with the options of a data source name such as "access_mode=read_only".
func plainDuckDB(t testing.TB, path, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", path+"?"+options)
	if err == nil {
		err = db.Ping()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// tamper runs statements on a closed file, behind the engine's back.
func tamper(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := plainDuckDB(t, path, "")
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// stock puts a bit of everything into a file: memories of which one was updated, one forgotten, one superseded and one
// purged, and a conversation. It gives the ids of the first two of the memories.
func stock(t testing.TB, e *engine.Engine) []string {
	t.Helper()
	ctx := context.Background()
	var ids []string
	for _, text := range []string{
		"Ines prefers green tea in the morning", "The harbour crane HB-412 was repaired in May", "Bruno moved to Porto",
		"The café closes at six", "A note that goes for good",
	} {
		r, err := e.Remember(ctx, memory.RememberRequest{Text: text, L2: text + ", as was said at the meeting.", Extra: map[string]any{"from": "stock"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	changed := "Ines prefers black tea in the morning"
	_, err1 := e.Update(ctx, memory.UpdateRequest{ID: ids[0], Text: &changed})
	_, err2 := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[2], By: memory.RememberRequest{Text: "Bruno moved to Lisbon"}})
	_, err3 := e.Forget(ctx, memory.ForgetRequest{ID: ids[3], Reason: "closed for good"})
	_, err4 := e.Purge(ctx, memory.ForgetRequest{ID: ids[4]})
	_, err5 := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{
		{Speaker: "Ines", Text: "Is there any tea left?", SaidAt: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)},
		{Role: "assistant", Text: "Two bags of green tea.", Caption: "a tin on a shelf"},
	}})
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids[:2]
}

// rowsOf gives the answer to a query as rows.
func rowsOf(t testing.TB, e *engine.Engine, query string) [][]any {
	t.Helper()
	table, err := e.Query(context.Background(), query, 100_000)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return table.Rows
}

// intact fails the test when Check finds a fault.
func intact(t testing.TB, e *engine.Engine) {
	t.Helper()
	enginetest.Check(t, e)
}

func equal[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
