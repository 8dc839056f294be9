package recall_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
)

// corpus is a second, plain implementation of ranking over memories in Go.
type corpus struct {
	analyzer *text.Analyzer
	memories map[string]*memory.Memory
	tf       map[string]map[string]float64 // by id and term
	length   map[string]float64
	total    float64
}

func newCorpus(t testing.TB, memories []*memory.Memory) *corpus {
	t.Helper()
	analyzer, err := text.NewAnalyzer("english")
	if err != nil {
		t.Fatal(err)
	}
	c := &corpus{analyzer: analyzer, memories: map[string]*memory.Memory{}, tf: map[string]map[string]float64{}, length: map[string]float64{}}
	for _, m := range memories {
		c.memories[m.ID], c.tf[m.ID] = m, map[string]float64{}
		for _, field := range []struct {
			text   string
			weight float64
		}{{m.Text, 1}, {m.L0, 1}, {m.L1, 0.5}, {m.L2, 0.5}} {
			for _, token := range analyzer.Tokens(field.text) {
				c.tf[m.ID][token.Term] += field.weight
				c.length[m.ID] += field.weight
			}
		}
		c.total += c.length[m.ID]
	}
	return c
}

// raw is BM25 with the natural logarithm; found is false when no term of the query is in the memory.
func (c *corpus) raw(query, id string, k1, b float64) (raw float64, found bool) {
	n := float64(len(c.tf))
	for _, token := range c.analyzer.QueryTokens(query) {
		df := 0.0
		for _, terms := range c.tf {
			if terms[token.Term] > 0 {
				df++
			}
		}
		tf := c.tf[id][token.Term]
		if tf == 0 {
			continue
		}
		found = true
		idf := math.Log((n-df+0.5)/(df+0.5) + 1)
		raw += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*c.length[id]/(c.total/n)))
	}
	return raw, found
}

func clamped(x float64) float64 { return min(1, max(0, x)) }

// fusedOf joins both channels; lexical says whether there is a raw score.
func fusedOf(cosine, raw float64, lexical bool, w recall.Weights) float64 {
	score := w.Vector / (2 - cosine)
	if !lexical {
		return clamped(score)
	}
	b := 0.5
	if raw > 0 {
		b = 1 / (1 + math.Exp(-raw/5))
	}
	score += w.Lexical * b
	if b >= 0.75 {
		score = max(score, 0.92*b)
	}
	return clamped(score)
}

func daysBefore(at, earlier time.Time) float64 { return at.Sub(earlier).Hours() / 24 }

// stagesOf takes a fused score through rerank, recency, importance, length and decay.
func stagesOf(m *memory.Memory, fused, cosine float64, byPassage bool, w recall.Weights, at time.Time) (s [5]float64, composite float64) {
	s[0] = fused
	if w.Rerank == "light" {
		s[0] = clamped(0.7*fused + 0.3*cosine)
	}
	age := max(0, daysBefore(at, m.CreatedAt))
	s[1], s[2] = s[0], s[0]
	if w.Decay == "simple" {
		s[1] = clamped(s[0] + math.Exp(-age/w.RecencyDays)*w.Recency)
		s[2] = clamped(s[1] * (0.7 + 0.3*m.Importance))
	}
	s[3] = s[2] * (1 - w.Trust*(1-map[memory.Trust]float64{memory.Stated: 1, memory.Extracted: 0.75, memory.Imported: 0.5}[m.Trust]))
	if w.LengthAnchor > 0 {
		characters := len([]rune(m.Text))
		if byPassage {
			characters = min(characters, 600)
		}
		s[3] = clamped(s[3] / (1 + 0.5*math.Log2(max(1, float64(characters)/w.LengthAnchor))))
	}
	switch w.Decay {
	case "engine":
		composite = compositeOf(m, at)
		floor := map[memory.Tier]float64{memory.Core: 0.9, memory.Working: 0.7, memory.Peripheral: 0.5}[m.Tier]
		s[4] = clamped(s[3] * min(1, max(0.3, 0.3+0.7*max(floor, composite))))
	case "simple":
		life := w.LifeDays
		if m.TemporalType == "dynamic" {
			life /= 3
		}
		if m.AccessCount > 0 && !m.LastAccessedAt.IsZero() {
			effective := float64(m.AccessCount) * math.Exp(-max(0, daysBefore(at, m.LastAccessedAt))*math.Ln2/30)
			life = min(life+life*w.Reinforcement*math.Log(1+effective), life*w.MaxLife)
		}
		s[4] = clamped(s[3] * (0.5 + 0.5*math.Exp(-age/life)))
	default:
		s[4] = s[3]
	}
	return s, composite
}

