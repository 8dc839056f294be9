package engine

import "context"

// What the database's memory is for, in megabytes: a connection that recalls takes some 40, and what it does besides; one that writes some 80, with the
// rows that are not in the file yet.
const (
	readerMemory = 96
	writerMemory = 96
)

// readers are the connections that read. There are as many as the memory allows; who comes when all are lent waits for one.
type readers struct {
	idle chan *connection // one for each that may be lent: nil while it was not made
}

// newReaders gives room for as many readers as two for each thread, and as the memory has room for.
func newReaders(o Options) *readers {
	n := max(1, min(2*o.Threads, (o.MemoryLimit-writerMemory)/readerMemory))
	r := &readers{idle: make(chan *connection, n)}
	for range n {
		r.idle <- nil
	}
	return r
}

// take waits for a connection, or until the caller gives up. Made makes one.
func (r *readers) take(ctx context.Context, made func(context.Context) (*connection, error)) (*connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case c := <-r.idle:
		if c != nil {
			return c, nil
		}
		c, err := made(ctx)
		if err != nil {
			r.idle <- nil
		}
		return c, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// giveBack takes a connection back. One whose transaction could not be ended is of no more use.
func (r *readers) giveBack(c *connection) {
	if c.spoiled {
		c.close()
		c = nil
	} else {
		c.ease()
	}
	r.idle <- c
}

// relieve frees what the idle connections hold.
func (r *readers) relieve() {
	for range cap(r.idle) {
		select {
		case c := <-r.idle:
			if c != nil {
				c.unprepare()
			}
			r.idle <- c
		default:
			return
		}
	}
}

// close closes all that are idle; nobody has one.
func (r *readers) close() (errs []error) {
	for range cap(r.idle) {
		if c := <-r.idle; c != nil {
			errs = append(errs, c.close())
		}
		defer func() { r.idle <- nil }()
	}
	return errs
}
