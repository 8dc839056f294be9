package build

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// fit makes the context fit its budget: what must be shown first, then reductions in the preset's order. Nothing is dropped without a note.
func (g *building) fit() {
	g.fitTools()
	g.fitOnce()
	if g.weigh(); g.preset.Pressure.Note && g.room() > 0 && g.has(State) && (g.built.Trim.Trimmed || g.built.Pressure.Left <= g.preset.Pressure.Tight) {
		text := "There is little room left in this context."
		if g.built.Trim.Trimmed {
			text = "Parts of the conversation were left out of this context, for there is no room."
		}
		g.add(State, "pressure", "pressure", text, ReasonPressure)
		g.fitOnce()
		g.weigh()
	}
}

// room is how much may be shown; 0: there is no bound.
func (g *building) room() int {
	if b := &g.preset.Budget; b.Max > 0 {
		return max(1, b.Max-b.Reserve)
	}
	return 0
}

func (g *building) fitOnce() {
	b, room := &g.preset.Budget, g.room()
	switch {
	case room == 0:
	case b.Of == OfHistory && g.preset.Window.From == FromContext && b.Trim == string(window.ContiguousSuffix): // assemble has fitted it
	case b.Of == OfHistory:
		g.fitHistory(room)
		g.built.OverBudget = g.sum(History) > room
	default:
		g.fitAll(room)
	}
}

// fitTools bounds the section of tools by itself: the oldest snippets go.
func (g *building) fitTools() {
	if limit := g.preset.Tools.Max; limit > 0 {
		g.dropOldest(ToolSection, func() bool { return g.sum(ToolSection) > limit }, DroppedRoom)
	}
}

// fitAll reduces in the preset's order, each only as far as need be. At last summaries are shortened from their ends.
func (g *building) fitAll(room int) {
	over := func() bool { return g.total() > room }
	for _, step := range g.preset.Budget.Reduce {
		if !over() {
			break
		}
		switch step {
		case ReduceHistory:
			g.fitHistory(max(1, room-(g.total()-g.sum(History))))
		case ReduceTools:
			g.shortenResults(over)
			g.dropOldest(ToolSection, over, DroppedBudget)
		case ReduceRecall:
			g.dropHits(over)
		}
	}
	if over() && g.preset.Budget.Trim != string(window.NoTrim) {
		for _, section := range []string{SummarySection, State} {
			for _, it := range g.parts[section] {
				if it.Kind == "summary" && it.Kept && over() {
					left := it.Cost - (g.total() - room)
					it.Text = shorterSummary(it.Text, func(s string) bool { return g.cost(s) <= left })
					it.Cost = g.cost(it.Text)
					g.cut(it)
					if it.Text == "" {
						it.Kept, it.Cost = false, 0
						g.dropped(it, DroppedBudget)
					}
				}
			}
		}
	}
	if g.built.OverBudget = over(); g.built.OverBudget && g.preset.Budget.Trim == string(window.NoTrim) {
		g.notice("the context is over its budget: compaction is due")
	}
}

// fitHistory fits the rows of the history into what there is for them.
func (g *building) fitHistory(room int) {
	b := &g.preset.Budget
	var items []*Item
	var rows []*row // of items; nil for a snippet
	of := map[*Item]*row{}
	for _, r := range g.shown {
		of[r.item] = r
	}
	for _, it := range g.parts[History] {
		if it.Kept {
			items, rows = append(items, it), append(rows, of[it])
		}
	}
	costs, fixed, protected := make([]int, len(items)), make([]bool, len(items)), make([]bool, len(items))
	sure := g.sure()
	protect := g.preset.Guarantee.Protect
	for i := len(items) - 1; i >= 0; i-- {
		costs[i], fixed[i] = items[i].Cost, sure[items[i]]
		if r := rows[i]; r != nil && !r.event && protect > 0 {
			protected[i] = true
			protect--
		}
	}
	var f window.Fitted
	switch window.Trim(b.Trim) {
	case window.NoTrim:
		return
	case window.BestFit:
		f = window.Best(costs, fixed, protected, room)
	default:
		f = window.Suffix(costs, fixed, room, window.Oversize(b.Oversize))
	}
	if g.preset.Tools.View == ViewFull { // results whose call has gone go too
		for i := range items {
			if f.Kept[i] && !fixed[i] && items[i].Role == window.Tool && i > 0 && !f.Kept[i-1] {
				f.Kept[i] = false
			}
		}
	}
	for i, it := range items {
		switch {
		case !f.Kept[i]:
			it.Kept, it.Text = false, ""
			g.dropped(it, DroppedBudget)
		case i == f.Cut:
			g.cutTail(it, rows[i], room)
		}
	}
}

// sure are the items that are guaranteed.
func (g *building) sure() map[*Item]bool {
	sure := map[*Item]bool{}
	for _, u := range g.units {
		for _, r := range u.rows {
			if u.kept && (u.recent || u.answers) && r.item != nil {
				sure[r.item] = true
			}
		}
	}
	return sure
}

// cutTail shows the end of a row, as much as there is room for, and one character at least.
func (g *building) cutTail(it *Item, r *row, room int) {
	body := it.Text
	if r != nil {
		body = r.body
	}
	runes := []rune(body)
	head := strings.TrimSuffix(it.Text, body) // whose it is, and when it was said
	cost := func(n int) int {
		tail := string(runes[len(runes)-n:])
		if over := g.preset.Budget.RoleOverhead; over > 0 {
			return g.cost(tail) + utf8.RuneCountInString(it.Role) + over
		}
		return g.cost(head + tail)
	}
	n := len(runes)
	for low := 1; low < n; {
		if middle := (low + n + 1) / 2; cost(middle) <= room {
			low = middle
		} else {
			n = middle - 1
		}
	}
	n = min(max(n, 1), len(runes))
	tail := string(runes[len(runes)-n:])
	if r != nil {
		r.body = tail
		message := *r.message
		message.Text, message.Blocks = tail, nil
		r.message = &message
	}
	it.Text, it.Cost = head+tail, cost(n)
	g.cut(it)
}

