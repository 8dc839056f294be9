package recall_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestConfidenceOfSignals(t *testing.T) {
	t.Parallel()
	c := recall.Calibration{Base: -6, Meaning: 2, Met: 1.5, Score: 5, Lead: 6}
	for _, test := range []struct {
		candidate recall.Candidate
		want      float64
	}{
		{recall.Candidate{}, 1 / (1 + math.Exp(6))},
		{recall.Candidate{Fused: 0.6}, 1 / (1 + math.Exp(3))},
		{recall.Candidate{Fused: 0.6, NearCosine: enginetest.Pointer(0.5), Met: enginetest.Pointer(1.0)}, 1 / (1 + math.Exp(0.5))},
		{recall.Candidate{Fused: 0.6, NearCosine: enginetest.Pointer(0.5), Met: enginetest.Pointer(1.0), Lead: 0.04}, 1 / (1 + math.Exp(-0.7))},
		{recall.Candidate{Fused: 0.6, Met: enginetest.Pointer(0.5), Lead: 0.04}, 1 / (1 + math.Exp(2.25-6*math.Sqrt(0.02)))},
		{recall.Candidate{Fused: 0.6, Lead: 0.04}, 1 / (1 + math.Exp(3))},
		{recall.Candidate{Fused: 0.6, NearCosine: enginetest.Pointer(-0.5)}, 1 / (1 + math.Exp(4))},
	} {
		if got := c.Of(&test.candidate); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", test.candidate, got, test.want)
		}
	}
}

// TestConfidenceGrowsWithItsSignals: whatever was measured, more of a signal is never less confidence, and that lies between 0 and 1.
func TestConfidenceGrowsWithItsSignals(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, 1))
	all := recall.Calibrations()
	if len(all) != 6 {
		t.Fatalf("%d calibrations, want 2 sets with 3 models", len(all))
	}
	for name, c := range all {
		for range 300 {
			v := recall.Candidate{NearCosine: enginetest.Pointer(2*rng.Float64() - 1), Met: enginetest.Pointer(rng.Float64()), Fused: rng.Float64(), Lead: rng.Float64()}
			was := c.Of(&v)
			if !(was > 0 && was < 1) {
				t.Fatalf("%s: confidence %v of %+v", name, was, v)
			}
			for _, signal := range []*float64{v.NearCosine, v.Met, &v.Fused, &v.Lead} {
				before := *signal
				if *signal += rng.Float64(); c.Of(&v) < was {
					t.Errorf("%s: %v, and with more of a signal %v: %+v", name, was, c.Of(&v), v)
				}
				*signal = before
			}
		}
	}
}

// crowded is the demo history among as many other memories and messages as were measured.
func crowded(t *testing.T, model setup.Embedder) *engine.Engine {
	e := enginetest.OpenDemo(t, model)
	rng := rand.New(rand.NewPCG(18, 3))
	memories, messages := make([]memory.RememberRequest, 180), make([]conversation.Message, 180)
	for i := range memories {
		memories[i].Text, messages[i].Text = enginetest.Sentence(rng), enginetest.Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), memories); err != nil {
		t.Fatal(err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "crowd", Messages: messages})
	return e
}

// TestConfidenceIsKnown: only what was measured has a confidence, and a least one that can't be kept to is spoken of.
func TestConfidenceIsKnown(t *testing.T) {
	enginetest.Alone(t)
	demo, small, strange := crowded(t, static.New()), enginetest.OpenDemo(t, static.New()), crowded(t, enginetest.Words{})
	messages := []kinds.Kind{kinds.Message}
	floors, other := recall.MemoryWeights(), recall.MemoryWeights()
	floors.Chance, floors.MinScore, floors.HardMinScore, other.K1 = 0, 0, 0, 1.3
	for _, test := range []struct {
		name  string
		e     *engine.Engine
		query recall.Query
		known string // kinds
	}{
		{"memories", demo, recall.Query{}, "memory"},
		{"memories by words", demo, recall.Query{Mode: recall.LexicalMode}, "memory"},
		{"messages", demo, recall.Query{Kinds: messages}, "message"},
		{"messages by words", demo, recall.Query{Kinds: messages, Mode: recall.LexicalMode}, "message"},
		{"both", demo, recall.Query{Kinds: kinds.All(), Limit: 100}, "memory"},
		{"by meaning alone", demo, recall.Query{Mode: recall.VectorMode}, ""},
		{"with synonyms", demo, recall.Query{Expand: true}, ""},
		{"messages like memories", demo, recall.Query{Kinds: messages, WeightSet: "memory"}, ""},
		{"other floors", demo, recall.Query{Weights: &floors}, "memory"},
		{"a least score", demo, recall.Query{MinScore: 0.3}, "memory"},
		{"other weights", demo, recall.Query{Weights: &other}, ""},
		{"another model", strange, recall.Query{}, ""},
		{"by words, whatever the model", strange, recall.Query{Mode: recall.LexicalMode}, "memory"},
		{"few memories", small, recall.Query{}, ""},
		{"few messages", small, recall.Query{Kinds: messages}, ""},
	} {
		for _, byFile := range []bool{false, true} {
			x := enginetest.Index(test.e)
			if ready, err := x.AwaitResident(t.Context()); !ready || err != nil {
				t.Fatal(ready, err)
			}
			x.AskFile(byFile)
			test.query.Text = "Where does the dog Krill stay?"
			result, err := test.e.Recall(t.Context(), test.query)
			if err != nil || len(result.Hits) == 0 || result.Trace.Resident == byFile {
				t.Fatalf("%s: %d hits, resident %t, %v", test.name, len(result.Hits), result.Trace.Resident, err)
			}
			for _, h := range result.Hits {
				if (h.Confidence != nil) != (string(h.Kind) == test.known) || h.Signals.Confidence != h.Confidence {
					t.Errorf("%s, by the file %t: a %s has confidence %v, its signals %v", test.name, byFile, h.Kind, h.Confidence, h.Signals.Confidence)
				}
			}
			least := test.query
			least.MinConfidence = 1
			result, err = test.e.Recall(t.Context(), least)
			notice := strings.Contains(strings.Join(result.Notices, " "), "no least confidence was kept to")
			if all := test.known != "" && test.name != "both"; err != nil || notice == all || (len(result.Hits) == 0) != all {
				t.Errorf("%s, by the file %t: %d hits of a confidence of 1, %q, %v", test.name, byFile, len(result.Hits), result.Notices, err)
			}
			x.AskFile(false)
		}
	}
}

