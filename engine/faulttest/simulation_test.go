package faulttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestTroubledLife simulates the life of a file, phase by phase, each a process of its own: with faults of the disk that come and go, kills, a clock
// that jumps, several at once who give up, and readers. What a model of all tables says is in the file, after each act and at each opening.
func TestTroubledLife(t *testing.T) {
	needTracer(t)
	seed := uint64(2) // in the short form the same life each time
	if enginetest.Long("faults") || os.Getenv(seedVariable) != "" {
		seed = seeded(t)
	}
	s := &simulation{t: t, place: scratch(t), seed: seed, story: newStory(), did: map[string]int{}}
	phases := asked(t, 7, 400)
	for n := range phases {
		if s.phase(n); t.Failed() {
			t.Fatalf("phase %d of %d; again by: %s=%d %s=%d go test ./engine/faulttest -run TestTroubledLife -v", n, phases, seedVariable, seed, amountVariable, phases)
		}
	}
	lines := []string{fmt.Sprintf("%d phases, %d rows:", phases, len(s.Is))}
	for _, what := range slices.Sorted(maps.Keys(s.did)) {
		lines = append(lines, fmt.Sprintf("%d %s", s.did[what], what))
	}
	t.Log(strings.Join(lines, "\n"))
}

// simulation is the life of one file.
type simulation struct {
	t     *testing.T
	place string
	seed  uint64
	did   map[string]int
	story
}

// phase plays one.
func (s *simulation) phase(n int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(n)<<32))
	p := plan{Seed: s.seed, Number: n, Kind: []string{plain, plain, plain, crowded, crowded, looking, awaiting}[rng.IntN(7)], Story: s.story}
	var a action
	switch dice := rng.IntN(10); {
	case n == 0 || p.Kind == looking:
	case dice < 4:
		a = action{do: []string{"kill", "half"}[rng.IntN(2)], kinds: "*", first: 1 + rng.IntN(120)}
	case dice < 8 && p.Kind == plain:
		a = action{do: "fail", kinds: []string{"w", "s", "o", "t", "u", "r", "l", "wod", "wostruld"}[rng.IntN(9)], count: []int{1, 3, 0}[rng.IntN(3)],
			errno: []syscall.Errno{syscall.EIO, syscall.ENOSPC}[rng.IntN(2)], first: 1 + rng.IntN(30)}
		p.Faulty = true
	}
	what := strings.TrimSpace(p.Kind + " " + a.do)
	text, err := json.Marshal(p)
	if err != nil {
		s.t.Fatal(err)
	}
	name := filepath.Join(s.place, "plan")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	ended, err := run(staging{action: a, place: s.place, role: "phase", args: []string{name}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.did["phases "+what]++
	failed := 0
	if p.Kind != looking {
		s.did["copies looked at"] += len(s.Copies)
	}
	for _, o := range ended.recording {
		var said step
		if o.kind != 'm' || json.Unmarshal(o.data, &said) != nil {
			continue
		}
		if said.Fault != "" {
			s.t.Errorf("phase %d (%s, %v): %s", n, what, a, said.Fault)
		}
		if said.Act == opening.name && !p.Faulty {
			s.Copies = map[string]copied{}
		}
		if said.Begin != "" {
			_, kind, _ := strings.Cut(said.Begin, " ")
			_, kind, _ = strings.Cut(kind, " ")
			kind, _, _ = strings.Cut(kind, copying)
			s.did["acts: "+cmp.Or(kind, "copy")]++
		}
		if said.Failed != "" {
			failed++
		}
		s.hear(said)
	}
	s.did["acts that failed"] += failed
	if ended.wasKilled() {
		s.did["kills"]++
	} else if p.Faulty && strings.Contains(ended.stderr, endedByDuckDB) {
		s.did["ends by DuckDB"]++
	} else if ended.status != 0 {
		s.t.Errorf("phase %d (%s, %v): the process ended with %d, having begun %v: %s\n%s", n, what, a, ended.status, slices.Collect(maps.Keys(s.Pending)),
			lastWords(ended.stderr), ended.stderr[:min(len(ended.stderr), 4000)])
	}
}
