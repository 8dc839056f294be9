package assemble

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// choose settles which contenders are shown.
func (a *assembly) choose() {
	if chosen := a.request.Chosen; chosen != nil {
		a.contenders = slices.DeleteFunc(a.contenders, func(c *contender) bool { return c.Position < a.tailAt && !slices.Contains(chosen, c.Position) })
	}
	scores := make([]float64, len(a.contenders))
	relevant := false
	tail := len(a.contenders)
	for i := range a.contenders {
		scores[i] = a.contenders[i].Score
		relevant = relevant || scores[i] > 0
		if a.contenders[i].Position >= a.tailAt {
			tail = min(tail, i)
		}
	}
	if !relevant {
		scores = nil
	}
	selection := window.Select(a.plans(), window.SelectOptions{Budget: a.request.Budget, Tail: tail, Scores: scores})
	a.chosen = make([]*contender, 0, len(selection.Indexes))
	for _, i := range selection.Indexes {
		if i < tail {
			a.tail++
		}
		a.chosen = append(a.chosen, a.contenders[i])
	}
	if selection.Over {
		a.shorten(selection.Tokens)
	}
}

// shorten shows results of tools as references, the largest first, until the rest is within the budget.
func (a *assembly) shorten(tokens int) {
	type place struct{ item, block int }
	var places []place
	var results []window.Item
	var selection window.Selection
	selection.Tokens = tokens
	reference := 0
	for i := range a.chosen {
		m := a.chosen[i].Message
		if m == nil {
			continue
		}
		for j := range m.Blocks {
			b := &m.Blocks[j]
			if b.Type != conversation.ToolResultBlock {
				continue
			}
			size := b.Tokens(a.estimator)
			reference = max(reference, a.estimator.Tokens(a.reference(m, b, size)))
			selection.Indexes = append(selection.Indexes, len(results))
			places, results = append(places, place{i, j}), append(results, window.Item{Tokens: size, Results: []string{b.CallID}})
		}
	}
	short, _ := selection.Shorten(results, a.request.Budget, reference)
	for _, i := range short {
		s := a.chosen[places[i].item]
		b := &s.Message.Blocks[places[i].block]
		b.Output = a.reference(s.Message, b, results[i].Tokens)
		s.Tokens += a.estimator.Tokens(b.Output) - results[i].Tokens
	}
	a.result.Left.Results = len(short)
}

// reference is what stands in the place of a tool's result that there is no room for.
func (a *assembly) reference(m *conversation.Message, b *conversation.Block, tokens int) string {
	return fmt.Sprintf("[The result of %s, %d tokens, is left out here. Call %s with %s to read it.]",
		cmp.Or(b.Tool, "the tool"), tokens, cmp.Or(a.request.ToolNames.Describe, "describe"), m.ID)
}
