package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/window"
)

// choose settles which contenders are shown.
func (a *assembly) choose() {
	items := make([]window.Item, len(a.contenders))
	scores := make([]float64, len(a.contenders))
	relevant := false
	for i := range a.contenders {
		items[i], scores[i] = a.contenders[i].plan, a.contenders[i].Score
		relevant = relevant || scores[i] > 0
	}
	if !relevant {
		scores = nil
	}
	tail := a.policy.Tail(items, a.request.Budget)
	selection := window.Select(items, window.SelectOptions{Budget: a.request.Budget, Tail: tail, Scores: scores})
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
			if b.Type != ToolResultBlock {
				continue
			}
			size := b.tokens(a.estimator)
			reference = max(reference, a.estimator.Tokens(a.reference(m, b, size)))
			selection.Indexes = append(selection.Indexes, len(results))
			places, results = append(places, place{i, j}), append(results, window.Item{Tokens: size, Results: []string{b.CallID}})
		}
	}
	short, _ := selection.Shorten(results, a.request.Budget, reference)
	for _, i := range short {
		s := &a.chosen[places[i].item]
		b := &s.Message.Blocks[places[i].block]
		b.Output = a.reference(s.Message, b, results[i].Tokens)
		s.Tokens += a.estimator.Tokens(b.Output) - results[i].Tokens
	}
	a.result.Left.Results = len(short)
}

// reference is what stands in the place of a tool's result that there is no room for.
func (a *assembly) reference(m *Message, b *Block, tokens int) string {
	return fmt.Sprintf("[The result of %s, %d tokens, is left out here. Call %s with %s to read it.]",
		or(b.Tool, "the tool"), tokens, or(a.request.ToolNames.Describe, "describe"), m.ID)
}

// largestImage in bytes that is shown. Providers refuse larger ones.
const largestImage = 5 << 20

// imageTypes are those that providers take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// loadImages reads the images that a user shows in what was chosen.
func (a *assembly) loadImages(ctx context.Context, c *connection) error {
	at := map[string][]*Block{}
	for i := range a.chosen {
		m := a.chosen[i].Message
		if m == nil || m.Role == window.Assistant || m.Role == window.Tool {
			continue
		}
		for j := range m.Blocks {
			if b := &m.Blocks[j]; b.Type == ImageBlock && b.FileID != "" && slices.Contains(imageTypes, b.MIME) {
				at[b.FileID] = append(at[b.FileID], b)
			}
		}
	}
	if len(at) == 0 {
		return nil
	}
	return c.each(ctx, "assemble_images", func(rows *sql.Rows) error {
		var id string
		var content []byte
		err := rows.Scan(&id, &content)
		for _, b := range at[id] {
			b.Data = content
		}
		return err
	}, a.own(), sql.Named("ids", keys(at)), sql.Named("bytes", int64(largestImage)))
}
