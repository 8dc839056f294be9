package duck

import "context"

// Exec runs a named statement and gives the number of rows it changed.
func (tx *Write) Exec(ctx context.Context, name string, args ...any) (int64, error) {
	return tx.exec(ctx, name, args...)
}

// ExecDDL runs statements that can't be prepared, with {name} replaced.
func (tx *Write) ExecDDL(ctx context.Context, text string, replace ...string) error {
	return tx.execDDL(ctx, text, replace...)
}

// ExecTemp is Exec for a statement that writes to temporary tables of the connection alone: it may also be run while the file is only read.
func (c *Conn) ExecTemp(ctx context.Context, name string, args ...any) (int64, error) {
	return c.exec(ctx, name, args...)
}

// ExecTempDDL is ExecDDL for statements about temporary tables of the connection alone.
func (c *Conn) ExecTempDDL(ctx context.Context, text string, replace ...string) error {
	return c.execDDL(ctx, text, replace...)
}
