package recall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestResidentWhileOthersWrite: readers, writers and whoever makes the index anew at once leave a resident index that answers as the file does, and
// no recall gives a hit that is not there.
func TestResidentWhileOthersWrite(t *testing.T) {
	enginetest.Alone(t)
	rng := rand.New(rand.NewPCG(14, 2))
	e, _ := randomTalk(t, rng, 2)
	writes, rounds := 8, 1
	if enginetest.Long("recall") {
		writes, rounds = 60, 4
	}
	for round := range rounds {
		ctx, stop := context.WithCancel(t.Context())
		var writers, readers sync.WaitGroup
		for w := range uint64(2) {
			writers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), w))
				for range writes {
					m, err := e.Remember(ctx, memory.RememberRequest{Text: enginetest.Sentence(rng), SourceSession: fmt.Sprint("noted ", rng.IntN(6))})
					if err == nil && rng.IntN(3) == 0 {
						_, err = e.Forget(ctx, memory.ForgetRequest{ID: m.ID})
					}
					if _, err2 := e.Append(ctx, conversation.AppendRequest{Conversation: fmt.Sprint("talk ", rng.IntN(5)),
						Messages: []conversation.Message{{Text: enginetest.Sentence(rng), Speaker: "Teo"}}}); err != nil || err2 != nil {
						t.Error(err, err2)
					}
				}
			})
		}
		writers.Go(func() {
			for range 3 {
				if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); err != nil {
					t.Error(err)
				}
			}
		})
		for r := range uint64(3) {
			readers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), 10+r))
				for ctx.Err() == nil {
					q := randomQuestion(rng)
					q.Limit = 20
					result, err := e.Recall(ctx, q)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					for _, h := range result.Hits {
						if h.ID == "" || h.CreatedAt.IsZero() {
							t.Errorf("%q, resident %t: a hit of nothing: %+v", q.Text, result.Trace.Resident, h)
						}
					}
				}
			})
		}
		writers.Wait()
		stop()
		readers.Wait()
		for range writes {
			q := randomQuestion(rng)
			q.Weights = randomWeights(rng)
			bothWays(t, e, q)
		}
	}
}

// TestResidentAndRollback: of a write that is rolled back nothing is in the resident index, after the next write neither.
func TestResidentAndRollback(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue"})
	q := recall.Query{Text: "crane"}
	bothWays(t, e, q)
	broken := errors.New("broken off")
	docNo := enginetest.Rows(t, e, "SELECT doc_no FROM memories WHERE id = '"+m.ID+"'")[0][0].(int32)
	err := enginetest.File(e).Write(t.Context(), "test", func(tx *duck.Write) error {
		return errors.Join(enginetest.Index(e).DeleteDocument(t.Context(), tx, kinds.Memory, docNo), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	bothWays(t, e, q)
	enginetest.Remember(t, e, memory.RememberRequest{Text: "The lock is open"})
	bothWays(t, e, q)
	if ids := enginetest.RecallIDs(t, e, q); len(ids) != 1 || ids[0] != m.ID {
		t.Errorf("%v, want %s", ids, m.ID)
	}
}

// TestResidentAfterAPanic: a write that panics at any of its steps, as it is committed too, leaves nothing in the resident index and blocks nobody.
func TestResidentAfterAPanic(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue"})
	x := enginetest.Index(e)
	if ready, err := x.AwaitResident(t.Context()); !ready || err != nil {
		t.Fatalf("no resident index: %v", err)
	}
	panics := 0
	for step, over := 1, false; !over; step++ {
		at := 0
		enginetest.BeforeStatements(e, func() {
			if at++; at == step {
				panic("as a test wants it")
			}
		})
		func() {
			defer func() {
				if recover() == nil {
					over = true
				} else {
					panics++
				}
			}()
			enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint("The crane of step ", step)})
		}()
		enginetest.BeforeStatements(e, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		result, err := e.Recall(ctx, recall.Query{Text: "crane"})
		cancel()
		want := 1
		if over {
			want = 2
		}
		if err != nil || len(result.Hits) != want || !result.Trace.Resident {
			t.Fatalf("after a panic at step %d: %d hits, by the resident index: %v, %v", step, len(result.Hits), result.Trace.Resident, err)
		}
		if diff, err := x.CheckResident(t.Context()); err != nil || diff != "" {
			t.Fatalf("after a panic at step %d: %s%v", step, diff, err)
		}
	}
	if panics < 3 {
		t.Errorf("%d panics", panics)
	}
}

// TestResidentFits: with too little memory for its vectors the resident index answers by words, with less it does not, and with none nobody asks it.
func TestResidentFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		megabytes      int
		words, vectors bool
	}{{0, true, true}, {1, true, false}, {-1, false, false}} {
		e := enginetest.OpenAt(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Plotted{N: 1024, Vectors: map[string][]float32{}}, ResidentMB: test.megabytes})
		many := make([]memory.RememberRequest, 600)
		for i := range many {
			many[i].Text = fmt.Sprint("crane ", i)
		}
		if _, err := e.RememberMany(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		if ready, err := enginetest.Index(e).AwaitResident(t.Context()); ready != test.words || err != nil {
			t.Errorf("%d MB: ready %t, %v", test.megabytes, ready, err)
		}
		for mode, want := range map[recall.Mode]bool{recall.LexicalMode: test.words, recall.Hybrid: test.vectors} {
			result, err := e.Recall(t.Context(), recall.Query{Text: "crane 7", Mode: mode})
			if err != nil || result.Trace.Resident != want || len(result.Hits) == 0 {
				t.Errorf("%d MB, %s: resident %t with %d hits, %v", test.megabytes, mode, result.Trace.Resident, len(result.Hits), err)
			}
		}
		if s, err := e.Stats(t.Context()); err != nil || s.Resident.Ready != test.words || test.words && s.Resident.Documents != 600 || (s.Resident.Vectors > 0) != test.vectors {
			t.Errorf("%d MB: %+v, %v", test.megabytes, s.Resident, err)
		}
	}
}