func compositeOf(m *memory.Memory, at time.Time) float64 {
	used, n := m.CreatedAt, float64(m.AccessCount)
	if n > 0 && !m.LastAccessedAt.IsZero() {
		used = m.LastAccessedAt
	}
	life := 30.0
	if m.TemporalType == "dynamic" {
		life = 10
	}
	beta := map[memory.Tier]float64{memory.Core: 0.8, memory.Working: 1, memory.Peripheral: 1.3}[m.Tier]
	recency := math.Exp(-math.Ln2 / (life * math.Exp(1.5*m.Importance)) * math.Pow(max(0, daysBefore(at, used)), beta))
	frequency := 1 - math.Exp(-n/5)
	if n > 1 {
		gap := max(1, daysBefore(used, m.CreatedAt)) / (n - 1)
		frequency *= 0.5 + 0.5*math.Exp(-gap/30)
	}
	return 0.4*recency + 0.3*frequency + 0.3*m.Importance*m.Confidence
}

// randomMemories makes n memories of common and rare words, of all tiers, ages and lengths.
func randomMemories(n int) []*memory.Memory {
	rng := rand.New(rand.NewPCG(7, 11))
	words := func(n int) string {
		parts := make([]string, n)
		for i := range parts {
			x := rng.Float64()
			parts[i] = enginetest.Vocabulary[int(x*x*float64(len(enginetest.Vocabulary)))] // the first words are common
		}
		return strings.Join(parts, " ")
	}
	memories := make([]*memory.Memory, n)
	for i := range memories {
		created := enginetest.Noon.Add(-time.Duration(rng.IntN(200*24)) * time.Hour)
		m := &memory.Memory{
			ID: fmt.Sprintf("mem_%03d", i), Text: words(1 + rng.IntN(12)), Tier: memory.Tiers()[rng.IntN(3)], Importance: rng.Float64(),
			Confidence: rng.Float64(), CreatedAt: created, Category: memory.Pattern, Scope: "global", State: memory.Confirmed, Layer: memory.WorkingLayer, Source: "manual",
		}
		if i%10 == 0 {
			m.Text = words(60 + rng.IntN(200))
		}
		if i%4 == 0 {
			m.L0, m.L1, m.L2 = words(3), "- "+words(5), words(30)
		}
		if i%5 == 0 {
			m.TemporalType = "dynamic"
		}
		if i%3 == 0 {
			m.AccessCount, m.LastAccessedAt = rng.IntN(30), created.Add(time.Duration(rng.Float64()*float64(enginetest.Noon.Sub(created)))).Truncate(time.Second)
		}
		memories[i] = m
	}
	return memories
}

