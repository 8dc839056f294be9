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
	Dates        []dates.Period `json:"dates,omitempty"`    // that the query names
	Resident     bool           `json:"resident,omitempty"` // the resident index found the candidates, not the file
	Past         bool           `json:"past,omitempty"`     // texts or memories took part that are not of the present; these are in the file alone
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
	t.Stages = append(t.Stages, stage("fusion", len(candidates), candidates, func(c *Candidate) float64 { return c.Fused }))
	left := candidates
	for i, s := range rankStages {
		before := len(left)
		var kept []Candidate
		for _, c := range left {
			if c.Dropped != s.name {
				kept = append(kept, c)
			}
		}
		left = kept
		entry := stage(s.name, before, left, s.score)
		if i == 0 {
			entry.Duration = took
		}
		t.Stages = append(t.Stages, entry)
		if dropped := before - len(left); dropped > 0 {
			t.Drops = append(t.Drops, Drop{s.name, before, len(left), dropped})
		}
	}
	t.sortDrops()
}

func stage(name string, before int, left []Candidate, score func(*Candidate) float64) Stage {
	s := Stage{Name: name, Before: before, After: len(left)}
	for i := range left {
		x := score(&left[i])
		if i == 0 || x < s.Lowest {
			s.Lowest = x
		}
		if i == 0 || x > s.Highest {
			s.Highest = x
		}
	}
	return s
}
