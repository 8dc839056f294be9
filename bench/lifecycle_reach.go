package bench

import (
	"cmp"
	"context"
	"slices"

	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// ReachReport is what memories that rules draw from a data set reach of its questions, each share 0 to 1.
type ReachReport struct {
	Data      string `json:"data"`
	Turns     int    `json:"turns"`
	Memories  int    `json:"memories"` // drawn from them
	Questions int    `json:"questions"`
	// Reachable is the share of questions of which a gold turn is a source of any memory at all: no recall of memories can do more.
	Reachable float64 `json:"reachable"`
	// MemoryRecall10 is the share of questions of which a gold turn is a source of one of the ten best memories, TurnRecall10 that of which one is among the ten best turns.
	MemoryRecall10 float64 `json:"memory_recall_10"`
	TurnRecall10   float64 `json:"turn_recall_10"`
	// Signals are turns that are ranked by the memories drawn from them too, compared with turns alone.
	Signals []SignalReport `json:"signals"`
}

// SignalReport is how a further signal changes what is found: any gold turn among the first ten, with the bounds of 95 % of the difference.
type SignalReport struct {
	Weight       float64 `json:"weight"` // of the best score of a memory that a turn is a source of, added to the turn's score
	TurnRecall10 float64 `json:"turn_recall_10"`
	Difference   float64 `json:"difference"`
	Low          float64 `json:"low"`
	High         float64 `json:"high"`
}

// signalWeights are those that are tried, by data set alike.
var signalWeights = []float64{0.1, 0.3, 1}

// memoriesAsked is how many memories may bring their turns forward.
const memoriesAsked = 50

// reach stores a data set, draws memories from it by rules, and asks its questions of them and of the turns.
func reach(ctx context.Context, c LifecycleConfig, path string) (report *ReachReport, err error) {
	config := LocomoConfig{Data: []string{path}, Embedder: c.Embedder, Related: c.Related, Progress: c.Progress}
	err = record(ctx, config, func(r *recording) error {
		report = &ReachReport{Data: r.data, Turns: r.turns, Questions: len(r.questions)}
		sources := map[string][]string{} // messages by memory
		for i, t := range r.talks {
			drawn, err := r.engine.Extract(ctx, extract.Request{Conversation: t.name, Rules: true})
			if err != nil {
				return err
			}
			report.Memories += drawn.Stored
			for _, d := range drawn.Drafts {
				if id := cmp.Or(d.MemoryID, d.MatchID); id != "" {
					sources[id] = append(sources[id], d.MessageIDs...)
				}
			}
			c.Progress("memories drawn", i+1, len(r.talks))
		}
		if err := untilResident(ctx, r.engine); err != nil {
			return err
		}
		return r.reach(ctx, report, sources)
	})
	return report, err
}

func (r *recording) reach(ctx context.Context, report *ReachReport, sources map[string][]string) error {
	set := r.config.Sets[0]
	known := make([]map[int]bool, len(r.talks)) // turns that are a source of any memory
	for i := range r.talks {
		known[i] = map[int]bool{}
		for _, messages := range sources {
			for _, id := range messages {
				if at, ours := r.positions[i][id]; ours {
					known[i][at] = true
				}
			}
		}
	}
	var base []Answer
	with := make([][]Answer, len(signalWeights))
	for n, q := range r.questions {
		t := &r.talks[q.talk]
		memories, err := r.engine.Recall(ctx, recall.Query{Text: q.text, Mode: r.query(q, set).Mode, Scopes: []string{"custom:" + t.name}, Limit: memoriesAsked})
		if err != nil {
			return err
		}
		query := r.query(q, set)
		query.Kinds, query.Conversations, query.Limit = []kinds.Kind{kinds.Message}, []string{t.name}, walkLimit
		turns, err := r.engine.Recall(ctx, query)
		if err != nil {
			return err
		}
		lifted := map[int]float64{} // by position, the best score of a memory that the turn is a source of
		first := map[int]bool{}     // sources of the ten best
		for i, h := range memories.Hits {
			for _, id := range sources[h.ID] {
				if at, ours := r.positions[q.talk][id]; ours {
					lifted[at] = max(lifted[at], h.Score)
					first[at] = first[at] || i < 10
				}
			}
		}
		report.Reachable += whether(slices.ContainsFunc(q.gold, func(at int) bool { return known[q.talk][at] })) / float64(len(r.questions))
		report.MemoryRecall10 += whether(slices.ContainsFunc(q.gold, func(at int) bool { return first[at] })) / float64(len(r.questions))
		base = append(base, r.ranked(q, turns, lifted, 0))
		for i, weight := range signalWeights {
			with[i] = append(with[i], r.ranked(q, turns, lifted, weight))
		}
		r.config.Progress("questions of memories and turns", n+1, len(r.questions))
	}
	report.TurnRecall10 = figuresOf(base).TurnAny10
	for i, weight := range signalWeights {
		d := difference(base, with[i])
		report.Signals = append(report.Signals, SignalReport{weight, figuresOf(with[i]).TurnAny10, d.Difference.TurnAny10, d.Low.TurnAny10, d.High.TurnAny10})
	}
	return nil
}

// ranked is how a question is answered by turns that get something for the memories drawn from them; a turn that no recall of turns brought may come in by that alone.
func (r *recording) ranked(q placed, turns *recall.Result, lifted map[int]float64, weight float64) Answer {
	type scored struct {
		at    int
		score float64
	}
	var all []scored
	found := map[int]bool{}
	for _, h := range turns.Hits {
		at := r.positions[q.talk][h.ID]
		found[at] = true
		all = append(all, scored{at, h.Score + weight*lifted[at]})
	}
	for at, score := range lifted {
		if !found[at] && weight > 0 {
			all = append(all, scored{at, weight * score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	recalled := make([]int, len(all))
	for i, s := range all {
		recalled[i] = s.at
	}
	a := r.talks[q.talk].answer(q.question, recalled)
	a.Data = r.data
	return a
}
