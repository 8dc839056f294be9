package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// openFiles are the files that this process has open, and the only state outside an Engine: DuckDB's own lock does not hold
// between two handles of one process, and two of them on one file would overwrite each other.
var openFiles struct {
	sync.Mutex
	held []*guard
}

// guard is one handle's claim on a file, by its path and, as soon as it exists, by what the file system says it is; a symbolic
// or hard link is the same file.
type guard struct {
	path     string
	readOnly bool
}

// acquire claims the file at path, which may not exist yet. Read-only handles share a file; any other has it alone.
func acquire(path string, readOnly bool) (*guard, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	openFiles.Lock()
	defer openFiles.Unlock()
	info, _ := os.Stat(resolved)
	for _, g := range openFiles.held {
		other, _ := os.Stat(g.path)
		same := g.path == resolved || info != nil && other != nil && os.SameFile(info, other)
		if same && !(readOnly && g.readOnly) {
			return nil, fmt.Errorf("%w: %s is open in this process already, as %s; share that engine, or close it first", ErrLocked, path, g.path)
		}
	}
	g := &guard{resolved, readOnly}
	openFiles.held = append(openFiles.held, g)
	return g, nil
}

// release gives the file up.
func (g *guard) release() {
	openFiles.Lock()
	defer openFiles.Unlock()
	for i, held := range openFiles.held {
		if held == g {
			openFiles.held = append(openFiles.held[:i], openFiles.held[i+1:]...)
			return
		}
	}
}
