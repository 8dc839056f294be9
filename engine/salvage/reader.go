package salvage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// What a reader is asked to do.
const (
	greeting = "greet"  // nothing: does it answer?
	listing  = "list"   // the tables
	copying  = "copy"   // rows of a range into the new file
	counting = "count"  // rows of a range
	trying   = "try"    // each column of a range by itself
	naming   = "name"   // the rows of a range
	grouping = "groups" // how rows lie
)

// task is what a reader is asked; rows are those from From to before To, by their number in the file.
type task struct {
	Act         string
	Damaged     string // the copy of the damaged file
	Fresh       string // the new file; empty: not needed
	Threads     int
	MemoryLimit int

	Table    string
	Keyed    bool
	From, To int64
	Columns  []string
	Believed bool // damaged blocks are believed, so what they hold is looked at
}

// answer is what a reader says to it.
type answer struct {
	Error   string
	Stored  *stored
	Counted int64    // rows that are there
	Copied  int64    // rows that were taken over
	Bad     []string // columns that can't be read
	Names   []string
	Groups  []int64 // how many rows lie together
}

// stored is what a damaged file says it has.
type stored struct {
	Version int // migrations
	Model   int // whose vectors it has; 0: none
	Dims    int
	Unknown bool // it can't be told
	Tables  []storedTable
}

type storedTable struct {
	Name     string
	End      int64 // rows that were ever added
	Keyed    bool
	Columns  []string
	Optional []string // may be NULL
}

// reader asks a process to read a damaged file, or reads it itself. A process that ends is started anew with the next task.
type reader struct {
	start func(context.Context) *exec.Cmd // nil: itself
	own   wreck

	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// ask has a task done. That it can't be is an answer; an error is that nobody could be asked.
func (r *reader) ask(ctx context.Context, t task, o setup.Options) (*answer, error) {
	t.Threads, t.MemoryLimit = o.Threads, o.MemoryLimit
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.start == nil {
		a := r.own.do(ctx, t)
		return a, ctx.Err()
	}
	if r.cmd == nil {
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	}
	a, err := r.say(t)
	if err == nil {
		return a, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &answer{Error: fmt.Sprintf("the process that read it ended: %v", r.end())}, nil
}

// patience is how long a task may take: what a damaged block says may have DuckDB read in circles.
const patience = 15 * time.Minute

func (r *reader) say(t task) (*answer, error) {
	process := r.cmd.Process
	defer time.AfterFunc(patience, func() { process.Kill() }).Stop()
	if err := json.NewEncoder(r.in).Encode(t); err != nil {
		return nil, err
	}
	a := &answer{}
	return a, r.out.Decode(a)
}

// begin starts a process and makes sure that it is one that reads.
func (r *reader) begin(ctx context.Context) error {
	cmd := r.start(ctx)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	r.cmd, r.in, r.out = cmd, in, json.NewDecoder(out)
	if a, err := r.say(task{Act: greeting}); err != nil || a.Error != "" {
		r.cmd.Process.Kill()
		if ctx.Err() != nil {
			r.end()
			return ctx.Err()
		}
		return fmt.Errorf("reader: %s does not answer as one: %w", cmd.Path, errors.Join(err, r.end()))
	}
	return nil
}

// end waits for the process, and gives why it ended.
func (r *reader) end() error {
	r.in.Close()
	err := r.cmd.Wait()
	r.cmd = nil
	return err
}

// stop closes the files; the next task opens them anew.
func (r *reader) stop() {
	if r.cmd != nil {
		r.end()
	}
	r.own.close()
}

// ServeRecovery reads damaged files for Recover: it does the tasks that come by in, and answers by out, until in ends. It is what the process of
// Request.Reader calls, which need do nothing else.
func ServeRecovery(ctx context.Context, in io.Reader, out io.Writer) error {
	var w wreck
	defer w.close()
	tasks, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var t task
		if err := tasks.Decode(&t); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("task: %w", err)
		}
		if err := answers.Encode(w.do(ctx, t)); err != nil {
			return err
		}
	}
}
