package faulttest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// suffering is a life that faults of the disk disturb. What fails is tried again, first at once, then without the fault, then with the file opened
// anew; what goes wrong beyond failing is told.
type suffering struct {
	*life
	chronicle chronicle // of the same life undisturbed
	lifted    bool
}

// patience is how long a deed is tried again on one engine after the fault is gone.
const patience = 15 * time.Second

// ballast is a file whose removal is the end of a full disk.
const ballast = "ballast"

// suffer is the child that lives such a life: in a folder, by name, with the recording of the undisturbed one.
func suffer(args []string) error {
	r, err := readRecording(args[2])
	if err != nil {
		return err
	}
	s := &suffering{life: newLife(args[0])}
	if s.chronicle, err = newChronicle(r); err != nil {
		return err
	}
	ctx := context.Background()
	for n, d := range lives[args[1]].deeds() {
		s.begin(n)
		tell(mark{Begin: d.name, Passes: d.passes})
		if !s.try(ctx, d) {
			return nil
		}
		if fault := s.fault(ctx, expected{before: s.chronicle.contents[n+1]}); fault != "" {
			tell(mark{Fault: "done, but " + fault})
			return nil
		}
		tell(mark{Done: d.name})
	}
	return nil
}

// try does a deed until it succeeds; false: it never does, or left what it must not.
func (s *suffering) try(ctx context.Context, d deed) bool {
	err := s.attempt(ctx, d)
	for tries := 1; err != nil; tries++ {
		done, ok := s.afterwards(ctx, d, err)
		if done || !ok {
			return ok
		}
		switch {
		case tries == 1: // the fault may have been one of one call
		case !s.lifted:
			s.lift()
		default:
			return s.insist(ctx, d)
		}
		err = s.attempt(ctx, d)
	}
	return true
}

func (s *suffering) attempt(ctx context.Context, d deed) error {
	s.begin(s.deed)
	err := d.do(ctx, s.life)
	if err != nil {
		tell(mark{Failed: err.Error()})
	}
	return err
}

// afterwards looks at the file after a deed that failed; done: it was done all the same; not ok: the file has what it must not.
func (s *suffering) afterwards(ctx context.Context, d deed, failed error) (done, ok bool) {
	if s.engine == nil {
		return false, true
	}
	got, err := contentOf(ctx, s.engine)
	for pause := 100 * time.Millisecond; err != nil && pause < 3*time.Second; pause *= 2 {
		time.Sleep(pause)
		if got, err = contentOf(ctx, s.engine); err == nil {
			tell(mark{Note: "reads paused"})
		}
	}
	if err != nil {
		tell(mark{Note: "reads stopped"})
		return false, true
	}
	before, after := s.chronicle.contents[s.deed], s.chronicle.contents[s.deed+1]
	if maps.Equal(got, after) && !maps.Equal(before, after) && !d.passes {
		tell(mark{Fault: "failed, but it was done: " + failed.Error()})
		return true, false
	}
	if fault := (expected{before: before, after: after, begun: d.passes, passes: d.passes}).fault(got); fault != "" {
		tell(mark{Fault: "failed, and " + fault})
		return false, false
	}
	return false, true
}

// lift ends the fault.
func (s *suffering) lift() {
	os.Stdout.WriteString("lift\n")
	os.Remove(filepath.Join(filepath.Dir(s.path), ballast))
	s.lifted = true
}

// insist goes on without a fault: with the same engine, or at the latest with one opened anew.
func (s *suffering) insist(ctx context.Context, d deed) bool {
	var err error
	pause := 100 * time.Millisecond
	for waited := time.Duration(0); s.engine != nil && waited < patience; waited += pause {
		time.Sleep(pause)
		pause += pause / 2
		if err = s.attempt(ctx, d); err == nil {
			tell(mark{Note: "the engine went on by itself"})
			return true
		}
	}
	if s.engine != nil {
		tell(mark{Note: "had to be opened anew"})
		s.close()
	}
	if d.name != opening.name && d.name != closing.name && d.name != reopening.name {
		if err := s.open(ctx); err != nil {
			tell(mark{Fault: "does not open again: " + err.Error()})
			return false
		}
		if done, ok := s.afterwards(ctx, d, err); done || !ok {
			return ok
		}
	}
	if err := s.attempt(ctx, d); err != nil {
		tell(mark{Fault: "never goes on: " + err.Error()})
		return false
	}
	return true
}

// fault says what is wrong with the file, if it is open.
func (s *suffering) fault(ctx context.Context, x expected) string {
	if s.engine == nil {
		return ""
	}
	got, err := contentOf(ctx, s.engine)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	return x.fault(got)
}

// endedByDuckDB is what the C++ library says when DuckDB lets an exception out of a function that may let none out: taking back a COMMIT whose log can't
// be written or synced, of a transaction that replaces a row, or whose log can't be shortened either. No engine can prevent that; what it left is judged as
// after a kill. A full disk never comes to that, for room is kept (TestFullDisk).
const endedByDuckDB = "terminate called after throwing an instance of 'duckdb::"

// summary is what a suffering process said in the end.
type summary struct {
	fault string
	ended bool     // the process was, by DuckDB
	notes []string // once each
}

func summaryOf(p traced) (s summary) {
	failed := false
	for _, m := range p.recording.marks() {
		switch {
		case m.Fault != "":
			s.fault = m.Fault
		case m.Note != "" && !slices.Contains(s.notes, m.Note):
			s.notes = append(s.notes, m.Note)
		case m.Failed != "":
			failed = true
		}
	}
	if !failed {
		s.notes = append(s.notes, "made no call of the engine fail")
	}
	switch {
	case p.status == 0 || s.fault != "":
	case strings.Contains(p.stderr, endedByDuckDB):
		s.notes = append(s.notes, "were met by DuckDB with the end of the process")
		s.ended = true
	default:
		s.fault = fmt.Sprintf("the process ended with %d: %s", p.status, lastWords(p.stderr))
	}
	return s
}
