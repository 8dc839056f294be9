// Package duck keeps one DuckDB file: who has it, its connections and transactions, its log and checkpoints, its schema and settings.
//
// It owns the file and what lies beside it, the tables migrations and settings, and three locks. The writer's lock (File.Lock) is taken first, by one
// who writes; then File.Using, for reading by every call and for writing by whoever closes the database or opens it anew; a reader's connection comes
// last. A call that has a connection must not ask for a second one: all may be lent, each to somebody who waits.
//
// What bites: the driver panics on some values, so text is checked before it is bound (checkArgs); a statement is prepared once for each pattern of
// NULLs among its arguments; a transaction's ends are never interrupted, for a connection that stays within one is of no more use; after a COMMIT that
// failed the database is opened anew, because DuckDB does not take back all that it knows of the rows (File.undone).
package duck
