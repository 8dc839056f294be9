package engine

// BeforeStatements has f called before each statement of the writer, and before each of its commits. Nobody may be writing.
func (e *Engine) BeforeStatements(f func()) { e.conn.before = f }
