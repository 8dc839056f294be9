package engine

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/text"
)

// texts reads what candidates of one kind say, and what is shown of them. What tools were given and gave is read too for those messages
// that still lack something.
func (g *grep) texts(ctx context.Context, c *connection, some []candidateHit, lacks func(*candidateHit) bool) error {
	if len(some) == 0 {
		return nil
	}
	byID, ids, err := owners(ctx, c, some)
	if err != nil {
		return err
	}
	switch some[0].kind {
	case MemoryKind:
		return c.each(ctx, "memories_by_id", func(rows *sql.Rows) error {
			m, _, err := scanMemory(rows)
			if err == nil {
				byID[m.ID].memory(m)
			}
			return err
		}, sql.Named("ids", ids))
	case SummaryKind:
		return c.each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
			s, _, err := scanSummary(rows)
			if err == nil {
				byID[s.ID].summary(s)
			}
			return err
		}, sql.Named("ids", ids))
	}
	err = c.each(ctx, "grep_texts", func(rows *sql.Rows) error {
		var m Message
		err := rows.Scan(&m.ID, &m.ConversationID, &m.Seq, &m.Role, textOf(&m.Speaker), &m.Text, textOf(&m.Caption), &m.SaidAt, textOf(&m.SetAside))
		if err == nil {
			byID[m.ID].message(&m)
		}
		return err
	}, sql.Named("ids", ids))
	if err != nil {
		return err
	}
	return toolTexts(ctx, c, some, byID, lacks)
}

// owners gives candidates by their ids, which are read where they are not known.
func owners(ctx context.Context, c *connection, some []candidateHit) (byID map[string]*candidateHit, ids []string, err error) {
	byNo := map[int32]*candidateHit{}
	var docNos []int32
	for i := range some {
		if h := &some[i]; h.id == "" {
			byNo[h.docNo], docNos = h, append(docNos, h.docNo)
		}
	}
	if len(docNos) > 0 {
		err = c.each(ctx, "grep_owners", func(rows *sql.Rows) error {
			var docNo int32
			var id string
			if err := rows.Scan(&docNo, &id); err != nil {
				return err
			}
			byNo[docNo].id = id
			return nil
		}, sql.Named("doc_nos", docNos))
	}
	byID = make(map[string]*candidateHit, len(some))
	for i := range some {
		byID[some[i].id], ids = &some[i], append(ids, some[i].id)
	}
	return byID, ids, err
}

// toolTexts adds what tools were given and gave, and the names and texts of files, to messages that lack something.
func toolTexts(ctx context.Context, c *connection, some []candidateHit, byID map[string]*candidateHit, lacks func(*candidateHit) bool) error {
	var conversations []string
	var seqs []int32
	for i := range some {
		if h := &some[i]; h.hit.ID != "" && lacks(h) {
			conversations, seqs = append(conversations, h.hit.ConversationID), append(seqs, int32(h.hit.Seq))
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	return c.each(ctx, "parts_of", func(rows *sql.Rows) error {
		var id string
		var b Block
		err := rows.Scan(&id, &b.Type, textOf(&b.Text), textOf(&b.Tool), textOf(&b.Input), textOf(&b.Output), textOf(&b.FileName))
		if h := byID[id]; h != nil {
			h.texts = append(h.texts, b.texts()...)
		}
		return err
	}, sql.Named("conversations", conversations), sql.Named("seqs", seqs))
}

func (h *candidateHit) message(m *Message) {
	h.hit = GrepHit{Kind: MessageKind, ID: m.ID, ConversationID: m.ConversationID, Seq: m.Seq, Role: m.Role, Speaker: m.Speaker, At: m.SaidAt,
		Score: h.score, SetAside: m.SetAside}
	h.texts = []string{text.IndexedText(m.Text)}
	if m.Caption != "" {
		h.texts = append(h.texts, m.Caption)
	}
}

func (h *candidateHit) summary(s *Summary) {
	h.hit = GrepHit{Kind: SummaryKind, ID: s.ID, ConversationID: s.ConversationID, Seq: s.FirstSeq, Role: s.Kind, At: s.LatestAt, Score: h.score}
	h.texts = []string{s.Text}
}

func (h *candidateHit) memory(m *Memory) {
	h.hit = GrepHit{Kind: MemoryKind, ID: m.ID, Role: string(m.Category), At: m.CreatedAt, Score: h.score}
	for _, s := range []string{m.Text, m.L0, m.L1, m.L2} {
		if s != "" && !slices.Contains(h.texts, s) {
			h.texts = append(h.texts, s)
		}
	}
}

// grepWidth is how many code points of a text are shown.
const grepWidth = 200

// showWords gives a hit the snippet with most of the words.
func (g *grep) showWords(h *candidateHit) {
	best, most := "", -1
	for _, s := range h.texts {
		if n := bits.OnesCount64(uint64(g.maskOf(s))); n > most && strings.TrimSpace(s) != "" {
			best, most = s, n
		}
	}
	terms := map[string]bool{}
	for _, term := range g.words.terms {
		terms[term] = true
	}
	h.hit.Snippet, h.hit.Spans = text.Snippet(best, terms, g.engine.analyzer, grepWidth), []Span{}
	for _, token := range g.engine.analyzer.Tokens(h.hit.Snippet) {
		if n := len(h.hit.Spans); !terms[token.Term] {
			continue
		} else if n > 0 && token.Start <= h.hit.Spans[n-1].End { // pairs of characters overlap
			h.hit.Spans[n-1].End = max(h.hit.Spans[n-1].End, token.End)
		} else {
			h.hit.Spans = append(h.hit.Spans, Span{token.Start, token.End})
		}
	}
}

// showMatch gives a hit the snippet around the first match.
func (g *grep) showMatch(h *candidateHit) {
	for _, s := range h.texts {
		at := g.regex.compiled.FindStringIndex(s)
		if at == nil {
			continue
		}
		line, first, last := text.MatchSnippet(s, at[0], at[1])
		if h.hit.Snippet, h.hit.Spans = line, []Span{}; first < last {
			h.hit.Spans = append(h.hit.Spans, Span{first, last})
		}
		return
	}
}

// maxGrepText is how long the text of a result may be.
const maxGrepText = 40_000

// Text renders a result for a model or a terminal, a line for each hit.
func (r *GrepResult) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s (%s)", counted(len(r.Hits), "hit"), quote(r.request.Pattern), r.request.Mode)
	if r.request.AllConversations {
		b.WriteString(" in all conversations")
	}
	if at := r.request.Since; !at.IsZero() {
		fmt.Fprintf(&b, ", since %s", stamp(at, r.location))
	}
	if at := r.request.Before; !at.IsZero() {
		fmt.Fprintf(&b, ", before %s", stamp(at, r.location))
	}
	b.WriteByte('\n')
	if len(r.Hits) > 0 {
		b.WriteString(untrusted)
	}
	for i, h := range r.Hits {
		line := fmt.Sprintf("[%s] (%s, %s", h.ID, or(h.Speaker, h.Role), stamp(h.At, r.location))
		if h.Summary != "" {
			line += ", in " + h.Summary
		}
		if h.SetAside != "" {
			line += ", set aside: " + string(h.SetAside)
		}
		line += "): " + h.Snippet + "\n"
		if b.Len()+len(line) > maxGrepText {
			fmt.Fprintf(&b, "… and %s more\n", thousands(len(r.Hits)-i))
			break
		}
		b.WriteString(line)
	}
	if r.Truncated {
		b.WriteString("Not everything was searched: the time ran out. Narrow the search down.\n")
	}
	return b.String()
}
