package lineage_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// world is a file with random sources, and what is retracted of it.
type world struct {
	t        *testing.T
	e        *engine.Engine
	rng      *rand.Rand
	clock    *enginetest.Clock
	messages []string
	memories []string
	imports  []string
	active   map[string]string // retractions that stand, by what they withdrew
	n        int
	moments  []moment
}

// moment is what was true as far as was known then.
type moment struct {
	at   time.Time
	what string
	ids  []string
}

func (w *world) fatal(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// say has somebody state something about one of few topics, and extracts it: it is new, a confirmation, or in place of what was said before.
func (w *world) say() {
	w.n++
	topic, value := []string{"editor", "tea", "boat"}[w.rng.IntN(3)], []string{"Zed", "Vim", "Kakoune"}[w.rng.IntN(3)]
	said, err := w.e.Append(w.t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: fmt.Sprintf("My favorite %s is %s.", topic, value), Session: fmt.Sprint("s", w.n), SaidAt: w.clock.At}}})
	w.fatal(err)
	w.messages = append(w.messages, said.IDs...)
	report, err := w.e.Extract(w.t.Context(), extract.Request{Conversation: "c"})
	w.fatal(err)
	for _, d := range report.Drafts {
		if d.MemoryID != "" {
			w.memories = append(w.memories, d.MemoryID)
		}
	}
}

// some gives a few of a list that can be recalled.
func (w *world) some(list []string, most int) (few []string) {
	for range w.rng.IntN(most + 1) {
		if len(list) > 0 {
			if id := list[w.rng.IntN(len(list))]; !slices.Contains(few, id) {
				few = append(few, id)
			}
		}
	}
	return few
}

// remember notes something that came from others; what can't be recalled is refused, and that is no matter.
func (w *world) remember() {
	w.n++
	r := memory.RememberRequest{ID: fmt.Sprintf("mem_%03d", w.n), Text: fmt.Sprintf("note %d of the harbour", w.n),
		Sources: append(append(w.some(w.messages, 2), w.some(w.memories, 2)...), w.some(w.imports, 1)...)}
	var err error
	if old := w.some(w.memories, 1); len(old) == 1 && w.rng.IntN(2) == 0 {
		_, err = w.e.Supersede(w.t.Context(), memory.SupersedeRequest{ID: old[0], By: r})
	} else {
		_, err = w.e.Remember(w.t.Context(), r)
	}
	if err == nil {
		w.memories = append(w.memories, r.ID)
	}
}

func (w *world) importOne() {
	w.n++
	id := fmt.Sprintf("mem_%03d", w.n)
	result, err := w.e.Import(w.t.Context(), strings.NewReader(fmt.Sprintf(`{"id": %q, "text": "imported %d"}`, id, w.n)), interchange.ImportRequest{Name: "x.jsonl"})
	w.fatal(err)
	w.imports, w.memories = append(w.imports, result.ID), append(w.memories, id)
}

func (w *world) grow() {
	w.clock.Advance(time.Hour)
	switch w.rng.IntN(6) {
	case 0, 1, 2:
		w.say()
	case 3:
		w.importOne()
	default:
		w.remember()
	}
}

// retract withdraws something that is not yet.
func (w *world) retract() string {
	w.clock.Advance(time.Hour)
	all := slices.Concat(w.messages, w.memories, w.imports)
	id := all[w.rng.IntN(len(all))]
	if w.active[id] != "" {
		return "nothing"
	}
	w.active[id] = retract(w.t, w.e, id).ID
	return "retract " + id
}

func (w *world) undo() string {
	w.clock.Advance(time.Hour)
	sources := slices.Sorted(maps.Keys(w.active))
	if len(sources) == 0 {
		return "nothing"
	}
	id := sources[w.rng.IntN(len(sources))]
	undo(w.t, w.e, w.active[id])
	delete(w.active, id)
	return "undo " + id
}

// step is a row of report.lineage, as the model of this test reads it.
type step struct{ id, source, how, derivation string }

