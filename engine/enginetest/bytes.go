package enginetest

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Where blocks lie in a file.
const (
	BlocksFrom = 3 * 4096
	BlockBytes = 256 << 10
)

// BytesOf reads a file, or what is left of one.
func BytesOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Placed writes files into a new folder, by the ending of their name, and gives the path of the memory file.
func Placed(t testing.TB, contents map[string][]byte) string {
	t.Helper()
	path := NewFile(t)
	for ending, content := range contents {
		if err := os.WriteFile(path+ending, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// KilledFiles gives the files of an engine that was not closed since it made them: much of them is in the log, tables too. A number of memories and
// messages is in them.
func KilledFiles(t testing.TB) map[string][]byte {
	t.Helper()
	path := NewFile(t)
	e, err := engine.Open(context.Background(), path, Thrifty(engine.Options{Embedder: Words{}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	Stock(t, e)
	return map[string][]byte{"": BytesOf(t, path), ".wal": BytesOf(t, path+".wal"), ".synced": BytesOf(t, path+".synced")}
}

// ClosedFile gives the content of a file that was closed.
func ClosedFile(t testing.TB) []byte {
	t.Helper()
	path := NewFile(t)
	e := OpenFile(t, path, engine.Options{Embedder: Words{}})
	Stock(t, e)
	CloseFile(t, e)
	return BytesOf(t, path)
}

// Unpurged leaves out that something was purged, which is no fault of a file.
func Unpurged(findings []upkeep.Finding) []upkeep.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f upkeep.Finding) bool { return f.Fault == "purge whose bytes may still be in the file" })
}
