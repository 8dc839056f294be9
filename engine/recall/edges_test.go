package recall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

var onlyMessages = []kinds.Kind{kinds.Message}

// TestOddStoresAndQuestions asks what nobody would of stores that hardly are any: there is an answer, soon, and always the same one.
func TestOddStoresAndQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	turn := func(texts ...string) func(*testing.T, *engine.Engine) {
		return func(t *testing.T, e *engine.Engine) {
			messages, memories := make([]conversation.Message, len(texts)), make([]memory.RememberRequest, len(texts))
			for i, s := range texts {
				messages[i] = conversation.Message{Text: s, SaidAt: enginetest.Noon.AddDate(0, 0, -1)}
				memories[i].Text = s
			}
			if _, err := e.RememberMany(t.Context(), memories); err != nil {
				t.Fatal(err)
			}
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: messages})
		}
	}
	alike := slices.Repeat([]string{"The crane stands at the harbour."}, 30)
	stores := []struct {
		name string
		fill func(*testing.T, *engine.Engine)
		size int // of each kind
	}{
		{"nothing", func(*testing.T, *engine.Engine) {}, 0}, {"one", turn("The crane stands at the harbour."), 1}, {"alike", turn(alike...), 30},
		{"stop words and signs", turn("It is what it is", "to be or not to be", "?!", "🙂"), 4},
	}
	questions := map[string]string{
		"plain": "Where does the crane stand?", "stop words": "who is it that we are and what was there?", "signs": "?!.,", "long": strings.Repeat("crane harbour ", 800)[:10_000],
		"long words": strings.Repeat("x", 10_000), "many words": numbered(2000), "Japanese": "港のクレーンはどこにありますか", "Russian": "где стоит кран в мае?", "Arabic": "أين الرافعة؟", "emoji": "🏗️🙂",
	}
	for _, store := range stores {
		for _, model := range []setup.Embedder{nil, enginetest.Words{}} {
			e := enginetest.Open(t, engine.Options{Embedder: model})
			store.fill(t, e)
			for name, question := range questions {
				for _, kinds := range [][]kinds.Kind{onlyMessages, {kinds.Memory, kinds.Message}} {
					if model == nil && len(kinds) == 1 {
						continue
					}
					w := enginetest.PlainWeights()
					if len(kinds) == 1 {
						w = nil
					}
					what := fmt.Sprintf("%s of %s, model %v, kinds %v", name, store.name, model, kinds)
					q := recall.Query{Text: question, Kinds: kinds, Weights: w, Limit: 100}
					start := time.Now()
					result, err := e.Recall(t.Context(), q)
					if took := time.Since(start); err != nil || took > time.Minute {
						t.Fatalf("%s: after %v: %v", what, took, err)
					}
					if n := store.size * len(kinds); len(result.Hits) > n || model != nil && len(result.Hits) != n {
						t.Errorf("%s: %d hits of %d documents", what, len(result.Hits), n)
					}
					for i, h := range result.Hits {
						if h.ID == "" || h.Text == "" || !(h.Score >= 0 && h.Score <= 1) || i > 0 && h.Score > result.Hits[i-1].Score {
							t.Errorf("%s: hit %d: %+v", what, i, h)
						}
					}
					if store.name == "alike" {
						enginetest.Equal(t, what+", asked again", enginetest.HitIDs(result), enginetest.RecallIDs(t, e, q))
					}
				}
			}
		}
	}
}

// numbered gives n words, all different.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprint(&b, "w", i, " ")
	}
	return b.String()
}

