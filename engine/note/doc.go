// Package note keeps an index of Markdown files that a host writes, such as MEMORY.md: their lines are recalled as documents of a kind of their own, notes.
//
// It owns the tables note_files and notes. The files are the host's and are only read, by Sync alone: what is shown of a note, or read back by its lines, is what
// the file had when it was read last. A note is some lines of a file with their numbers; a few stand in the note before it as well. Notes of a file
// stand in one session, in their order, so that recall takes them for neighbours.
//
// It asks index for words and vectors, scope who may see a file, duck for transactions. Files are read and embedded before the writer's lock is taken; each is
// written in a transaction of its own.
//
// What bites: a folder is opened as a root (os.Root), and links in it are passed over, so that nothing outside is read whoever writes there meanwhile; a path is
// that within the folder, with slashes.
package note

import (
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Keeper keeps the notes of one file.
type Keeper struct {
	file   *duck.File
	index  *index.Index
	scopes *scope.Registry
	opts   setup.Options
}

// New gives what keeps the notes of a file.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, o setup.Options) *Keeper {
	k := &Keeper{file: file, index: x, scopes: scopes, opts: o}
	x.AddSource(noteSource(k))
	return k
}
