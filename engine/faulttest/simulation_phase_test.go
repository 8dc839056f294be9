package faulttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// plan is what a phase of a simulation is told.
type plan struct {
	Seed   uint64
	Number int
	Kind   string
	Faulty bool // calls of the system fail, until it says lift
	Story  story
}

// Kinds of phases.
const (
	plain    = "plain"
	crowded  = "crowded" // all actors at once, who give up now and then
	looking  = "looking" // only
	awaiting = "awaiting a checkpoint"
)

// actors share the file.
var actors = []string{"ann", "bob", "cleo", "dan"}

// phase is the life of one process of a simulation.
type phase struct {
	plan
	path   string
	engine *engine.Engine
	rng    *rand.Rand
	ids    atomic.Int64
	clock  atomic.Int64 // Unix time in seconds
	lifted bool
}

// livePhase is the child that lives it: in a folder, by a plan.
func livePhase(args []string) error {
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	p := &phase{path: filepath.Join(args[0], fileName)}
	if err := json.Unmarshal(text, &p.plan); err != nil {
		return err
	}
	p.rng = rand.New(rand.NewPCG(p.Seed, uint64(p.Number)))
	if fault := p.live(context.Background()); fault != "" {
		tell(step{mark: mark{Fault: fault}})
	}
	return nil
}

// live says what went wrong.
func (p *phase) live(ctx context.Context) (fault string) {
	p.turnClock()
	if err := p.open(ctx); err != nil {
		return "does not open: " + err.Error()
	}
	if fault := p.arrive(ctx); fault != "" {
		return "as it was found: " + fault
	}
	switch p.Kind {
	case plain:
		fault = p.work(ctx, 6+p.rng.IntN(14))
	case crowded:
		fault = p.crowd(ctx)
	case awaiting:
		if fault = p.work(ctx, 25); fault == "" {
			fault = p.awaitCheckpoint(ctx)
		}
	}
	if p.lift(); fault != "" {
		return fault
	}
	if fault := p.whole(ctx); fault != "" {
		return "in the end: " + fault
	}
	if err := p.engine.Close(); err != nil && !p.Faulty {
		return "does not close: " + err.Error()
	}
	return ""
}

// turnClock sets the clock forwards or backwards, by months.
func (p *phase) turnClock() {
	p.clock.Store(time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC).Unix() + p.rng.Int64N(400*86400) - 200*86400)
}

func (p *phase) now() time.Time { return time.Unix(p.clock.Load(), 0).UTC() }

// open opens the file; where a fault prevents that, when it is gone.
func (p *phase) open(ctx context.Context) (err error) {
	o := newLife("").options()
	o.ReadOnly, o.Now = p.Kind == looking, p.now
	o.NewID = func(prefix string, _ time.Time) string {
		return fmt.Sprintf("%s%04d_%05d", prefix, p.Number, p.ids.Add(1))
	}
	p.engine, err = engine.Open(ctx, p.path, o)
	if err != nil && o.ReadOnly && errors.Is(err, engine.ErrCorrupt) && strings.Contains(err.Error(), "opening it once for writing mends it") {
		o.ReadOnly = false
	} else if err == nil || !p.Faulty {
		return err
	}
	p.lift()
	p.engine, err = engine.Open(ctx, p.path, o)
	return err
}

// lift ends the fault.
func (p *phase) lift() {
	if p.Faulty && !p.lifted {
		p.lifted = true
		os.Stdout.WriteString("lift\n")
	}
}

// work does so many acts, one after the other, and finds a memory in the end.
func (p *phase) work(ctx context.Context, acts int) (fault string) {
	a := &actor{phase: p, rng: p.rng, story: p.Story}
	defer func() { p.Story = a.story }()
	for n := range acts {
		if p.rng.IntN(5) == 0 {
			p.turnClock()
		}
		if n == acts*2/3 {
			p.lift()
		}
		a.name = actors[p.rng.IntN(len(actors))]
		if fault := a.play(ctx, a.next()); fault != "" {
			return fault
		}
	}
	if p.lift(); p.Faulty { // so that the engine has gone on
		if _, err := p.read(ctx); err != nil {
			return "can't be read: " + err.Error()
		}
	}
	if last := a.recall(); last.do != nil {
		return a.play(ctx, a.named(last))
	}
	return ""
}

// crowd lets all actors act at once.
func (p *phase) crowd(ctx context.Context) string {
	faults := make([]string, len(actors))
	all := make([]*actor, len(actors))
	var group sync.WaitGroup
	for n, name := range actors {
		all[n] = &actor{phase: p, name: name, rng: rand.New(rand.NewPCG(p.rng.Uint64(), 1)), story: newStory()}
		all[n].Is = own(p.Story.Is, name)
		group.Go(func() {
			for range 5 {
				impatient, cancel := context.WithTimeout(ctx, time.Millisecond<<all[n].rng.IntN(12))
				faults[n] = all[n].play(impatient, all[n].next())
				if cancel(); faults[n] != "" {
					return
				}
			}
		})
	}
	group.Wait()
	for n, a := range all {
		if faults[n] != "" {
			return faults[n]
		}
		p.Story.Is = p.Story.Is.with(own(p.Story.Is, a.name).changes(a.Is))
	}
	return ""
}

// awaitCheckpoint waits until the log is taken into the file by itself: it has more in it than is left to the next opening.
func (p *phase) awaitCheckpoint(ctx context.Context) string {
	before, err := p.engine.Stats(ctx)
	if err != nil {
		return err.Error()
	}
	for began := time.Now(); time.Since(began) < deadline; time.Sleep(50 * time.Millisecond) {
		now, err := p.engine.Stats(ctx)
		if err != nil {
			return err.Error()
		}
		if before.LogBytes < 1<<18 || now.LogBytes < before.LogBytes {
			return ""
		}
	}
	return fmt.Sprintf("a log of %d bytes was never taken in", before.LogBytes)
}
