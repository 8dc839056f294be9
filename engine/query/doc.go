// Package query is the analysts' door: it answers a SELECT over the tables and views of the file, after engine/internal/door has judged that it names
// and makes nothing else.
//
// It owns no table and no lock, and writes nothing. It asks duck for a transaction that only reads; names come from the catalog as that sees it, and what a
// statement may name besides is listed in engine/internal/door/names.txt.
//
// What bites: DuckDB computes all rows before it gives the first, and nothing but the context ends that; whoever lets others write the SQL runs it in a process
// that can be ended, as memctl sql does.
package query

import "github.com/mallardmem/mallard/engine/internal/duck"

// Reader answers questions about a file.
type Reader struct{ file *duck.File }

// New gives the door of a file.
func New(file *duck.File) *Reader { return &Reader{file} }
