package index_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

func TestFTSReady(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), enginetest.ByFTS(t)
	want := func(e *engine.Engine, refresh, ok bool, says string) {
		t.Helper()
		if got, notice := enginetest.FTSReady(t, e, refresh); got != ok || !strings.Contains(notice, says) || (notice == "") != (says == "") {
			t.Errorf("ready %t, notice %q: want %t and %q", got, notice, ok, says)
		}
	}
	remember := func(e *engine.Engine, text string) {
		t.Helper()
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	e := enginetest.OpenFile(t, path, engine.Options{FTS: o.FTS})
	want(e, true, false, "") // the backend is postings: nobody asked
	e.Close()
	readOnly := o
	readOnly.ReadOnly = true
	e = enginetest.OpenFile(t, path, o)
	remember(e, "tea") // after this the index that was made above is stale
	want(e, false, false, "while the fts index was made")
	want(e, true, true, "")
	want(e, false, true, "")
	remember(e, "cake")
	e.Close()
	e = enginetest.OpenFile(t, path, readOnly)
	want(e, true, false, "is stale")
	e.Close()
	e = enginetest.OpenFile(t, path, o)
	want(e, true, true, "")
	e.Close()
	e = enginetest.OpenFile(t, path, readOnly)
	want(e, true, true, "")
	e.Close()
	none := filepath.Join(t.TempDir(), "none.db")
	enginetest.OpenFile(t, none, engine.Options{}).Close()
	want(enginetest.OpenFile(t, none, readOnly), true, false, "no fts index")
}

// TestFTSMarkAndRollback: a write that is rolled back leaves the index fresh, and the next one makes it stale.
func TestFTSMarkAndRollback(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, ":memory:", enginetest.ByFTS(t))
	broken := errors.New("broken off")
	for range 2 {
		if ok, notice := enginetest.FTSReady(t, e, true); !ok {
			t.Fatal(notice)
		}
		err := enginetest.File(e).Write(t.Context(), "test", func(tx *duck.Write) error {
			return errors.Join(enginetest.Index(e).Count(t.Context(), tx, kinds.Memory, 1, 1), broken)
		})
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if ok, notice := enginetest.FTSReady(t, e, false); !ok {
			t.Errorf("after a rollback: %s", notice)
		}
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "tea"}); err != nil {
			t.Fatal(err)
		}
		if ok, _ := enginetest.FTSReady(t, e, false); ok {
			t.Error("fresh after a write")
		}
	}
}
