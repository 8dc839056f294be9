package build

import (
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/window"
)

// plan is what planning sees of rows.
func plan(rows []*row) []window.Row {
	all := make([]window.Row, len(rows))
	for i, r := range rows {
		all[i] = window.Row{Role: r.message.Role, Event: r.event, Tool: r.message.Role == window.Tool, At: r.message.SaidAt, Tokens: r.message.Tokens}
	}
	return all
}

// unitsOf makes units of rows: pairs where the window counts them, else each row is one.
func (g *building) unitsOf(rows []*row) (all []*unit) {
	if g.preset.Window.Pairs == 0 {
		for _, r := range rows {
			all = append(all, &unit{rows: []*row{r}})
		}
		return all
	}
	for _, s := range window.Pairs(plan(rows)) {
		all = append(all, &unit{rows: rows[s.From:s.To]})
	}
	return all
}

// filter settles which units take part: those of the window, without what is withheld, of an excluded kind or too long ago.
func (g *building) filter() {
	rows := slices.Clone(g.rows)
	g.rows = slices.DeleteFunc(g.rows, func(r *row) bool { return r.message.Withheld })
	for _, r := range rows {
		if r.message.Withheld {
			g.out(r, DroppedWithheld)
		}
	}
	if g.answers != nil && g.answers.message.Withheld {
		g.answers = nil
	}
	g.units = g.unitsOf(g.rows)
	if g.preset.Window.From == FromContext {
		for _, u := range g.units {
			u.kept, u.reason = true, ReasonFits
			if u.rows[0].tail {
				u.reason = ReasonTail
			}
			if u.rows[0].summary {
				u.reason = ReasonSummary
			}
		}
		return
	}
	f := &g.preset.Filter
	var main []*unit
	for _, u := range g.units {
		if kind := u.kind(); slices.Contains(f.Exclude, kind) || slices.Contains(f.Never, kind) {
			u.drop(DroppedKind)
			continue
		}
		u.drop(DroppedWindow)
		main = append(main, u)
	}
	for i, is := range g.windowed(main) {
		if is {
			main[i].kept, main[i].reason = true, ReasonWindow
		}
	}
	g.readmit()
	g.recency()
}

// windowed says which units the window has.
func (g *building) windowed(units []*unit) []bool {
	w := &g.preset.Window
	rows := make([]*row, len(units))
	for i, u := range units {
		rows[i] = u.rows[0]
	}
	plans := plan(rows)
	if i := slices.IndexFunc(rows, func(r *row) bool {
		return g.request.Cursor != "" && (r.message.ID == g.request.Cursor || r.message.Key == g.request.Cursor)
	}); i >= 0 && w.Cursor != (CursorWindow{}) {
		kept, unseen := window.AroundCursor(plans, i, window.CursorLimits(w.Cursor))
		g.built.Trim.Unseen += unseen
		return kept
	}
	from := 0
	switch {
	case w.UserTurns > 0:
		from = window.UserTurns(plans, w.UserTurns)
	case w.Messages > 0:
		events := w.Events
		if !g.counts() {
			events = -1
		}
		kept := window.NewestRows(plans, w.Messages, events)
		if oldest := slices.IndexFunc(plans, func(p window.Row) bool { return !p.Event }); oldest >= 0 { // no event lies before all talk of the window
			first := 0
			for i, is := range kept {
				if is && !plans[i].Event {
					first = i
					break
				}
			}
			for i := range first {
				kept[i] = false
			}
		}
		return kept
	case w.Pairs > 0:
		from = max(0, len(units)-w.Pairs)
	case w.Tokens > 0:
		from = window.NewestTokens(plans, w.Tokens)
	}
	if g.preset.Tools.View == ViewFull && w.Pairs == 0 {
		from = window.Whole(plans, from)
	}
	kept := make([]bool, len(units))
	for i := range kept {
		kept[i] = i >= from
	}
	return kept
}

// counts reports whether events are counted apart from talk.
func (g *building) counts() bool { return g.preset.Window.Events > 0 }

// readmit brings the newest units back that only their kind kept out.
func (g *building) readmit() {
	var any []*unit
	for _, u := range g.units {
		if !slices.Contains(g.preset.Filter.Never, u.kind()) {
			any = append(any, u)
		}
	}
	for _, u := range any[max(0, len(any)-g.preset.Guarantee.Previous):] {
		if !u.kept {
			u.kept, u.reason = true, ReasonPrevious
		}
	}
}

// recency leaves out what was said too long before the newest.
func (g *building) recency() {
	f := &g.preset.Filter
	if f.Recency <= 0 {
		return
	}
	kept := g.kept()
	times := make([]time.Time, len(kept))
	for i, u := range kept {
		times[i] = u.at()
	}
	now := time.Time{}
	if f.Anchor == AnchorNow {
		now = g.at()
	}
	for i, is := range window.Recent(times, time.Duration(f.Recency), f.Least, now) {
		if !is {
			kept[i].drop(DroppedRecency)
		}
	}
}

// kept are the units that take part.
func (g *building) kept() (all []*unit) {
	for _, u := range g.units {
		if u.kept {
			all = append(all, u)
		}
	}
	return all
}

// guarantee marks what no selector leaves out: the newest, and what the input answers. Of what nobody said the answer stands alone.
func (g *building) guarantee() {
	of := &g.preset.Guarantee
	if g.answers != nil && slices.Contains(of.AloneKinds, g.answers.message.SourceKind) {
		g.alone = true
		for _, u := range g.units {
			u.drop(DroppedWindow)
		}
		return
	}
	if g.answers != nil && of.Reply && len(g.kept()) > 0 { // an empty history stays empty
		for _, u := range g.units {
			if slices.Contains(u.rows, g.answers) {
				u.kept, u.reason, u.answers = true, ReasonReply, true
			}
		}
	}
	kept := g.kept()
	for _, u := range kept[max(0, len(kept)-of.Recent):] {
		u.recent = true
	}
}

// out notes a row that is not shown.
func (g *building) out(r *row, reason string) {
	m := r.message
	g.parts[History] = append(g.parts[History], &Item{Section: History, Kind: "message", Name: name(m), ID: m.ID, Seq: m.Seq, Role: m.Role, Reason: reason})
}
