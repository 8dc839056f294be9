// Package salvage makes a new file of what can be read of a damaged one and of its log, and says what is lost.
//
// It never writes to the damaged file: it mends a copy until DuckDB opens it, and reads that in a process of its own, which a bad block may end. The new
// file is opened like any other, through the function that it is given, and gets its name when it is whole.
package salvage
