package faulttest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/enginetest"
)

const (
	seedVariable   = "MALLARD_FAULT_SEED"   // repeats what a test did at random
	amountVariable = "MALLARD_FAULT_AMOUNT" // of states, kills or faults
)

// seeded gives the seed of a test, and prints it.
func seeded(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	return seed
}

// asked is how much a test is to do: so much, in the long form so much, or what the variable says.
func asked(t *testing.T, short, long int) int {
	t.Helper()
	if s := os.Getenv(amountVariable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if enginetest.Long("faults") {
		return long
	}
	return short
}

// references are the recordings of lives that nothing disturbs, each made once.
var references = map[string]func() (traced, error){"short": reference("short"), "whole": reference("whole")}

func reference(name string) func() (traced, error) {
	return sync.OnceValues(func() (traced, error) { return run(staging{role: "live", args: []string{name}}) })
}

// lived is such a recording.
func lived(t *testing.T, name string) traced {
	t.Helper()
	p, err := references[name]()
	if err != nil || p.status != 0 {
		t.Fatalf("the life %s ended with %d: %v %s", name, p.status, err, p.stderr)
	}
	kinds := map[string]int{}
	for _, o := range p.recording {
		kinds[string(o.kind)]++
	}
	t.Logf("the life %s: %v", name, kinds)
	return p
}

// TestPowerLoss lets the power go at every moment of a file's life, in all ways.
func TestPowerLoss(t *testing.T) {
	needTracer(t)
	life := "short"
	if enginetest.Long("faults") {
		life = "whole"
	}
	seed := seeded(t)
	p := lived(t, life)
	c := newTrial(t)
	c.hear(losses(t, p, seed, asked(t, 12, 10_000)))
	c.report("loss of power", p)
}

// TestPowerLossAgain lets the power go while a file is opened that a loss of power left, and while it goes on.
func TestPowerLossAgain(t *testing.T) {
	needTracer(t)
	files, life := 2, "short"
	if enginetest.Long("faults") {
		files, life = 40, "whole"
	}
	seed := seeded(t)
	first := lived(t, life)
	c := newTrial(t)
	var again []traced
	for n, q := range losses(t, first, seed, files+1)[1:] { // the first moment has no file yet
		var remaker court
		q.Way, q.Keep = n%len(ways), scratch(t)
		if _, err := remaker.answer(q); err != nil {
			t.Fatal(err)
		}
		p := staged(t, staging{from: q.Keep, role: "live", args: []string{"after"}})
		if p.status != 0 {
			q.Keep = ""
			c.note(q.way(), verdict{Fault: "does not go on: " + p.stderr}, q.replay)
			continue
		}
		c.hear(losses(t, p, seed, asked(t, 8, 2000)/files))
		p.recording = nil // there are many
		again = append(again, p)
	}
	c.report("loss of power while a file is opened after one", append(again, first)...)
}

// losses are so many questions about a life, one in each stretch of the moments at which something is not synced, through all ways in turn.
func losses(t *testing.T, p traced, seed uint64, states int) (all []question) {
	moments := p.unsynced(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	first := rng.IntN(len(ways))
	for n := range states {
		from, to := n*len(moments)/states, (n+1)*len(moments)/states
		at := from + rng.IntN(max(1, to-from))
		all = append(all, question{Reference: p.log, From: p.from, After: moments[at], Way: (first + n) % len(ways), Seed: rng.Uint64()})
	}
	return all
}

// unsynced gives after how many operations a loss of power could leave something else than a kill would. What the process says goes with the
// operation before: it knows more then.
func (p traced) unsynced(t *testing.T) (after []int) {
	d := emptyDisk()
	if p.from != "" {
		var err error
		if d, err = newDisk(p.from); err != nil {
			t.Fatal(err)
		}
	}
	r := p.recording
	for n, o := range r {
		d.do(o)
		if last := n == len(r)-1 || r[n+1].kind != 'm'; last && d.unsynced() {
			after = append(after, n+1)
		}
	}
	if len(after) == 0 {
		t.Fatal("everything is always synced")
	}
	return after
}
