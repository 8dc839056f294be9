package duck

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
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// storageVersion is the oldest DuckDB that reads the files as they were written: 1.3 knows the compression the schema names, but
// reads columns that may be NULL as if they all were.
const storageVersion = "v1.4.0"

// Conn is one connection to the file with the statements it has prepared. One goroutine has it at a time.
type Conn struct {
	SQL      *sql.Conn
	prepared map[string]*sql.Stmt
	fixed    []string // keys of those that have their arguments written into them, the one that was run last at the end
	planned  int64    // documents in the file when the first of them was
	Written  int      // documents, in this transaction
	spoiled  bool     // a transaction could not be ended: it is of no more use
	heavier  bool     // it has prepared statements since ease last looked
	plans    int64    // bytes that are held, by all connections, beyond which it keeps no plans
	kept     map[reflect.Type]any

	committing func() error // called before each COMMIT of what was written; nil: nothing is
	Committed  func() error // called after each COMMIT that wrote, before anybody is told; nil: nothing is
	Before     func()       // called before each statement, for tests of crashes; nil: nothing is
}

func (c *Conn) step() {
	if c.Before != nil {
		c.Before()
	}
}

// Kept gives what some code keeps with a connection, such as how far temporary tables of it are filled: one value of each type, zero at first.
func Kept[T any](c *Conn) *T {
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

// OpenDatabase makes an instance of DuckDB with the file attached, and nothing else in it.
func OpenDatabase(ctx context.Context, path string, o setup.Options) (*sql.DB, error) {
	attached := false
	dsn := fmt.Sprintf(":memory:?threads=%d&memory_limit=%dMB", o.Threads, o.MemoryLimit)
	connector, err := duckdb.NewConnector(dsn, func(execer driver.ExecerContext) error {
		if !attached { // the pool makes its first connection below, before any other
			if err := execText(ctx, execer, sqlfiles.Query("configure"), "{temporary}", strings.ReplaceAll(Temporary(path, o.ReadOnly), "'", "''")); err != nil {
				return err
			}
			if o.LoadsFTS() {
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
			if o.LoadsFTS() && !o.ReadOnly {
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
	if err := (Tables{&Listed}).register(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Temporary is the folder for what does not fit into memory; it is there only while needed. Only one who writes has the place beside the file for
// itself: DuckDB names what is in the folder without regard to others.
func Temporary(path string, readOnly bool) string {
	if path == ":memory:" || readOnly {
		return filepath.Join(os.TempDir(), fmt.Sprintf("mallard-%d-%s.tmp", os.Getpid(), strings.ToLower(rand.Text()[:8])))
	}
	return path + ".tmp"
}

// clearTemporary removes what a crash has left in the folder. The caller holds the file for writing.
func clearTemporary(path string) error {
	left, err := filepath.Glob(filepath.Join(globEscape.Replace(Temporary(path, false)), "duckdb_temp_*"))
	if err != nil || len(left) == 0 {
		return err
	}
	var errs []error
	for _, name := range left {
		errs = append(errs, Remove(name))
	}
	os.Remove(Temporary(path, false)) // unless there is something else in it
	return errors.Join(errs...)
}

var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func execText(ctx context.Context, execer driver.ExecerContext, text string, replace ...string) error {
	_, err := execer.ExecContext(ctx, strings.NewReplacer(replace...).Replace(text), nil)
	return err
}

// NewConnection makes a connection beside those that are lent; whoever asks for it closes it.
func (f *File) NewConnection(ctx context.Context) (*Conn, error) {
	conn, err := f.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &Conn{SQL: conn, prepared: map[string]*sql.Stmt{}, plans: int64(f.opts.MemoryLimit) << 20 / 3}, nil
}

// statement prepares a named query once for each pattern of NULLs and empty lists among its arguments: a parameter whose type
// the query does not settle takes that of the first value it is bound to, which for these is none that another value fits.
// Text that is not UTF-8 is refused here at the latest: in a list it would crash the process.
func (c *Conn) statement(ctx context.Context, name string, args []any) (*sql.Stmt, error) {
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
	stmt, err := c.SQL.PrepareContext(c.binds(ctx), sqlfiles.Query(name))
	if err != nil {
		return nil, QueryError(name, err)
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
			if !value.Equal(Year10000) { // the end of what is not bounded
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
func (c *Conn) renew(documents int64) {
	if documents < 2*c.planned+100 {
		return
	}
	c.Unprepare()
	c.planned = documents
}

// MakeTables makes temporary tables anew. DuckDB would from then on plan every statement at each call that was prepared before.
func (c *Conn) MakeTables(ctx context.Context, name string) error {
	c.Unprepare()
	return c.execDDL(ctx, sqlfiles.Query(name))
}

// ease drops the plans of prepared statements where all connections together hold much of the memory: a plan keeps what its last run had filled, a
// recall's some 40 MB. Plans that have run before hold no more than then, so that nothing is looked at while none is new.
func (c *Conn) ease() {
	if !c.heavier {
		return
	}
	c.heavier = false
	var held int64
	if err := c.OneDDL(context.Background(), sqlfiles.Query("memory_held"), &held); err != nil || held > c.plans {
		c.Unprepare()
	}
}

// Unprepare drops the plans of all prepared statements.
func (c *Conn) Unprepare() {
	for _, stmt := range c.prepared {
		stmt.Close()
	}
	c.prepared, c.fixed = map[string]*sql.Stmt{}, nil
}

// Query runs a named query that gives rows.
func (c *Conn) Query(ctx context.Context, name string, args ...any) (*sql.Rows, error) {
	stmt, err := c.statement(ctx, name, args)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(c.binds(ctx), args...)
	if err != nil {
		return nil, QueryError(name, err)
	}
	return rows, nil
}

// Each calls scan for every row of a named query.
func (c *Conn) Each(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := c.Query(ctx, name, args...)
	if err != nil {
		return err
	}
	return ScanAll(rows, name, scan)
}

// EachPart is Each for a query of which only some parts are on, prepared once for each state: what is on, and the connection's variables, whose values are
// constants in it.
func (c *Conn) EachPart(ctx context.Context, name string, on map[string]bool, state string, scan func(*sql.Rows) error) error {
	key := fmt.Sprint(name, on, state)
	stmt, ok := c.prepared[key]
	if !ok {
		var err error
		if stmt, err = c.SQL.PrepareContext(c.binds(ctx), sqlfiles.Parts(name, on)); err != nil {
			return QueryError(name, err)
		}
		c.prepared[key] = stmt
	}
	rows, err := stmt.QueryContext(c.binds(ctx))
	if err != nil {
		return QueryError(name, err)
	}
	return ScanAll(rows, name, scan)
}

// ScanAll calls scan for every row and closes rows; errors name the query.
func ScanAll(rows *sql.Rows, name string, scan func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return QueryError(name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return QueryError(name, err)
	}
	return nil
}

// EachIn is Each for a query in which {table} is a table of vectors, or the view of them.
func (c *Conn) EachIn(ctx context.Context, table, name string, scan func(*sql.Rows) error, args ...any) error {
	c.step()
	if err := checkArgs(args); err != nil {
		return err
	}
	rows, err := c.SQL.QueryContext(ctx, strings.ReplaceAll(sqlfiles.Query(name), "{table}", table), args...)
	if err != nil {
		return QueryError(name, err)
	}
	return ScanAll(rows, name, scan)
}

// Numbers are those of documents, from one to another.
type Numbers struct{ From, To int32 }

// EachOf is each for a query of documents {from} to {to}: as text, which unlike a parameter lets the scan pass over stretches of rows that have none.
func (c *Conn) EachOf(ctx context.Context, of Numbers, name string, scan func(*sql.Rows) error) error {
	c.step()
	text := strings.NewReplacer("{from}", strconv.Itoa(int(of.From)), "{to}", strconv.Itoa(int(of.To))).Replace(sqlfiles.Query(name))
	rows, err := c.SQL.QueryContext(ctx, text)
	if err != nil {
		return QueryError(name, err)
	}
	return ScanAll(rows, name, scan)
}

// EachValue is each for rows by the million: the values are as the driver has them, and good until the next row.
func (c *Conn) EachValue(ctx context.Context, text string, do func(row []driver.Value) error) error {
	c.step()
	return c.SQL.Raw(func(raw any) error {
		queryer, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("unexpected connection %T", raw)
		}
		rows, err := queryer.QueryContext(ctx, text, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		row := make([]driver.Value, len(rows.Columns()))
		for {
			if err := rows.Next(row); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := do(row); err != nil {
				return err
			}
		}
	})
}

// One scans the single row of a named query into dest; found is false when there is none.
func (c *Conn) One(ctx context.Context, name string, dest []any, args ...any) (found bool, err error) {
	err = c.Each(ctx, name, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	}, args...)
	return found, err
}

// exec runs a named statement and gives the number of rows it changed.
func (c *Conn) exec(ctx context.Context, name string, args ...any) (int64, error) {
	stmt, err := c.statement(ctx, name, args)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, QueryError(name, err)
	}
	return result.RowsAffected()
}

// boundary runs a statement that begins or ends a transaction, and is not to be interrupted.
func (c *Conn) boundary(ctx context.Context, statement string) error {
	ctx = context.WithoutCancel(ctx)
	stmt, ok := c.prepared[statement]
	if !ok {
		var err error
		if stmt, err = c.SQL.PrepareContext(ctx, statement); err != nil {
			return err
		}
		c.prepared[statement] = stmt
	}
	_, err := stmt.ExecContext(ctx)
	return err
}

// execDDL runs statements that can't be prepared, with {name} replaced.
func (c *Conn) execDDL(ctx context.Context, text string, replace ...string) error {
	c.step()
	_, err := c.SQL.ExecContext(ctx, strings.NewReplacer(replace...).Replace(text))
	return err
}

// OneDDL scans the single value of a query that can't be prepared, with {name} replaced.
func (c *Conn) OneDDL(ctx context.Context, text string, dest any, replace ...string) error {
	return c.SQL.QueryRowContext(ctx, strings.NewReplacer(replace...).Replace(text)).Scan(dest)
}

// AppendRows adds rows to a table of the file, fast. The values of a row are the table's columns in order, each of exactly its
// type.
func (tx *Write) AppendRows(table string, rows [][]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.AppendAll(table, slices.Values(rows))
}

// AppendTemp adds rows to one of the connection's own tables; a statement with parameters would take as long to plan as it takes to run.
func (c *Conn) AppendTemp(table string, rows ...[]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	return c.AppendAllTemp(table, slices.Values(rows))
}

// AppendAll is AppendRows for rows that are made one after another.
func (tx *Write) AppendAll(table string, rows iter.Seq[[]driver.Value]) error {
	return tx.appendAll("mallard", table, rows)
}

// AppendAllTemp is AppendTemp for rows that are made one after another.
func (c *Conn) AppendAllTemp(table string, rows iter.Seq[[]driver.Value]) error {
	return c.appendAll("temp", table, rows)
}

func (c *Conn) appendAll(catalog, table string, rows iter.Seq[[]driver.Value]) error {
	c.step()
	return c.SQL.Raw(func(raw any) error {
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
				return fmt.Errorf("append to %s: %w: %s, which Options.NewID gave", table, fault.ErrExists, id)
			}
			return fmt.Errorf("append to %s: %w", table, err)
		}
		return nil
	})
}

// Close gives the connection back to the pool's end, where a spoiled one is not kept.
func (c *Conn) Close() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	if c.spoiled {
		c.SQL.Raw(func(any) error { return driver.ErrBadConn })
		return nil
	}
	return errors.Join(append(errs, c.SQL.Close())...)
}

var _ io.Closer = (*duckdb.Connector)(nil) // so that sql.DB.Close closes the instance
