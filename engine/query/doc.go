// Package query is the analysts' door: it answers a SELECT over the tables and views of the file, after engine/internal/door has judged that it names
// and makes nothing else.
//
// It owns no table and writes nothing. Names come from the catalog as the transaction sees it; what a statement may name besides is listed in
// engine/internal/door/names.txt.
package query

import "github.com/mallardmem/mallard/engine/internal/duck"

// Reader answers questions about a file.
type Reader struct{ file *duck.File }

// New gives the door of a file.
func New(file *duck.File) *Reader { return &Reader{file} }
