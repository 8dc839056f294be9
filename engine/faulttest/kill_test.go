package faulttest

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestKills kills the process before each of its calls and halfway through each of its writes. What a kill leaves follows from the recording; that
// it does so is proved by some real ones.
func TestKills(t *testing.T) {
	needTracer(t)
	life, all := "short", asked(t, 10, 4000)
	if enginetest.Long("faults") {
		life = "whole"
	}
	rng := rand.New(rand.NewPCG(seeded(t), 6))
	reference := lived(t, life)
	c := newTrial(t)
	c.hear(reference.kills(rng, all))
	of, calls, real := []traced{reference}, reference.recording.calls(), max(1, all/10)
	var j juror
	defer j.leave()
	for n := range real {
		a := action{do: []string{"kill", "half"}[n%2], kinds: "*", first: 1 + n*calls/real + rng.IntN(max(1, calls/real-9))}
		p := staged(t, staging{action: a, role: "live", args: []string{life}})
		if !p.wasKilled() {
			t.Fatalf("%v: the process ended with %d: %s", a, p.status, p.stderr)
		}
		q := askedOf(reference, p, killed)
		v := j.ask(q)
		c.note(q.way(), v, q.replay)
		if v.Fault == "" {
			os.RemoveAll(p.place()) // there are many
		} else {
			p.recording = nil
			of = append(of, p)
		}
	}
	c.report("kills", of...)
}

// kills are so many, one in each stretch of a life: after a call, or halfway through it if it is a write.
func (p traced) kills(rng *rand.Rand, most int) (all []question) {
	for n := range most {
		from, to := n*len(p.recording)/most, (n+1)*len(p.recording)/most
		q := question{Reference: p.log, After: 1 + from + rng.IntN(max(1, to-from)), Way: killed}
		for q.After < len(p.recording) && p.recording[q.After].kind == 'm' {
			q.After++
		}
		if p.recording[q.After-1].kind == 'w' && rng.IntN(2) == 0 {
			q.Way = killedIn
		}
		all = append(all, q)
	}
	return all
}

// TestKilledLargeTransaction kills the process at every call, if it is not long at every third moment, of a transaction of which rows are in the file
// before it is committed: they are not to stay.
func TestKilledLargeTransaction(t *testing.T) {
	needTracer(t)
	p := lived(t, "short")
	c := newTrial(t)
	all := p.during("remember many")
	if !enginetest.Long("faults") {
		some := all[:0]
		for n := 0; n < len(all); n += 3 {
			some = append(some, all[n])
		}
		all = some
	}
	c.hear(all)
	c.report("kills in a large transaction", p)
}

// during are all kills during the deeds of a name, each call's and halfway through it.
func (p traced) during(name string) (all []question) {
	begun := false
	for n, o := range p.recording {
		switch said, _ := readMark(o); {
		case said.Begin != "":
			begun = strings.HasPrefix(said.Begin, name)
		case begun && o.kind == 'w':
			all = append(all, question{Reference: p.log, After: n + 1, Way: killedIn}, question{Reference: p.log, After: n + 1, Way: killed})
		case begun:
			all = append(all, question{Reference: p.log, After: n + 1, Way: killed})
		}
	}
	return all
}

// askedOf is the question about the folder that a process left, whose life the reference tells to its end.
func askedOf(reference, p traced, way int) question {
	m := momentOf(p.recording)
	return question{Reference: reference.log, Folder: p.folder, Acknowledged: m.acknowledged, Begun: m.begun, Way: way}
}

// calls is how many there were that change files.
func (r recording) calls() (n int) {
	for _, o := range r {
		if o.kind != 'm' {
			n++
		}
	}
	return n
}
