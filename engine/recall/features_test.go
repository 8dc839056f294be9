package recall_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/dates"
)

// featureWeights are those of a set by which features rerank, in the order of featuresOf.
func featureWeights(w *recall.Weights) []*float64 {
	return []*float64{&w.FeatureCosine, &w.FeatureLexical, &w.FeatureCoverage, &w.FeatureProximity, &w.FeaturePhrase, &w.FeatureName, &w.FeatureDate, &w.FeatureNeighbour, &w.FeatureSession}
}

// featuresOf are what the rerank by features takes of a hit.
func featuresOf(v recall.Candidate) []*float64 {
	var cosine *float64
	if v.Cosine != nil {
		cosine = new(max(*v.Cosine, 0))
	}
	f := v.Features
	return []*float64{cosine, v.LexicalScore, f.Coverage, f.Proximity, f.Phrase, f.Name, v.DateScore, f.Neighbour, f.Session}
}

// reader is a second implementation of what texts say of a question, word by word.
type reader struct {
	analyzer *text.Analyzer
	question recall.Query
	words    []recall.QuestionWord
	dates    []dates.Period
	beside   map[int32][2]*float64 // by document, the best fused score beside it and in its session
}

func (x reader) terms(s string) (terms []string) {
	for _, token := range x.analyzer.Tokens(s) {
		terms = append(terms, token.Term)
	}
	return terms
}

// says gives coverage, proximity, phrase and names; nil is what the question has not.
func (x reader) says(h recall.Hit) (all [4]*float64) {
	in := x.terms(h.Text)
	var met, whole, near, pairs float64
	rarity := map[string]float64{}
	for i, w := range x.words {
		rarity[w.Term] = max(w.Share, 1e-6)
		whole += rarity[w.Term]
		if strings.Contains("\n"+strings.Join(in, "\n")+"\n", "\n"+w.Term+"\n") {
			met += rarity[w.Term]
		}
		if i == 0 {
			continue
		}
		weight, least := min(rarity[w.Term], rarity[x.words[i-1].Term]), math.Inf(1)
		for a, one := range in {
			for b, other := range in {
				if one == w.Term && other == x.words[i-1].Term {
					least = min(least, math.Abs(float64(a-b)))
				}
			}
		}
		pairs, near = pairs+weight, near+weight/least
	}
	all[0] = new(met / whole)
	if pairs > 0 {
		all[1] = new(near / pairs)
	}
	asked := x.terms(x.question.Text)
	looked, total, most := 0, 0.0, 0.0
	for from := range asked {
		if rarity[asked[from]] > 0 {
			looked, total = looked+1, total+rarity[asked[from]]
		}
		for to := from + 2; to <= len(asked); to++ {
			if !strings.Contains("\n"+strings.Join(in, "\n")+"\n", "\n"+strings.Join(asked[from:to], "\n")+"\n") {
				break
			}
			n, worth := 0, 0.0
			for _, term := range asked[from:to] {
				if rarity[term] > 0 {
					n, worth = n+1, worth+rarity[term]
				}
			}
			if n >= 2 {
				most = max(most, worth)
			}
		}
	}
	if looked >= 2 {
		all[2] = new(most / total)
	}
	names, found := map[string]bool{}, 0.0
	for _, name := range x.analyzer.Names(x.question.Text) {
		if slices.ContainsFunc(x.dates, func(p dates.Period) bool { return strings.Contains(p.Phrase, name) }) {
			continue
		}
		for _, term := range x.terms(name) {
			names[term] = true
		}
	}
	for name := range names {
		if strings.Contains("\n"+strings.Join(append(in, x.terms(h.Speaker)...), "\n")+"\n", "\n"+name+"\n") {
			found++
		}
	}
	if len(names) > 0 {
		all[3] = new(found / float64(len(names)))
	}
	return all
}

// besideOf reckons the fused scores beside documents and in their sessions.
func besideOf(t *testing.T, e *engine.Engine, candidates []recall.Candidate) map[int32][2]*float64 {
	t.Helper()
	type place struct{ session, at int32 }
	stands, fused := map[int32]place{}, map[int32]float64{}
	for _, row := range enginetest.Rows(t, e, "SELECT doc_no, session_no, place FROM documents") {
		stands[row[0].(int32)] = place{row[1].(int32), row[2].(int32)}
	}
	for _, v := range candidates {
		fused[v.DocNo] = v.Fused
	}
	all := map[int32][2]*float64{}
	for _, v := range candidates {
		best := [2]*float64{}
		for other, score := range fused {
			if other == v.DocNo || stands[other].session != stands[v.DocNo].session {
				continue
			}
			if apart := stands[other].at - stands[v.DocNo].at; (apart == 1 || apart == -1) && (best[0] == nil || score > *best[0]) {
				best[0] = new(score)
			}
			if best[1] == nil || score > *best[1] {
				best[1] = new(score)
			}
		}
		all[v.DocNo] = best
	}
	return all
}

func equal(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) < 1e-9)
}

