package memory_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// chronicle is a model of the past: all memories as they were after every act, by the time of the act.
type chronicle struct {
	at   []time.Time
	rows []map[string]memory.Memory
}

// note keeps what an engine has now.
func (c *chronicle) note(t *testing.T, e *engine.Engine, now time.Time) {
	t.Helper()
	all, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]memory.Memory{}
	for _, m := range all {
		rows[m.ID] = *m
	}
	c.at, c.rows = append(c.at, now), append(c.rows, rows)
}

// purge takes a memory, and what others say of it, out of all that was.
func (c *chronicle) purge(id string) {
	for _, rows := range c.rows {
		delete(rows, id)
		for other, m := range rows {
			for _, name := range []*string{&m.Supersedes, &m.SupersededBy, &m.CanonicalID} {
				if *name == id {
					*name = ""
				}
			}
			m.Relations = slices.DeleteFunc(slices.Clone(m.Relations), func(r memory.Relation) bool { return r.TargetID == id })
			rows[other] = m
		}
	}
}

// then gives what was true at a moment, in the light of what was known at another, by id.
func (c *chronicle) then(at memory.Moment) []memory.Memory {
	known := len(c.at) - 1
	for known >= 0 && !at.KnownAt.IsZero() && c.at[known].After(at.KnownAt) {
		known--
	}
	if known < 0 {
		return nil
	}
	as := at.True(at.KnownAt)
	var all []memory.Memory
	for id, m := range c.rows[known] {
		over := func(end time.Time) bool { return !end.IsZero() && !end.After(as) }
		if m.ValidFrom.After(as) || over(m.ValidUntil) || over(m.InvalidatedAt) || over(m.RetiredAt) {
			continue
		}
		for n := known; n >= 0; n-- { // the text that stood, or the first one
			was, there := c.rows[n][id]
			if !there {
				break
			}
			m.Text, m.L0, m.L1, m.L2 = was.Text, was.L0, was.L1, was.L2
			if !c.at[n].After(as) {
				break
			}
		}
		all = append(all, m)
	}
	slices.SortFunc(all, byID)
	return all
}

func byID(a, b memory.Memory) int { return cmp.Compare(a.ID, b.ID) }

// unused leaves out what makes no version.
var unused = gocmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(memory.Memory{}, "AccessCount", "LastAccessedAt", "LastConfirmedUseAt", "UpdatedAt")}

// compare asks an engine for a moment by List, Get, Export and Recall, and compares the answers.
func (c *chronicle) compare(t *testing.T, e *engine.Engine, at memory.Moment, by recall.Mode) {
	t.Helper()
	name := fmt.Sprintf("as of %s, known at %s", at.AsOf.Format(time.RFC3339Nano), at.KnownAt.Format(time.RFC3339Nano))
	want := c.then(at)
	list, err := e.List(t.Context(), memory.ListRequest{Limit: 100_000, Moment: at})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got []memory.Memory
	for _, m := range list {
		got = append(got, *m)
	}
	slices.SortFunc(got, byID)
	if diff := gocmp.Diff(want, got, unused); diff != "" {
		t.Fatalf("%s: list (-model +engine):\n%s", name, diff)
	}
	var exported bytes.Buffer
	if n, err := e.Export(t.Context(), &exported, memory.ExportRequest{Moment: at}); err != nil || n != len(want) || strings.Count(exported.String(), "\n") != n {
		t.Fatalf("%s: %d exported, %v, want %d", name, n, err, len(want))
	}
	for id := range c.rows[len(c.rows)-1] {
		m, err := e.Get(t.Context(), memory.GetRequest{ID: id, Moment: at})
		i, there := slices.BinarySearchFunc(want, id, func(m memory.Memory, id string) int { return cmp.Compare(m.ID, id) })
		if there != (err == nil) || err != nil && !errors.Is(err, engine.ErrNotFound) || there && !gocmp.Equal(want[i], *m, unused) {
			t.Fatalf("%s: get %s: %+v, %v, want it to be there: %v", name, id, m, err, there)
		}
		break // any one
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "ledger", Mode: by, Weights: enginetest.PlainWeights(), Limit: 1000, Level: memory.Full, AsOf: at.AsOf, KnownAt: at.KnownAt})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var said, hits []string
	for _, m := range want {
		if m.State == memory.Confirmed {
			said = append(said, m.ID+" "+m.Level(memory.Full))
		}
	}
	for _, h := range result.Hits {
		hits = append(hits, h.ID+" "+h.Text)
	}
	slices.Sort(hits)
	if diff := gocmp.Diff(said, hits, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: recall by %s (-model +engine):\n%s", name, by, diff)
	}
}

// historian changes memories at random.
type historian struct {
	*testing.T
	e     *engine.Engine
	rng   *rand.Rand
	clock *enginetest.Clock
	past  chronicle
}

func (h *historian) text() string {
	words := []string{"crane", "quay", "ledger", "rope", "lamp", "tide", "harbour", "barge"}
	h.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	text := fmt.Sprintf("ledger %s %d", strings.Join(words[:3], " "), h.rng.IntN(1000))
	if h.rng.IntN(20) == 0 { // long enough for passages
		text += strings.Repeat(". The "+words[4]+" stands beside the "+words[5]+", as it did before", 20)
	}
	return text
}

