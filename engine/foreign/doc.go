// Package foreign brings the databases of other agent hosts into an engine: what GoClaw and istota keep in SQLite. What hosts write into files
// of lines is read by session, whose reports are used here too.
//
// A host's database is never opened, only copied, byte by byte, into a folder of its own: a host that runs goes on writing, and nothing of
// it is written here. The copy is read by a database/sql driver for SQLite that the program brings with it, or by DuckDB's sqlite extension from
// a local file. This package links neither, and asks no network.
//
// Every value is read as text and judged here: a column that is missing in an older schema is as if it were empty, and one of another type than
// expected makes no row unreadable. Each conversation is in memory while it is read. A row has a key, so that a database may be read again,
// as a later copy or after a kill, and nothing is stored twice.
//
// A further host is a file with a function from its tables to talks, and a line in hosts.
package foreign