// tolerance is how far a signal may be apart: what comes of vectors is added up in another order and then taken as a share of the greatest.
var tolerance = map[string]float64{"tells": 1e-6, "asks": 1e-6, "wishes": 1e-6, "BM25": 1e-6, "met": 1e-6, "lexical": 1e-6, "date": 1e-6, "speaker": 1e-6,
	"cosine": 1e-5, "near cosine": 1e-5, "vector": 1e-5, "reply": 1e-5, "answered": 1e-5, "relation": 1e-5, "fresh": 1e-6, "verbatim": 1e-6, "fused": 1e-5,
	"reranked": 1e-5, "coverage": 1e-6, "proximity": 1e-6, "phrase": 1e-6, "name": 1e-6, "neighbour": 1e-5, "session": 1e-5}

// besidesOf are the signals that bring candidates of their own, and what the rerank takes, as signalsOf gives the others.
func besidesOf(v recall.Candidate) map[string]float64 {
	numbers := map[string]float64{"verbatim": *flag(v.Verbatim), "reranked": v.Reranked}
	var f recall.Features
	if v.Features != nil {
		f = *v.Features
	}
	for name, p := range map[string]*float64{"relation": v.RelationScore, "fresh": v.FreshScore,
		"coverage": f.Coverage, "proximity": f.Proximity, "phrase": f.Phrase, "name": f.Name, "neighbour": f.Neighbour, "session": f.Session} {
		if numbers[name] = -1; p != nil {
			numbers[name] = *p
		}
	}
	return numbers
}

// bothWays asks the resident index and the file, and compares what they answer.
func bothWays(t *testing.T, e *engine.Engine, q recall.Query) {
	t.Helper()
	x := enginetest.Index(e)
	if ready, err := x.AwaitResident(t.Context()); !ready || err != nil {
		t.Fatalf("resident index: %t, %v", ready, err)
	}
	resident, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("as of %v, why not %q: %v", q.AsOf, q.WhyNot, err)
	}
	x.AskFile(true)
	defer x.AskFile(false)
	file, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if resident.Trace.Resident == resident.Trace.Past || file.Trace.Resident || file.Trace.Past != resident.Trace.Past { // the past is in the file alone
		t.Fatalf("%q: the resident index answered: %t, and then: %t", q.Text, resident.Trace.Resident, file.Trace.Resident)
	}
	if len(resident.Hits) != len(file.Hits) {
		t.Errorf("%+v: %d hits, in the file %d", q, len(resident.Hits), len(file.Hits))
	}
	score := map[string]recall.Candidate{}
	for _, h := range file.Hits {
		score[h.ID] = h.Signals
	}
	for i, h := range resident.Hits {
		want, known := score[h.ID]
		if !known {
			t.Errorf("%+v: hit %d, %s, is none in the file", q, i, h.ID)
			continue
		}
		if i < len(file.Hits) && file.Hits[i].ID != h.ID && math.Abs(file.Hits[i].Score-h.Score) > 1e-5 {
			t.Errorf("%+v: hit %d is %s with %v, in the file %s with %v", q, i, h.ID, h.Score, file.Hits[i].ID, file.Hits[i].Score)
		}
		if (h.Confidence == nil) != (want.Confidence == nil) || h.Confidence != nil && math.Abs(*h.Confidence-*want.Confidence) > 5e-3 || math.Abs(h.Signals.Lead-want.Lead) > 2e-5 {
			t.Errorf("%+v: confidence of %s: %v with lead %v, in the file %v with %v", q, h.ID, plain(t, h.Confidence), h.Signals.Lead, plain(t, want.Confidence), want.Lead)
		}
		got, wanted := signalsOf(h.Signals), signalsOf(want)
		maps.Copy(got, besidesOf(h.Signals))
		maps.Copy(wanted, besidesOf(want))
		for name, v := range wanted {
			if math.Abs(got[name]-v) > tolerance[name] {
				t.Errorf("%+v: %s of %s: %v, in the file %v", q, name, h.ID, got[name], v)
			}
		}
		if h.Text != "" && h.Kind == "" {
			t.Errorf("%+v: hit %+v", q, h)
		}
	}
	for i, h := range resident.Hits {
		if i < len(file.Hits) && file.Hits[i].ID == h.ID {
			same(t, fmt.Sprintf("%+v: explanation of %s", q, h.ID), plain(t, h.Explanation), plain(t, file.Hits[i].Explanation))
			same(t, fmt.Sprintf("%+v: passage of %s", q, h.ID), plain(t, h.Passage), plain(t, file.Hits[i].Passage))
		}
	}
	same(t, fmt.Sprintf("%+v: words", q), plain(t, resident.Words), plain(t, file.Words))
	same(t, fmt.Sprintf("%+v: why not", q), plain(t, resident.WhyNot), plain(t, file.WhyNot))
	if t.Failed() {
		t.FailNow()
	}
}

