package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mallardmem/mallard/engine/memory"
)

const (
	// writeFor is how long the child writes at least, into a file of some size; the write-ahead log is folded into the file several times in it.
	writeFor = 3 * time.Second
	// writeForEach is how long it does for each memory that is there already: a small file is measured in less time.
	writeForEach = 3 * time.Millisecond
	// startWithin is how soon the child must have stored something.
	startWithin = time.Minute
)

// acknowledged names the file in which the live phase notes the id of each memory as soon as Remember said that it is stored.
func acknowledged(file string) string { return file + ".acknowledged" }

// live writes one memory after another until the process is killed or ctx ends.
func (r *phaseRun) live(ctx context.Context) error {
	e, _, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	notes, err := os.Create(acknowledged(r.file))
	if err != nil {
		return err
	}
	defer notes.Close()
	for i := r.config.Memories + r.config.Live; ; i++ {
		result, err := e.Remember(ctx, r.corpus.memory(i))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(notes, result.ID); err != nil {
			return err
		}
	}
}

// kill runs the live phase and kills it while it writes.
func (c RecallConfig) kill(ctx context.Context, file string, report *RecallReport) error {
	child := c.Child(ctx, LivePhase, file)
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	size, err := watchLog(file, min(writeFor, time.Duration(c.Memories)*writeForEach), ended)
	if err != nil {
		child.Process.Kill()
		return err
	}
	if err := child.Process.Kill(); err != nil {
		return err
	}
	<-ended
	report.CrashLogMB = float64(size) / megabyte
	return nil
}

// watchLog returns with the size of the log when the child has written for so long and its log is almost as long as it ever was:
// the most that a crash leaves to be replayed.
func watchLog(file string, writes time.Duration, ended <-chan error) (size int64, err error) {
	began := time.Now()
	var writing time.Time
	var longest int64
	for {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("the child ended before it was killed: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
		if writing.IsZero() {
			if info, err := os.Stat(acknowledged(file)); err == nil && info.Size() > 0 {
				writing = time.Now()
			} else if time.Since(began) > startWithin {
				return 0, fmt.Errorf("the child stored nothing within %v", startWithin)
			}
			continue
		}
		info, err := os.Stat(file + ".wal")
		if errors.Is(err, fs.ErrNotExist) { // just after a checkpoint
			continue
		}
		if err != nil {
			return 0, err
		}
		if size = info.Size(); size >= longest*9/10 && time.Since(writing) > writes {
			return size, nil
		}
		longest = max(longest, size)
	}
}

// reopen opens what the killed process left, and looks for every memory that it said was stored.
func (r *phaseRun) reopen(ctx context.Context) error {
	e, took, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	r.report.OpenAfterCrashMs = took
	notes, err := os.Open(acknowledged(r.file))
	if err != nil {
		return err
	}
	defer notes.Close()
	lines := bufio.NewScanner(notes)
	for lines.Scan() {
		if _, err := e.Get(ctx, memory.GetRequest{ID: lines.Text()}); err != nil {
			return fmt.Errorf("lost after the kill: %w", err)
		}
		r.report.CrashWrites++
	}
	return errors.Join(lines.Err(), e.Close())
}
