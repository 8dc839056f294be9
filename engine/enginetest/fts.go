package enginetest

import (
	"context"
	"os"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// WithFTS gives options with DuckDB's text extension, or skips the test.
func WithFTS(t testing.TB) engine.Options {
	t.Helper()
	path := os.Getenv("MEMCTL_FTS")
	if path == "" {
		t.Skip("MEMCTL_FTS names no file: DuckDB's text extension is not tested")
	}
	return engine.Options{FTS: path, Embedder: Words{}}
}

// ByFTS gives options with the backend fts, and no model; or skips the test.
func ByFTS(t testing.TB) engine.Options {
	t.Helper()
	return engine.Options{FTS: WithFTS(t).FTS, Lexical: setup.FTSBackend}
}

// FTSReady asks of the extension's index as a recall does, after refreshing it where refresh says so.
func FTSReady(t testing.TB, e *engine.Engine, refresh bool) (ok bool, notice string) {
	t.Helper()
	if refresh {
		if _, err := Index(e).RefreshFTS(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	err := File(e).Read(t.Context(), "test", func(c *duck.Conn) (err error) {
		ok, notice, err = Index(e).FTSReady(t.Context(), c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok, notice
}

// Agreeing makes the index where it is missing or stale, compares the backends, and reports whether it had to be made.
func Agreeing(t testing.TB, e *engine.Engine) (built bool) {
	t.Helper()
	x, err := e.CheckLexical(context.Background(), recall.CheckLexicalRequest{Sample: 5})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Agree() || x.Scores == 0 {
		t.Errorf("the backends do not agree: %+v", x)
	}
	return x.Built
}

// FTSIndex is the extension's index as Stats has it.
func FTSIndex(t testing.TB, e *engine.Engine) *index.FTSIndex {
	t.Helper()
	s, err := e.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.FTS
}