// TestAlikeStayInOrder: of documents that are the same in everything the oldest is first.
func TestAlikeStayInOrder(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for i := range 20 { // a session of its own each, so that neighbours make no difference
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "The crane stands.", Session: fmt.Sprint(i), SaidAt: enginetest.Noon}}})
	}
	var want []string
	for _, m := range enginetest.Messages(t, e, "talk") {
		want = append(want, m.ID)
	}
	for _, limit := range []int{1, 5, 20} {
		if diff := cmp.Diff(want[:limit], enginetest.RecallIDs(t, e, recall.Query{Text: "crane", Kinds: onlyMessages, Limit: limit})); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

// nearCosines gives, by text, what the neighbours make of the cosine.
func nearCosines(t *testing.T, e *engine.Engine, q recall.Query) map[string]float64 {
	t.Helper()
	result, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	byText := map[string]float64{}
	for _, h := range result.Hits {
		byText[h.Text] = value(h.Signals.NearCosine)
	}
	return byText
}

// plainNeighbours are the weights of messages with neighbours that count the same however long they are.
func plainNeighbours() *recall.Weights {
	w := recall.TranscriptWeights()
	w.Near, w.Far, w.LongTurn = 0.5, 0.2, 0
	return &w
}

// TestNeighboursAreOfOneSession: what lies beside a turn in the file is no neighbour when it belongs to another talk.
func TestNeighboursAreOfOneSession(t *testing.T) {
	t.Parallel()
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"lantern": {1, 0, 0}, "A1": {1, 0, 0}, "A2": {0, 1, 0}, "A3": {1, 0, 0}, "B1": {0, 1, 0}, "B2": {1, 0, 0}, "B3": {0, 1, 0}, "C": {0, 1, 0}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	for i := range 3 { // two talks in turns, all at one moment
		for _, name := range []string{"A", "B"} {
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{{Text: fmt.Sprint(name, i+1), SaidAt: enginetest.Noon}}})
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "C", Messages: []conversation.Message{{Text: "C", SaidAt: enginetest.Noon}}})
	q := recall.Query{Text: "lantern", Kinds: onlyMessages, Mode: recall.VectorMode, Weights: plainNeighbours()}
	want := map[string]float64{
		"A1": (1 + 0.2) / 1.7, "A2": (0.5 + 0.5) / 2, "A3": (1 + 0.2) / 1.7, "B1": 0.5 / 1.7, "B2": 1 / 2.0, "B3": 0.5 / 1.7, "C": 0,
	}
	equalNear(t, "two talks in turns", want, nearCosines(t, e, q))
	q.Conversations = []string{"B"}
	equalNear(t, "one of them", map[string]float64{"B1": want["B1"], "B2": want["B2"], "B3": want["B3"]}, nearCosines(t, e, q))
	q.Conversations = []string{"C"}
	equalNear(t, "one message", map[string]float64{"C": 0}, nearCosines(t, e, q))
}

func equalNear[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(near)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestMemoriesOfOneSourceAreNeighbours: those noted from one session of one scope stand together, however they came in.
func TestMemoriesOfOneSourceAreNeighbours(t *testing.T) {
	enginetest.Alone(t)
	vectors := map[string][]float32{"lantern": {1, 0, 0}, "the match": {1, 0, 0}, "a walk": {0, 1, 0}}
	for _, text := range []string{"before", "after", "elsewhere", "of another scope", "of no source"} {
		vectors[text] = []float32{0, 1, 0}
	}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Plotted{N: 3, Vectors: vectors}})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "before", SourceSession: "s"})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "elsewhere", SourceSession: "r"})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "of no source"})
	match := enginetest.Remember(t, e, memory.RememberRequest{Text: "the match", SourceSession: "s"})
	if _, err := e.RememberMany(t.Context(), []memory.RememberRequest{{Text: "of another scope", Scope: "user:ines", SourceSession: "s"}, {Text: "after", SourceSession: "s"}}); err != nil {
		t.Fatal(err)
	}
	w := enginetest.PlainWeights()
	q := recall.Query{Text: "lantern", Mode: recall.VectorMode, Weights: w}
	alone := map[string]float64{"before": 0, "the match": 1, "after": 0, "elsewhere": 0, "of another scope": 0, "of no source": 0}
	equalNear(t, "alone", alone, nearCosines(t, e, q))
	w.Near = 0.5
	together := map[string]float64{"before": 0.5 / 1.5, "the match": 0.5, "after": 0.5 / 1.5, "elsewhere": 0, "of another scope": 0, "of no source": 0}
	equalNear(t, "together", together, nearCosines(t, e, q))
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	equalNear(t, "after a rebuild", together, nearCosines(t, e, q))
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: match.ID}); err != nil {
		t.Fatal(err)
	}
	delete(alone, "the match")
	equalNear(t, "without the forgotten one", alone, nearCosines(t, e, q))
}

