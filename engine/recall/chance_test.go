package recall_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// madeUp gives questions of words that mean nothing: letters as they come, or syllables.
func madeUp(n int) (questions []string) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of string) byte { return of[random.IntN(len(of))] }
	for range n {
		var words []string
		for range 1 + random.IntN(5) {
			var b strings.Builder
			typed := random.IntN(2) == 0
			for i := range 4 + random.IntN(6) {
				switch {
				case typed:
					b.WriteByte(one("abcdefghijklmnopqrstuvwxyz"))
				case i%2 == 0:
					b.WriteByte(one("bcdfghklmnprstvwz"))
				default:
					b.WriteByte(one("aeiou"))
				}
			}
			words = append(words, b.String())
		}
		questions = append(questions, strings.Join(words, " "))
	}
	return questions
}

// TestRecallOfNonsense: hardly any question of made-up words finds anything in the demo history, and none finds ten.
func TestRecallOfNonsense(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	for _, test := range []struct {
		kind kinds.Kind
		mode recall.Mode
		most int // of forty questions
	}{
		{kinds.Memory, recall.Hybrid, 4}, {kinds.Message, recall.Hybrid, 12}, {kinds.Message, recall.VectorMode, 12}, {kinds.Message, recall.LexicalMode, 4},
	} {
		found := 0
		for _, question := range madeUp(40) {
			result, err := e.Recall(t.Context(), recall.Query{Text: question, Kinds: []kinds.Kind{test.kind}, Mode: test.mode})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Hits) > 0 {
				found++
			}
			if len(result.Hits) >= 10 && test.mode != recall.LexicalMode { // a word that happens to be one brings a few, by words alone its session
				t.Errorf("%q finds %d of kind %s in mode %s", question, len(result.Hits), test.kind, test.mode)
			}
			follows(t, result.Trace, len(result.Hits))
		}
		if found > test.most {
			t.Errorf("%d of 40 questions of made-up words find something of kind %s in mode %s, want %d at most", found, test.kind, test.mode, test.most)
		}
	}
	w := recall.TranscriptWeights()
	w.Chance = 0
	if off, err := e.Recall(t.Context(), recall.Query{Text: "florb quxel zint", Kinds: []kinds.Kind{kinds.Message}, Weights: &w}); err != nil || len(off.Hits) != 10 {
		t.Errorf("without the floor: %v, %v", enginetest.HitIDs(off), err)
	}
}

// floored is a model whose cosines are known: texts without a word of the question seldom reach 0.5.
type floored struct{ enginetest.Plotted }

func (floored) Chance([]string) float64 { return 0.5 }

func TestWhyNotByChance(t *testing.T) {
	t.Parallel()
	model := floored{enginetest.Plotted{N: 3, Vectors: map[string][]float32{"crane": {1, 0, 0}, "hoist": {0.6, 0.8, 0}, "gull": {0.4, 0.91651514, 0}, "a crane": {0, 1, 0}}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	near, far, named := enginetest.Remember(t, e, memory.RememberRequest{Text: "hoist"}), enginetest.Remember(t, e, memory.RememberRequest{Text: "gull"}), enginetest.Remember(t, e, memory.RememberRequest{Text: "a crane"})
	w := recall.MemoryWeights()
	w.MinScore, w.HardMinScore = 0, 0
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Weights: &w, WhyNot: far.ID})
	if got := enginetest.HitIDs(result); err != nil || len(got) != 2 || !strings.Contains(strings.Join(got, " "), near.ID) || !strings.Contains(strings.Join(got, " "), named.ID) {
		t.Fatalf("%v, %v, want what is near and what has the word", got, err)
	}
	if want := "It has none of the question's words, around it neither, and its cosine 0.400 is one that random text reaches: the floor is 0.500 (weight chance 1)."; result.WhyNot.Stage != "chance" || result.WhyNot.Reason != want {
		t.Errorf("%s: %s\nwant %s", result.WhyNot.Stage, result.WhyNot.Reason, want)
	}
	follows(t, result.Trace, 2)
	w.Chance = 1.3
	if result, err = e.Recall(t.Context(), recall.Query{Text: "crane", Weights: &w}); err != nil || len(result.Hits) != 1 || result.Hits[0].ID != named.ID {
		t.Errorf("with 1.3 of it: %v, %v, want the one with the word", enginetest.HitIDs(result), err)
	}
}

// TestChanceKeepsTheTime: what was said when the question says it was needs no word of it.
func TestChanceKeepsTheTime(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "the crane is down", SaidAt: enginetest.Noon.AddDate(0, 0, -1)}, {Text: "the lock is open", SaidAt: enginetest.Noon.AddDate(0, 0, -40)}}}).IDs
	result, err := e.Recall(t.Context(), recall.Query{Text: "what happened yesterday?", Kinds: []kinds.Kind{kinds.Message}, AsOf: enginetest.Noon.Add(time.Minute)})
	if got := enginetest.HitIDs(result); err != nil || len(got) != 1 || got[0] != said[0] {
		t.Errorf("%v, %v, want only what was said yesterday", got, err)
	}
}

func TestMinScore(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	for _, kind := range []kinds.Kind{kinds.Memory, kinds.Message} {
		q := recall.Query{Text: "What is Ines allergic to?", Kinds: []kinds.Kind{kind}}
		all, err := e.Recall(t.Context(), q)
		if err != nil || len(all.Hits) < 3 {
			t.Fatalf("%v, %v", enginetest.HitIDs(all), err)
		}
		last := all.Hits[2]
		q.MinScore, q.WhyNot = (all.Hits[1].Score+last.Score)/2, last.ID // WhyNot asks the file, whose scores differ in the last digits
		some, err := e.Recall(t.Context(), q)
		if err != nil || len(some.Hits) != 2 || some.Hits[1].ID != all.Hits[1].ID || math.Abs(some.Hits[1].Score-all.Hits[1].Score) > 1e-6 {
			t.Errorf("%s: %v, %v, want the first two of %v", kind, enginetest.HitIDs(some), err, enginetest.HitIDs(all))
		}
		if some.WhyNot.Stage != "hard_min_score" || !strings.Contains(some.WhyNot.Reason, "below the least score asked for, 0.") {
			t.Errorf("%s: %+v", kind, some.WhyNot)
		}
		if again, err := e.Recall(t.Context(), recall.Query{Text: q.Text, Kinds: q.Kinds}); err != nil || len(again.Hits) != len(all.Hits) {
			t.Errorf("%s: afterwards %v, %v, want all again", kind, enginetest.HitIDs(again), err)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -0.1, 1.01} {
		if _, err := e.Recall(t.Context(), recall.Query{Text: "x", MinScore: bad}); err == nil || !strings.Contains(err.Error(), "min_score is") {
			t.Errorf("%v: %v, want that it is refused", bad, err)
		}
	}
}
