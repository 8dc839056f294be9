package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// ErrNotShared: nobody serves the file's socket.
var ErrNotShared = errors.New("not shared")

// Reader is a file to be read: with an engine of this process, or through the process that has it. It is safe for concurrent use; a process is asked
// one thing after another.
type Reader struct {
	Engine *engine.Engine // nil: another process has the file
	holder *holder
}

// Of reads with an engine.
func Of(e *engine.Engine) *Reader { return &Reader{Engine: e} }

// Dial reads through the process that has the file at path and shares it. Errors: ErrNotShared, and ErrLocked where the socket is another user's or the
// two programs do not understand each other.
func Dial(ctx context.Context, path string, c Caller) (*Reader, error) {
	address, err := socketOf(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	conn, err := dial(ctx, address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: the process that has it shares it with its own user only, at %s (%w)", engine.ErrLocked, address, err)
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // none, or one that a killed process left
		return nil, fmt.Errorf("%w: %w", ErrNotShared, err)
	}
	h := &holder{conn: conn, replies: json.NewDecoder(conn)}
	var w welcome
	conn.SetDeadline(time.Now().Add(welcomeWithin))
	err = h.exchange(ctx, hello{protocol, c}, &w)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: the process that has it does not answer at %s within %s", engine.ErrLocked, address, welcomeWithin)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	if h.process = w.Process; w.err() != nil {
		conn.Close()
		return nil, fmt.Errorf("process %d: %w", w.Process, w.err())
	}
	return &Reader{holder: h}, nil
}

// welcomeWithin is how long a process may take to say that it shares the file; one that is stopped never does.
const welcomeWithin = 3 * time.Second

// Close closes the engine, or leaves the process that has the file.
func (r *Reader) Close() error {
	if r.Engine != nil {
		return r.Engine.Close()
	}
	r.holder.conn.Close() // or it was closed when the caller gave up
	return nil
}

// holder is a connection to the process that has a file.
type holder struct {
	process int

	mu      sync.Mutex // owns what is below: a request and its reply
	conn    net.Conn
	replies *json.Decoder
}

// ask does a verb in the process that has the file.
func (h *holder) ask(ctx context.Context, verb string, q, answer any) error {
	r := reply{Answer: answer}
	if err := h.exchange(ctx, request{verb, q}, &r); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return r.err()
}

// exchange says a line and hears one. When the caller gives up, the connection is closed, which is how the other process learns of it.
func (h *holder) exchange(ctx context.Context, say, hear any) error {
	b, err := lineOf(say)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer context.AfterFunc(ctx, func() { h.conn.Close() })()
	_, unsaid := h.conn.Write(b)
	if unsaid != nil && !errors.Is(unsaid, syscall.EPIPE) { // it may have said why it hangs up
		err = unsaid
	} else {
		err = h.replies.Decode(hear)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: process %d gave the file up before it answered; ask again (%w)", engine.ErrClosed, h.process, err)
}
