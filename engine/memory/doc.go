// Package memory keeps statements: what an agent remembers, as what, for whom and for how long.
//
// It owns the tables memories and memory_relations. A memory is never overwritten without a trace: superseding and updating keep the old text as a
// memory that ended, forgetting keeps the row, and only a purge removes it. Of one fact key a scope has one current memory at most. The document of a
// memory is written in the transaction of its row.
//
// What bites: a memory that is moved to another scope keeps its place in the session that it came from; times that are zero are NULL in the file, and
// text that is empty is, too.
package memory

import (
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Store keeps the memories of a file.
type Store struct {
	file   *duck.File
	index  *index.Index
	scopes *scope.Registry
	opts   setup.Options
}

// New gives the memories of a file, and names them to its index.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, o setup.Options) *Store {
	ms := &Store{file: file, index: x, scopes: scopes, opts: o}
	x.AddSource(memorySource(ms))
	return ms
}