func importCorpus(t *testing.T, e *engine.Engine, memories []*memory.Memory) {
	t.Helper()
	var b strings.Builder
	for _, m := range memories {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	enginetest.Import(t, e, b.String(), interchange.Imported{Lines: len(memories), Created: len(memories)})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6 }

func TestColumnsEqualASecondImplementation(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	memories := randomMemories(200)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	importCorpus(t, e, memories)
	c := newCorpus(t, memories)
	rng := rand.New(rand.NewPCG(3, 5))
	checked, both, questions := 0, 0, 24 // twice the twelve ways in which the weights come together
	if enginetest.Long("recall") {
		questions = 50
	}
	for i := range questions {
		query := ""
		for range 1 + rng.IntN(4) {
			query += enginetest.Vocabulary[rng.IntN(len(enginetest.Vocabulary))] + " "
		}
		w := recall.MemoryWeights()
		w.Decay, w.Rerank = []string{"engine", "simple", "none"}[i%3], []string{"light", "none"}[i%2]
		w.MinScore, w.HardMinScore, w.Vector, w.Lexical = 0, 0, 0.7-float64(i%4)/10, 0.3+float64(i%4)/10
		result, err := e.Recall(t.Context(), recall.Query{Text: query, Weights: &w, Explain: true, Limit: 15})
		if err != nil {
			t.Fatal(err)
		}
		asked := dotOf(t, query)
		for _, v := range result.Candidates {
			m := c.memories[v.ID]
			raw, lexical := c.raw(query, v.ID, w.K1, w.B)
			if lexical != (v.Raw != nil) || lexical && !near(raw, *v.Raw) {
				t.Errorf("%q, %s: BM25 %v, want %v", query, v.ID, value(v.Raw), raw)
			}
			embedded := m.Text
			if m.L2 != "" {
				embedded = m.Level(memory.Abstract) + " " + m.L2
			}
			cosine, byPassage := asked(embedded), false
			for _, p := range text.Passages(embedded) {
				if best := w.Passage * asked(embedded[p.Start:p.End]); best > cosine {
					cosine, byPassage = best, true
				}
			}
			if v.Cosine == nil || !near(cosine, *v.Cosine) {
				t.Fatalf("%q, %s: cosine %v, want %v", query, v.ID, value(v.Cosine), cosine)
			}
			fused := fusedOf(*v.Cosine, raw, lexical, w)
			s, composite := stagesOf(m, fused, *v.Cosine, byPassage, w, enginetest.Noon)
			if got := [6]float64{v.Fused, v.Reranked, v.Recency, v.Importance, v.LengthNorm, v.Decayed}; !near(got[0], fused) || !near(got[1], s[0]) ||
				!near(got[2], s[1]) || !near(got[3], s[2]) || !near(got[4], s[3]) || !near(got[5], s[4]) {
				t.Errorf("%q, %s, decay %s: %v, want %v %v", query, v.ID, w.Decay, got, fused, s)
			}
			if w.Decay == "engine" && !near(value(v.Composite), composite) || w.Decay != "engine" && v.Composite != nil {
				t.Errorf("%q, %s, decay %s: composite %v, want %v", query, v.ID, w.Decay, value(v.Composite), composite)
			}
			checked++
			if lexical {
				both++
			}
		}
		gathers(t, c, query, w, result)
	}
	if checked < questions*30 || both < checked/10 {
		t.Errorf("only %d candidates, %d of them lexical", checked, both)
	}
}

// gathers holds a recall to having found the best of both channels.
func gathers(t *testing.T, c *corpus, query string, w recall.Weights, result *recall.Result) {
	t.Helper()
	var ids []string
	raws := map[string]float64{}
	for id := range c.memories {
		if raw, found := c.raw(query, id, w.K1, w.B); found {
			ids, raws[id] = append(ids, id), raw
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(math.Copysign(1, raws[b]-raws[a])) })
	pool := 30 // twice the limit
	for i, id := range ids {
		if i < pool-1 && (i+1 >= len(ids) || raws[id] > raws[ids[min(pool-1, len(ids)-1)]]) &&
			!slices.ContainsFunc(result.Candidates, func(v recall.Candidate) bool { return v.ID == id }) {
			t.Errorf("%q: %s, number %d by BM25, is no candidate", query, id, i+1)
		}
	}
}

func value(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// dotOf gives the inner product of a question with any text.
func dotOf(t *testing.T, query string) func(text string) float64 {
	q, err := enginetest.Words{}.EmbedQuery(t.Context(), query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) (sum float64) {
		v, err := enginetest.Words{}.EmbedQuery(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range v {
			sum += float64(q[i]) * float64(v[i])
		}
		return sum
	}
}

// TestOneMemoryFromEndToEnd is the acceptance vector Z.
func TestOneMemoryFromEndToEnd(t *testing.T) {
	enginetest.Alone(t)
	story := "ledger" + strings.Repeat(" x", 497) // 1000 characters
	memories := []*memory.Memory{{
		ID: "mem_z", Text: story, Importance: 0.8, Confidence: 0.7, Tier: memory.Working, CreatedAt: enginetest.Noon.AddDate(0, 0, -14), Category: memory.Pattern,
		Scope: "global", State: memory.Confirmed, Layer: memory.WorkingLayer, Source: "manual",
	}}
	for i := range 300 { // so that the word is rare
		memories = append(memories, &memory.Memory{ID: fmt.Sprint("mem_", i), Text: fmt.Sprint("filler ", i, strings.Repeat(" y", i)), CreatedAt: enginetest.Noon, Category: memory.Pattern,
			Scope: "global", Tier: memory.Working, State: memory.Confirmed, Layer: memory.WorkingLayer, Source: "manual", Importance: 0.7, Confidence: 0.7})
	}
	if len(story) != 1000 {
		t.Fatalf("%d characters", len(story))
	}
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"ledger": {1, 0, 0}, story: {0.9, float32(math.Sqrt(1 - 0.81)), 0}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	importCorpus(t, e, memories)
	c := newCorpus(t, memories)
	for decay, constants := range map[string][5]float64{
		"simple": {0.861442, 0.898230, 0.844336, 0.562891, 0.504319}, // at a BM25 of 5.5
		"engine": {0.861442, 0.861442, 0.861442, 0.574294, 0.453693},
		"none":   {0.861442, 0.861442, 0.861442, 0.574294, 0.574294},
	} {
		w := recall.MemoryWeights()
		w.Decay, w.Rerank = decay, "none"
		if s, _ := stagesOf(memories[0], fusedOf(0.9, 5.5, true, w), 0.9, false, w, enginetest.Noon); !near(s[0], constants[0]) || !near(s[1], constants[1]) || !near(s[2], constants[2]) ||
			!near(s[3], constants[3]) || !near(s[4], constants[4]) {
			t.Fatalf("the second implementation itself, decay %s: %v, want %v", decay, s, constants)
		}
		result, err := e.Recall(t.Context(), recall.Query{Text: "ledger", Weights: &w})
		if err != nil || len(result.Hits) == 0 || result.Hits[0].ID != "mem_z" {
			t.Fatalf("%v, %v", enginetest.HitIDs(result), err)
		}
		v := result.Hits[0].Signals
		raw, _ := c.raw("ledger", "mem_z", w.K1, w.B)
		s, _ := stagesOf(memories[0], fusedOf(0.9, raw, true, w), 0.9, false, w, enginetest.Noon)
		if got := [5]float64{v.Fused, v.Recency, v.Importance, v.LengthNorm, v.Decayed}; !near(value(v.Cosine), 0.9) || !near(value(v.Raw), raw) ||
			!near(got[0], s[0]) || !near(got[1], s[1]) || !near(got[2], s[2]) || !near(got[3], s[3]) || !near(got[4], s[4]) || result.Hits[0].Score != v.Decayed {
			t.Errorf("decay %s, BM25 %v of %v: %v, want %v", decay, value(v.Raw), raw, got, s)
		}
	}
}
