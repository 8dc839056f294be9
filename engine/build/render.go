package build

import (
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// render puts the sections together in the preset's order, and makes the messages that models accept.
func (g *building) render() {
	var system []string
	for _, section := range g.preset.Sections {
		s := Section{Name: section}
		var texts, hits []string
		for _, it := range g.parts[section] {
			g.built.Items = append(g.built.Items, *it)
			if !it.Kept {
				continue
			}
			s.Cost += it.Cost
			if it.recalled() {
				hits = append(hits, it.Text)
			} else if it.Text != "" {
				texts = append(texts, it.Text)
			}
		}
		if len(hits) > 0 {
			texts = append(texts, framed(strings.Join(hits, "\n")))
		}
		if s.Text = strings.Join(texts, "\n"); s.Text == "" && s.Cost == 0 {
			continue
		}
		g.built.Sections = append(g.built.Sections, s)
		if s.Text != "" && !slices.Contains([]string{SummarySection, History, ToolSection, Quote, Input}, section) {
			system = append(system, "## "+section+"\n"+s.Text)
		}
	}
	g.built.SystemText = strings.Join(system, "\n\n")
	g.built.Messages = g.messages()
	g.count()
}

// messages are what is shown of the history as messages: summaries first, or where they stand, the input last.
func (g *building) messages() []assemble.AssembledMessage {
	var all []*conversation.Message
	tail := 0
	if s := g.summary; s != nil && s.Kept && s.Section == SummarySection {
		all = append(all, &conversation.Message{ID: s.ID, Role: window.User, Text: s.Text})
	}
	for _, r := range g.shown {
		if !r.item.Kept && !slices.ContainsFunc(r.tools, func(it *Item) bool { return it.Kept && it.Section == History }) {
			continue
		}
		if !r.tail {
			tail = len(all) + 1
		}
		all = append(all, g.message(r))
	}
	if g.preset.Window.From == FromMessages { // every call that is shown has just been made
		tail = 0
	}
	messages := assemble.Show(all, tail, g.zone)
	input := &conversation.Message{Role: window.User, Text: g.input}
	for _, s := range g.built.Sections {
		if s.Name == ToolSection && s.Text != "" { // what tools gave is no word of the system's
			input.Text = assemble.Untrusted("tools", s.Text) + "\n\n" + input.Text
		}
	}
	for _, it := range g.parts[Quote] {
		if it.Kept && it.Text != "" {
			input.Text = "In answer to: " + it.Text + "\n\n" + input.Text
		}
	}
	if strings.TrimSpace(input.Text) != "" {
		messages = append(messages, assemble.Show([]*conversation.Message{input}, 0, g.zone)...)
	}
	return messages
}

// message is a row as a message: as it is stored where tools are shown whole, else as its text is shown.
func (g *building) message(r *row) *conversation.Message {
	if g.preset.Window.From == FromContext || g.preset.Tools.View == ViewFull {
		m := *r.message
		if m.Fallback && g.preset.Labels.Fallback != "" {
			m.Text, m.Blocks = g.preset.Labels.Fallback, nil
		}
		return &m
	}
	m := *r.message
	m.Blocks, m.Caption = nil, ""
	text := strings.TrimPrefix(r.item.Text, g.stamp(&m)+g.label(r.message)+": ")
	if m.Role == window.User && g.preset.Labels.Speaker && g.label(r.message) != g.preset.Labels.User {
		text = g.label(r.message) + ": " + text
	}
	lines := []string{g.stamp(&m) + text}
	if !r.item.Kept {
		lines = nil
	}
	for _, it := range r.tools {
		if it.Kept && it.Section == History {
			lines = append(lines, it.Text)
		}
	}
	m.Text = strings.Join(lines, "\n")
	return &m
}

// count counts what is shown.
func (g *building) count() {
	c := &g.built.Counts
	for i := range g.built.Items {
		it := &g.built.Items[i]
		if !it.Kept {
			continue
		}
		c.Cost += it.Cost
		switch {
		case it.Kind == "message":
			c.Messages++
		case it.Kind == "summary":
			c.Summaries++
		case it.Kind == "tool":
			c.ToolSnippets++
		case it.recalled() || it.Section == Memory:
			c.MemoryPointers++
		}
	}
	c.Budget = g.room()
}
