package share

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// Serve answers other processes of the same user from an engine that holds its file, until stop is called, which ends what they ask for and takes the
// socket away. It is attached: engine.Open(ctx, path, options, share.Serve). A file in memory is not shared, nor one that is open for reading only, which others can
// open themselves. Errors: ErrExists where something else has the socket's name.
func Serve(e *engine.Engine) (stop func() error, err error) {
	if e.Path() == ":memory:" || e.Options().ReadOnly {
		return func() error { return nil }, nil
	}
	address, err := socketOf(e.Path())
	if err != nil {
		return nil, err
	}
	// The one that holds the file is the one that may share it: what has the name is left over, if it is a socket.
	if info, err := os.Lstat(address); err == nil && info.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%w: %s, and it is no socket; move it away", engine.ErrExists, address)
	}
	l, err := listen(address)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", address, err)
	}
	s := &server{engine: e, listener: l}
	ctx, end := context.WithCancel(context.Background())
	s.running.Go(func() { s.accept(ctx) })
	return sync.OnceValue(func() error {
		err := os.Remove(address) // while the file is still held: another holder may have a socket of that name at once
		end()
		closed := l.Close()
		s.running.Wait()
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, closed)
	}), nil
}

// socketOf is the name of a file's socket, the same for all links that lead to the file.
func socketOf(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	path, err = filepath.Abs(path)
	return path + ".sock", err
}

// server is a file that is shared.
type server struct {
	engine   *engine.Engine
	listener net.Listener
	running  sync.WaitGroup
}

func (s *server) accept(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := s.listener.Accept()
		if err != nil { // it is closed, or there are too many open files
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		s.running.Go(func() { s.attend(ctx, conn) })
	}
}

// attend serves one client. What it asked for ends when it goes away.
func (s *server) attend(ctx context.Context, conn net.Conn) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	closing := context.AfterFunc(ctx, func() { conn.Close() })
	defer func() {
		if closing() {
			conn.Close()
		}
	}()
	said := make(chan heard)
	s.running.Go(func() {
		defer end()
		hear(ctx, conn, said)
	})
	var caller Caller
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case h := <-said:
			var answer any
			err := h.err
			switch {
			case err != nil: // what follows would be misread
			case first:
				answer, err = admit(h.line, &caller)
			default:
				answer = s.reply(ctx, caller, h.line)
			}
			if err != nil {
				answer = welcome{Mallard: protocol, Process: os.Getpid(), failure: failureOf(err)} // a reply has the same failure
			}
			b, unfit := json.Marshal(answer)
			if unfit != nil {
				b, _ = json.Marshal(reply{failure: failureOf(unfit)}) // nothing but text
			}
			if _, gone := conn.Write(append(b, '\n')); gone != nil || err != nil {
				return
			}
		}
	}
}

// heard is a line of a client, or why there are no more.
type heard struct {
	line []byte
	err  error
}

// hear hands on what a client says, line by line, until it has nothing more to say.
func hear(ctx context.Context, conn net.Conn, said chan<- heard) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxRequest)
	for more := true; more; {
		h := heard{}
		if more = lines.Scan(); more {
			h.line = bytes.Clone(lines.Bytes())
		} else if h.err = lines.Err(); !errors.Is(h.err, bufio.ErrTooLong) {
			return
		} else {
			h.err = tooLong(maxRequest)
		}
		select {
		case said <- h:
		case <-ctx.Done():
			return
		}
	}
	<-ctx.Done() // it is told why before the connection is closed
}

func tooLong(bytes int) error {
	return fmt.Errorf("%w: the request has %d bytes or more; allowed: less than %d", engine.ErrInvalid, bytes, maxRequest)
}

// admit hears who asks.
func admit(line []byte, c *Caller) (welcome, error) {
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return welcome{}, fmt.Errorf("%w: the first line: %w", engine.ErrInvalid, err)
	}
	*c = h.Caller
	w := welcome{Mallard: protocol, Process: os.Getpid()}
	if h.Mallard != protocol { // and it may mean something else by the rest
		return w, fmt.Errorf("%w: it shares by version %d of the protocol, and was asked by version %d; use programs of the same version", engine.ErrLocked, protocol, h.Mallard)
	}
	return w, nil
}

// reply does what a line asks for.
func (s *server) reply(ctx context.Context, c Caller, line []byte) reply {
	var r struct {
		Verb    string          `json:"verb"`
		Request json.RawMessage `json:"request"`
	}
	if err := decode(line, &r); err != nil {
		return reply{failure: failureOf(err)}
	}
	var names []string
	for _, v := range verbs {
		if v.called() != r.Verb {
			names = append(names, v.called())
			continue
		}
		answer, err := v.answer(ctx, s.engine, c, r.Request)
		if err != nil {
			return reply{failure: failureOf(err)}
		}
		return reply{Answer: answer}
	}
	return reply{failure: failureOf(fmt.Errorf("%w: verb is %q; allowed: %s", engine.ErrInvalid, r.Verb, strings.Join(names, ", ")))}
}

// decode reads one value, of which every key must be known: one that is not may change what is meant.
func decode(b []byte, dest any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(dest); err != nil {
		return fmt.Errorf("%w: request: %w", engine.ErrInvalid, err)
	}
	return nil
}
