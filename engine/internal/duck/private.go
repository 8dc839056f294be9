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
// there. It stores nothing: what statements read are tables of Go, so that all files of a process can share one. Who uses it holds it.
type Private struct {
	Macros string // the named statements that make further macros
	Tables Tables

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

// Lend runs do with a connection that nobody else has meanwhile.
func (p *Private) Lend(ctx context.Context, do func(c *Conn) error) error {
	c, db, err := p.take(ctx)
	if err != nil {
		return err
	}
	c.spoiled = true // until it is known that do has come to its end
	defer func() { p.giveBack(c, db, err) }()
	err = do(c)
	c.spoiled = false
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
		db, err := p.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		p.db = db
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &Conn{SQL: conn, prepared: map[string]*sql.Stmt{}}, p.db, nil
}

func (p *Private) open(ctx context.Context) (*sql.DB, error) {
	connector, err := duckdb.NewConnector(privateDSN, nil)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := p.furnish(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// furnish makes the macros and tables of a new instance, and shuts it off.
func (p *Private) furnish(ctx context.Context, db *sql.DB) error {
	if err := p.Tables.register(ctx, db); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, sqlfiles.Macros()+sqlfiles.Query(p.Macros)+sqlfiles.Query("private_seal"))
	return err
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
