package duck

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/duckdb/duckdb-go/v2"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Private is an instance of DuckDB in memory that has nothing of the file but its macros: small statements over some rows take a third of the time
// there. Whatever is put into it is gone after each use, so that all files of a process can share one. Who uses it holds it.
type Private struct {
	Tables string // the named statements that make the tables of a connection

	mu    sync.Mutex
	users int
	db    *sql.DB
	idle  []*Conn
}

// Hold keeps the instance until Release is called: there is one, once it was asked for, as long as anybody holds it.
func (p *Private) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
}

// Release gives up what Hold keeps. The last who does ends the instance; nobody uses it then.
func (p *Private) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		p.shut()
	}
}

// shut ends the instance; what is lent of it ends when it is given back.
func (p *Private) shut() {
	for _, c := range p.idle {
		c.Close()
	}
	if p.db != nil {
		p.db.Close()
	}
	p.idle, p.db = nil, nil
}

// privateDSN: one thread, for more of them only wait for each other over some rows.
const privateDSN = ":memory:?threads=1&memory_limit=96MB"

// Lend runs do with a connection that nobody else has meanwhile, in a transaction that is rolled back.
func (p *Private) Lend(ctx context.Context, do func(c *Conn) error) error {
	c, db, err := p.take(ctx)
	if err != nil {
		return err
	}
	err = c.Passing(ctx, func() error { return do(c) })
	p.giveBack(c, db, err)
	return err
}

// take gives a connection, and the instance that it is of.
func (p *Private) take(ctx context.Context) (*Conn, *sql.DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return c, p.db, nil
	}
	ctx = context.WithoutCancel(ctx)
	if p.db == nil {
		db, err := openPrivate(ctx)
		if err != nil {
			return nil, nil, err
		}
		p.db = db
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	c := &Conn{SQL: conn, prepared: map[string]*sql.Stmt{}}
	if err := c.execDDL(ctx, sqlfiles.Query(p.Tables)); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, p.db, nil
}

func openPrivate(ctx context.Context) (*sql.DB, error) {
	connector, err := duckdb.NewConnector(privateDSN, nil)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if _, err := db.ExecContext(ctx, sqlfiles.Macros()+sqlfiles.Query("private_seal")); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// giveBack takes a connection back. After an error that leaves the instance unusable the next one is of another instance.
func (p *Private) giveBack(c *Conn, db *sql.DB, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && Invalidates(err) && db == p.db {
		p.shut()
	}
	if c.spoiled || db != p.db {
		c.Close()
		return
	}
	p.idle = append(p.idle, c)
}
