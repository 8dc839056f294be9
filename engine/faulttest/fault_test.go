package faulttest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// actionVariable names one fault, which TestFaults then looks at alone.
const actionVariable = "MALLARD_FAULT_ACTION"

// TestFaults lets calls of the system fail, each of a life, and each with what follows: what fails is an error and leaves nothing, the file goes
// on when the fault is gone, and everything acknowledged is there.
func TestFaults(t *testing.T) {
	needTracer(t)
	reference := lived(t, "short")
	all := actions(reference.recording)
	rng := rand.New(rand.NewPCG(seeded(t), 3))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), asked(t, 4, len(all)))]
	if s := os.Getenv(actionVariable); s != "" {
		a, err := readAction(s)
		if err != nil {
			t.Fatal(err)
		}
		all = []action{a}
	}
	sweep(t, reference, all)
}

// actions are all faults that a life can meet.
func actions(r recording) (all []action) {
	calls := map[string]int{}
	for _, o := range r {
		calls[string(o.kind)]++
	}
	every := func(do, kinds string, errno syscall.Errno, count int) {
		for first := range calls[kinds[:1]] {
			all = append(all, action{do, kinds, first + 1, count, errno})
		}
	}
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		every("fail", "w", errno, 1)
		every("fail", "o", errno, 1)
		every("fail", "r", errno, 1)
		every("fail", "l", errno, 1)
	}
	every("short", "w", 0, 1)
	every("fail", "s", syscall.EIO, 1)
	every("fail", "t", syscall.EIO, 1)
	every("fail", "u", syscall.EIO, 1)
	every("fail", "wod", syscall.ENOSPC, 0) // the disk is full
	every("fail", "wostruld", syscall.EIO, 0)
	every("fail", "swostruld", syscall.EIO, 0)
	return all
}

// sweep lives the life once with each of the faults, two at a time.
func sweep(t *testing.T, reference traced, all []action) {
	t.Helper()
	c, notes := newTrial(t), map[string]int{}
	var group sync.WaitGroup
	for n := range judges {
		group.Go(func() {
			var j juror
			defer j.leave()
			for i := n; i < len(all); i += judges {
				replay := func() string {
					return fmt.Sprintf("%s=%s go test ./engine/faulttest -run TestFaults -v", actionVariable, all[i])
				}
				p, err := run(staging{action: all[i], role: "suffer", args: []string{"short", reference.log}})
				if err != nil {
					t.Error(err)
					continue
				}
				s := summaryOf(p)
				if !slices.ContainsFunc(p.recording, func(o operation) bool { return o.acted }) {
					s.notes = []string{"were not met"}
				}
				c.count(notes, s.notes)
				asked := aftermath(reference, p)
				switch {
				case s.fault != "":
					c.note(all[i].String(), verdict{Fault: s.fault}, replay)
					asked = nil
				case s.ended:
					asked = []question{askedOf(reference, p, killed)}
				}
				for _, q := range asked {
					c.note(all[i].String()+", "+q.way(), j.ask(q), replay)
				}
				if len(all) == 1 {
					t.Logf("%s%s", p.recording.said(), p.stderr)
				}
				os.RemoveAll(p.place())
			}
		})
	}
	group.Wait()
	lines := []string{}
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		lines = append(lines, fmt.Sprint(notes[note], " ", note))
	}
	t.Logf("of %d faults: %s", len(all), strings.Join(lines, ", "))
	c.report("faults", reference)
}

// aftermath asks about the file that such a life left, and about what would be left of it had the power gone when the deed was acknowledged that the
// fault disturbed, and in the end: a sync that failed made nothing durable.
func aftermath(reference, p traced) []question {
	lost := question{Reference: reference.log, Recording: p.log, Way: slices.IndexFunc(ways, func(w way) bool { return w.names == noNames })}
	disturbed, end := lost, lost
	acted := slices.IndexFunc(p.recording, func(o operation) bool { return o.acted })
	for disturbed.After = max(acted, 0); disturbed.After < len(p.recording); disturbed.After++ {
		if o := p.recording[disturbed.After]; o.kind == 'm' && strings.Contains(string(o.data), `"Done"`) {
			disturbed.After++
			break
		}
	}
	end.After = len(p.recording)
	return []question{disturbed, end, askedOf(reference, p, killed)}
}

// said is what the process said, for a person to read.
func (r recording) said() string {
	var all strings.Builder
	for _, m := range r.marks() {
		m.Changed = nil
		fmt.Fprintf(&all, "%+v\n", m)
	}
	return all.String()
}