// TestBothKinds: memories and messages stand in one order, each with its own rarity of words.
func TestBothKinds(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue."})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines likes tea."})
	for i := range 5 {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "The crane is loud.", Session: fmt.Sprint(i)}}})
	}
	w := enginetest.PlainWeights()
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Kinds: kinds.All(), Weights: w})
	if err != nil || len(result.Hits) != 6 || result.Hits[0].Kind != kinds.Memory {
		t.Fatalf("%v, %v: want the memory first, then the messages", enginetest.HitIDs(result), err)
	}
	alone, err := e.Recall(t.Context(), recall.Query{Text: "crane", Weights: w})
	if err != nil || len(alone.Hits) != 1 || !near(alone.Hits[0].Score, result.Hits[0].Score) {
		t.Errorf("the memory alone: %+v, %v: want a score of %v", alone.Hits, err, result.Hits[0].Score)
	}
}

// TestDatesOfMemories: a date in the question means when a memory became true; what a relative one means goes by AsOf.
func TestDatesOfMemories(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for id, from := range map[string]time.Time{"mem_march": on(2026, 3, 10), "mem_april": on(2026, 4, 10), "mem_may": on(2026, 5, 10)} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: "Ines works at the harbour", ValidFrom: from})
	}
	w := enginetest.PlainWeights()
	w.Date = 0.5
	for _, test := range []struct {
		question string
		asOf     time.Time
		first    string
		hits     int
	}{
		{"Where did Ines work in March 2026?", time.Time{}, "mem_march", 3},
		{"Where did Ines work in April?", time.Time{}, "mem_april", 3},
		{"Where did Ines work last month?", time.Time{}, "mem_may", 3}, // it is June
		{"Where did Ines work last month?", on(2026, 5, 20), "mem_april", 3},
		{"Where did Ines work last month?", on(2026, 4, 20), "mem_march", 2}, // that of May was not true yet
		{"Where did Ines work in May?", on(2026, 4, 20), "mem_april", 2},
	} {
		result, err := e.Recall(t.Context(), recall.Query{Text: test.question, AsOf: test.asOf, Weights: w})
		if err != nil || len(result.Hits) != test.hits || result.Hits[0].ID != test.first {
			t.Errorf("%q as of %v: %v, %v: want %s first of %d", test.question, test.asOf, enginetest.HitIDs(result), err, test.first, test.hits)
		}
	}
}

// TestMessagesAsOf: what was said later is not there, as a neighbour neither.
func TestMessagesAsOf(t *testing.T) {
	t.Parallel()
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"lantern": {1, 0, 0}, "first": {1, 0, 0}, "second": {0, 1, 0}, "third": {1, 0, 0}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Text: "first", SaidAt: on(2026, 3, 1)}, {Text: "second", SaidAt: on(2026, 3, 1).Add(time.Hour)}, {Text: "third", SaidAt: on(2026, 3, 1).Add(2 * time.Hour)},
	}})
	for hours, want := range map[int]map[string]float64{
		0: {"first": 1}, 1: {"first": 1 / 1.5, "second": 0.5 / 1.5}, 2: {"first": 1.2 / 1.7, "second": 0.5, "third": 1.2 / 1.7}, -1: {},
	} {
		q := recall.Query{Text: "lantern", Kinds: onlyMessages, Mode: recall.VectorMode, Weights: plainNeighbours(), AsOf: on(2026, 3, 1).Add(time.Duration(hours) * time.Hour)}
		equalNear(t, fmt.Sprintf("after %d hours", hours), want, nearCosines(t, e, q))
	}
}

// TestExpiredTakeNoPlace: what has expired does not keep others out of the rerank's window, however well it fits.
func TestExpiredTakeNoPlace(t *testing.T) {
	t.Parallel()
	near := []float32{0.9, 0.43588989, 0}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Plotted{N: 3, Vectors: map[string][]float32{
		"crane": {1, 0, 0}, "crane one": {1, 0, 0}, "crane two": {1, 0, 0}, "crane three": {1, 0, 0}, "hoist now": near}}})
	for _, text := range []string{"crane one", "crane two", "crane three"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text, ValidUntil: enginetest.Noon})
	}
	left := enginetest.Remember(t, e, memory.RememberRequest{Text: "hoist now"})
	if ids := enginetest.RecallIDs(t, e, recall.Query{Text: "crane", Limit: 1}); !slices.Equal(ids, []string{left.ID}) {
		t.Errorf("%v, want %s", ids, left.ID)
	}
}
