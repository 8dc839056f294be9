package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// storageVersion is the oldest DuckDB that reads the files as they were written: 1.3 knows the compression the schema names, but
// reads columns that may be NULL as if they all were.
const storageVersion = "v1.4.0"

// connection is one connection to the file with the statements it has prepared. One goroutine has it at a time.
type connection struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	planned  int64 // documents in the file when the first of them was
	written  int   // documents, in this transaction
	spoiled  bool  // a transaction could not be ended: it is of no more use
	heavier  bool  // it has prepared statements since ease last looked
	plans    int64 // bytes that are held, by all connections, beyond which it keeps no plans
	kept     map[reflect.Type]any

	committing func() error // called before each COMMIT of what was written; nil: nothing is
	committed  func() error // called after each COMMIT that wrote, before anybody is told; nil: nothing is
	before     func()       // called before each statement, for tests of crashes; nil: nothing is
}

func (c *connection) step() {
	if c.before != nil {
		c.before()
	}
}

// keptWith gives what some code keeps with a connection, such as how far temporary tables of it are filled: one value of each type, zero at first.
func keptWith[T any](c *connection) *T {
	of := reflect.TypeFor[T]()
	if c.kept == nil {
		c.kept = map[reflect.Type]any{}
	}
	v, ok := c.kept[of].(*T)
	if !ok {
		v = new(T)
		c.kept[of] = v
	}
	return v
}

// openDatabase makes an instance of DuckDB with the file attached, and nothing else in it.
func openDatabase(ctx context.Context, path string, o Options) (*sql.DB, error) {
	attached := false
	dsn := fmt.Sprintf(":memory:?threads=%d&memory_limit=%dMB", o.Threads, o.MemoryLimit)
	connector, err := duckdb.NewConnector(dsn, func(execer driver.ExecerContext) error {
		if !attached { // the pool makes its first connection below, before any other
			if err := execText(ctx, execer, sqlfiles.Query("configure"), "{temporary}", strings.ReplaceAll(temporary(path, o.ReadOnly), "'", "''")); err != nil {
				return err
			}
			if o.loadsFTS() {
				if err := loadFTS(ctx, execer, o); err != nil {
					return err
				}
			}
			options := "STORAGE_VERSION '" + storageVersion + "', "
			if o.ReadOnly {
				options = "READ_ONLY, "
			}
			err := execText(ctx, execer, sqlfiles.Query("attach"), "{path}", strings.ReplaceAll(path, "'", "''"), "{options}", options)
			if err != nil {
				return err
			}
			seals := []string{"seal", "lock_settings"}
			if o.loadsFTS() && !o.ReadOnly {
				seals = seals[:1]
			}
			for _, name := range seals {
				if err := execText(ctx, execer, sqlfiles.Query(name)); err != nil {
					return err
				}
			}
			attached = true
		}
		return execText(ctx, execer, sqlfiles.Query("use"))
	})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	return db, nil
}

// temporary is the folder for what does not fit into memory; it is there only while needed. Only one who writes has the place beside the file for
// itself: DuckDB names what is in the folder without regard to others.
func temporary(path string, readOnly bool) string {
	if path == ":memory:" || readOnly {
		return filepath.Join(os.TempDir(), fmt.Sprintf("mallard-%d-%s.tmp", os.Getpid(), strings.ToLower(rand.Text()[:8])))
	}
	return path + ".tmp"
}

// clearTemporary removes what a crash has left in the folder. The caller holds the file for writing.
func clearTemporary(path string) error {
	left, err := filepath.Glob(filepath.Join(globEscape.Replace(temporary(path, false)), "duckdb_temp_*"))
	if err != nil || len(left) == 0 {
		return err
	}
	var errs []error
	for _, name := range left {
		errs = append(errs, remove(name))
	}
	os.Remove(temporary(path, false)) // unless there is something else in it
	return errors.Join(errs...)
}

var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// openError says what a person can do when the file can't be opened.
func openError(path string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "Could not set lock"):
		return fmt.Errorf("%w: %s is open in another process; stop it, or read a copy made with `memctl snapshot` there (%s)", ErrLocked, path, firstLine(text))
	case damaged(err):
		return fmt.Errorf("%w: %s: %s; %s", ErrCorrupt, path, firstLine(text), recoverHint)
	}
	return err
}