// plain is a value as JSON has it.
func plain(t *testing.T, v any) (all any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares what JSON has of two answers, numbers but for their last digits.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			t.Errorf("%s: %v, in the file %v", what, got, want)
		}
		for name, v := range want {
			same(t, what+" "+name, got[name], v)
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			t.Errorf("%s: %v, in the file %v", what, got, want)
			return
		}
		for i, v := range want {
			same(t, fmt.Sprint(what, " ", i), got[i], v)
		}
	case float64:
		if got, ok := got.(float64); !ok || math.Abs(got-want) > 1e-5 {
			t.Errorf("%s: %v, in the file %v", what, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, in the file %v", what, got, want)
		}
	}
}

// narrow asks at random who said it, or for metadata, as far as the kinds have any.
func narrow(rng *rand.Rand, q *recall.Query) {
	if slices.Contains(q.Kinds, kinds.Message) {
		switch rng.IntN(8) {
		case 0:
			q.Roles = [][]string{{"user"}, {"assistant", "tool"}, {}}[rng.IntN(3)]
		case 1:
			q.Speakers = [][]string{{"teo"}, {"INES Pilot", "nobody"}, {"Bruno"}, {}}[rng.IntN(4)]
		case 2:
			q.SourceKinds = [][]string{{"talk"}, {"cron", "web"}, {"email"}, {}}[rng.IntN(4)]
		case 3:
			q.NotSourceKinds = [][]string{{"talk"}, {"cron", "web"}, {"email"}}[rng.IntN(3)]
		}
	}
	if slices.Contains(q.Kinds, kinds.Memory) && rng.IntN(5) == 0 {
		q.Where = []map[string]string{{"ticket": "4"}, {"from": "log"}, {"ticket": "4", "from": "log"}}[rng.IntN(3)]
	}
	if slices.Contains(q.Kinds, kinds.Memory) && rng.IntN(5) == 0 {
		q.States = [][]memory.State{{memory.Pending}, {memory.Confirmed, memory.Archived}, memory.States()}[rng.IntN(3)]
	}
}

// widen has at random signals count that bring candidates of their own, features or the cosine rerank, and scores be made in another way.
func widen(rng *rand.Rand, w *recall.Weights) {
	w.Rerank = []string{"features", "features", "light", "none"}[rng.IntN(4)]
	for _, x := range featureWeights(w) {
		*x = max(0, 1-2*rng.Float64())
	}
	w.Normalise = []string{"absolute", "maximum", "plain", "rank"}[rng.IntN(4)]
	for _, x := range []*float64{&w.Verbatim, &w.Relation, &w.Fresh} {
		if rng.IntN(2) == 0 {
			*x = rng.Float64()
		}
	}
}

// randomExtra is metadata that narrow may ask for, or none.
func randomExtra(rng *rand.Rand) map[string]any {
	return []map[string]any{nil, {"ticket": 4}, {"ticket": "4", "from": "log"}, {"from": "log"}}[rng.IntN(4)]
}

