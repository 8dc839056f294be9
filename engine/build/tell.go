package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// tell writes what is shown of the rows that take part, each as an item of the history, and what tools did as the view says. What is left out is an item too.
func (g *building) tell() error {
	if g.alone {
		g.tellAlone()
		return nil
	}
	order := g.units
	if g.preset.Guarantee.ReplyFirst {
		order = slices.Clone(order)
		slices.SortStableFunc(order, func(a, b *unit) int { return isTrue(b.answers) - isTrue(a.answers) })
	}
	var shown []*row
	for _, u := range order {
		for _, r := range u.rows {
			if !u.kept {
				g.out(r, u.reason)
				continue
			}
			g.write(r, u.reason)
			shown = append(shown, r)
		}
	}
	g.shown = g.withTools(shown)
	if g.preset.Window.From == FromMessages {
		g.built.Counts.MessagesLeft = 0
		for _, r := range g.rows {
			if !slices.Contains(shown, r) {
				g.built.Counts.MessagesLeft++
			}
		}
	}
	return nil
}

func isTrue(is bool) int {
	if is {
		return 1
	}
	return 0
}

// tellAlone shows what is answered, and nothing else.
func (g *building) tellAlone() {
	for _, r := range g.rows {
		if r != g.answers {
			g.out(r, DroppedWindow)
		}
	}
	m := g.answers.message
	said := strings.TrimSpace(m.Text)
	it := &Item{Section: History, Kind: "message", Name: name(m), ID: m.ID, Seq: m.Seq, Role: m.Role, Reason: DroppedEmpty}
	if said != "" {
		if n := g.preset.Guarantee.AloneChars; n > 0 && utf8.RuneCountInString(said) > n {
			said = string([]rune(said)[:n])
		}
		it.Kept, it.Reason, it.Text = true, ReasonAlone, "What follows answers this notice, which nobody asked for; be brief.\n"+said
		it.Cost = g.cost(it.Text)
		g.shown = []*row{{message: &conversation.Message{ID: m.ID, Key: m.Key, Seq: m.Seq, Role: m.Role, Text: said, SaidAt: m.SaidAt}, item: it}}
	}
	g.parts[History] = append(g.parts[History], it)
}

// write makes the item of a row.
func (g *building) write(r *row, reason string) {
	m := r.message
	section := History
	if r.summary {
		if slices.Contains(g.preset.Sections, SummarySection) {
			section = SummarySection
		}
		r.item.Section, r.item.Kept, r.item.Reason, r.item.Cost = section, true, reason, g.cost(r.item.Text)
		g.parts[section] = append(g.parts[section], r.item)
		return
	}
	it := &Item{Section: section, Kind: "message", Name: name(m), ID: m.ID, Seq: m.Seq, Role: m.Role, Kept: true, Reason: reason}
	r.item = it
	g.parts[section] = append(g.parts[section], it)
	said := r.body // of a context, as the model reads it
	if g.preset.Window.From == FromMessages {
		said = g.said(m)
	}
	if g.preset.Labels.Collapse {
		said = strings.Join(strings.Fields(said), " ")
	}
	r.body = said
	shown := said
	if m.Fallback && g.preset.Labels.Fallback != "" {
		shown = g.preset.Labels.Fallback
	}
	if n := g.preset.Labels.AnswerChars; n > 0 && m.Role == window.Assistant && utf8.RuneCountInString(shown) > n {
		shown = strings.TrimRight(string([]rune(shown)[:n]), " \n") + " [cut]"
	}
	if shown == "" {
		it.Kept, it.Reason = false, DroppedEmpty
		if r.event {
			it.Reason = DroppedTools
		}
		return
	}
	it.Text = g.stamp(m) + g.label(m) + ": " + shown
	g.price(r)
}

// said is what a message says to a model that is shown it as text: of a view without tools no word of theirs.
func (g *building) said(m *conversation.Message) string {
	text := strings.TrimSpace(m.Text)
	if m.Caption != "" {
		text = strings.TrimSpace(text + "\n[shown: " + m.Caption + "]")
	}
	if g.preset.Tools.View != ViewFull {
		if m.Role == window.Tool {
			return ""
		}
		return text
	}
	return strings.TrimSpace(assemble.TextOf(m))
}

// price settles what a row costs.
func (g *building) price(r *row) {
	if over := g.preset.Budget.RoleOverhead; over > 0 {
		r.item.Cost = g.cost(r.body) + utf8.RuneCountInString(r.message.Role) + over
		return
	}
	r.item.Cost = g.cost(r.item.Text)
	if g.preset.Window.From == FromContext && g.preset.Budget.Of == OfHistory {
		r.item.Cost = r.message.Tokens // as the context counts it
	}
}

// stamp is the time before a row.
func (g *building) stamp(m *conversation.Message) string {
	layout := g.preset.Labels.Time
	if layout == "" {
		return ""
	}
	if m.SaidAt.IsZero() {
		return "[unknown] "
	}
	return "[" + m.SaidAt.In(g.zone).Format(layout) + "] "
}

