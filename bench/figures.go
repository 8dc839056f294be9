package bench

import (
	"math"
	"slices"
	"time"
)

// Figures is how well the questions of a data set were answered, each figure the mean over the questions, 0 to 1. any: at least
// one gold item is among the first k; all: every one is; recall: the share of them. A session ranks where its first turn does.
// MRR (mean reciprocal rank) is 1/rank of the first gold turn, and 0 when that is not among the first ten.
type Figures struct {
	Questions       int     `json:"questions"` // those that were scored
	SessionAny5     float64 `json:"session_any_5"`
	SessionAny10    float64 `json:"session_any_10"`
	SessionAll5     float64 `json:"session_all_5"`
	SessionAll10    float64 `json:"session_all_10"`
	SessionRecall10 float64 `json:"session_recall_10"`
	TurnAny10       float64 `json:"turn_any_10"`
	TurnRecall10    float64 `json:"turn_recall_10"`
	TurnMRR10       float64 `json:"turn_mrr_10"`
}

// values are the figures in their order.
func (f *Figures) values() []*float64 {
	return []*float64{&f.SessionAny5, &f.SessionAny10, &f.SessionAll5, &f.SessionAll10, &f.SessionRecall10,
		&f.TurnAny10, &f.TurnRecall10, &f.TurnMRR10}
}

// Answer is how one question was answered. Ranks count from 1 in the order of the evidence; 0: not found at all.
type Answer struct {
	Data         string   `json:"data"` // the name of the data set
	Conversation string   `json:"conversation"`
	Question     string   `json:"question"`
	Category     int      `json:"category"`
	GoldTurns    []string `json:"gold_turns"`
	TurnRanks    []int    `json:"turn_ranks"`
	GoldSessions []string `json:"gold_sessions"`
	SessionRanks []int    `json:"session_ranks"`
	First        []string `json:"first_turns"` // the first ten that were recalled
}

// answer compares the turns that were recalled for a question, best first, with its gold ones. Both are positions in t.
func (t *talk) answer(q question, recalled []int) Answer {
	a := Answer{Conversation: t.name, Question: q.text, Category: q.category}
	var sessions []string
	for i, at := range recalled {
		if i < 10 {
			a.First = append(a.First, t.turns[at].id)
		}
		if s := t.turns[at].session; !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	for _, at := range q.gold {
		a.GoldTurns = append(a.GoldTurns, t.turns[at].id)
		a.TurnRanks = append(a.TurnRanks, slices.Index(recalled, at)+1)
		if s := t.turns[at].session; !slices.Contains(a.GoldSessions, s) {
			a.GoldSessions = append(a.GoldSessions, s)
			a.SessionRanks = append(a.SessionRanks, slices.Index(sessions, s)+1)
		}
	}
	return a
}

// figures are those of this question alone.
func (a Answer) figures() Figures {
	return Figures{
		Questions:       1,
		SessionAny5:     whether(share(a.SessionRanks, 5) > 0),
		SessionAny10:    whether(share(a.SessionRanks, 10) > 0),
		SessionAll5:     whether(share(a.SessionRanks, 5) == 1),
		SessionAll10:    whether(share(a.SessionRanks, 10) == 1),
		SessionRecall10: share(a.SessionRanks, 10),
		TurnAny10:       whether(share(a.TurnRanks, 10) > 0),
		TurnRecall10:    share(a.TurnRanks, 10),
		TurnMRR10:       reciprocal(a.TurnRanks, 10),
	}
}

// figuresOf scores answers.
func figuresOf(answers []Answer) Figures {
	mean := Figures{Questions: len(answers)}
	for _, a := range answers {
		f := a.figures()
		for j, value := range f.values() {
			*mean.values()[j] += *value / float64(len(answers))
		}
	}
	return mean
}

// byData parts answers by their data set, in the order in which they come.
func byData(answers []Answer) (parts [][]Answer) {
	for i, a := range answers {
		if i == 0 || a.Data != answers[i-1].Data {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, a)
	}
	return parts
}

// meanFigures are the means over the data sets, each of which counts the same however many questions it has.
func meanFigures(answers []Answer) Figures {
	parts := byData(answers)
	mean := Figures{Questions: len(answers)}
	for _, part := range parts {
		f := figuresOf(part)
		for j, value := range f.values() {
			*mean.values()[j] += *value / float64(len(parts))
		}
	}
	return mean
}

// byCategory parts answers by the data set's number of their question.
func byCategory(answers []Answer) map[int][]Answer {
	parts := map[int][]Answer{}
	for _, a := range answers {
		parts[a.Category] = append(parts[a.Category], a)
	}
	return parts
}

// share is how much of the gold is among the first k.
func share(ranks []int, k int) float64 {
	found := 0
	for _, rank := range ranks {
		if rank > 0 && rank <= k {
			found++
		}
	}
	return float64(found) / float64(len(ranks))
}

// reciprocal is 1 over the best rank, 0 when that is past k.
func reciprocal(ranks []int, k int) float64 {
	best := k + 1
	for _, rank := range ranks {
		if rank > 0 {
			best = min(best, rank)
		}
	}
	if best > k {
		return 0
	}
	return 1 / float64(best)
}

func whether(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// percentile is the smallest time that p of a hundred don't exceed (nearest rank); 0 of none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// milliseconds to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
