package faulttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestCorruption damages files that were closed and files that were killed: whatever happened is found when the file is opened, by Check, or when
// it is read, or the file says what it said before; and no process dies of it.
func TestCorruption(t *testing.T) {
	seed := seeded(t)
	eachBase(t, func(t *testing.T, base image) { corrupt(t, base, seed, asked(t, 8, 1000)) })
}

// eachBase runs a test on a file that was closed, and on one that was killed while its log was longest.
func eachBase(t *testing.T, test func(t *testing.T, base image)) {
	needTracer(t)
	life := "short"
	if enginetest.Long("faults") {
		life = "whole"
	}
	p := lived(t, life)
	t.Run("closed", func(t *testing.T) { test(t, p.recording.left(len(p.recording))) })
	t.Run("killed", func(t *testing.T) { test(t, p.recording.left(p.recording.longestLog(t))) })
}

// left is what a kill after so many operations leaves.
func (r recording) left(after int) image {
	d := emptyDisk()
	for _, o := range r[:after] {
		d.do(o)
	}
	return d.found()
}

// longestLog is after how many operations the log was longest while nothing was under way.
func (r recording) longestLog(t *testing.T) (after int) {
	t.Helper()
	d, longest := emptyDisk(), int64(0)
	for n, o := range r {
		d.do(o)
		log := d.names[logName]
		if o.kind == 'm' && strings.HasPrefix(string(o.data), `{"Done"`) && log != nil && log.size > longest {
			after, longest = n+1, log.size
		}
	}
	if after == 0 {
		t.Fatal("the life never leaves a log")
	}
	return after
}

// corrupt damages the files of a folder so many times, and looks at each.
func corrupt(t *testing.T, base image, seed uint64, times int) {
	t.Helper()
	whole := look(t, &juror{}, base)
	if whole.Found != "" || whole.Fault != "" {
		t.Fatalf("the undamaged file: %+v", whole)
	}
	strikeAll(t, base, seed, times, "damages", func(r *juror, damaged image) (found, fault string) {
		v := look(t, r, damaged)
		if v.Fault == "" && v.Found == "" {
			v.Found = "did no harm"
			if v.Content != whole.Content {
				v.Fault = "silently says something else"
			}
		}
		return v.Found, v.Fault
	})
}

// strikeAll damages the files of a folder so many times, and has each looked at.
func strikeAll(t *testing.T, base image, seed uint64, times int, what string, look func(r *juror, damaged image) (outcome, fault string)) {
	t.Helper()
	c, outcomes := newTrial(t), map[string]int{}
	var group sync.WaitGroup
	for n := range judges {
		group.Go(func() {
			var r juror
			defer r.leave()
			for i := n; i < times; i += judges {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				damaged, how := base.strike(rng, damages[i%len(damages)])
				outcome, fault := look(&r, damaged)
				if fault == "" {
					c.count(outcomes, []string{outcome})
				}
				c.note(how, verdict{Fault: fault}, func() string { return damaged.replay(t) })
			}
		})
	}
	group.Wait()
	t.Logf("%s: %v", what, outcomes)
	c.report(what)
}

// replay is the command that reads the folder again, which is kept for it.
func (m image) replay(t *testing.T) string {
	t.Helper()
	kept, err := os.MkdirTemp(fastFolder(), "mallard-kept-")
	if err == nil {
		err = m.make(kept)
	}
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%s=%s go test ./engine/faulttest -run TestReadAgain", folderVariable, kept)
}

// folderVariable names a damaged folder, which TestReadAgain reads.
const folderVariable = "MALLARD_FAULT_FOLDER"

// TestReadAgain reads and recovers a folder that TestCorruption or TestRecovery has kept.
func TestReadAgain(t *testing.T) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skipf("%s names no folder", folderVariable)
	}
	d, err := newDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	var j juror
	defer j.leave()
	if v := look(t, &j, d.found()); v.Fault != "" {
		t.Error(v.Fault)
	} else {
		t.Logf("found: %s\n%s", v.Found, v.Content)
	}
	if v := save(t, &j, d.found()); v.Fault != "" {
		t.Error(v.Fault)
	} else {
		t.Logf("came back: %s, lost %t, altered %t, %d rows", v.Came, v.Lost, v.Altered, len(v.Content))
	}
}
