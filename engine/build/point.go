package build

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// Kinds of items that are recalled or pointed at.
const (
	memoryItem  = "memory"
	noteItem    = "note"
	skillItem   = "skill"
	sessionItem = "session"
)

// recalled reports whether an item is shown in the block of what is recalled.
func (it *Item) recalled() bool {
	return slices.Contains([]string{memoryItem, noteItem, skillItem, sessionItem}, it.Kind)
}

// point shows what hints find, as recall does what it finds: none whose source is shown already. What fails ends nothing.
func (g *building) point(ctx context.Context) error {
	h, out := &g.preset.Hints, &g.built.Recall
	if !h.On || !g.has(h.Section) || g.alone {
		return nil
	}
	if g.replay != nil {
		pointers, err := g.recordedPointers(ctx)
		g.showPointers(pointers)
		return err
	}
	out.Status, out.Limit = RecallOK, h.limit()
	asked, talks, err := g.asking(ctx)
	if err != nil {
		return err
	}
	needles := h.needlesOf(g.builder.index.Analyzer, asked)
	if len(needles) == 0 {
		out.Status = RecallEmpty
		return nil
	}
	hits, err := g.lookFor(ctx, strings.Join(asked, "\n"), talks)
	if err != nil {
		return err
	}
	learned, withheld, err := g.standing(ctx, hits)
	if err != nil {
		return err
	}
	var all []pointer
	for _, hit := range hits {
		if p := g.judge(hit, needles, talks, learned[hit.ID]); p.evidence.Pieces > 0 && p.evidence.Score >= h.Least && !withheld[hit.ID] {
			all = append(all, p)
		}
	}
	out.Hits = len(all)
	if all, err = g.unshown(ctx, all); err != nil {
		return err
	}
	g.showPointers(h.choose(all))
	return nil
}

// talk is another conversation.
type talk struct{ id, name, scope, parent string }

// asking gives what is asked, part by part, and the other conversations that may be pointed at, by their ids.
func (g *building) asking(ctx context.Context) (parts []string, talks map[string]talk, err error) {
	h, scopes := &g.preset.Hints, g.builder.scopes.Now()
	talks = map[string]talk{}
	said := map[string]string{AskOutcome: g.request.Outcome.Title, AskState: g.request.State, AskInput: g.input, AskAnswer: g.newest("assistant"), AskFailure: g.failure()}
	if strings.TrimSpace(g.input) == "" {
		said[AskInput] = g.newest("user")
	}
	err = g.builder.file.Read(ctx, "hints", func(c *duck.Conn) error {
		if h.Sessions > 0 {
			err := c.Each(ctx, "build_hint_talks", func(rows *sql.Rows) error {
				var t talk
				err := rows.Scan(&t.id, &t.name, &t.scope, duck.TextOf(&t.parent))
				if scopes.Sees(g.request.Agent, t.scope) && (g.request.Scopes == nil || slices.Contains(g.request.Scopes, t.scope)) {
					talks[t.id] = t
				}
				return err
			}, sql.Named("conversation_id", g.conversation.ID))
			if err != nil {
				return err
			}
		}
		if strings.TrimSpace(g.request.Query) != "" {
			return nil
		}
		var err error
		said[AskSummary], said[AskQuestions], err = g.stands(ctx, c)
		return err
	})
	if query := strings.TrimSpace(g.request.Query); query != "" {
		return []string{beginning(query, h.Parts*h.PartChars)}, talks, err
	}
	for _, name := range h.Ask {
		if part := beginning(said[name], h.PartChars); part != "" && len(parts) < h.Parts {
			parts = append(parts, part)
		}
	}
	return parts, talks, err
}

// beginning is so many characters of a text, on one line.
func beginning(s string, chars int) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	return strings.TrimSpace(string(runes[:min(len(runes), chars)]))
}

// newest is what somebody of a role said last.
func (g *building) newest(role string) string {
	for _, r := range slices.Backward(g.rows) {
		if said := strings.TrimSpace(r.message.Text); r.message.Role == role && said != "" && !r.summary && !r.event {
			return said
		}
	}
	return ""
}

// failure is what the newest call of a tool that failed was, and gave.
func (g *building) failure() string {
	for _, r := range slices.Backward(g.rows) {
		for _, b := range slices.Backward(r.message.Blocks) {
			if b.IsError {
				return strings.TrimSpace(b.Tool + " " + b.Output)
			}
		}
	}
	return ""
}

