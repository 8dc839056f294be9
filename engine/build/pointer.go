package build

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// pointer is a document that hints may point at.
type pointer struct {
	kind     string // of its item
	name     string // the same in every copy of the file
	hit      recall.Hit
	said     string // its text on one line
	from, to int    // bytes of it that are shown
	evidence Evidence
	setup    bool
	near     int // what its conversation's relation counts
}

// judge says what a document counts: by its words, by its meaning, and each time for where it is from.
func (g *building) judge(hit recall.Hit, needles []needle, talks map[string]talk, learned bool) pointer {
	h, a := &g.preset.Hints, g.builder.index.Analyzer
	p := pointerTo(hit, h, talks[hit.ConversationID].name)
	f := find(a, p.said, needles)
	why, besides := f.why, 0
	add := func(what string, n int) {
		if n > 0 {
			besides += n
			why = append(why, fmt.Sprintf("%s +%d", what, n))
		}
	}
	cosine := 0.0
	if c := hit.Signals.Cosine; c != nil && h.Meaning > 0 && *c >= h.LeastCosine {
		cosine = *c
		why = append(why, fmt.Sprintf("meaning %.2f +%d", cosine, int(math.Round(cosine*float64(h.Meaning)))))
	}
	source := p.source(h, learned)
	add(source, h.Sources[source])
	if t, ok := talks[hit.ConversationID]; ok {
		if p.setup = t.scope == g.conversation.Scope; p.setup {
			add("the same scope", h.Setup)
		}
		before := besides
		switch mine := g.conversation; {
		case t.parent == mine.ID || mine.ParentID == t.id:
			add("related", h.Related)
		case t.parent != "" && t.parent == mine.ParentID:
			add("sibling", h.Sibling)
		}
		p.near = besides - before
	}
	if o := &g.request.Outcome; o.Title != "" {
		if a.MatchPhrase(p.said, o.Title) {
			add("outcome", h.Outcome)
		}
		met, tokens := 0, a.Tokens(p.said)
		for _, criterion := range o.Criteria {
			if hasAll(a, tokens, criterion) {
				met++
			}
		}
		add("criteria", h.Criterion*min(met, h.Criteria))
	}
	var scores []int
	if f.score > 0 {
		scores = append(scores, f.score+besides)
	}
	if cosine > 0 {
		scores = append(scores, int(math.Round(cosine*float64(h.Meaning)))+besides)
	}
	p.evidence = h.Weigh(scores...)
	p.evidence.Why = why
	p.from, p.to = around(p.said, f.first, h.Snippet, h.Before)
	return p
}

// source is what a document is from, as Hints.Sources names it.
func (p *pointer) source(h *Hints, learned bool) string {
	_, named := h.Sources[p.hit.SourceKind]
	switch {
	case p.kind == memoryItem && learned:
		return "learning"
	case p.kind != sessionItem:
		return p.kind
	case p.hit.Kind == kinds.Summary:
		return "summary"
	case p.hit.SourceKind != "" && named:
		return p.hit.SourceKind
	case p.hit.Role == "tool":
		return "trace"
	}
	return "message"
}

// pointerTo names a document.
func pointerTo(hit recall.Hit, h *Hints, talk string) pointer {
	p := pointer{kind: memoryItem, name: hit.ID, hit: hit, said: strings.Join(strings.Fields(hit.Text), " ")}
	switch {
	case hit.Kind == kinds.Note:
		p.kind, p.name = noteItem, fmt.Sprintf("%s:%d-%d", hit.Path, hit.FirstLine, hit.LastLine)
		if h.isSkill(hit.Path) {
			p.kind = skillItem
		}
	case hit.Kind != kinds.Memory:
		p.kind, p.name = sessionItem, fmt.Sprintf("%s#%d", talk, hit.Seq)
	}
	return p
}

// choose takes those that are shown: the best by score, the same setup, relation and time, so many of each kind, and of a conversation one.
func (h *Hints) choose(all []pointer) (chosen []pointer) {
	slices.SortStableFunc(all, func(a, b pointer) int {
		return cmp.Or(b.evidence.Score-a.evidence.Score, isTrue(b.setup)-isTrue(a.setup), b.near-a.near, b.hit.CreatedAt.Compare(a.hit.CreatedAt), strings.Compare(a.name, b.name))
	})
	talks := map[string]bool{}
	for _, room := range []struct {
		kinds []string
		n     int
	}{{[]string{memoryItem, noteItem}, h.Memories}, {[]string{skillItem}, h.Skills}, {[]string{sessionItem}, h.Sessions}} {
		for _, p := range all {
			of := p.hit.ConversationID
			if room.n == 0 || !slices.Contains(room.kinds, p.kind) || p.kind == sessionItem && talks[of] {
				continue
			}
			talks[of] = p.kind == sessionItem
			chosen = append(chosen, p)
			room.n--
		}
	}
	return chosen
}

// line is a pointer as a model is shown it: escaped, on one line. What is no memory is called by its name, which is the same in every copy.
func (p *pointer) line() string {
	said := stretch(p.said, p.from, p.to)
	if p.kind == memoryItem {
		return hitLine(p.hit, said)
	}
	about := p.name
	if whose := cmp.Or(p.hit.Speaker, p.hit.Role); whose != "" {
		about += ", " + whose
	}
	return fmt.Sprintf("<%s about=\"%s\" scope=\"%s\" date=\"%s\">%s</%s>", p.kind, escaped(about), escaped(p.hit.Scope), p.hit.CreatedAt.Format(time.DateOnly), escaped(said), p.kind)
}

// escaped makes a text safe inside an element, and one line of it.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.Join(strings.Fields(s), " "))) // a builder takes all
	return b.String()
}