// TestFeaturesRerank: the score is the mean of the fused one, which weighs 1, and of the features that are known, and each feature is what a second
// implementation makes of the texts.
func TestFeaturesRerank(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, 1))
	e, _ := randomTalk(t, rng, 1)
	analyzer, err := text.NewAnalyzer("english")
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]int, 9)
	for range 24 {
		q := randomQuestion(rng)
		w := recall.TranscriptWeights()
		w.Rerank = "features"
		for _, x := range featureWeights(&w) {
			*x = rng.Float64()
		}
		q.Weights, q.Limit, q.Level, q.Explain, q.AsOf = &w, 8, memory.Full, true, time.Time{} // of the past other documents are counted than are explained
		r, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		x := reader{analyzer, q, r.Words, r.Trace.Dates, besideOf(t, e, r.Candidates)}
		for _, h := range r.Hits {
			v := h.Signals
			want := x.says(h)
			if q.Mode == recall.VectorMode { // it asks for no word
				want = [4]*float64{}
			}
			beside := x.beside[v.DocNo]
			for i, pair := range [][2]*float64{{want[0], v.Features.Coverage}, {want[1], v.Features.Proximity}, {want[2], v.Features.Phrase}, {want[3], v.Features.Name},
				{beside[0], v.Features.Neighbour}, {beside[1], v.Features.Session}} {
				if !equal(pair[0], pair[1]) {
					t.Fatalf("%q, %s, %q: feature %d is %v, want %v", q.Text, q.Mode, h.Text, i, shown(pair[1]), shown(pair[0]))
				}
			}
			sum, weight := v.Fused, 1.0
			for i, value := range featuresOf(v) {
				if value != nil {
					sum, weight = sum+*value**featureWeights(&w)[i], weight+*featureWeights(&w)[i]
					if *value > 0 {
						seen[i]++
					}
				}
			}
			points := 0.0
			for _, share := range h.Explanation.Features {
				points += share.Points
			}
			if math.Abs(v.Reranked-sum/weight) > 1e-9 || math.Abs(points-v.Reranked) > 1e-9 || h.Explanation.Features[0].Name != "fused" {
				t.Fatalf("%q, %s: %q: %v, want %v, and explained are %v: %+v", q.Text, q.Mode, h.Text, v.Reranked, sum/weight, points, h.Explanation.Features)
			}
		}
	}
	for i, n := range seen {
		if n < 10 {
			t.Errorf("feature %d was seen %d times only", i, n)
		}
	}
}

func shown(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprint(*x)
}

// TestFeaturesOfTexts: what stands there as it is asked comes before what has the words apart, and with no weight nothing is read.
func TestFeaturesOfTexts(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := []conversation.Message{}
	for i, s := range []string{"An anchor needs its chain, an anchor", "The anchor chain of the crane broke", "A chain, and much later, after all of the rest, there was an anchor", "Boats in the morning", "Fog all day long",
		"Nobody came today", "The gate is closed", "Tea with milk"} {
		said = append(said, conversation.Message{Text: s, Speaker: []string{"Teo", "Ines", "Bruno"}[i%3], SaidAt: enginetest.Noon.Add(time.Duration(i) * 24 * time.Hour)})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: said})
	w := recall.TranscriptWeights()
	for _, x := range featureWeights(&w) {
		*x = 0
	}
	ask := func(question string, limit int) *recall.Result {
		t.Helper()
		r, err := e.Recall(t.Context(), recall.Query{Text: question, Kinds: []kinds.Kind{kinds.Message}, Weights: &w, Rerank: recall.FeaturesRerank, Limit: limit, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	stages := func(r *recall.Result) (n int) {
		for _, s := range r.Trace.Stages {
			if s.Name == "features" {
				n = s.After
			}
		}
		return n
	}
	const asksChain = "Where is the anchor chain?"
	plain := ask(asksChain, 4)
	if n := stages(plain); n != 0 {
		t.Errorf("%d texts were read for weights of 0", n)
	}
	for _, h := range plain.Hits {
		if h.Signals.Reranked != h.Signals.Fused || h.Signals.Features.Phrase != nil {
			t.Errorf("%q: %v of %v with weights of 0: %+v", h.Text, h.Signals.Reranked, h.Signals.Fused, h.Signals.Features)
		}
	}
	w.FeaturePhrase = 1
	if r := ask(asksChain, 4); r.Hits[0].Text != said[1].Text || plain.Hits[0].Text == said[1].Text {
		t.Errorf("%q, without features %q; want the phrase, and another", r.Hits[0].Text, plain.Hits[0].Text)
	}
	if n := stages(ask(asksChain, 1)); n != 2 {
		t.Errorf("%d texts were read for a limit of one, want two", n)
	}
	w.FeaturePhrase, w.FeatureName = 0, 1
	if r := ask("Is the anchor chain of Teo here?", 4); r.Hits[0].Signals.Features.Name == nil || *r.Hits[0].Signals.Features.Name != 1 || r.Hits[0].Speaker != "Teo" {
		t.Errorf("said by %s: %+v; want Teo, whom the question names", r.Hits[0].Speaker, r.Hits[0].Signals.Features)
	}
}