// stands gives the newest summary, and the questions that the newest checkpoint left open.
func (g *building) stands(ctx context.Context, c *duck.Conn) (summary, questions string, err error) {
	var id string
	var first, last int
	of := []any{sql.Named("conversation_id", g.conversation.ID), sql.Named("until", int32(g.built.Until))}
	if _, err = c.One(ctx, "build_summary", []any{&id}, of...); err == nil && id != "" {
		_, err = c.One(ctx, "build_summary_of", []any{&id, &summary, &first, &last}, sql.Named("id", id))
	}
	if err != nil {
		return "", "", err
	}
	var k *checkpoint.Checkpoint
	found, err := c.One(ctx, "build_checkpoint", []any{&id}, append(of, sql.Named("from", int32(0)))...)
	if found && err == nil {
		k, err = checkpoint.Before(ctx, c, g.conversation.ID, g.built.Until)
	}
	if k != nil {
		summary, questions = cmp.Or(summary, k.Summary), strings.Join(k.Questions, " ")
	}
	return summary, questions, err
}

// lookFor finds documents that hints may point at: memories and notes, and what was said in other conversations. Where the model fails, words are enough.
func (g *building) lookFor(ctx context.Context, query string, talks map[string]talk) (hits []recall.Hit, err error) {
	h, out := &g.preset.Hints, &g.built.Recall
	w := recall.NoteWeights() // all that has a word or a cosine, as it is: what it counts is for judge to say
	w.Pool = h.Looked
	q := recall.Query{Text: query, Agent: g.request.Agent, Scopes: g.request.Scopes, Limit: h.Looked, Level: memory.Full, Weights: &w, Rerank: recall.NoRerank, TagPrefixes: []string{}}
	if h.Meaning == 0 {
		q.Mode = recall.LexicalMode
	}
	var asks []recall.Query
	if q.Kinds = []kinds.Kind{kinds.Memory, kinds.Note}; h.Memories+h.Skills > 0 {
		asks = append(asks, q)
	}
	if len(talks) > 0 {
		q.Kinds, q.Conversations = []kinds.Kind{kinds.Message, kinds.Summary}, make([]string, 0, len(talks))
		for id := range talks {
			q.Conversations = append(q.Conversations, id)
		}
		slices.Sort(q.Conversations)
		asks = append(asks, q)
	}
	for _, q := range asks {
		found, err := g.builder.recaller.Recall(ctx, q)
		if err != nil && ctx.Err() == nil && q.Mode == "" {
			out.Status, out.Error = RecallError, line(err.Error(), 240)
			q.Mode = recall.LexicalMode
			found, err = g.builder.recaller.Recall(ctx, q)
		}
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			out.Status, out.Error = RecallError, line(err.Error(), 240)
			continue
		}
		for _, notice := range found.Notices {
			g.notice("hints: %s", notice)
		}
		hits = append(hits, found.Hits...)
	}
	return hits, nil
}

// standing says of hits which memories were learned, and which messages are withheld.
func (g *building) standing(ctx context.Context, hits []recall.Hit) (learned, withheld map[string]bool, err error) {
	learned, withheld = map[string]bool{}, map[string]bool{}
	err = g.builder.file.Read(ctx, "hints", func(c *duck.Conn) error {
		for name, into := range map[string]map[string]bool{"build_hint_learned": learned, "build_hint_withheld": withheld} {
			ids, err := duck.Column[string](ctx, c, name, sql.Named("ids", recall.IDs(hits)))
			if err != nil {
				return err
			}
			for _, id := range ids {
				into[id] = true
			}
		}
		return nil
	})
	return learned, withheld, err
}

// unshown drops the memories of which a source is shown in the history.
func (g *building) unshown(ctx context.Context, all []pointer) ([]pointer, error) {
	var hits []recall.Hit
	for _, p := range all {
		if p.kind == memoryItem {
			hits = append(hits, p.hit)
		}
	}
	left, err := g.unknown(ctx, hits, g.preset.Hints.Section)
	ids := recall.IDs(left)
	return slices.DeleteFunc(all, func(p pointer) bool { return p.kind == memoryItem && !slices.Contains(ids, p.hit.ID) }), err
}

// showPointers makes an item of each.
func (g *building) showPointers(pointers []pointer) {
	section := g.preset.Hints.Section
	for _, p := range pointers {
		it := &Item{Section: section, Kind: p.kind, Name: p.name, ID: p.hit.ID, Kept: true, Reason: ReasonRecalled, passage: &[2]int{p.from, p.to}}
		if g.replay == nil {
			it.Evidence = &p.evidence
		}
		it.Text = p.line()
		it.Cost = g.cost(it.Text)
		g.parts[section] = append(g.parts[section], it)
	}
}
