package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// texts reads what candidates say, and what is told of them. What tools were given and gave, and files, count only where a message lacks
// something.
func (g *grep) texts(ctx context.Context, c *duck.Conn, some []candidateHit, lacks func(*candidateHit) bool) error {
	if len(some) == 0 {
		return nil
	}
	byNo, docNos := make(map[int32]*candidateHit, len(some)), make([]int32, len(some))
	for i := range some {
		byNo[some[i].docNo], docNos[i] = &some[i], some[i].docNo
	}
	c.List(docNos)
	blocks := map[int32]map[int32]conversation.Block{} // of documents, by ordinal
	err := c.Each(ctx, "grep_texts", func(rows *sql.Rows) error {
		var docNo int32
		var said any
		var told GrepHit
		var place, first, last sql.NullInt32
		if err := rows.Scan(&docNo, &said, duck.TextOf(&told.ID), duck.TextOf(&told.ConversationID), &place, &told.Role, duck.TextOf(&told.Speaker), duck.TimeOf(&told.At),
			duck.TextOf(&told.SetAside), duck.TextOf(&told.Summary), duck.TextOf(&told.SourceKind), &first, &last); err != nil {
			return err
		}
		if told.ID != "" {
			told.Seq, told.FirstLine, told.LastLine = int(place.Int32), int(first.Int32), int(last.Int32)
			if first.Valid { // of a note, whose path stands in the place of a role
				told.Path, told.Role = told.Role, ""
			}
			byNo[docNo].tell(told, stringsOf(said))
			return nil
		}
		if blocks[docNo] == nil {
			blocks[docNo] = map[int32]conversation.Block{}
		}
		t := stringsOf(said)
		blocks[docNo][place.Int32] = conversation.Block{Type: conversation.BlockType(told.Role), Text: t[0], Tool: t[1], Input: t[2], Output: t[3], FileName: t[4]}
		return nil
	})
	if err != nil {
		return err
	}
	for docNo, of := range blocks {
		h := byNo[docNo]
		if !lacks(h) {
			continue
		}
		for _, ordinal := range slices.Sorted(maps.Keys(of)) {
			b := of[ordinal]
			h.texts = append(h.texts, b.Texts()...)
		}
	}
	return nil
}

// stringsOf is a list as the driver gives it.
func stringsOf(list any) []string {
	values, _ := list.([]any)
	all := make([]string, len(values))
	for i := range values {
		all[i], _ = values[i].(string)
	}
	return all
}

// tell gives a candidate its texts, with what is told of it.
func (h *candidateHit) tell(told GrepHit, texts []string) {
	h.hit = told
	h.hit.Kind, h.hit.Score = h.kind, h.score
	if told.SetAside != "" {
		h.hit.Summary = "" // which has its place, but was not made from it
	}
	for i, said := range texts {
		switch {
		case i == 0 && h.kind == kinds.Message:
			h.texts = append(h.texts, standin.IndexedText(said))
		case i == 0 || said != "" && !slices.Contains(h.texts, said):
			h.texts = append(h.texts, said)
		}
	}
}

// grepWidth is how many code points of a text are shown.
const grepWidth = 200

// showWords gives a hit the snippet with most of the words and phrases.
func (g *grep) showWords(h *candidateHit) {
	best, most := "", -1
	for _, s := range h.texts {
		n := bits.OnesCount64(uint64(g.maskOf(s)))
		for _, u := range g.words.units {
			if u.phrase != "" && g.tools.index.Analyzer.MatchPhrase(s, u.phrase) {
				n++
			}
		}
		if n > most && strings.TrimSpace(s) != "" {
			best, most = s, n
		}
	}
	terms := map[string]bool{}
	for _, term := range g.words.terms {
		terms[term] = true
	}
	h.hit.Snippet, h.hit.Spans = text.Snippet(best, terms, g.tools.index.Analyzer, grepWidth), []Span{}
	for _, token := range g.tools.index.Analyzer.Tokens(h.hit.Snippet) {
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
	fmt.Fprintf(&b, "%s for %s (%s)", counted(len(r.Hits), "hit"), fault.Quote(r.request.Pattern), r.request.Mode)
	if r.request.AllConversations {
		b.WriteString(" in all conversations")
	}
	if at := r.request.Since; !at.IsZero() {
		fmt.Fprintf(&b, ", since %s", conversation.Moment(at, r.location))
	}
	if at := r.request.Before; !at.IsZero() {
		fmt.Fprintf(&b, ", before %s", conversation.Moment(at, r.location))
	}
	b.WriteByte('\n')
	if len(r.Hits) > 0 {
		b.WriteString(untrusted)
	}
	for i, h := range r.Hits {
		by := assemble.Byline(h.Speaker, h.Role)
		if h.Path != "" {
			by = fmt.Sprintf("%s:%d-%d", h.Path, h.FirstLine, h.LastLine)
		}
		line := fmt.Sprintf("[%s] (%s, %s", h.ID, by, conversation.Moment(h.At, r.location))
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
