package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/salvage"
)

// childRole is the variable that makes the test binary play another process.
const childRole = "MALLARD_TEST_CHILD"

// TestMain plays the child of a test when it is asked to, else runs the tests.
func TestMain(m *testing.M) {
	roles := map[string]func(path string) error{"hold": hold, "hold-read-only": holdReadOnly, "open": openOnce, "write": writeForEver,
		"index": indexForEver, "deed": killedDeed, "limited": limited, "snapshot": snapshotHalf, "shred": shredForEver, "read-damaged": readDamaged}
	role, ok := roles[os.Getenv(childRole)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(os.Args[1]); err != nil {
		json.NewEncoder(os.Stdout).Encode(report{Err: err.Error()})
		os.Exit(1)
	}
}

// report is a line that a child says to its test.
type report struct {
	Ready bool   `json:",omitempty"` // the file is open
	Err   string `json:",omitempty"`
	Begin *write `json:",omitempty"` // about to write
	Done  *write `json:",omitempty"` // written: the call has returned
}

// child is a process that uses a file.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// spawn starts a child, which the test's end kills if nothing else did.
func spawn(t testing.TB, role, path string, more ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{path}, more...)...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

// kill ends the child at once, as the system does when memory runs out.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}

// next gives the child's next line; ok is false when it has said all.
func (c *child) next(t testing.TB) (r report, ok bool) {
	t.Helper()
	if !c.lines.Scan() {
		return r, false
	}
	if err := json.Unmarshal(c.lines.Bytes(), &r); err != nil {
		t.Fatalf("child said %q: %v", c.lines.Bytes(), err)
	}
	return r, true
}

// ready waits until the child has the file open.
func (c *child) ready(t testing.TB) {
	t.Helper()
	if r, ok := c.next(t); !ok || !r.Ready {
		t.Fatalf("child said %+v where it should have the file open", r)
	}
}

func say(r report) {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n')) // one write, so that a kill leaves whole lines
}

func hold(path string) error         { return holdWith(path, engine.Options{}) }
func holdReadOnly(path string) error { return holdWith(path, engine.Options{ReadOnly: true}) }

// holdWith keeps a file open until the process is killed.
func holdWith(path string, o engine.Options) error {
	if _, err := engine.Open(context.Background(), path, o); err != nil {
		return err
	}
	say(report{Ready: true})
	select {}
}

// openOnce opens a file for writing and closes it.
func openOnce(path string) error {
	e, err := engine.Open(context.Background(), path, engine.Options{})
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	say(report{Ready: true})
	return e.Close()
}

// readDamaged reads damaged files for a recovery.
func readDamaged(string) error {
	return salvage.ServeRecovery(context.Background(), os.Stdin, os.Stdout)
}
