package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/query"
	"github.com/mallardmem/mallard/engine/share"
)

// sqlReport is how a process that answers says what became of it, as the last line of its standard error. One that says nothing was ended.
type sqlReport struct {
	Cut   string // the limit that ended the rows
	Error string
	Usage bool // the statement is wrong, not the work
}

// askSQL has another process of this program answer, and ends it when its time is over or the caller gives up. The process reads the file and
// writes nothing, so it can be ended at any moment.
func (a *app) askSQL(cmd *cobra.Command, query string, f sqlFlags) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(cmd.Context(), f.timeout)
	defer stop()
	path, err := a.path(0)
	if err != nil {
		return err
	}
	folder := path + ".sql-" + strings.ToLower(rand.Text()[:8])
	defer os.RemoveAll(folder)
	args := []string{"sql", "-", "--child=" + folder}
	cmd.Flags().Visit(func(flag *pflag.Flag) { args = append(args, "--"+flag.Name+"="+flag.Value.String()) })
	child := exec.CommandContext(ctx, self, args...)
	child.Args[0] = os.Args[0]
	child.Stdout = a.stdout.Writer
	var said bytes.Buffer
	child.Stderr = &said
	child.WaitDelay = time.Second
	in, err := child.StdinPipe() // open until the child ends: it ends when this process does
	if err != nil {
		return err
	}
	defer in.Close()
	if err := child.Start(); err != nil {
		return err
	}
	if err := json.NewEncoder(in).Encode(query); err != nil && !errors.Is(err, syscall.EPIPE) {
		child.Cancel()
	}
	err = child.Wait()
	report, ok := lastReport(said.Bytes())
	switch {
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	case ctx.Err() != nil:
		return fmt.Errorf("the query took longer than %s: --timeout", f.timeout)
	case !ok && err != nil:
		return sqlCrash(said.String(), err, int(f.memory))
	case report.Error != "" && outOfMemory(report.Error):
		return fmt.Errorf("the query took more memory than %d MB: --memory", f.memory)
	case report.Usage:
		return usage("%s", report.Error)
	case report.Error != "":
		return errors.New(report.Error)
	case err != nil:
		return err
	}
	if report.Cut != "" {
		a.note("There are more rows: --limit.")
	}
	return nil
}

// lastReport reads the report at the end of what a process said.
func lastReport(said []byte) (r sqlReport, ok bool) {
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	err := json.Unmarshal(lines[len(lines)-1], &r)
	return r, err == nil
}

// sqlCrash is the error of a process that ended without a word of its own.
func sqlCrash(said string, err error, memory int) error {
	if outOfMemory(said) || strings.Contains(err.Error(), "signal: killed") {
		return fmt.Errorf("the query took more memory than %d MB: --memory", memory)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return fmt.Errorf("the query ended its process, and nothing else: %w (%s)", err, first)
}

// outOfMemory knows how DuckDB, its allocator and Go's say that the system gave them no more.
func outOfMemory(said string) bool {
	for _, words := range []string{"Out of Memory", "out of memory", "bad_alloc", "bad allocation", "Memory allocation failure", "cannot allocate memory", "Failed to allocate"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// answerSQL is the process that answers: it bounds its own memory, prints to standard output and reports on standard error.
func (a *app) answerSQL(ctx context.Context, f sqlFlags) error {
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone is an error to report
	var query string
	in := json.NewDecoder(a.stdin)
	if err := in.Decode(&query); err != nil {
		return err
	}
	go func() { // ends with the one that asked
		io.Copy(io.Discard, a.stdin)
		os.RemoveAll(f.child)
		os.Exit(exitFailed)
	}()
	var r sqlReport
	err := limitMemory(int(f.memory))
	if err == nil {
		r.Cut, err = a.printSQL(ctx, query, f)
	}
	if err != nil {
		r.Error, r.Usage = err.Error(), a.exitCode(err) == exitUsage
	}
	if err := json.NewEncoder(a.stderr).Encode(r); err != nil || r.Error != "" {
		return errReported
	}
	return nil
}

// printSQL asks the file and prints as it is answered.
func (a *app) printSQL(ctx context.Context, text string, f sqlFlags) (cut string, err error) {
	out := newSQLPrinter(a, f.csv)
	o := engine.Options{MemoryLimit: int(f.memory) / 2}
	err = a.reach(ctx, canAskHolder, o, func(r *share.Reader) (err error) {
		e := r.Engine
		if e == nil {
			if e, err = a.openCopy(ctx, r, f.child, o); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
		}
		cut, err = e.QueryEach(ctx, query.Request{SQL: text, Rows: f.limit, Bytes: math.MaxInt, AsText: !a.json}, func(columns []string, row []any) error {
			if row == nil {
				return out.begin(columns)
			}
			for i := range row {
				row[i] = portable(row[i])
			}
			return out.row(row)
		})
		if err != nil {
			return err
		}
		return out.end(cut != "")
	})
	return cut, err
}

// openCopy opens a snapshot of a file that another process has, in a folder of its own which the one that asked removes. That process makes it and no
// more: a statement may take all memory and time that there are, and only here is an end to it.
func (a *app) openCopy(ctx context.Context, r *share.Reader, folder string, o engine.Options) (*engine.Engine, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	path, err := a.path(0)
	if err != nil {
		return nil, err
	}
	out, err := filepath.Abs(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	if _, err := share.Snapshot.Do(ctx, r, out); err != nil {
		return nil, err
	}
	o.ReadOnly = true
	a.chooseLexical(&o)
	return engine.Open(ctx, out, o)
}
