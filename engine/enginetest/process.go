package enginetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/salvage"
)

// Write is one thing that a child does to a file, and what the file then has.
type Write struct {
	Op   string // remember, update, forget or append
	ID   string // of the memory, or the message's key
	Text string `json:",omitempty"`
}

// ChildRole is the variable that makes the test binary play another process.
const ChildRole = "MALLARD_TEST_CHILD"

// Main runs a package's tests, or plays the child that Spawn asked for: one of the roles given, or one that every package has: hold and hold-read-only keep a
// file open until they are killed, open opens and closes it, read-damaged reads damaged files for a recovery.
func Main(m *testing.M, roles map[string]func(path string) error) {
	all := map[string]func(path string) error{"hold": hold, "hold-read-only": holdReadOnly, "open": openOnce, "read-damaged": readDamaged}
	maps.Copy(all, roles)
	role, ok := all[os.Getenv(ChildRole)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(os.Args[1]); err != nil {
		Tell(Report{Err: err.Error()})
		os.Exit(1)
	}
}

// Report is a line that a child says to its test.
type Report struct {
	Ready bool   `json:",omitempty"` // the file is open
	Err   string `json:",omitempty"`
	Begin *Write `json:",omitempty"` // about to write
	Done  *Write `json:",omitempty"` // written: the call has returned
}

// Child is a process that uses a file.
type Child struct {
	Cmd   *exec.Cmd
	lines *bufio.Scanner
}

// Spawn starts a child, which the test's end kills if nothing else did.
func Spawn(t testing.TB, role, path string, more ...string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{path}, more...)...)
	cmd.Env = append(os.Environ(), ChildRole+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{cmd, bufio.NewScanner(out)}
	t.Cleanup(c.Kill)
	return c
}

// Kill ends the child at once, as the system does when memory runs out.
func (c *Child) Kill() {
	if c.Cmd.ProcessState == nil {
		c.Cmd.Process.Kill()
		c.Cmd.Wait()
	}
}

// Next gives the child's next line; ok is false when it has said all.
func (c *Child) Next(t testing.TB) (r Report, ok bool) {
	t.Helper()
	if !c.lines.Scan() {
		return r, false
	}
	if err := json.Unmarshal(c.lines.Bytes(), &r); err != nil {
		t.Fatalf("child said %q: %v", c.lines.Bytes(), err)
	}
	return r, true
}

// Ready waits until the child has the file open.
func (c *Child) Ready(t testing.TB) {
	t.Helper()
	if r, ok := c.Next(t); !ok || !r.Ready {
		t.Fatalf("child said %+v where it should have the file open", r)
	}
}

// Tell says a report to the test that spawned this process.
func Tell(r Report) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n')) // one write, so that a kill leaves whole lines
}

func hold(path string) error { return holdWith(path, engine.Options{}) }

func holdReadOnly(path string) error { return holdWith(path, engine.Options{ReadOnly: true}) }

// holdWith keeps a file open until the process is killed.
func holdWith(path string, o engine.Options) error {
	if _, err := engine.Open(context.Background(), path, Thrifty(o)); err != nil {
		return err
	}
	Tell(Report{Ready: true})
	select {}
}

// openOnce opens a file for writing and closes it.
func openOnce(path string) error {
	e, err := engine.Open(context.Background(), path, Thrifty(engine.Options{}))
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	Tell(Report{Ready: true})
	return e.Close()
}

// readDamaged reads damaged files for a recovery.
func readDamaged(string) error {
	return salvage.ServeRecovery(context.Background(), os.Stdin, os.Stdout)
}
