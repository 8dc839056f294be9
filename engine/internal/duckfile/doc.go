// Package duckfile reads the bytes of a DuckDB file and of its write-ahead log, as far as they decide what a crash leaves behind. DuckDB
// itself can't be asked: it refuses a file that a crash has torn, and names one fault at a time.
//
// A file begins with three headers of 4096 bytes: the main one, and two that take turns, of which the one with the higher iteration counts. Blocks
// follow, each with a checksum before its content. Some blocks hold metadata, in 64 parts each: a checkpoint writes its metadata
// into free parts of blocks that the state before it still needs, in place. A Journal keeps those blocks as they were; Restore puts them back.
//
// A log is a header and entries, each with its length and checksum; an entry that says nothing but "flush" ends a transaction. ScanLog finds
// how far a log is whole. A Witness notes, in a file of its own, how much of the log was acknowledged, so that a tail that a crash left behind can be told
// from damage.
package duckfile
