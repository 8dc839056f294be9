package build

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// What became of a recall.
const (
	RecallOff   = "off"
	RecallEmpty = "query-empty"
	RecallError = "error"
	RecallOK    = "ok"
)

// recall brings in memories that fit the input: as broad as the preset says, or the focus; none whose source is shown already. One that fails ends nothing.
func (g *building) recall(ctx context.Context) error {
	p, out := &g.preset.Recall, &g.built.Recall
	if out.Status = RecallOff; !p.On || !g.has(p.Section) || g.alone {
		return nil
	}
	if g.replay == nil {
		out.Limit, out.Chars = p.Limit, p.Chars
	}
	if p.Focus && g.replay == nil {
		score, _ := g.request.focus()
		b := BreadthOf(score)
		out.Limit, out.Chars = b.Limit, b.Chars
	}
	hits, err := g.recalled(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		out.Status, out.Error = RecallError, line(err.Error(), 240)
		if g.preset.Notices && g.replay == nil {
			g.add(p.Section, "text", "recall.error", "(Nothing could be recalled.)", ReasonHost)
		}
		return nil
	case out.Status == RecallEmpty:
		return nil
	}
	out.Status, out.Hits = RecallOK, len(hits)
	if hits, err = g.unknown(ctx, hits, p.Section); err != nil {
		return err
	}
	g.showHits(hits)
	return nil
}

// recalled asks, or in a replay reads what is recorded.
func (g *building) recalled(ctx context.Context) ([]recall.Hit, error) {
	if g.replay != nil {
		return g.recordedHits(ctx)
	}
	p := &g.preset.Recall
	query := strings.TrimSpace(g.request.Query)
	if query == "" {
		query = strings.TrimSpace(g.input)
	}
	if query == "" {
		g.built.Recall.Status = RecallEmpty
		return nil, nil
	}
	if len(query) > recall.MaxQuery {
		query = strings.ToValidUTF8(query[:recall.MaxQuery], "")
	}
	limit := g.built.Recall.Limit
	if limit == 0 {
		return nil, nil
	}
	q := recall.Query{Text: query, Agent: g.request.Agent, Scopes: g.request.Scopes, Limit: min(limit, recall.MaxLimit), MinScore: p.MinScore}
	if p.HalfLifeDays > 0 {
		q.Limit = min(3*limit, recall.MaxLimit)
	}
	if p.Vector+p.Lexical > 0 {
		w := recall.MemoryWeights()
		w.Vector, w.Lexical = p.Vector, p.Lexical
		q.Weights = &w
	}
	found, err := g.builder.recaller.Recall(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, notice := range found.Notices {
		g.notice("recall: %s", notice)
	}
	hits := found.Hits
	if p.HalfLifeDays > 0 {
		for i := range hits {
			hits[i].Score *= HalfLife(g.at().Sub(hits[i].CreatedAt).Hours()/24, p.HalfLifeDays)
		}
		slices.SortStableFunc(hits, func(a, b recall.Hit) int {
			switch {
			case a.Score > b.Score:
				return -1
			case a.Score < b.Score:
				return 1
			}
			return 0
		})
		hits = hits[:min(limit, len(hits))]
	}
	return hits, nil
}

// HalfLife is the factor that age puts on a score: half after each so many days. What is dated ahead counts as new.
func HalfLife(ageDays, halfLifeDays float64) float64 {
	return math.Pow(0.5, max(ageDays, 0)/halfLifeDays)
}

// unknown drops the hits of which a source is shown in the history.
func (g *building) unknown(ctx context.Context, hits []recall.Hit, section string) (left []recall.Hit, err error) {
	shown := map[string]bool{}
	for _, r := range g.shown {
		shown[r.message.ID] = true
	}
	if len(hits) == 0 || len(shown) == 0 {
		return hits, nil
	}
	known := map[string]bool{}
	err = g.builder.file.Read(ctx, "sources", func(c *duck.Conn) error {
		return c.Each(ctx, "build_sources", func(rows *sql.Rows) error {
			var id, source string
			err := rows.Scan(&id, &source)
			known[id] = known[id] || shown[source]
			return err
		}, sql.Named("ids", recall.IDs(hits)))
	})
	for _, h := range hits {
		if !known[h.ID] && !shown[h.ID] {
			left = append(left, h)
			continue
		}
		g.parts[section] = append(g.parts[section], &Item{Section: section, Kind: memoryItem, Name: h.ID, ID: h.ID, Reason: DroppedKnown})
	}
	return left, err
}

// showHits makes an item of each hit, as long as there is room for them; the last that has some is shortened.
func (g *building) showHits(hits []recall.Hit) {
	p, section := &g.preset.Recall, g.preset.Recall.Section
	room := g.built.Recall.Chars
	bounded := room > 0
	room = max(300, room)
	for _, h := range hits {
		it := &Item{Section: section, Kind: "memory", Name: h.ID, ID: h.ID, Kept: true, Reason: ReasonRecalled}
		if h.Passage != nil {
			it.passage = &[2]int{h.Passage.Start, h.Passage.End}
		}
		said := strings.Join(strings.Fields(h.Shown()), " ")
		if p.Snippet > 0 {
			said = cutDots(said, p.Snippet)
		}
		text := hitLine(h, said)
		if over := utf8.RuneCountInString(text) - room; bounded && over > 0 {
			left := utf8.RuneCountInString(said) - over - 8 // an escape may be longer than what it stands for
			if text = ""; left > 20 {
				text = hitLine(h, cutDots(said, left))
			}
			if text == "" || utf8.RuneCountInString(text) > room {
				it.Kept, it.Reason, text = false, DroppedRoom, ""
			}
		}
		room -= utf8.RuneCountInString(text) + 1
		it.Text, it.Cost = text, g.cost(text)
		g.parts[section] = append(g.parts[section], it)
	}
}

// hitLine is a hit as recall shows it to models, escaped, on one line.
func hitLine(h recall.Hit, said string) string {
	h.Text, h.Passage = said, nil
	lines := strings.Split(strings.TrimSpace(recall.Block([]recall.Hit{h})), "\n")
	return strings.Join(lines[1:len(lines)-1], " ")
}

// framed puts lines of hits between the tags that say what they are.
func framed(lines string) string {
	frame := strings.Split(strings.TrimSpace(recall.Block([]recall.Hit{{Kind: kinds.Memory}})), "\n")
	return frame[0] + "\n" + lines + "\n" + frame[len(frame)-1]
}

// recordedHits reads the memories that a snapshot names, as they are now.
func (g *building) recordedHits(ctx context.Context) (hits []recall.Hit, err error) {
	ids := []string{}
	for _, it := range g.replay.Items {
		if it.Kind == "memory" {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var found map[string]recall.Hit
	err = g.builder.file.Read(ctx, "memories", func(c *duck.Conn) (err error) {
		found, err = memoriesNow(ctx, c, ids, memory.Abstract)
		return err
	})
	for _, it := range g.replay.Items {
		if it.Kind != "memory" {
			continue
		}
		h, ok := found[it.ID]
		if !ok {
			g.notice("memory %s is gone", it.ID)
			continue
		}
		if p := it.Passage; p != nil {
			if p[0] < 0 || p[1] > len(h.Text) || p[0] > p[1] {
				g.notice("memory %s is another text now", it.ID)
			} else {
				h.Passage = &recall.Passage{Start: p[0], End: p[1], Text: strings.TrimSpace(h.Text[p[0]:p[1]])}
			}
		}
		hits = append(hits, h)
	}
	return hits, err
}
