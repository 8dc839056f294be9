package duck

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// openFiles are the files that this process has open, and the only state outside an Engine: DuckDB's own lock does not hold
// between two handles of one process, and two of them on one file would overwrite each other.
var openFiles struct {
	sync.Mutex
	held []*guard
}

// guard is one handle's claim on a file, by its path and, as soon as it exists, by what the file system says it is; a link is
// the same file, and so is one that was moved.
type guard struct {
	Path string
	info os.FileInfo // nil until the file exists
}

// Acquire claims the file at path, which may not exist yet. A process has a file open once, also for reading: closing one of two
// handles would give up the operating system's lock of both.
func Acquire(path string) (*guard, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	openFiles.Lock()
	defer openFiles.Unlock()
	info, _ := os.Stat(resolved)
	for _, g := range openFiles.held {
		same := g.Path == resolved || info != nil && g.info != nil && os.SameFile(info, g.info)
		if same {
			return nil, fmt.Errorf("%w: %s is open in this process already, as %s; share that engine, or close it first", fault.ErrLocked, path, g.Path)
		}
	}
	g := &guard{resolved, info}
	openFiles.held = append(openFiles.held, g)
	return g, nil
}

// created notes what file it is, once it exists.
func (g *guard) created() {
	openFiles.Lock()
	defer openFiles.Unlock()
	if info, err := os.Stat(g.Path); err == nil {
		g.info = info
	}
}

// Release gives the file up.
func (g *guard) Release() {
	openFiles.Lock()
	defer openFiles.Unlock()
	for i, held := range openFiles.held {
		if held == g {
			openFiles.held = append(openFiles.held[:i], openFiles.held[i+1:]...)
			return
		}
	}
}
