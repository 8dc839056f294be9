// Package recall answers a question with what is remembered: it takes the question apart, gathers candidates by words and vectors, and ranks them, all
// in SQL; then it tells how each came to its place.
//
// It owns no table of the file: what a recall gathers is in temporary tables of the connection that it has, which last for a number of recalls and are
// emptied between. One recall sees one state of the file. Weights are data: a stage of ranking that they leave out is not run.
//
// What bites: a row that was deleted from a temporary table stays in it and is scanned, so the tables are made anew now and then, which drops every
// plan of the connection; a window without a partition or order can end DuckDB, so no statement has one.
package recall

import (
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Recaller answers from one file.
type Recaller struct {
	file   *duck.File
	index  *index.Index
	scopes *scope.Registry
	opts   setup.Options
}

// New gives what recalls from a file.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, o setup.Options) *Recaller {
	return &Recaller{file: file, index: x, scopes: scopes, opts: o}
}
