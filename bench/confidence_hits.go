package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// confidenceLimit is how many hits of a question are looked at: those that a recall gives.
const confidenceLimit = 10

// longestStatement is how many characters a turn has at most that is stored as a memory: those are short statements.
const longestStatement = 500

// confidenceAnswer is what a question found, either in the conversation that it is about or in another one of the same data set, where nothing is right.
type confidenceAnswer struct {
	Data, Talk string // that it is about
	Foreign    bool
	Hits       []confidenceHit
	counts     float64 // how much each hit does
}

// confidenceHit is a hit and whether it is right: evidence of the question.
type confidenceHit struct {
	Right      bool
	Signal     recall.Candidate
	confidence float64
}

// statements stores the short turns of every talk as memories, in the scope of its conversation, and gives their positions in it by id.
func (r *recording) statements(ctx context.Context) ([]map[string]int, error) {
	positions := make([]map[string]int, len(r.talks))
	for i, t := range r.talks {
		positions[i] = map[string]int{}
		var all []memory.RememberRequest
		var at []int
		for n, v := range t.turns {
			text := v.speaker + ": " + v.text
			if v.caption != "" {
				text += " [" + v.caption + "]"
			}
			if len([]rune(text)) <= longestStatement {
				all = append(all, memory.RememberRequest{Text: text, Scope: "custom:" + t.name, Category: memory.Event, CreatedAt: v.at.Add(time.Duration(n))})
				at = append(at, n)
			}
		}
		results, err := r.engine.RememberMany(ctx, all)
		if err != nil {
			return nil, err
		}
		for n, result := range results {
			if result.VectorErr != nil {
				return nil, result.VectorErr
			}
			positions[i][result.ID] = at[n]
		}
		r.config.Progress("memories", i+1, len(r.talks))
	}
	return positions, nil
}

// confidenceAnswers asks every question twice: of its own conversation, and of the next one. Questions that evidence is not stored for are left out.
func (r *recording) confidenceAnswers(ctx context.Context, kind kinds.Kind, positions []map[string]int) (all []confidenceAnswer, err error) {
	for n, q := range r.questions {
		gold := map[int]bool{}
		for _, at := range q.gold {
			gold[at] = true
		}
		stored := false
		for _, at := range positions[q.talk] {
			stored = stored || gold[at]
		}
		if !stored {
			continue
		}
		for _, asked := range []int{q.talk, (q.talk + 1) % len(r.talks)} {
			query := r.query(q, r.config.Sets[0])
			query.Kinds, query.Limit, query.Weights = []kinds.Kind{kind}, confidenceLimit, nil
			if kind == kinds.Memory {
				query.Scopes = []string{"custom:" + r.talks[asked].name}
			} else {
				query.Conversations = []string{r.talks[asked].name}
			}
			result, err := r.engine.Recall(ctx, query)
			if err != nil {
				return nil, err
			}
			a := confidenceAnswer{Data: r.data, Talk: r.talks[q.talk].name, Foreign: asked != q.talk}
			for _, h := range result.Hits {
				at, ok := positions[asked][h.ID]
				if !ok {
					return nil, fmt.Errorf("%q recalled %s, which is not of %s", q.text, h.ID, r.talks[asked].name)
				}
				a.Hits = append(a.Hits, confidenceHit{Right: !a.Foreign && gold[at], Signal: h.Signals})
			}
			all = append(all, a)
		}
		r.config.Progress("questions, "+string(kind), n+1, len(r.questions))
	}
	return all, nil
}
