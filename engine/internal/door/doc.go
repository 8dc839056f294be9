// Package door judges what analysts ask: a statement is answered only when it is a single SELECT that names what the file has and functions that are listed
// (names.txt), and makes nothing of unreasonable size. CheckText looks at the text, before DuckDB does; Judge at the syntax tree that DuckDB made of it. It
// owns no table and no lock; package query brings the tree, and the names in the catalog.
//
// What bites: whatever the judge does not know is refused, so a new version of DuckDB can't widen the door; a name of two parts may be a path of a file.
package door
