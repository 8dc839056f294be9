// Package enginetest helps to test what stands on an engine: files that are checked after each test, what is put into them and read from them, other
// processes that use them, and what only damage or a crash does to them (inside.go); clocks, goldens, models that need no
// download, and the suites that every provider has to pass.
package enginetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// Open opens a new file, and when the test is over closes it, before which Check looks at the first of a test and at some others (looked). Without a clock in the options it is
// noon of 15 June 2026.
func Open(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	path := NewFile(t)
	begin(t, path, o)
	return OpenAt(t, path, o)
}

// begin writes a file in which nothing is yet, where the options ask of it what every file has.
func begin(t testing.TB, path string, o engine.Options) {
	t.Helper()
	if !plain(o) {
		return
	}
	content, err := empty()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// empty is a file in which nothing is yet. It is made once for all tests of a package: opening a copy takes a third of the time.
var empty = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "mallard-empty-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "mallard.db")
	e, err := engine.Open(context.Background(), path, engine.Options{Now: func() time.Time { return Noon }})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// plain reports whether options ask of a new file what every file has: another language stands in the file, and the text extension makes tables of its own.
func plain(o engine.Options) bool {
	return (o.Language == "" || o.Language == engine.Options{}.WithDefaults().Language) && !o.LoadsFTS() && !o.ReadOnly && o.WithDefaults().Validate() == nil
}

// OpenAt is Open for a file of the test's own.
func OpenAt(t testing.TB, path string, o engine.Options, attach ...engine.Attach) *engine.Engine {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return Noon }
	}
	e, err := engine.Open(context.Background(), path, Thrifty(o), attach...)
	if err != nil {
		t.Fatal(err)
	}
	look := looked(t)
	t.Cleanup(func() {
		if look && !e.Closed() {
			Check(t, e)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// opened counts, by the name of a test without those of its parts, the files that were opened for it. opening is its lock.
var (
	opening sync.Mutex
	opened  = map[string]int{}
)

// looked reports whether Check is to look at a file when its test ends: at the first that a test opens it does, and at every fourth one behind, for a table
// of cases opens one for each; MALLARD_LONG=checks has it look at all.
func looked(t testing.TB) bool {
	test, _, _ := strings.Cut(t.Name(), "/")
	opening.Lock()
	defer opening.Unlock()
	n := opened[test]
	opened[test]++
	return n%4 == 0 || Long("checks")
}

// Thrifty gives the database of options that name neither threads nor memory one thread. A second finds next to nothing to do in files as small as those
// of tests, and the first looks for its results without pause meanwhile: that took a third of the time of all tests. Those in which much goes on at once
// name their threads; MALLARD_LONG=threads leaves all others as many as a user has.
func Thrifty(o engine.Options) engine.Options {
	if o.Threads == 0 && o.MemoryLimit == 0 && !Long("threads") {
		o.Threads = 1
	}
	return o
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
