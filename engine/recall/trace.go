package recall

import (
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/text/dates"
)

// Trace is the record of one recall, step by step. It is filled as far as the recall got, also when it failed.
type Trace struct {
	Query        string         `json:"query"`
	LexicalQuery string         `json:"lexical_query,omitempty"` // after expansion
	Terms        []string       `json:"terms,omitempty"`         // what the index was asked
	Tags         []string       `json:"tags,omitempty"`
	Dates        []dates.Period `json:"dates,omitempty"`     // that the query names
	Resident     bool           `json:"resident,omitempty"`  // the resident index found the candidates, not the file
	Past         bool           `json:"past,omitempty"`      // texts or memories took part that are not of the present; these are in the file alone
	Reranking    *Reranking     `json:"reranking,omitempty"` // what a model did; nil: none was asked
	Stages       []Stage        `json:"stages"`
	Drops        []Drop         `json:"drops"` // largest first
	Duration     time.Duration  `json:"duration_ns"`
	Failure      string         `json:"failure,omitempty"` // the stage that failed
	Error        string         `json:"error,omitempty"`
}

// Stage is one step: how many documents came in and were left, and the range of their scores. Stages of one SQL statement share
// its duration, which stands at the first of them.
type Stage struct {
	Name     string        `json:"name"`
	Before   int           `json:"before"`
	After    int           `json:"after"`
	Lowest   float64       `json:"lowest"`
	Highest  float64       `json:"highest"`
	Duration time.Duration `json:"duration_ns"`
}

// Drop is what a stage took away.
type Drop struct {
	Stage   string `json:"stage"`
	Before  int    `json:"before"`
	After   int    `json:"after"`
	Dropped int    `json:"dropped"`
}

// rankStages are the stages of the query recall_rank in their order, each with the score that it leaves a candidate.
var rankStages = []struct {
	name  string
	score func(*Candidate) float64
}{
	{"chance", func(c *Candidate) float64 { return c.Fused }},
	{"min_score", func(c *Candidate) float64 { return c.Fused }},
	{"expired", func(c *Candidate) float64 { return c.Fused }},
	{"rerank_window", func(c *Candidate) float64 { return c.Fused }},
	{"rerank", func(c *Candidate) float64 { return c.Reranked }},
	{"recency", func(c *Candidate) float64 { return c.Recency }},
	{"importance", func(c *Candidate) float64 { return c.Importance }},
	{"trust", func(c *Candidate) float64 { return c.Trusted }},
	{"length_norm", func(c *Candidate) float64 { return c.LengthNorm }},
	{"decay", func(c *Candidate) float64 { return c.Decayed }},
	{"hard_min_score", func(c *Candidate) float64 { return c.Decayed }},
	{"noise", func(c *Candidate) float64 { return c.Decayed }},
	{"min_confidence", func(c *Candidate) float64 { return c.Decayed }},
	{"diversity", func(c *Candidate) float64 { return c.Decayed }},
	{"limit", func(c *Candidate) float64 { return c.Decayed }},
}

// gathered records what was found; the scores of fusion are known when it is ranked.
func (t *Trace) gathered(found []resident.Found, took time.Duration) {
	vector, lexical := 0, 0
	for _, f := range found {
		if !math.IsNaN(f.Cosine) {
			vector++
		}
		if !math.IsNaN(f.Raw) {
			lexical++
		}
	}
	t.Stages = append(t.Stages, Stage{Name: "vector", After: vector, Duration: took}, Stage{Name: "lexical", After: lexical})
}

// sortDrops puts the largest first; equal ones stay in the order of the stages.
func (t *Trace) sortDrops() {
	slices.SortStableFunc(t.Drops, func(a, b Drop) int { return b.Dropped - a.Dropped })
}

// ranked records the stages of the query recall_rank.
func (t *Trace) ranked(candidates []Candidate, took time.Duration) {
	places := make(map[string]int, len(rankStages))
	for i, s := range rankStages {
		places[s.name] = i
	}
	ends := make([]int, len(candidates)) // the stage that drops each, or how many there are
	for i := range candidates {
		ends[i] = len(rankStages)
		if place, ok := places[candidates[i].Dropped]; ok {
			ends[i] = place
		}
	}
	t.Stages = append(t.Stages, stage("fusion", -1, candidates, ends, func(c *Candidate) float64 { return c.Fused }))
	for i, s := range rankStages {
		entry := stage(s.name, i, candidates, ends, s.score)
		if i == 0 {
			entry.Duration = took
		}
		t.Stages = append(t.Stages, entry)
		if dropped := entry.Before - entry.After; dropped > 0 {
			t.Drops = append(t.Drops, Drop{s.name, entry.Before, entry.After, dropped})
		}
	}
	t.sortDrops()
}

// stage sums up those of the candidates that come to a stage, by its place, and go on after it.
func stage(name string, place int, candidates []Candidate, ends []int, score func(*Candidate) float64) Stage {
	s := Stage{Name: name}
	for i := range candidates {
		if ends[i] >= place {
			s.Before++
		}
		if ends[i] <= place {
			continue
		}
		x := score(&candidates[i])
		if s.After == 0 || x < s.Lowest {
			s.Lowest = x
		}
		if s.After == 0 || x > s.Highest {
			s.Highest = x
		}
		s.After++
	}
	return s
}