// label is whose a row is, on one line.
func (g *building) label(m *conversation.Message) string {
	l := &g.preset.Labels
	speaker := ""
	if l.Speaker {
		speaker = strings.Join(strings.Fields(m.Speaker), " ")
	}
	switch m.Role {
	case window.Assistant:
		return l.Assistant
	case window.System:
		return l.System
	case window.Tool:
		return l.Tool
	}
	switch {
	case m.SourceKind == "email" && speaker != "": // who wrote from outside
		return speaker
	case slices.Contains(l.ScheduledKinds, m.SourceKind):
		return l.Scheduled
	}
	return cmp.Or(speaker, l.User)
}

// withTools shows what tools did as the view says: whole, as it is; as snippets, after the rows that they belong to or in a section of their own; as a line below
// the answer; or not at all. It gives the rows that still say something.
func (g *building) withTools(rows []*row) []*row {
	switch g.preset.Tools.View {
	case ViewSnippet:
		g.snippets(rows)
	case ViewActions:
		g.actions(rows)
	}
	return slices.DeleteFunc(rows, func(r *row) bool { return !r.item.Kept && len(r.tools) == 0 })
}

// snippets makes an item for each call of a tool, with what it gave.
func (g *building) snippets(rows []*row) {
	section := History
	if slices.Contains(g.preset.Sections, ToolSection) {
		section = ToolSection
	}
	at := map[string]*Item{}
	for _, r := range rows {
		if r.summary {
			continue
		}
		for i := range r.message.Blocks {
			b := &r.message.Blocks[i]
			switch {
			case b.Type == conversation.ToolCallBlock:
				it := g.snippet(r, section, i, fmt.Sprintf("%s: %s %s", g.preset.Labels.Tool, cmp.Or(b.Tool, "tool"), line(b.Input, 80)))
				at[b.CallID] = it
			case b.Type == conversation.ToolResultBlock && at[b.CallID] != nil && b.CallID != "":
				it := at[b.CallID]
				it.Text += " → " + g.brief(b)
				it.Cost = g.cost(it.Text)
				delete(at, b.CallID)
			case b.Type == conversation.ToolResultBlock:
				g.snippet(r, section, i, fmt.Sprintf("%s: %s → %s", g.preset.Labels.Tool, cmp.Or(b.Tool, "tool"), g.brief(b)))
			}
		}
		if r.event && !r.item.Kept && r.item.Reason == DroppedTools { // its snippets stand for it
			g.parts[History] = slices.DeleteFunc(g.parts[History], func(it *Item) bool { return it == r.item })
		}
	}
}

// snippet is a line of what a tool did.
func (g *building) snippet(r *row, section string, i int, text string) *Item {
	m := r.message
	it := &Item{Section: section, Kind: "tool", Name: fmt.Sprintf("%s/%d", name(m), i), ID: m.ID, Seq: m.Seq, Role: m.Role, Kept: true, Reason: ReasonWindow,
		Text: g.stamp(m) + text}
	it.Cost = g.cost(it.Text)
	r.tools = append(r.tools, it)
	g.parts[section] = append(g.parts[section], it)
	return it
}

// brief is what a tool gave, on one short line.
func (g *building) brief(b *conversation.Block) string {
	text := cmp.Or(line(b.Output, g.preset.Tools.Chars), "empty")
	if b.IsError {
		text = "failed: " + text
	}
	return text
}

// actionsOf are what was done on the way to a message: as the host says, or else the tools that it calls.
func (g *building) actionsOf(m *conversation.Message) []string {
	if len(m.Actions) > 0 {
		return m.Actions
	}
	var all []string
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Type == conversation.ToolCallBlock {
			all = append(all, line(cmp.Or(b.Tool, "tool")+" "+b.Input, 80))
		}
	}
	return all
}

// actions puts a line below each answer of what was done for it, and drops the rows that only did it.
func (g *building) actions(rows []*row) {
	var waiting []string
	for _, r := range rows {
		m := r.message
		switch {
		case m.Role == window.User:
			waiting = nil
		case m.Role == window.Assistant && !r.summary:
			done := g.actionsOf(m)
			if len(m.Actions) == 0 {
				done = append(waiting, done...)
			}
			if waiting = done; r.item.Kept {
				waiting = nil
				if text := actionsLine(done, g.preset.Tools.Most); text != "" {
					r.item.Text += "\n" + text
					r.actions = done
					g.price(r)
				}
			}
		}
	}
}

// actionsLine names actions in brackets, so many at most.
func actionsLine(actions []string, most int) string {
	if len(actions) == 0 {
		return ""
	}
	shown := make([]string, 0, len(actions))
	for _, a := range actions {
		if a = strings.Join(strings.Fields(a), " "); a != "" {
			shown = append(shown, a)
		}
	}
	if more := len(shown) - most; more > 0 {
		shown = append(shown[:most:most], fmt.Sprintf("+%d more", more))
	}
	if len(shown) == 0 {
		return ""
	}
	return "[did: " + strings.Join(shown, " | ") + "]"
}

// summaryItem is a summary as an item. Its name says for which messages it stands.
func summaryItem(id, text string, first, last int) *Item {
	return &Item{Section: SummarySection, Kind: "summary", Name: fmt.Sprintf("#%d-%d", first, last), ID: id, Seq: first, Role: window.User, Text: text, Kept: true, Reason: ReasonSummary}
}
