package duck

import (
	"context"

	"github.com/mallardmem/mallard/engine/setup"
)

// What the database's memory is for, in megabytes: a connection that recalls takes some 40, and what it does besides; one that writes some 80, with the
// rows that are not in the file yet.
const (
	readerMemory = 96
	writerMemory = 96
)

// readers are the connections that read. There are as many as the memory allows; who comes when all are lent waits for one.
type readers struct {
	Idle chan *Conn // one for each that may be lent: nil while it was not made
}

// newReaders gives room for as many readers as two for each thread, and as the memory has room for.
func newReaders(o setup.Options) *readers {
	n := max(1, min(2*o.Threads, (o.MemoryLimit-writerMemory)/readerMemory))
	r := &readers{Idle: make(chan *Conn, n)}
	for range n {
		r.Idle <- nil
	}
	return r
}

// take waits for a connection, or until the caller gives up. Made makes one.
func (r *readers) take(ctx context.Context, made func(context.Context) (*Conn, error)) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case c := <-r.Idle:
		if c != nil {
			return c, nil
		}
		c, err := made(ctx)
		if err != nil {
			r.Idle <- nil
		}
		return c, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// giveBack takes a connection back. One whose transaction could not be ended is of no more use.
func (r *readers) giveBack(c *Conn) {
	if c.spoiled {
		c.Close()
		c = nil
	} else {
		c.ease()
	}
	r.Idle <- c
}

// relieve frees what the idle connections hold.
func (r *readers) relieve() {
	for range cap(r.Idle) {
		select {
		case c := <-r.Idle:
			if c != nil {
				c.Unprepare()
			}
			r.Idle <- c
		default:
			return
		}
	}
}

// close closes all that are idle; nobody has one.
func (r *readers) close() (errs []error) {
	for range cap(r.Idle) {
		if c := <-r.Idle; c != nil {
			errs = append(errs, c.Close())
		}
		defer func() { r.Idle <- nil }()
	}
	return errs
}
