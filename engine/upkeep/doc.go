// Package upkeep looks after the file as a whole: it checks it, repairs what contradicts itself, copies it, writes it anew without what was purged, and
// tells what it holds.
//
// It owns no table and no lock. Doctor alone writes to the tables of all rooms, by statements of its own; what a room can make anew itself (index, fallbacks,
// folder of contents) it is asked for. It reads blocks and log through duck and duckfile.
//
// What bites: Check reads every block and every value, and yet keeps writers waiting only while it reads the log, or the blocks, where a checkpoint comes in
// between; Snapshot and Shred have the writer's lock as long as they copy.
package upkeep

import (
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/setup"
)

// Upkeep is that of one file.
type Upkeep struct {
	file      *duck.File
	contents  *payload.Contents
	index     *index.Index
	compactor *compact.Compactor
	opts      setup.Options
}

// New gives what looks after a file.
func New(file *duck.File, contents *payload.Contents, x *index.Index, compactor *compact.Compactor, o setup.Options) *Upkeep {
	return &Upkeep{file: file, contents: contents, index: x, compactor: compactor, opts: o}
}