// hold compares what stands with what follows from the steps and from what is retracted, by the shortest way to say it.
func (w *world) hold(after string) {
	w.t.Helper()
	var steps []step
	for _, row := range enginetest.Rows(w.t, w.e, "SELECT id, source, how, derivation FROM report.lineage WHERE kind = 'memory' ORDER BY noted_at") {
		steps = append(steps, step{row[0].(string), row[1].(string), row[2].(string), fmt.Sprint(row[3])})
	}
	stands := map[string]bool{} // memories; all else stands unless it is retracted
	memories := map[string]bool{}
	for _, id := range w.memories {
		memories[id] = true
	}
	sound := func(id string) bool { return w.active[id] == "" && (!memories[id] || stands[id]) }
	for changed := true; changed; {
		changed = false
		for id := range memories {
			if stands[id] || w.active[id] != "" {
				continue
			}
			whole, made := map[string]bool{}, false
			for _, s := range steps {
				if s.id != id || s.how == "superseded" || s.how == "contradicted" {
					continue
				}
				made = made || s.derivation == "0"
				if _, seen := whole[s.derivation]; !seen {
					whole[s.derivation] = true
				}
				whole[s.derivation] = whole[s.derivation] && sound(s.source)
			}
			if !made || slices.Contains(slices.Collect(maps.Values(whole)), true) {
				stands[id], changed = true, true
			}
		}
	}
	var ended func(id string, depth int) bool
	ended = func(id string, depth int) bool {
		return depth < 50 && slices.ContainsFunc(steps, func(s step) bool {
			return s.how == "superseded" && s.source == id && (stands[s.id] || ended(s.id, depth+1))
		})
	}
	for _, m := range everyMemory(w.t, w.e) {
		id := m.ID
		if in := m.RetractedBy == ""; in != stands[id] || in != m.RetiredAt.IsZero() {
			w.t.Errorf("after %s: %s %q stands: %t (retired %v), want %t", after, id, m.Text, in, m.RetiredAt, stands[id])
		}
		if over := !m.InvalidatedAt.IsZero(); stands[id] && over != ended(id, 0) {
			w.t.Errorf("after %s: %s %q is ended: %t by %q, want %t", after, id, m.Text, over, m.SupersededBy, !over)
		}
	}
}

// standing lists the memories of a moment; the zero one is now.
func (w *world) standing(at memory.Moment) (ids []string) {
	w.t.Helper()
	r := memory.ListRequest{Moment: at, Limit: 1000}
	if at.IsZero() {
		r.Standing = "current"
	}
	all, err := w.e.List(w.t.Context(), r)
	w.fatal(err)
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// mark notes what is true now.
func (w *world) mark(what string) {
	w.clock.Advance(time.Minute)
	w.moments = append(w.moments, moment{w.clock.At, what, w.standing(memory.Moment{})})
}

// TestRetractionsProperty: whatever is retracted and undone, in whatever order, what stands is what follows from the sources; and undone altogether, the file is what it was.
func TestRetractionsProperty(t *testing.T) {
	t.Parallel()
	seeds := 3
	if enginetest.Long("lineage") {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			clock := &enginetest.Clock{At: enginetest.Noon}
			w := &world{t: t, e: enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now}), rng: rand.New(rand.NewPCG(uint64(seed), 16)), clock: clock, active: map[string]string{}}
			for range 30 {
				w.grow()
			}
			was := rows(t, w.e)
			for range 10 {
				done := w.retract()
				if w.rng.IntN(3) == 0 {
					done = w.undo()
				}
				w.hold(done)
				if t.Failed() {
					return
				}
			}
			enginetest.Check(t, w.e)
			for len(w.active) > 0 {
				w.hold(w.undo())
			}
			same(t, "all undone", was, rows(t, w.e))
			// And while others go on writing.
			for range 25 {
				done := "grow"
				switch w.rng.IntN(4) {
				case 0:
					done = w.retract()
				case 1:
					done = w.undo()
				default:
					w.grow()
				}
				w.hold(done)
				if w.mark(done); t.Failed() {
					return
				}
			}
			enginetest.Check(t, w.e)
			for len(w.active) > 0 {
				done := w.undo()
				w.hold(done)
				w.mark(done)
			}
			for _, m := range w.moments { // what was known then is known for ever
				if got := w.standing(memory.Moment{KnownAt: m.at}); !slices.Equal(got, m.ids) {
					t.Errorf("known at %v, after %s: %q, want %q", m.at, m.what, got, m.ids)
				}
			}
		})
	}
}
