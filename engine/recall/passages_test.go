package recall_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// harbourReport is some three thousand words about a harbour, in paragraphs, with a sentence in the midst of them.
func harbourReport(needle string) string {
	sentences := []string{
		"The quay wall was inspected from berth %d to the old ferry steps, and the contractor found the joints dry.",
		"Crane number %d lifted steel coils until noon, when the wind passed the limit and the foreman stopped the work.",
		"A survey vessel sounded the channel along buoy %d, and the depths agree with the chart of the last dredging.",
		"Pallets of tiles for warehouse %d came late, since the lorry waited at the gate for its papers.",
		"The tide gauge at pier %d was cleaned, calibrated and put back into its well before the evening flood.",
		"Mooring lines of the tanker at jetty %d were doubled, as the forecast spoke of swell from the northwest.",
		"The invoice for %d tonnes of gravel was checked against the weighbridge and passed to the accounts.",
	}
	var b strings.Builder
	for i := 0; utf8.RuneCountInString(b.String()) < 17_500; i++ {
		if i == 80 {
			b.WriteString(needle + " ")
		}
		fmt.Fprintf(&b, sentences[i%len(sentences)], i+11)
		if b.WriteString(" "); i%6 == 5 {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// needles are sentences with questions, of which some have no word of them. A memory has to come above the floors of its weights too, which takes more.
var needles = []struct {
	sentence, question string
	kinds              []kinds.Kind
}{
	{"By the way, my daughter is allergic to peanuts, so please keep snacks away from her at the picnic.", "What is my daughter allergic to?", nil},
	{"We adopted a grey kitten from the shelter on Saturday and named her Pepper.", "What pet did we get, and what is it called?", []kinds.Kind{kinds.Message}},
	{"In the evenings I practise the violin, mostly Bach, and my teacher says that the bow hand is better.", "Do I play a musical instrument?", []kinds.Kind{kinds.Message}},
	{"In the evenings I practise the violin, mostly Bach, and my teacher says that the bow hand is better.", "What does the teacher say of my violin?", []kinds.Kind{kinds.Memory}},
}

// TestNeedleInALongText: a sentence among three thousand words is found, as a message and as a memory, and what is shown is the passage around it.
func TestNeedleInALongText(t *testing.T) {
	t.Parallel()
	for _, kind := range []kinds.Kind{kinds.Message, kinds.Memory} {
		for i, n := range needles {
			if n.kinds != nil && !slices.Contains(n.kinds, kind) {
				continue
			}
			t.Run(fmt.Sprint(kind, i), func(t *testing.T) {
				t.Parallel()
				e := enginetest.Open(t, engine.Options{Embedder: static.New()})
				long := harbourReport(n.sentence)
				var wanted string
				others := []string{"Tomorrow we meet at the office at nine.", "The printer on the second floor is out of paper.", "I parked the car behind the bakery.",
					"My sister paints landscapes in watercolour.", "The train to Lyon leaves at six.", "He likes his coffee without sugar.", "The roof of the shed leaks again."}
				if kind == kinds.Message {
					messages := []conversation.Message{{Text: harbourReport("The report goes on below.")}, {Text: long}}
					for _, other := range others {
						messages = append(messages, conversation.Message{Text: other})
					}
					wanted = enginetest.Append(t, e, conversation.AppendRequest{Conversation: "reports", Messages: messages}).IDs[1]
				} else {
					for _, other := range append(others, harbourReport("The report goes on below.")) {
						enginetest.Remember(t, e, memory.RememberRequest{Text: other})
					}
					wanted = enginetest.Remember(t, e, memory.RememberRequest{Text: long}).ID
				}
				q := recall.Query{Text: n.question, Kinds: []kinds.Kind{kind}, Limit: 5}
				bothWays(t, e, q)
				result, err := e.Recall(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if len(result.Hits) == 0 || result.Hits[0].ID != wanted {
					t.Fatalf("%q: %d hits, the first is not the needle: %.80s", n.question, len(result.Hits), result.Prompt())
				}
				h := result.Hits[0]
				if h.Passage == nil || !strings.Contains(h.Passage.Text, n.sentence) || utf8.RuneCountInString(h.Passage.Text) > 500 {
					t.Fatalf("%q: passage %+v", n.question, h.Passage)
				}
				if h.Text != long && h.Text != strings.TrimSpace(long) || strings.TrimSpace(h.Text[h.Passage.Start:h.Passage.End]) != h.Passage.Text {
					t.Errorf("bytes %d to %d are another passage", h.Passage.Start, h.Passage.End)
				}
				if prompt := result.Prompt(); !strings.Contains(prompt, n.sentence) || len(prompt) > 4000 {
					t.Errorf("a prompt of %d bytes", len(prompt))
				}
			})
		}
	}
}

// TestPassagesDecide: where the words say nothing, the best passage of a long text decides, as far as its weight lets it, and by either way.
func TestPassagesDecide(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: static.New()})
	needle := "In the evenings I practise the violin, mostly Bach, and my teacher says that the bow hand is better."
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "reports", Messages: []conversation.Message{
		{Text: harbourReport("The report goes on below.")}, {Text: "My sister paints landscapes in watercolour."}, {Text: harbourReport(needle)}}}).IDs
	whole := map[string]float64{}
	for _, test := range []struct {
		passage float64
		first   string
	}{{0, ids[1]}, {0.2, ids[1]}, {0.9, ids[2]}, {1, ids[2]}} {
		w := recall.Weights{Pool: 10, K1: 1.2, B: 0.75, Counted: "kind", Normalise: "absolute", Vector: 1, Passage: test.passage, DateDays: 1, Rerank: "none", Decay: "none", MaxLife: 1, Diversity: 1}
		q := recall.Query{Text: "Do I play a musical instrument?", Kinds: []kinds.Kind{kinds.Message}, Mode: recall.VectorMode, Weights: &w, Explain: true}
		bothWays(t, e, q)
		result, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Hits) != 3 || result.Hits[0].ID != test.first {
			t.Errorf("passage %v: %d hits, the first is %.60q", test.passage, len(result.Hits), result.Hits[0].Text)
		}
		for _, h := range result.Hits {
			cosine := *h.Signals.Cosine
			if test.passage == 0 {
				whole[h.ID] = cosine
			}
			if cosine < whole[h.ID] || cosine > whole[h.ID] && h.ID == ids[1] || cosine == whole[h.ID] && h.ID == test.first && h.ID == ids[2] {
				t.Errorf("passage %v: the cosine of %.40q is %v, that of the whole %v", test.passage, h.Text, cosine, whole[h.ID])
			}
			if long := len(h.Text) > 600; (h.Passage != nil) != long || h.ID == ids[2] && !strings.Contains(h.Passage.Text, needle) {
				t.Errorf("passage %v: the passage of %.40q is %+v", test.passage, h.Text, h.Passage)
			}
		}
	}
}