// shortenResults shows what tools gave as short lines, the oldest first.
func (g *building) shortenResults(over func() bool) {
	for _, r := range g.shown {
		if !over() {
			return
		}
		if !r.item.Kept || r.summary || g.preset.Tools.View != ViewFull {
			continue
		}
		message := *r.message
		message.Blocks = slices.Clone(message.Blocks)
		shortened := false
		for i := range message.Blocks {
			if b := &message.Blocks[i]; b.Type == conversation.ToolResultBlock && utf8.RuneCountInString(b.Output) > g.preset.Tools.Chars {
				b.Output, shortened = line(b.Output, g.preset.Tools.Chars), true
			}
		}
		if shortened {
			r.message = &message
			r.body = g.said(&message)
			r.item.Text = g.stamp(&message) + g.label(&message) + ": " + r.body
			r.item.Cost = g.cost(r.item.Text)
			g.cut(r.item)
		}
	}
}

// dropOldest drops items of a section until that is enough.
func (g *building) dropOldest(section string, over func() bool, reason string) {
	for _, it := range g.parts[section] {
		if it.Kept && it.Kind == "tool" && over() {
			it.Kept, it.Text = false, ""
			g.dropped(it, reason)
			g.built.Trim.Tools++
		}
	}
}

// dropHits drops the last hits.
func (g *building) dropHits(over func() bool) {
	section := g.preset.Recall.Section
	if g.preset.Hints.On {
		section = g.preset.Hints.Section
	}
	for _, it := range slices.Backward(g.parts[section]) {
		if it.Kept && it.recalled() && over() {
			it.Kept, it.Text = false, ""
			g.dropped(it, DroppedBudget)
		}
	}
}

func (g *building) dropped(it *Item, reason string) {
	it.Reason = reason
	g.built.Trim.Dropped = append(g.built.Trim.Dropped, it.Name)
	if it.Kind == "message" {
		g.built.Trim.Messages++
		g.built.Counts.MessagesLeft++
	}
}

func (g *building) cut(it *Item) {
	if !slices.Contains(g.built.Trim.Cut, it.Name) {
		g.built.Trim.Cut = append(g.built.Trim.Cut, it.Name)
	}
}

// sum is what is shown of a section costs.
func (g *building) sum(section string) (cost int) {
	for _, it := range g.parts[section] {
		if it.Kept {
			cost += it.Cost
		}
	}
	return cost
}

func (g *building) total() (cost int) {
	for _, section := range g.preset.Sections {
		cost += g.sum(section)
	}
	return cost
}

// weigh says what had to give way, and how much room is left.
func (g *building) weigh() {
	t, room := &g.built.Trim, g.room()
	t.Trimmed = len(t.Dropped)+len(t.Cut)+t.Unseen > 0
	var notes []string
	for _, n := range []struct {
		n    int
		what string
	}{{t.Messages, "messages"}, {t.Tools, "tool snippets"}, {len(t.Dropped) - t.Messages - t.Tools, "other parts"}} {
		if n.n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s left out", n.n, n.what))
		}
	}
	if len(t.Cut) > 0 {
		notes = append(notes, fmt.Sprintf("%d shortened", len(t.Cut)))
	}
	if t.Unseen > 0 {
		notes = append(notes, fmt.Sprintf("%d messages that nobody has seen left out", t.Unseen))
	}
	t.Note = strings.Join(notes, ", ")
	s := Headroom{Level: "low"}
	if room > 0 {
		used := g.total()
		if g.preset.Budget.Of == OfHistory {
			used = g.sum(History)
		}
		s.Left = room - used
		switch p := &g.preset.Pressure; {
		case p.High > 0 && s.Left < p.High:
			s.Reasons = append(s.Reasons, "low headroom")
			s.Level = "high"
		case p.Narrow > 0 && s.Left < p.Narrow:
			s.Reasons = append(s.Reasons, "narrow headroom")
		}
	}
	if t.Messages > 0 {
		s.Reasons = append(s.Reasons, "messages left out")
		s.Level = "high"
	}
	if t.Tools > 0 {
		s.Reasons = append(s.Reasons, "tool snippets left out")
	}
	if s.Level == "low" && len(s.Reasons) > 0 {
		s.Level = "moderate"
	}
	g.built.Pressure = s
}

// shorterSummary takes away the end of what a summary says, so that its element fits; where nothing of it would be left, the whole.
func shorterSummary(text string, fits func(string) bool) string {
	open := strings.Index(text, ">\n") + len(">\n")
	if i := strings.Index(text, "<content>\n"); i >= 0 {
		open = i + len("<content>\n")
	}
	end := strings.LastIndex(text, "\n</summary>")
	if i := strings.LastIndex(text, "\n  </content>"); i >= 0 {
		end = i
	}
	if end <= open {
		return ""
	}
	said := longest(text[open:end], func(s string) bool { return s == "" || fits(text[:open]+s+text[end:]) })
	if strings.TrimSpace(said) == "" {
		return ""
	}
	return text[:open] + said + text[end:]
}

// longest is the longest beginning of a text that fits; that of nothing does.
func longest(text string, fits func(string) bool) string {
	runes := []rune(text)
	n, most := 0, len(runes)
	for n < most {
		if middle := (n + most + 1) / 2; fits(string(runes[:middle])) {
			n = middle
		} else {
			most = middle - 1
		}
	}
	return string(runes[:n])
}