// TestLeastConfidence: it takes away what has less, changes no order, and says so.
func TestLeastConfidence(t *testing.T) {
	enginetest.Alone(t)
	e := crowded(t, static.New())
	some := 0
	for i, question := range demoQuestions(t) {
		if i%8 > 0 {
			continue
		}
		q := recall.Query{Text: question.Question, Kinds: question.Kinds, Limit: 50, Explain: true}
		all, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		best := slices.MaxFunc(all.Candidates, func(a, b recall.Candidate) int { return int(math.Copysign(1, a.Fused-b.Fused)) })
		for _, v := range all.Candidates {
			if v.Lead < 0 || v.Lead > 0 && v.Fused != best.Fused || v.Confidence == nil || !(*v.Confidence > 0 && *v.Confidence < 1) {
				t.Errorf("%q: %+v", q.Text, v)
			}
		}
		q.MinConfidence = 0.1
		var want []string
		for _, h := range all.Hits {
			if *h.Confidence >= q.MinConfidence {
				want = append(want, h.ID)
			}
		}
		got, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Equal(t, q.Text, want, append([]string(nil), enginetest.HitIDs(got)...))
		follows(t, got.Trace, len(got.Hits))
		if some += len(all.Hits) - len(got.Hits); len(got.Hits) < len(all.Hits) && len(got.Hits) > 0 {
			q.Explain, q.WhyNot = false, all.Hits[len(all.Hits)-1].ID
			missed, err := e.Recall(t.Context(), q)
			if err != nil || missed.WhyNot.Stage != "min_confidence" || !strings.Contains(missed.WhyNot.Reason, "is below the least asked for, 0.1.") {
				t.Errorf("%q: %+v, %v", q.Text, missed.WhyNot, err)
			}
		}
	}
	if some == 0 {
		t.Error("nothing was dropped")
	}
	for _, wrong := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := e.Recall(t.Context(), recall.Query{Text: "dog", MinConfidence: wrong}); err == nil || !strings.Contains(err.Error(), "min_confidence is") {
			t.Errorf("least confidence %v: %v", wrong, err)
		}
	}
}

func TestPromptLeavesOutWhatIsUnlikely(t *testing.T) {
	t.Parallel()
	hit := func(id string, confidence *float64) recall.Hit {
		return recall.Hit{ID: id, Kind: kinds.Memory, Text: "of " + id, Confidence: confidence}
	}
	r := &recall.Result{Hits: []recall.Hit{hit("likely", enginetest.Pointer(0.5)), hit("edge", enginetest.Pointer(recall.PromptConfidence)),
		hit("unlikely", enginetest.Pointer(recall.PromptConfidence/2)), hit("unknown", nil)}}
	for prompt, want := range map[string]string{r.Prompt(): "likely edge unknown", r.PromptFrom(0): "likely edge unlikely unknown", r.PromptFrom(0.6): "unknown"} {
		var got []string
		for _, h := range r.Hits {
			if strings.Contains(prompt, ">of "+h.ID+"<") {
				got = append(got, h.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q:\n%s", got, want, prompt)
		}
	}
	if r.Hits = r.Hits[2:3]; r.Prompt() != "" {
		t.Errorf("nothing is likely: %q", r.Prompt())
	}
}