// act does one thing, and notes what is then.
func (h *historian) act() (what string) {
	h.Helper()
	if h.rng.IntN(10) > 0 { // else at the same time as the last one
		h.clock.Advance(time.Duration(h.rng.Int64N(int64(36 * time.Hour))).Truncate(time.Microsecond))
	}
	var ids []string
	if n := len(h.past.rows); n > 0 {
		for id := range h.past.rows[n-1] {
			ids = append(ids, id)
		}
		slices.Sort(ids)
	}
	some := func() string { return ids[h.rng.IntN(len(ids))] }
	ctx := h.Context()
	var err error
	switch n := h.rng.IntN(20); {
	case n < 6 || len(ids) == 0:
		r := memory.RememberRequest{Text: h.text()}
		if h.rng.IntN(3) == 0 {
			r.ValidFrom = h.clock.At.Add(-time.Duration(h.rng.IntN(400)) * time.Hour)
		}
		if h.rng.IntN(3) == 0 {
			r.ValidUntil = h.clock.At.Add(time.Duration(h.rng.IntN(400)+1) * time.Hour)
		}
		if h.rng.IntN(3) == 0 {
			r.FactKey = fmt.Sprint("slot:", h.rng.IntN(3))
		}
		if h.rng.IntN(4) == 0 {
			r.SourceSession = fmt.Sprint("session ", h.rng.IntN(2))
		}
		_, err = h.e.Remember(ctx, r)
		what = "remember"
	case n < 10:
		text := h.text()
		_, err = h.e.Update(ctx, memory.UpdateRequest{ID: some(), Text: &text})
		what = "reword"
	case n < 12:
		r := memory.UpdateRequest{ID: some()}
		switch h.rng.IntN(5) {
		case 0:
			r.Tier = enginetest.Pointer(memory.Tiers()[h.rng.IntN(3)])
		case 1:
			r.ValidUntil = enginetest.Pointer(h.clock.At.Add(time.Duration(h.rng.IntN(100)-50) * time.Hour))
		case 2:
			r.State = enginetest.Pointer(memory.States()[h.rng.IntN(len(memory.States()))])
		case 3:
			r.Relations = &[]memory.Relation{{Type: "about", TargetID: some()}}
		default:
			r.Extra = map[string]any{"n": float64(h.rng.IntN(5))}
		}
		_, err = h.e.Update(ctx, r)
		what = "update"
	case n < 14:
		_, err = h.e.Supersede(ctx, memory.SupersedeRequest{ID: some(), By: memory.RememberRequest{Text: h.text()}})
		what = "supersede"
	case n < 16:
		_, err = h.e.Forget(ctx, memory.ForgetRequest{ID: some(), Reason: "test"})
		what = "forget"
	case n < 17:
		id := some()
		if _, err = h.e.Purge(ctx, memory.PurgeRequest{ID: id}); err == nil {
			h.past.purge(id)
		}
		what = "purge"
	case n < 18:
		for range 4 {
			h.e.Touch(some())
		}
		_, err = h.e.Maintain(ctx, memory.MaintainRequest{})
		what = "maintain"
	case n < 19:
		_, err = h.e.Extract(ctx, extract.Request{Text: fmt.Sprintf("My favorite ledger is %s.", []string{"red", "green", "blue"}[h.rng.IntN(3)])})
		what = "extract"
	default:
		_, err = h.e.RebuildIndex(ctx, index.RebuildRequest{})
		what = "rebuild"
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrInvalid) {
		h.Fatalf("%s: %v", what, err)
	}
	h.past.note(h.T, h.e, h.clock.At)
	return what
}

// moment is one from before the first act until after the last, in one or both of the two times.
func (h *historian) moment() (at memory.Moment) {
	any := func() time.Time {
		when := h.past.at[h.rng.IntN(len(h.past.at))]
		switch h.rng.IntN(4) {
		case 0:
			return when.Add(-time.Microsecond)
		case 1:
			return when.Add(time.Duration(h.rng.Int64N(int64(48*time.Hour))) - 24*time.Hour).Truncate(time.Microsecond)
		}
		return when
	}
	kind := h.rng.IntN(3)
	if kind != 0 {
		at.AsOf = any()
	}
	if kind != 1 {
		at.KnownAt = any()
	}
	return at
}

// TestHistoryIsExact: whatever was done, every earlier moment has the memories that a model kept of it.
func TestHistoryIsExact(t *testing.T) {
	enginetest.Alone(t)
	runs, acts := 1, 40
	if enginetest.Long("history") {
		runs, acts = 40, 200
	}
	for range runs {
		seed := uint64(time.Now().UnixNano())
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &historian{T: t, rng: rand.New(rand.NewPCG(seed, 1)), clock: &enginetest.Clock{At: enginetest.Noon}}
			h.e = enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: h.clock.Now})
			for n := range acts {
				what := h.act()
				for range 2 {
					h.past.compare(t, h.e, h.moment(), []recall.Mode{recall.LexicalMode, recall.VectorMode, recall.Hybrid}[h.rng.IntN(3)])
				}
				if n%20 == 19 {
					enginetest.Check(t, h.e)
				}
				if t.Failed() {
					t.Fatalf("act %d was %s", n, what)
				}
			}
		})
	}
}
