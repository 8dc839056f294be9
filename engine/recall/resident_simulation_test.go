package recall_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// residentSeed repeats a simulation that failed.
const residentSeed = "MALLARD_RESIDENT_SEED"

// TestResidentSimulation does thirty things (two thousand, if long) at random to one file, while somebody asks it. After each the resident index is
// what would be made anew of the file, and answers as the file does.
func TestResidentSimulation(t *testing.T) {
	t.Parallel()
	steps := 30
	if enginetest.Long("recall") {
		steps = 2000
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(residentSeed); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", residentSeed, seed)
	s := &residentSimulation{t: t, rng: rand.New(rand.NewPCG(seed, 14)), path: enginetest.NewFile(t), done: map[string]int{}}
	s.models = []*fickle{{Embedder: enginetest.Words{N: 48}}, {Embedder: static.New()}}
	s.clock.Store(enginetest.Noon.Unix())
	s.open(false)
	for n := range steps {
		s.step(n)
	}
	enginetest.Check(t, s.e)
	enginetest.CloseFile(t, s.e)
	t.Logf("%d of %d steps were followed, after the others it was made anew; done: %v", s.followed, steps, s.done)
	if s.followed < steps/2 {
		t.Errorf("the index followed %d of %d steps only", s.followed, steps)
	}
	for name := range s.acts() {
		if s.done[name] == 0 && steps > 1000 {
			t.Errorf("never done: %s", name)
		}
	}
}

// residentSimulation is a file and who has it open.
type residentSimulation struct {
	t        *testing.T
	rng      *rand.Rand
	path     string
	e        *engine.Engine
	clock    atomic.Int64 // seconds since 1970
	models   []*fickle    // the first is the file's
	done     map[string]int
	followed int
}

// fickle is a model that is down at times, and whose next texts something may be done before.
type fickle struct {
	setup.Embedder
	down   atomic.Bool
	before func() // nil: nothing; the act under way owns it
}

var errDown = errors.New("the model is down")

func (m *fickle) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	if m.down.Load() {
		return nil, errDown
	}
	if before := m.before; before != nil {
		m.before = nil
		before()
	}
	return m.Embedder.EmbedTexts(ctx, texts)
}

func (s *residentSimulation) now() time.Time { return time.Unix(s.clock.Load(), 0).UTC() }

// open opens the file with its model, or with another one that is to become it.
func (s *residentSimulation) open(replace bool) {
	s.e = enginetest.OpenFile(s.t, s.path, engine.Options{Embedder: s.models[0], ReplaceModel: replace, Related: relatedHarbour, Now: s.now,
		LLM: enginetest.Summing(20, 15), Conversation: enginetest.Small(4, 60, enginetest.Fanouts(3, 15))})
}

// step does something, and compares. Where that made the index useless, it often goes on while the next one is made.
func (s *residentSimulation) step(n int) {
	acts := s.acts()
	names := slices.Sorted(maps.Keys(acts))
	name := names[s.rng.IntN(len(names))]
	if s.rng.IntN(3) > 0 {
		name = often[s.rng.IntN(len(often))]
	}
	before := s.index()
	var readers sync.WaitGroup
	e, q := s.e, s.question()
	readers.Go(func() {
		for range 3 {
			if _, err := e.Recall(s.t.Context(), q); err != nil && !errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrNotFound) {
				s.t.Errorf("step %d, beside %s: %v", n, name, err)
			}
		}
	})
	err := acts[name](s.t.Context())
	readers.Wait()
	if err == nil {
		s.done[name]++
	}
	if s.index() == nil { // and now it is being made
		for range s.rng.IntN(4) {
			if err := s.remember(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if ready, err := enginetest.Index(s.e).AwaitResident(s.t.Context()); err != nil || !ready {
		s.t.Fatalf("step %d, %s: ready %t, %v", n, name, ready, err)
	}
	if before != nil && s.index() == before {
		s.followed++
	}
	difference, checked := enginetest.Index(s.e).CheckResident(s.t.Context())
	if difference != "" || checked != nil {
		s.t.Fatalf("step %d, %s (%v): %s, %v", n, name, err, difference, checked)
	}
	bothWays(s.t, s.e, s.question())
}

// index is the resident index, where there is one.
func (s *residentSimulation) index() (x *resident.Index) {
	_, err := enginetest.Index(s.e).Resident(func() error { return nil }, func(now *resident.Index) error {
		x = now
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// question asks anybody for anything, about the present time too.
func (s *residentSimulation) question() recall.Query {
	q := randomQuestion(s.rng)
	q.Weights = randomWeights(s.rng)
	if s.rng.IntN(3) == 0 {
		q.Weights.Whole, q.Weights.Pool, q.Limit = 0, 10, 5
	}
	switch s.rng.IntN(6) {
	case 0:
		q.Since = s.now().AddDate(0, 0, -s.rng.IntN(40))
	case 1:
		q.AsOf = s.now().AddDate(0, 0, -s.rng.IntN(40))
	case 2:
		q.Categories = []memory.Category{s.category()}
	case 3:
		q.Tiers = []memory.Tier{s.tier()}
	}
	if s.rng.IntN(3) == 0 {
		q.Kinds = [][]kinds.Kind{{kinds.Summary}, {kinds.Memory, kinds.Summary}}[s.rng.IntN(2)]
	}
	narrow(s.rng, &q)
	known := s.ids("SELECT name FROM conversations WHERE name IS NOT NULL")
	if slices.ContainsFunc(q.Conversations, func(name string) bool { return !slices.Contains(known, name) }) {
		q.Conversations = nil
	}
	return q
}

func (s *residentSimulation) category() memory.Category {
	return memory.Categories()[s.rng.IntN(len(memory.Categories()))]
}

func (s *residentSimulation) tier() memory.Tier {
	return memory.Tiers()[s.rng.IntN(len(memory.Tiers()))]
}

// words are some that questions ask for, and a few that nobody said before.
func (s *residentSimulation) words(most int) string {
	var parts []string
	for range 1 + s.rng.IntN(most) {
		parts = append(parts, enginetest.Vocabulary[s.rng.IntN(len(enginetest.Vocabulary))])
	}
	if s.rng.IntN(3) == 0 {
		parts = append(parts, fmt.Sprint("unheard", s.rng.IntN(1000)))
	}
	return strings.Join(parts, " ") + []string{"", "", "?", ". proj:harbour"}[s.rng.IntN(4)]
}

// moment is a time not far from now, or none.
func (s *residentSimulation) moment() time.Time {
	if s.rng.IntN(3) > 0 {
		return time.Time{}
	}
	return s.now().Add(time.Duration(s.rng.IntN(60*24)-30*24) * time.Hour)
}

// ids are what a query of one column gives.
func (s *residentSimulation) ids(query string) (all []string) {
	for _, row := range enginetest.Rows(s.t, s.e, query+" ORDER BY ALL") {
		all = append(all, row[0].(string))
	}
	return all
}

// one is one of them, or empty.
func (s *residentSimulation) one(query string) string {
	all := s.ids(query)
	if len(all) == 0 {
		return ""
	}
	return all[s.rng.IntN(len(all))]
}
