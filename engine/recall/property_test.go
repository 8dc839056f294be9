package recall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// relatedHarbour knows a few words.
func relatedHarbour(word string) ([]string, []float32) {
	others := map[string][]string{"harbour": {"dock", "berth", "the tide"}, "ship": {"vessel", "ferry"}, "storm": {"gales", "fog"}, "ines": {"captain"}}[word]
	return others, []float32{0.9, 0.7, 0.5}[:len(others)]
}

// randomTalk writes four conversations in pieces, and memories of which many were noted in one session, into an engine and into the
// second implementation.
func randomTalk(t *testing.T, rng *rand.Rand, threads int) (*engine.Engine, *transcripts) {
	t.Helper()
	e := enginetest.Open(t, engine.Options{Threads: threads, Embedder: enginetest.Words{}, Related: relatedHarbour})
	k := newTalk(t, relatedHarbour)
	words := func(n int) string {
		parts := make([]string, n)
		for i := range parts {
			x := rng.Float64()
			parts[i] = enginetest.Vocabulary[int(x*x*float64(len(enginetest.Vocabulary)))] // the first words are common
		}
		return strings.Join(parts, " ")
	}
	speakers := [][]string{{"Ines", "Teo"}, {"Ines Maria", "Inés Pilot", "Bruno"}, {""}, {"Teo", ""}}
	said := []time.Time{enginetest.Noon.AddDate(-1, 0, 0), enginetest.Noon.AddDate(0, -5, 0), enginetest.Noon.AddDate(0, 0, -40), enginetest.Noon.AddDate(-2, 0, 0)}
	session := make([]int, 4)
	for range 40 {
		c := rng.IntN(4)
		messages := make([]conversation.Message, 1+rng.IntN(6))
		for i := range messages {
			said[c] = said[c].Add(time.Duration(rng.IntN(3)) * time.Minute)
			switch rng.IntN(12) {
			case 0:
				said[c] = said[c].Add(time.Duration(5+rng.IntN(3)) * time.Hour) // six of them are still one session
			case 1:
				said[c] = said[c].Add(-time.Hour)
			case 2:
				session[c]++
			}
			m := conversation.Message{Text: words(1 + rng.IntN(9)), SaidAt: said[c], Speaker: speakers[c][rng.IntN(len(speakers[c]))], Role: []string{"", "user", "assistant"}[rng.IntN(3)]}
			if rng.IntN(7) == 0 {
				m.Text = strings.Join([]string{words(60), words(30), words(90), words(40)}, []string{"\n\n", ". ", "\n"}[rng.IntN(3)])
			}
			m.Text += []string{"", "", "?", "? Yes.", " since last week", " and I saw Lisbon in July"}[rng.IntN(6)]
			if rng.IntN(8) == 0 {
				m.Text = "I usually prefer " + m.Text
			}
			if c < 2 {
				m.Session = fmt.Sprint("host ", session[c])
			}
			if rng.IntN(8) == 0 {
				m.Caption = words(3)
			}
			messages[i] = m
		}
		name := fmt.Sprint("talk ", c)
		for i, id := range enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: messages}).IDs {
			k.addMessage(name, id, messages[i])
		}
	}
	memories := randomMemories(60)
	for i, m := range memories {
		m.ValidFrom = m.CreatedAt.AddDate(0, 0, -rng.IntN(20))
		m.Scope = []string{"global", "user:ines"}[rng.IntN(2)]
		if i%4 != 0 {
			m.SourceSession = fmt.Sprint("noted ", rng.IntN(6))
		}
		k.addMemory(m)
	}
	importCorpus(t, e, memories)
	return e, k
}

