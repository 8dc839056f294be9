package enginetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/setup"
)

// DemoFiles is the folder of the demo history, wherever in the module the test runs.
func DemoFiles(t testing.TB) string {
	t.Helper()
	for root := ".."; len(root) < 20; root = filepath.Join(root, "..") {
		if folder := filepath.Join(root, "testdata", "demo"); isFolder(folder) {
			return folder
		}
	}
	t.Fatal("there is no testdata/demo above the test's folder")
	return ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// DemoNow is a few days after the last thing that the demo history tells.
var DemoNow = time.Date(2026, 8, 15, 12, 0, 0, 0, time.UTC)

// OpenDemo imports the demo history.
func OpenDemo(t *testing.T, model setup.Embedder) *engine.Engine {
	t.Helper()
	e := Open(t, engine.Options{Embedder: model, Now: func() time.Time { return DemoNow }})
	for name, read := range map[string]func(f *os.File) (*interchange.Imported, error){
		"memories.jsonl": func(f *os.File) (*interchange.Imported, error) {
			return e.Import(t.Context(), f, interchange.ImportRequest{})
		},
		"messages.jsonl": func(f *os.File) (*interchange.Imported, error) {
			return e.ImportMessages(t.Context(), f, interchange.ImportRequest{})
		},
	} {
		f, err := os.Open(filepath.Join(DemoFiles(t), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		result, err := read(f)
		if err != nil || len(result.Faults) > 0 || result.Created == 0 || result.Created != result.Lines || result.VectorErr != "" {
			t.Fatalf("%s: %+v, %v", name, result, err)
		}
	}
	return e
}
