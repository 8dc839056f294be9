// Package enginetest helps to test what stands on an engine: files that are checked after each test, models that need no
// download, and the suites that every provider has to pass.
package enginetest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// Open opens a new file, and when the test is over proves its integrity and closes it. Without a clock in the options it is
// noon of 15 June 2026.
func Open(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	return OpenAt(t, filepath.Join(t.TempDir(), "mallard.db"), o)
}

// OpenAt is Open for a file of the test's own.
func OpenAt(t testing.TB, path string, o engine.Options, attach ...engine.Attach) *engine.Engine {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return Noon }
	}
	e, err := engine.Open(context.Background(), path, o, attach...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !e.Closed() {
			Check(t, e)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Check fails the test for every fault that the engine finds in its file.
func Check(t testing.TB, e *engine.Engine) {
	t.Helper()
	faults, err := e.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Errorf("check: %s", f)
	}
}
