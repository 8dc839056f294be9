package enginetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// Import reads lines of memories and wants its report to be as given, and the import to have an id where it stored something.
func Import(t *testing.T, e *engine.Engine, lines string, want interchange.Imported) {
	t.Helper()
	got, err := e.Import(t.Context(), strings.NewReader(lines), interchange.ImportRequest{})
	if got != nil && (got.ID != "") != (got.Created > 0) {
		t.Errorf("%d stored, and the import's id is %q", got.Created, got.ID)
	}
	got.ID = ""
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Fatalf("%v, (-want +got):\n%s", err, diff)
	}
}

// Remember remembers one memory and gives it as the file has it.
func Remember(t testing.TB, e *engine.Engine, r memory.RememberRequest) *memory.Memory {
	t.Helper()
	result, err := e.Remember(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return Get(t, e, result.ID)
}

// Get reads one memory.
func Get(t testing.TB, e *engine.Engine, id string) *memory.Memory {
	t.Helper()
	m, err := e.Get(t.Context(), memory.GetRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ImportLine imports one line and gives the memory that it made.
func ImportLine(t testing.TB, e *engine.Engine, line string) *memory.Memory {
	t.Helper()
	result, err := e.Import(t.Context(), strings.NewReader(line), interchange.ImportRequest{})
	if err != nil || result.Created != 1 {
		t.Fatalf("import %s: %+v, %v", line, result, err)
	}
	all, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b *memory.Memory) int { return strings.Compare(b.ID, a.ID) })
	return all[0]
}