// TestResidentAnswersAsTheFile: random questions with random weights find the same, with the same signals, while memories and messages are
// written, changed, replaced and forgotten.
func TestResidentAnswersAsTheFile(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(14, 1))
	e, _ := randomTalk(t, rng, 1)
	ahead := randomMemories(90)[60:] // written under a clock that ran ahead, some of them to begin later still
	for i, m := range ahead {
		m.ID = fmt.Sprint("mem_ahead", i)
		m.CreatedAt = enginetest.Noon.AddDate(0, 0, i)
		m.ValidFrom = m.CreatedAt.AddDate(0, 0, i%3-1)
	}
	importCorpus(t, e, ahead)
	ids := []string{}
	memories, err := e.List(t.Context(), memory.ListRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range memories {
		ids = append(ids, m.ID)
	}
	words := func() string {
		text := enginetest.Sentence(rng)
		if rng.IntN(3) == 0 {
			text += " team:deck"
		}
		return text
	}
	folder := t.TempDir()
	writes := map[string]func() error{
		"remember": func() error {
			m, err := e.Remember(t.Context(), memory.RememberRequest{Text: words(), SourceSession: fmt.Sprint("noted ", rng.IntN(6)), Extra: randomExtra(rng)})
			if err == nil {
				ids = append(ids, m.ID)
			}
			return err
		},
		"append": func() error {
			_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: fmt.Sprint("talk ", rng.IntN(5)), Messages: []conversation.Message{{Text: words(), Speaker: "Teo", SourceKind: []string{"", "cron", "web", "talk"}[rng.IntN(4)]}, {Text: words() + "?"}}})
			return err
		},
		"update": func() error {
			u := memory.UpdateRequest{ID: ids[rng.IntN(len(ids))]}
			text, scope, state := words(), []string{"global", "user:ines"}[rng.IntN(2)], memory.States()[rng.IntN(3)]
			for _, set := range []func(){func() { u.Text = &text }, func() { u.Scope = &scope }, func() { u.State = &state }} {
				if rng.IntN(2) == 0 {
					set()
				}
			}
			_, err := e.Update(t.Context(), u)
			return err
		},
		"relate": func() error {
			_, err := e.Relate(t.Context(), memory.RelateRequest{ID: ids[rng.IntN(len(ids))], TargetID: ids[rng.IntN(len(ids))], Weight: 1 - rng.Float64(),
				Type: memory.RelationTypes()[rng.IntN(3)]})
			return err
		},
		"sync": func() error {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.md", rng.IntN(4))), []byte(strings.Repeat(words()+"\n", 1+rng.IntN(60))), 0o600); err != nil {
				return err
			}
			_, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Files: []string{"."}, Scope: []string{"global", "user:ines"}[rng.IntN(2)]})
			return err
		},
		"forget": func() error {
			n := rng.IntN(len(ids))
			_, err := e.Forget(t.Context(), memory.ForgetRequest{ID: ids[n]})
			ids = slices.Delete(ids, n, n+1)
			return err
		},
		"purge": func() error {
			n := rng.IntN(len(ids))
			_, err := e.Purge(t.Context(), memory.PurgeRequest{ID: ids[n]})
			ids = slices.Delete(ids, n, n+1)
			return err
		},
		"supersede": func() error {
			_, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: ids[rng.IntN(len(ids))], By: memory.RememberRequest{Text: words()}})
			return err
		},
	}
	questions := 20
	if enginetest.Long("recall") {
		questions = 400
	}
	for n := range questions {
		q := randomQuestion(rng)
		narrow(rng, &q)
		if rng.IntN(4) == 0 {
			q.Since, q.Until = enginetest.Noon.AddDate(0, 0, -60), time.Time{}
		}
		if rng.IntN(4) > 0 {
			q.Weights = randomWeights(rng)
			if rng.IntN(3) == 0 {
				q.Weights.Whole, q.Weights.Pool = 0, 10
				q.Limit = 5
			}
			if rng.IntN(2) == 0 {
				widen(rng, q.Weights)
			}
			if q.Weights.Relation > 0 && slices.Contains(q.Kinds, kinds.Memory) && rng.IntN(3) == 0 {
				q.RelatedTo = ids[rng.IntN(len(ids))]
			}
			if q.Weights.Verbatim > 0 && rng.IntN(2) == 0 {
				q.Text = enginetest.Vocabulary[rng.IntN(len(enginetest.Vocabulary))][1:]
			}
		}
		q.Rerank = []recall.Rerank{recall.AnyRerank, recall.AnyRerank, recall.FeaturesRerank, recall.LightRerank, recall.NoRerank}[rng.IntN(5)]
		if rng.IntN(4) == 0 {
			q.Explain = true
		}
		if rng.IntN(6) == 0 {
			q.WhyNot = ids[rng.IntN(len(ids))]
		}
		if rng.IntN(6) == 0 {
			q.Text += " team:deck"
		}
		bothWays(t, e, q)
		for name, write := range writes { // in any order
			if rng.IntN(4) == 0 {
				if err := write(); err != nil {
					t.Logf("%d %s: %v", n, name, err)
				}
			}
		}
	}
}