// randomQuestion asks some words, and often somebody or a date, of some or all documents.
func randomQuestion(rng *rand.Rand) recall.Query {
	parts := []string{[]string{"", "Can you help with"}[rng.IntN(2)]}
	for range 1 + rng.IntN(4) {
		parts = append(parts, enginetest.Vocabulary[rng.IntN(len(enginetest.Vocabulary))])
	}
	parts = append(parts, []string{"", "", "did Ines say", "Teo", "of Ines Pilot", "and who? Bruno or Teo"}[rng.IntN(6)])
	parts = append(parts, []string{"", "", "in May", "last week", "on 3 June 2026", "in summer 2025", "since 2026-06-01", "vor zwei Monaten"}[rng.IntN(8)])
	q := recall.Query{Text: strings.Join(parts, " "), Limit: 1000, Mode: recall.Modes()[rng.IntN(3)], Kinds: [][]kinds.Kind{
		{kinds.Message}, {kinds.Message}, {kinds.Message}, {kinds.Memory}, kinds.All()}[rng.IntN(5)]}
	switch rng.IntN(6) {
	case 0:
		q.Conversations = []string{"talk 1"}
	case 1:
		q.Conversations = []string{"talk 0", "talk 3"}
	case 2:
		q.Scopes = []string{"global"}
	case 3:
		q.Since, q.Until = enginetest.Noon.AddDate(0, -8, 0), enginetest.Noon.AddDate(0, 0, -10)
	case 4:
		q.AsOf = enginetest.Noon.AddDate(0, -2, -3)
	}
	return q
}

// randomWeights drop nothing; each signal is on in most of them.
func randomWeights(rng *rand.Rand) *recall.Weights {
	w := recall.TranscriptWeights()
	w.Normalise, w.Counted, w.Rarity = []string{"maximum", "maximum", "absolute"}[rng.IntN(3)], []string{"asked", "kind"}[rng.IntN(2)], rng.IntN(3) > 0
	w.K1, w.B, w.DateDays = 0.5+rng.Float64(), rng.Float64(), 1+rng.Float64()*60
	for _, x := range []*float64{&w.Vector, &w.Passage, &w.Lexical, &w.Near, &w.Far, &w.Date, &w.Speaker, &w.Reply, &w.Answered, &w.Tells, &w.Wish, &w.Question, &w.Related} {
		if *x = rng.Float64(); rng.IntN(6) == 0 {
			*x = 0
		}
	}
	w.LongTurn = []float64{0, 5, 40, 600}[rng.IntN(4)]
	return &w
}

// zeroes takes one signal's weight away.
var zeroes = map[string]func(w *recall.Weights){
	"vector": func(w *recall.Weights) { w.Vector = 0 }, "passage": func(w *recall.Weights) { w.Passage = 0 },
	"lexical": func(w *recall.Weights) { w.Lexical = 0 }, "near": func(w *recall.Weights) { w.Near = 0 },
	"far": func(w *recall.Weights) { w.Far = 0 }, "date": func(w *recall.Weights) { w.Date = 0 },
	"speaker": func(w *recall.Weights) { w.Speaker = 0 }, "reply": func(w *recall.Weights) { w.Reply = 0 }, "answered": func(w *recall.Weights) { w.Answered = 0 },
	"long_turn": func(w *recall.Weights) { w.LongTurn = 0 }, "tells": func(w *recall.Weights) { w.Tells = 0 },
	"wish":     func(w *recall.Weights) { w.Wish = 0 },
	"question": func(w *recall.Weights) { w.Question = 0 }, "related": func(w *recall.Weights) { w.Related = 0 }, "rarity": func(w *recall.Weights) { w.Rarity = false },
}

// candidatesOf asks a question and gives all candidates in their order.
func candidatesOf(t *testing.T, e *engine.Engine, q recall.Query) []recall.Candidate {
	t.Helper()
	result, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("%q: %v", q.Text, err)
	}
	if q.Explain {
		return result.Candidates
	}
	var all []recall.Candidate
	for _, h := range result.Hits {
		all = append(all, h.Signals)
	}
	return all
}

// signalsOf is what a candidate has before the stages after fusion, as numbers; one that is not known is -1.
func signalsOf(v recall.Candidate) map[string]float64 {
	numbers := map[string]float64{"tells": v.Tells, "fused": v.Fused, "asks": *flag(v.Asks), "wishes": *flag(v.Wishes)}
	for name, p := range map[string]*float64{"cosine": v.Cosine, "near cosine": v.NearCosine, "BM25": v.Raw, "met": v.Met, "vector": v.VectorScore, "lexical": v.LexicalScore,
		"date": v.DateScore, "speaker": v.SpeakerScore, "reply": v.ReplyScore, "answered": v.AnsweredScore} {
		numbers[name] = -1
		if p != nil {
			numbers[name] = *p
		}
	}
	return numbers
}

