package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// memorySeed repeats a run of TestMemoryVerbs that failed, and memoryRuns says how many runs there are, each with the next seed.
const (
	memorySeed = "MALLARD_MEMORY_SEED"
	memoryRuns = "MALLARD_MEMORY_RUNS"
)

// TestMemoryVerbs does some hundred things at random to memories (a thousand, if long), and looks after every fourth (each, if long) whether the file contradicts
// itself: a contradiction stays.
func TestMemoryVerbs(t *testing.T) {
	enginetest.Alone(t)
	seed, runs := uint64(time.Now().UnixNano()), uint64(1)
	for name, value := range map[string]*uint64{memorySeed: &seed, memoryRuns: &runs} {
		if s := os.Getenv(name); s != "" {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			*value = n
		}
	}
	things, looked := 100, 4
	if enginetest.Long("simulation") {
		things, looked = 1000, 1
	}
	for n := range runs {
		t.Run(fmt.Sprint(seed+n), func(t *testing.T) {
			t.Logf("%s=%d", memorySeed, seed+n)
			v := &memoryVerbs{t: t, rng: rand.New(rand.NewPCG(seed+n, 0)), clock: &enginetest.Clock{At: enginetest.Noon}}
			v.engine = enginetest.Open(t, engine.Options{Threads: 1, Embedder: enginetest.Words{}, Now: v.clock.Now, NewID: enginetest.CountedIDs()})
			for len(v.did) < things {
				v.clock.Advance(time.Duration(v.rng.IntN(90)) * time.Minute)
				v.step()
				if len(v.did)%looked > 0 {
					continue
				}
				faults, err := v.engine.Check(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(faults) > 0 {
					t.Fatalf("%v after\n%s", faults, strings.Join(v.did[max(len(v.did)-12, 0):], "\n"))
				}
			}
		})
	}
}

// memoryVerbs is one run: the file, what it may speak of, and what was done so far.
type memoryVerbs struct {
	t      *testing.T
	rng    *rand.Rand
	clock  *enginetest.Clock
	engine *engine.Engine
	ids    []string // of memories that are there, or were
	did    []string
}

func (v *memoryVerbs) step() {
	ctx, id := v.t.Context(), v.id()
	var err error
	switch v.rng.IntN(24) {
	case 0, 1, 2, 3, 4, 5:
		requests := make([]memory.RememberRequest, 1+v.rng.IntN(3))
		for i := range requests {
			requests[i] = v.request()
		}
		var all []memory.Remembered
		all, err = v.engine.RememberMany(ctx, requests)
		for _, r := range all {
			v.know(r.ID)
		}
		v.note("remember %s", v.written(requests))
	case 6, 7, 8, 9, 10, 11:
		r := v.update(id)
		_, err = v.engine.Update(ctx, r)
		v.note("update %s", v.written(r))
	case 12, 13, 14:
		r := memory.SupersedeRequest{ID: id, By: v.request()}
		var newer memory.Remembered
		newer, err = v.engine.Supersede(ctx, r)
		v.know(newer.ID)
		v.note("supersede %s", v.written(r))
	case 15, 16:
		_, err = v.engine.Forget(ctx, memory.ForgetRequest{ID: id})
		v.note("forget %s", id)
	case 17:
		_, err = v.engine.Purge(ctx, memory.PurgeRequest{ID: id})
		v.note("purge %s", id)
	case 18, 19, 20:
		lines := v.lines()
		_, err = v.engine.Import(ctx, strings.NewReader(lines), interchange.ImportRequest{Scope: v.pick("", "", "", "user:ines")})
		v.note("import\n%s", lines)
	case 21:
		_, err = v.engine.Append(ctx, conversation.AppendRequest{Conversation: v.pick("talk", "other"), Scope: "user:ines", Messages: []conversation.Message{
			{Text: v.text(), Session: v.pick("", "s1", "s2"), SaidAt: v.moment()}, {Text: v.text(), Key: v.pick("", "k1", "k2")}}})
		v.note("append")
	case 22:
		_, err = v.engine.PurgeConversation(ctx, v.pick("talk", "other"), "")
		v.note("purge a conversation")
	case 23:
		_, err = v.engine.RebuildIndex(ctx, index.RebuildRequest{Vectors: v.rng.IntN(4) == 0})
		v.note("rebuild")
	}
	for _, fine := range []error{nil, engine.ErrNotFound, engine.ErrExists, engine.ErrInvalid, engine.ErrAmbiguous} {
		if errors.Is(err, fine) {
			return
		}
	}
	v.t.Fatalf("%v after\n%s", err, v.did[len(v.did)-1])
}

// request is a memory to be.
func (v *memoryVerbs) request() memory.RememberRequest {
	r := memory.RememberRequest{Text: v.text(), Scope: v.scope(), SourceSession: v.pick("", "s1", "s1", "s2"), Key: v.pick("", "", "k1", "k2"),
		Category: memory.Category(v.pick("", "preference", "event")), CreatedAt: v.moment(), ValidFrom: v.moment(), ValidUntil: v.moment(),
		Unique: v.rng.IntN(4) == 0, L0: v.pick("", "", v.text()), L2: v.pick("", "", v.text())}
	if v.rng.IntN(4) == 0 {
		r.ID = v.id()
	}
	if v.rng.IntN(4) == 0 {
		r.Relations = []memory.Relation{{Type: v.pick("supports", "supersedes", "superseded_by"), TargetID: v.id()}}
	}
	return r
}

func (v *memoryVerbs) update(id string) memory.UpdateRequest {
	r := memory.UpdateRequest{ID: id}
	if v.rng.IntN(2) == 0 {
		r.Scope = enginetest.Pointer(v.scope())
	}
	if v.rng.IntN(3) == 0 {
		r.Text = enginetest.Pointer(v.text())
	}
	if v.rng.IntN(4) == 0 {
		r.Category, r.Tier, r.State = enginetest.Pointer(memory.Entity), enginetest.Pointer(memory.Core), enginetest.Pointer(memory.Archived)
	}
	if v.rng.IntN(4) == 0 {
		r.ValidUntil, r.FactKey, r.L1 = enginetest.Pointer(v.moment()), enginetest.Pointer(v.text()), enginetest.Pointer(v.text())
	}
	if v.rng.IntN(4) == 0 {
		r.Relations = &[]memory.Relation{{Type: v.pick("supports", "supersedes", "superseded_by"), TargetID: v.id()}}
	}
	return r
}

// lines are memories as another file may have them: what they say of others, and of themselves, need not be so here.
func (v *memoryVerbs) lines() string {
	var lines strings.Builder
	for range 1 + v.rng.IntN(3) {
		line := map[string]any{"text": v.text(), "scope": v.scope()}
		for _, f := range []struct {
			key   string
			value any
		}{
			{"id", v.id()}, {"key", v.pick("k1", "k2")}, {"source_session", v.pick("s1", "s2")}, {"supersedes", v.id()}, {"superseded_by", v.id()},
			{"canonical_id", v.id()}, {"created_at", v.moment()}, {"valid_from", v.moment()}, {"invalidated_at", v.moment()},
			{"retired_at", v.moment()}, {"l0_abstract", v.text()}, {"category", v.pick("fact", "decision", "entity")},
			{"relations", []memory.Relation{{Type: "supersedes", TargetID: v.id()}}},
		} {
			if moment, ok := f.value.(time.Time); v.rng.IntN(3) == 0 && !(ok && moment.IsZero()) {
				line[f.key] = f.value
			}
		}
		if id, ok := line["id"].(string); ok {
			v.know(id)
		}
		lines.WriteString(v.written(line) + "\n")
	}
	return lines.String()
}

// id is that of a memory that is there, of one that was, or of none.
func (v *memoryVerbs) id() string {
	if len(v.ids) == 0 || v.rng.IntN(8) == 0 {
		return fmt.Sprintf("mem_other%03d", v.rng.IntN(20))
	}
	return v.ids[v.rng.IntN(len(v.ids))]
}

func (v *memoryVerbs) know(id string) {
	if id != "" {
		v.ids = append(v.ids, id)
	}
}

func (v *memoryVerbs) scope() string { return v.pick("", "global", "user:ines", "project:pier") }

func (v *memoryVerbs) text() string {
	return v.pick("the pier", "a boat at the pier", "Ines likes boats", "港の猫", "!?", "Who was it?", "the", fmt.Sprint("note ", v.rng.IntN(30)))
}

// moment is often none, and else within some days of now.
func (v *memoryVerbs) moment() time.Time {
	if v.rng.IntN(3) > 0 {
		return time.Time{}
	}
	return v.clock.At.Add(time.Duration(v.rng.IntN(200)-100) * time.Hour)
}

func (v *memoryVerbs) pick(words ...string) string { return words[v.rng.IntN(len(words))] }

func (v *memoryVerbs) note(format string, args ...any) {
	v.did = append(v.did, fmt.Sprintf(format, args...))
}

func (v *memoryVerbs) written(what any) string {
	b, err := json.Marshal(what)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(b)
}
