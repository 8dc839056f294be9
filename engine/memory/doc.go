// Package memory keeps statements: what an agent remembers, as what, for whom and for how long.
//
// It owns the tables memories and memory_relations, and memory_versions and dropped_versions, which have what memories were. Superseding keeps the older
// memory with an end, forgetting keeps the row, an edit keeps the row as it was, and only a purge removes one. A memory that is remembered with a fact key ends those of its scope that have it. The row, its document and
// what it ends are written in one transaction.
//
// It asks duck for transactions, index for words, vectors and numbers, and scope what an agent may do; interchange reads the files of others for it. A draft
// is made ready before the writer's lock is taken, and an edit starts over if somebody else was faster. Uses are noted in memory and written together
// (touches): touches.writing is taken before the writer's lock, touches.mu for no call.
//
// What bites: a memory that is moved to another scope keeps its place in the session that it came from; times that are zero are NULL in the file, and
// text that is empty is, too; a row is written anew and never updated (docs/decisions/0012).
package memory

import (
	"context"

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

	touches touches
	purged  []func(ctx context.Context, tx *duck.Write, id string) error
}

// OnPurge has gone called, in the transaction of the write, for a memory that is purged. It is set before the first write.
func (ms *Store) OnPurge(gone func(ctx context.Context, tx *duck.Write, id string) error) {
	ms.purged = append(ms.purged, gone)
}

// New gives the memories of a file, and names them to its index.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, o setup.Options) *Store {
	ms := &Store{file: file, index: x, scopes: scopes, opts: o}
	x.AddSource(memorySource(ms))
	x.SetPast(ms.past())
	return ms
}