// sameOrder holds candidates to an order by scores; those whose scores are equal but for rounding may change places.
func sameOrder(t *testing.T, what string, got []recall.Candidate, want map[string]recall.Candidate) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d candidates, want %d", what, len(got), len(want))
	}
	for i, v := range got {
		if _, known := want[v.ID]; !known || i > 0 && want[got[i-1].ID].Fused < want[v.ID].Fused-1e-6 {
			t.Errorf("%s: %s is number %d with %v, after %v", what, v.ID, i+1, want[v.ID].Fused, want[got[max(i-1, 0)].ID].Fused)
			return
		}
	}
}

// about is a test's name for a question with its weights.
func about(q recall.Query) string {
	return fmt.Sprintf("%q, %s, kinds %v, conversations %v, scopes %v, %v to %v, as of %v, %+v", q.Text, q.Mode, q.Kinds, q.Conversations, q.Scopes, q.Since, q.Until, q.AsOf, *q.Weights)
}

// TestSignalsEqualASecondImplementation compares every signal of every candidate, over all documents asked and over a small pool.
func TestSignalsEqualASecondImplementation(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	questions := 36
	if enginetest.Long("recall") {
		questions = 60
	}
	for seed := range uint64(1) {
		e, k := randomTalk(t, rand.New(rand.NewPCG(seed, 1)), 1)
		seen := map[string]int{}
		for i := range questions {
			t.Run(fmt.Sprintf("seed %d question %d", seed, i), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				q := randomQuestion(rng)
				q.Weights = randomWeights(rng)
				if q.Weights.Rarity && q.Weights.Counted == "kind" {
					q.Kinds = kinds.All()
				}
				if i%3 == 0 {
					q.Weights.Whole, q.Weights.Pool, q.Weights.Related, q.Limit, q.Explain = 0, 10, 0, 5, true
					seen["pool"]++
				}
				want := k.reckon(t, q, "")
				got := slices.DeleteFunc(candidatesOf(t, e, q), func(v recall.Candidate) bool { return v.Dropped == "chance" })
				for _, v := range got {
					for name, x := range signalsOf(v) {
						if x > 0 {
							seen[name]++
						}
					}
					if diff := cmp.Diff(signalsOf(want[v.ID]), signalsOf(v), cmp.Comparer(near)); diff != "" {
						t.Fatalf("%s\n%s (-want +got):\n%s", about(q), v.ID, diff)
					}
				}
				sameOrder(t, about(q), got, want)
			})
		}
		for name := range signalsOf(recall.Candidate{}) {
			if seen[name] < questions*5/6 {
				t.Errorf("seed %d: %s was seen %d times only", seed, name, seen[name])
			}
		}
		if seen["pool"] < questions/4 {
			t.Errorf("seed %d: only %d small pools", seed, seen["pool"])
		}
	}
}

// TestWeightOfZero: a weight of zero gives the order that leaving the signal out gives.
func TestWeightOfZero(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	e, k := randomTalk(t, rand.New(rand.NewPCG(3, 1)), 1)
	questions := 5
	if enginetest.Long("recall") {
		questions = 8
	}
	full := map[int][]recall.Candidate{} // with all weights, by question
	for _, name := range slices.Sorted(mapKeys(zeroes)) {
		changed := 0
		for i := range questions {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			q := randomQuestion(rng)
			q.Kinds, q.Mode = []kinds.Kind{kinds.Message}, recall.Hybrid
			all := recall.TranscriptWeights()
			all.Normalise, all.Passage = []string{"maximum", "absolute"}[i%2], 0.95
			q.Weights = &all
			if full[i] == nil {
				full[i] = candidatesOf(t, e, q)
			}
			want := k.reckon(t, q, name)
			without := all
			zeroes[name](&without)
			q.Weights = &without
			got := candidatesOf(t, e, q)
			sameOrder(t, fmt.Sprintf("%s at zero, question %d: %s", name, i, about(q)), got, want)
			if i := slices.IndexFunc(got, func(v recall.Candidate) bool { return !near(v.Fused, want[v.ID].Fused) }); i >= 0 {
				t.Errorf("%s at zero: %s: fused %v, want %v", name, got[i].ID, got[i].Fused, want[got[i].ID].Fused)
			}
			if !cmp.Equal(full[i], got) {
				changed++
			}
		}
		if changed == 0 {
			t.Errorf("%s at zero changes nothing: the questions prove nothing about it", name)
		}
	}
}
