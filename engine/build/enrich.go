package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// absent stands for a section that has nothing, where the preset says so.
const absent = "(nothing)"

// enrich adds what the host gives, excerpts of files, the state, how focused the agent is, what is recalled, and the input.
func (g *building) enrich(ctx context.Context) error {
	if g.replay != nil {
		if err := g.hostParts(); err != nil {
			return err
		}
	} else {
		g.texts()
	}
	if g.summary != nil && !g.alone {
		g.summary.Section = State
		if g.has(SummarySection) {
			g.summary.Section = SummarySection
		}
		g.summary.Cost = g.cost(g.summary.Text)
		g.parts[g.summary.Section] = append(g.parts[g.summary.Section], g.summary)
	}
	if err := g.recall(ctx); err != nil {
		return err
	}
	if err := g.point(ctx); err != nil {
		return err
	}
	if g.preset.Notices && g.replay == nil {
		for _, section := range g.preset.Sections {
			if !slices.Contains([]string{Input, Quote, ToolSection}, section) && !slices.ContainsFunc(g.parts[section], func(it *Item) bool { return it.Kept }) && g.filled(section) {
				g.add(section, "text", section+".none", absent, ReasonHost)
			}
		}
	}
	g.cap()
	return nil
}

// filled reports whether a section would have something at other times, so that its absence is worth a word.
func (g *building) filled(section string) bool {
	_, file := g.preset.Excerpts[section]
	return file || section == History || section == RecallSection && g.preset.Recall.On
}

func (g *building) has(section string) bool { return slices.Contains(g.preset.Sections, section) }

// add puts a text into a section, if the preset has that and the text says something.
func (g *building) add(section, kind, name, text, reason string) *Item {
	if text == "" || !g.has(section) {
		return nil
	}
	it := &Item{Section: section, Kind: kind, Name: name, Text: text, Kept: true, Reason: reason, Cost: g.cost(text)}
	g.parts[section] = append(g.parts[section], it)
	return it
}

// texts adds what the host gives.
func (g *building) texts() {
	r := &g.request
	for _, section := range g.preset.Sections {
		g.add(section, "text", section, strings.TrimSpace(r.Texts[section]), ReasonHost)
		n := 0
		for _, f := range r.Files {
			if f.Section == section {
				n++
				g.addFile(f, n)
			}
		}
	}
	for i, p := range r.Pointers {
		g.add(Memory, "text", fmt.Sprintf("pointer-%d", i+1), "- "+line(p, 300), ReasonHost)
	}
	g.add(State, "text", State, strings.TrimSpace(r.State), ReasonHost)
	if g.preset.Recall.Focus || r.Focus != nil || r.Dose != nil {
		score, _ := r.focus() // validate has tried it
		g.built.Recall.Focus = focusLine(score)
		g.add(Focus, "focus", Focus, g.built.Recall.Focus, ReasonHost)
	}
	if g.system != "" {
		g.add(System, "text", "guidance", g.system, ReasonHost)
	}
	if g.preset.Status {
		g.add(System, "status", "status", g.status(), ReasonHost)
	}
	quote := strings.TrimSpace(r.Quote)
	if runes := []rune(quote); len(runes) > mostQuote {
		quote = string(runes[:mostQuote])
	}
	g.add(Quote, "quote", Quote, quote, ReasonInput)
	g.add(Input, "input", Input, g.input, ReasonInput)
}

// addFile adds an excerpt of a file; where it can't be read or says nothing, a line says so or nothing does, as the preset has it.
func (g *building) addFile(f File, n int) {
	text, notice := f.Text, ""
	shown := cmp.Or(f.Name, f.Section)
	if text == "" {
		b, err := os.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			notice = "is missing"
		case err != nil:
			notice = "can't be read"
		}
		text = conversation.CleanText(string(b))
	}
	if text = excerpt(text, cmp.Or(f.Chars, g.preset.Excerpts[f.Section], 1400)); text == "" && notice == "" {
		notice = "is empty"
	}
	if notice != "" {
		g.notice("%s %s", shown, notice)
		if text = ""; g.preset.Notices {
			text = fmt.Sprintf("(%s %s)", shown, notice)
		}
	}
	g.add(f.Section, "excerpt", fmt.Sprintf("%s:%d", f.Section, n), text, ReasonHost)
}

// status is a line of how full the model's window is: as the provider counted, or else as this context is estimated.
func (g *building) status() string {
	used, whose := g.used, "counted"
	if used == 0 {
		whose = "estimated"
		for _, r := range g.rows {
			used += r.message.Tokens
		}
	}
	of := g.preset.Budget.Max
	if of == 0 {
		return fmt.Sprintf("Context: %dk tokens used (%s).", (used+500)/1000, whose)
	}
	text := fmt.Sprintf("Context: %dk of %dk tokens used, %d %% (%s).", (used+500)/1000, (of+500)/1000, used*100/of, whose)
	switch {
	case used*100 >= of*90:
		text += " Almost full: note now what must last."
	case used*100 >= of*75:
		text += " Filling up: note soon what must last."
	case used*100 >= of*50:
		text += " Half full."
	}
	return text
}

// cap cuts sections that are too long together, as the preset orders.
func (g *building) cap() {
	c := &g.preset.Cap
	if c.Max == 0 {
		return
	}
	var parts []window.Part
	for _, section := range c.Of {
		chars := 0
		for _, it := range g.parts[section] {
			if it.Kept {
				chars += max(it.chars, utf8.RuneCountInString(it.Text))
			}
		}
		parts = append(parts, window.Part{Name: section, Chars: chars})
	}
	cut, over := window.Cap(parts, c.Order, c.Max)
	if over > 0 {
		g.notice("what is never cut is %d characters over the cap", over)
	}
	for _, p := range cut {
		left := p.Chars
		for _, it := range g.parts[p.Name] {
			n := utf8.RuneCountInString(it.Text)
			switch {
			case !it.Kept:
			case it.chars > 0: // as it is recorded
			case left == 0:
				it.Kept, it.Reason, it.Text = false, DroppedCap, ""
				g.built.Trim.Dropped = append(g.built.Trim.Dropped, it.Name)
			case n > left:
				it.Text = string([]rune(it.Text)[:left]) + " [cut]"
				it.Cost = g.cost(it.Text)
				g.built.Trim.Cut = append(g.built.Trim.Cut, it.Name)
				left = 0
			default:
				left -= n
			}
		}
	}
}
