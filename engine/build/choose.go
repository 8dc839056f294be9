package build

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/window"
)

// choose has a selector say which of the older units matter. What is guaranteed stays, whatever it says. Where it fails, all stay or only what is guaranteed,
// as the preset says; with few units nobody is asked.
func (g *building) choose(ctx context.Context) {
	p := &g.preset.Select
	selector := g.selector()
	if selector == nil && p.By == "" || g.alone {
		return
	}
	kept := g.kept()
	recent := 0
	for _, u := range kept {
		if u.recent {
			recent++
		}
	}
	done := &Selection{By: p.By, Outcome: Skipped}
	if g.request.Selector != nil {
		done.By = "host"
	}
	g.built.Selection = done
	older := kept[:window.Older(len(kept), p.Skip, recent)]
	for _, u := range kept[len(older):] {
		if u.recent && u.reason == ReasonWindow {
			u.reason = ReasonRecent
		}
	}
	if len(older) == 0 {
		return
	}
	done.Asked = len(older)
	chosen, err := g.ask(ctx, selector, older, recent)
	if err != nil {
		done.Outcome, done.Error = Failed, err.Error()
		g.notice("nobody chose among older messages: %s", line(err.Error(), 240))
	} else {
		done.Outcome = Chosen
	}
	for i, u := range older {
		switch {
		case err == nil && slices.Contains(chosen, i):
			done.Chosen = append(done.Chosen, name(u.rows[0].message))
			if !u.answers {
				u.reason = ReasonSelected
			}
		case u.answers:
		case err == nil || p.OnError == KeepRecent:
			u.drop(DroppedChoice)
		default:
			u.reason = ReasonUnasked
		}
	}
}

// ask gives the indexes that a selector chooses, each once, in order; of a replay those that are recorded.
func (g *building) ask(ctx context.Context, selector Selector, older []*unit, recent int) (chosen []int, err error) {
	if g.replay != nil {
		was := g.replay.Selection
		if was == nil || was.Outcome == Failed {
			return nil, errors.New("as it is recorded")
		}
		for i, u := range older {
			if slices.Contains(was.Chosen, name(u.rows[0].message)) {
				chosen = append(chosen, i)
			}
		}
		return chosen, nil
	}
	if selector == nil {
		return nil, errNoSelector
	}
	t := Triage{Conversation: g.conversation.ID, Agent: g.request.Agent, Input: g.input, Recent: recent, Most: g.preset.Select.Most}
	for _, u := range older {
		t.Older = append(t.Older, g.candidate(u))
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(g.preset.Select.Timeout))
	defer cancel()
	for range g.preset.Select.Tries {
		if chosen, err = g.selectOnce(limited, selector, t); err == nil || limited.Err() != nil {
			break
		}
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(i int) bool { return i < 0 || i >= len(older) })
	slices.Sort(chosen)
	return slices.Compact(chosen), err
}

// selectOnce waits for a selector no longer than the timeout, even for one that does not look at it.
func (g *building) selectOnce(ctx context.Context, selector Selector, t Triage) ([]int, error) {
	type answer struct {
		chosen []int
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		chosen, err := selector.Select(ctx, t)
		answered <- answer{chosen, err}
	}()
	select {
	case a := <-answered:
		return a.chosen, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// candidate is a unit as a selector sees it.
func (g *building) candidate(u *unit) Candidate {
	c := Candidate{At: u.at()}
	for _, r := range u.rows {
		m := r.message
		c.IDs = append(c.IDs, m.ID)
		if said := strings.TrimSpace(m.Text); said != "" {
			c.Lines = append(c.Lines, g.label(m)+": "+said)
		}
		if actions := g.actionsOf(m); len(actions) > 0 {
			c.Lines = append(c.Lines, actionsLine(actions, g.preset.Tools.Most))
		}
	}
	return c
}

// trimLines is a text without white space at the ends of its lines and its own.
func trimLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// cutDots is the beginning of a text that has more characters, with dots after it.
func cutDots(s string, chars int) string {
	if utf8.RuneCountInString(s) <= chars {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(0, chars-3)]), " \t\n") + "..."
}

// line is a text on one line, of so many characters.
func line(s string, chars int) string {
	return cutDots(strings.Join(strings.Fields(s), " "), chars)
}