// queryError is err of a named query; a block that can't be read makes it ErrCorrupt.
func queryError(name string, err error) error {
	if damaged(err) {
		return fmt.Errorf("query %s: %w: %w", name, ErrCorrupt, err)
	}
	return fmt.Errorf("query %s: %w", name, err)
}

// damaged knows DuckDB's errors about a file that is not as it was written.
func damaged(err error) bool {
	for _, words := range []string{"not a valid DuckDB database file", "Corrupt database file", "Could not read enough bytes",
		"Failure while replaying WAL file", "Corrupt WAL file"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func execText(ctx context.Context, execer driver.ExecerContext, text string, replace ...string) error {
	_, err := execer.ExecContext(ctx, strings.NewReplacer(replace...).Replace(text), nil)
	return err
}

func (e *Engine) newConnection(ctx context.Context) (*connection, error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, prepared: map[string]*sql.Stmt{}, plans: int64(e.opts.MemoryLimit) << 20 / 3}, nil
}

// statement prepares a named query once for each pattern of NULLs and empty lists among its arguments: a parameter whose type
// the query does not settle takes that of the first value it is bound to, which for these is none that another value fits.
// Text that is not UTF-8 is refused here at the latest: in a list it would crash the process.
func (c *connection) statement(ctx context.Context, name string, args []any) (*sql.Stmt, error) {
	c.step()
	if err := checkArgs(args); err != nil {
		return nil, err
	}
	key := name
	for _, arg := range args {
		if named, ok := arg.(sql.NamedArg); ok && empty(named.Value) {
			key += " " + named.Name
		}
	}
	if stmt, ok := c.prepared[key]; ok {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(ctx, sqlfiles.Query(name))
	if err != nil {
		return nil, queryError(name, err)
	}
	c.prepared[key], c.heavier = stmt, true
	return stmt, nil
}

// empty reports whether a value is NULL or a list of nothing.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []string:
		return len(value) == 0
	case []int32:
		return len(value) == 0
	case []float32:
		return len(value) == 0
	}
	return false
}

