package faulttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// judges work side by side.
const judges = 2

// perJudge is how many questions a judge answers before another takes its place: what a damaged file leaves in a process is not to add up.
const perJudge = 300

// juror asks a judge, and takes another one when that is worn or dead.
type juror struct {
	judge *worker
	asked int
}

func (j *juror) ask(q question) (v verdict) {
	if died := j.put("judge", q, &v); died != "" {
		return verdict{Fault: died}
	}
	return v
}

// put puts a question to a child of a role.
func (j *juror) put(role string, question, answer any) (died string) {
	if j.judge == nil {
		var err error
		if j.judge, err = startWorker(role); err != nil {
			return err.Error()
		}
	}
	if died := j.judge.ask(question, answer); died != "" {
		j.judge = nil
		return died
	}
	if j.asked++; j.asked%perJudge == 0 {
		j.leave()
	}
	return ""
}

func (j *juror) leave() {
	if j.judge != nil {
		j.judge.end()
		j.judge = nil
	}
}

// trial is everything that was looked at, and what was found.
type trial struct {
	t        *testing.T
	mu       sync.Mutex
	sorts    map[string]int
	same     int
	heard    int                  // questions answered, those of all calls of hear
	examples map[string][]example // of each sort of fault
}

// example is something that is not as it should be.
type example struct{ what, fault, replay string }

func newTrial(t *testing.T) *trial {
	return &trial{t: t, sorts: map[string]int{}, examples: map[string][]example{}}
}

// hear puts questions to judges, each judge its share in their order, and says each minute how far they are.
func (c *trial) hear(questions []question) {
	var group sync.WaitGroup
	said := time.Now()
	heard := func(v verdict, q question) {
		c.note(q.way(), v, q.replay)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.heard++; time.Since(said) >= time.Minute {
			said = time.Now()
			c.t.Logf("%d of %d; sorts so far: %v", c.heard, len(questions), c.sorts)
		}
	}
	for n := range judges {
		group.Go(func() {
			var j juror
			defer j.leave()
			for _, q := range questions[n*len(questions)/judges : (n+1)*len(questions)/judges] {
				heard(j.ask(q), q)
			}
		})
	}
	group.Wait()
}

// note takes a verdict down, and of some that are bad, how to come by them again.
func (c *trial) note(what string, v verdict, replay func() string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.Same {
		c.same++
		return
	}
	sort := v.sort()
	c.sorts[sort]++
	if v.Fault != "" && len(c.examples[sort]) < 3 {
		c.examples[sort] = append(c.examples[sort], example{strings.TrimSuffix(what+", "+v.At, ", "), v.Fault, replay()})
	}
}

// count adds notes to what was counted.
func (c *trial) count(notes map[string]int, more []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, note := range more {
		notes[note]++
	}
}

// report says how many there were of each sort, and fails the test for all but whole files. The folders that a replay needs are kept.
func (c *trial) report(what string, of ...traced) {
	c.t.Helper()
	lines, looked := []string{}, 0
	for _, sort := range slices.Sorted(maps.Keys(c.sorts)) {
		lines = append(lines, fmt.Sprintf("%6d %s", c.sorts[sort], sort))
		looked += c.sorts[sort]
	}
	c.t.Logf("%s: %d states, and %d that were the same again\n%s", what, looked, c.same, strings.Join(lines, "\n"))
	moved := strings.NewReplacer(c.keep(of)...)
	for _, sort := range slices.Sorted(maps.Keys(c.examples)) {
		lines := []string{}
		for _, e := range c.examples[sort] {
			lines = append(lines, fmt.Sprintf("%s: %s\n\t%s", e.what, e.fault, moved.Replace(e.replay)))
		}
		c.t.Errorf("%d × %s, such as\n%s", c.sorts[sort], sort, strings.Join(lines, "\n"))
	}
	if looked == 0 {
		c.t.Error("nothing was looked at")
	}
}

// keep copies the folders that examples are of to where they stay, and gives their old names and their new ones.
func (c *trial) keep(of []traced) (names []string) {
	examples := slices.Concat(slices.Collect(maps.Values(c.examples))...)
	for _, p := range of {
		folder := p.place()
		if !slices.ContainsFunc(examples, func(e example) bool { return strings.Contains(e.replay, folder) }) {
			continue
		}
		kept, err := os.MkdirTemp(fastFolder(), "mallard-kept-")
		if err == nil {
			err = os.CopyFS(kept, os.DirFS(folder))
		}
		if err != nil {
			c.t.Error(err)
		}
		names = append(names, folder, kept)
	}
	return names
}

// replayVariable has a question of a failed test, which TestReplay asks alone.
const replayVariable = "MALLARD_FAULT"

// replay is the command that asks a question alone.
func (q question) replay() string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s='%s' go test ./engine/faulttest -run TestReplay", replayVariable, text)
}

// TestReplay asks one question again, as a failed test has printed it.
func TestReplay(t *testing.T) {
	text := os.Getenv(replayVariable)
	if text == "" {
		t.Skipf("%s has no question to ask again", replayVariable)
	}
	var q question
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		t.Fatal(err)
	}
	var c court
	if folder := os.Getenv("MALLARD_FAULT_KEEP"); folder != "" {
		kept := q
		kept.Keep = folder
		if _, err := c.answer(kept); err != nil {
			t.Fatal(err)
		}
	}
	v, err := c.answer(q)
	if err != nil {
		t.Fatal(err)
	}
	if v.Fault != "" {
		t.Errorf("%s, %s: %s", q.way(), v.At, v.Fault)
	}
}
