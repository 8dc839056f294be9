package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childRole is the variable that makes the test binary play another process.
const childRole = "MALLARD_TEST_CHILD"

// TestMain plays the child of a test when it is asked to, else runs the tests.
func TestMain(m *testing.M) {
	roles := map[string]func(args []string) error{"live": live, "judge": judge, "read": read, "suffer": suffer, "load": underLoad, "chats": inChats, "phase": livePhase,
		"save": saveFiles, "read-damaged": serveRecovery}
	role, ok := roles[os.Getenv(childRole)]
	if !ok {
		code := m.Run()
		if place, err := workplace(); err == nil {
			os.RemoveAll(place)
		}
		os.Exit(code)
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// mark is what a child says, in one write, so that its place among its other calls is known.
type mark struct {
	Begin   string  `json:",omitempty"` // the deed
	Passes  bool    `json:",omitempty"`
	Done    string  `json:",omitempty"`
	Changed content `json:",omitempty"` // by what was done
	Failed  string  `json:",omitempty"` // the error
	Fault   string  `json:",omitempty"` // what must not be
	Note    string  `json:",omitempty"`
}

// tell says something as one line, in one write.
func tell(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

// live is the child that lives a life in a folder, and says of each deed that it begins, and when it is acknowledged, what it changed.
func live(args []string) error {
	ctx := context.Background()
	l, was := newLife(args[0]), content{}
	for n, d := range lives[args[1]].deeds() {
		l.begin(n + lives[args[1]].first)
		tell(mark{Begin: d.name, Passes: d.passes})
		if err := d.do(ctx, l); err != nil {
			tell(mark{Failed: err.Error()})
			return fmt.Errorf("%s: %w", d.name, err)
		}
		done := mark{Done: d.name}
		if l.engine != nil {
			is, err := contentOf(ctx, l.engine)
			if err != nil {
				return err
			}
			done.Changed, was = was.changes(is), is
		}
		tell(done)
	}
	return nil
}

// worker is a child that answers one question after the other, each a line.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func startWorker(role string) (*worker, error) {
	w := &worker{cmd: exec.Command(os.Args[0]), stderr: &bytes.Buffer{}}
	w.cmd.Env = append(os.Environ(), childRole+"="+role)
	w.cmd.Stderr = w.stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReader(out)
	return w, w.cmd.Start()
}

// deadline is how long an answer may take: long enough for any that comes at all.
const deadline = 2 * time.Minute

// ask gives the answer to a question; died says what became of a worker that gave none.
func (w *worker) ask(question, answer any) (died string) {
	line, err := json.Marshal(question)
	if err != nil {
		return err.Error()
	}
	hung := false
	timer := time.AfterFunc(deadline, func() { hung = true; w.cmd.Process.Kill() })
	_, err = w.in.Write(append(line, '\n'))
	if err == nil {
		var said []byte
		if said, err = w.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(said, answer)
		}
	}
	if !timer.Stop() && hung {
		w.end()
		return fmt.Sprintf("hung for %s", deadline)
	}
	if err != nil {
		w.end()
		return fmt.Sprintf("died: %v: %s", w.cmd.ProcessState, lastWords(w.stderr.String()))
	}
	return ""
}

// end lets the worker end, or ends it.
func (w *worker) end() {
	w.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { w.cmd.Process.Kill() })
	w.cmd.Wait()
	timer.Stop()
}

// lastWords is what a process that crashed said that tells most.
func lastWords(stderr string) string {
	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "terminate called") && i+1 < len(lines) {
			return line + lines[i+1] // what() it was
		}
		if strings.Contains(line, "panic:") || strings.Contains(line, "SIG") || strings.Contains(line, "rror") {
			return line
		}
	}
	return strings.TrimSpace(stderr[max(0, len(stderr)-200):])
}