// checkArgs refuses text that is no UTF-8 and times past all calendars, wherever they come from: the driver can't bind them, and
// such text in a list would crash it.
func checkArgs(args []any) error {
	for _, arg := range args {
		named, ok := arg.(sql.NamedArg)
		if !ok {
			continue
		}
		var err error
		switch value := named.Value.(type) {
		case string:
			err = fault.CheckText(named.Name, value)
		case []string:
			err = fault.CheckTexts(named.Name, value)
		case time.Time:
			if !value.Equal(year10000) { // the end of what is not bounded
				err = fault.CheckTime(named.Name, value)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// renew drops the plans of prepared statements when the file has grown so much that they may be poor ones.
func (c *connection) renew(documents int64) {
	if documents < 2*c.planned+100 {
		return
	}
	c.unprepare()
	c.planned = documents
}

// makeTables makes temporary tables anew. DuckDB would from then on plan every statement at each call that was prepared before.
func (c *connection) makeTables(ctx context.Context, name string) error {
	c.unprepare()
	return c.execDDL(ctx, sqlfiles.Query(name))
}

// ease drops the plans of prepared statements where all connections together hold much of the memory: a plan keeps what its last run had filled, a
// recall's some 40 MB. Plans that have run before hold no more than then, so that nothing is looked at while none is new.
func (c *connection) ease() {
	if !c.heavier {
		return
	}
	c.heavier = false
	var held int64
	if err := c.oneDDL(context.Background(), sqlfiles.Query("memory_held"), &held); err != nil || held > c.plans {
		c.unprepare()
	}
}

func (c *connection) unprepare() {
	for _, stmt := range c.prepared {
		stmt.Close()
	}
	c.prepared = map[string]*sql.Stmt{}
}

// query runs a named query that gives rows.
func (c *connection) query(ctx context.Context, name string, args ...any) (*sql.Rows, error) {
	stmt, err := c.statement(ctx, name, args)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, queryError(name, err)
	}
	return rows, nil
}

// each calls scan for every row of a named query.
func (c *connection) each(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := c.query(ctx, name, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, name, scan)
}

func scanAll(rows *sql.Rows, name string, scan func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return queryError(name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return queryError(name, err)
	}
	return nil
}

// eachIn is each for a query in which {table} is a table of vectors, or the view of them.
func (c *connection) eachIn(ctx context.Context, table, name string, scan func(*sql.Rows) error, args ...any) error {
	c.step()
	if err := checkArgs(args); err != nil {
		return err
	}
	rows, err := c.conn.QueryContext(ctx, strings.ReplaceAll(sqlfiles.Query(name), "{table}", table), args...)
	if err != nil {
		return queryError(name, err)
	}
	return scanAll(rows, name, scan)
}

// numbers are those of documents, from one to another.
type numbers struct{ from, to int32 }

// eachOf is each for a query of documents {from} to {to}: as text, which unlike a parameter lets the scan pass over stretches of rows that have none.
func (c *connection) eachOf(ctx context.Context, of numbers, name string, scan func(*sql.Rows) error) error {
	c.step()
	text := strings.NewReplacer("{from}", strconv.Itoa(int(of.from)), "{to}", strconv.Itoa(int(of.to))).Replace(sqlfiles.Query(name))
	rows, err := c.conn.QueryContext(ctx, text)
	if err != nil {
		return queryError(name, err)
	}
	return scanAll(rows, name, scan)
}

// one scans the single row of a named query into dest; found is false when there is none.
func (c *connection) one(ctx context.Context, name string, dest []any, args ...any) (found bool, err error) {
	err = c.each(ctx, name, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	}, args...)
	return found, err
}

// exec runs a named statement and gives the number of rows it changed.
func (c *connection) exec(ctx context.Context, name string, args ...any) (int64, error) {
	stmt, err := c.statement(ctx, name, args)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, queryError(name, err)
	}
	return result.RowsAffected()
}

// execDDL runs statements that can't be prepared, with {name} replaced.
func (c *connection) execDDL(ctx context.Context, text string, replace ...string) error {
	c.step()
	_, err := c.conn.ExecContext(ctx, strings.NewReplacer(replace...).Replace(text))
	return err
}

// oneDDL scans the single value of a query that can't be prepared, with {name} replaced.
func (c *connection) oneDDL(ctx context.Context, text string, dest any, replace ...string) error {
	return c.conn.QueryRowContext(ctx, strings.NewReplacer(replace...).Replace(text)).Scan(dest)
}

// appendRows adds rows to a table of the file, fast. The values of a row are the table's columns in order, each of exactly its
// type.
func (c *connection) appendRows(table string, rows [][]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	return c.appendAll("mallard", table, slices.Values(rows))
}

// appendTemp adds rows to one of the connection's own tables; a statement with parameters would take as long to plan as it takes to run.
func (c *connection) appendTemp(table string, rows ...[]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	return c.appendAll("temp", table, slices.Values(rows))
}

// appendAll is appendRows for the file, which is "mallard", or "temp".
func (c *connection) appendAll(catalog, table string, rows iter.Seq[[]driver.Value]) error {
	c.step()
	return c.conn.Raw(func(raw any) error {
		dc, ok := raw.(driver.Conn)
		if !ok {
			return fmt.Errorf("append to %s: unexpected connection %T", table, raw)
		}
		appender, err := duckdb.NewAppender(dc, catalog, "main", table)
		if err != nil {
			return fmt.Errorf("append to %s: %w", table, err)
		}
		for row := range rows {
			if err = appender.AppendRow(row...); err != nil {
				break
			}
		}
		if err = errors.Join(err, appender.Close()); err != nil {
			if id := takenID(err); id != "" {
				return fmt.Errorf("append to %s: %w: %s, which Options.NewID gave", table, ErrExists, id)
			}
			return fmt.Errorf("append to %s: %w", table, err)
		}
		return nil
	})
}

// takenID gives the id that a table has already, if that is what an error says. Ids that callers bring were looked up before.
func takenID(err error) string {
	_, after, _ := strings.Cut(err.Error(), `Duplicate key "id: `)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// close gives the connection back to the pool's end, where a spoiled one is not kept.
func (c *connection) close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	if c.spoiled {
		c.conn.Raw(func(any) error { return driver.ErrBadConn })
		return nil
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

var _ io.Closer = (*duckdb.Connector)(nil) // so that sql.DB.Close closes the instance
