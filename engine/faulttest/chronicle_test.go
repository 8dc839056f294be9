package faulttest

import (
	"encoding/json"
	"errors"
)

// chronicle is what a file held, deed by deed, as a life that nothing disturbed tells it.
type chronicle struct {
	deeds    []mark    // as they began
	contents []content // before the first deed, and after each
}

// newChronicle reads what the process said.
func newChronicle(r recording) (chronicle, error) {
	c := chronicle{contents: []content{{}}}
	for _, m := range r.marks() {
		switch {
		case m.Begin != "":
			c.deeds = append(c.deeds, m)
		case m.Done != "":
			c.contents = append(c.contents, c.contents[len(c.contents)-1].with(m.Changed))
		}
	}
	if len(c.deeds) == 0 || len(c.contents) != len(c.deeds)+1 {
		return c, errors.New("the process did not do all it was to do")
	}
	c.contents[0] = c.contents[1] // opening a file changes nothing that it says
	return c, nil
}

// marks are what the process said that is one.
func (r recording) marks() (all []mark) {
	for _, o := range r {
		if m, ok := readMark(o); ok {
			all = append(all, m)
		}
	}
	return all
}

func readMark(o operation) (m mark, ok bool) {
	ok = o.kind == 'm' && json.Unmarshal(o.data, &m) == nil
	return m, ok
}

// moment says how far a life had come: how many deeds were acknowledged, and whether the next had begun.
type moment struct {
	acknowledged int
	begun        bool
}

// momentOf looks at what the process had said.
func momentOf(r recording) (m moment) {
	for _, o := range r {
		m.hear(o)
	}
	return m
}

// hear goes on with what the process said next.
func (m *moment) hear(o operation) {
	switch said, _ := readMark(o); {
	case said.Begin != "":
		m.begun = true
	case said.Done != "":
		m.acknowledged, m.begun = m.acknowledged+1, false
	}
}

// expected is what the file may hold at a moment.
func (c chronicle) expected(m moment) expected {
	x := expected{before: c.contents[m.acknowledged], begun: m.begun}
	if m.begun {
		x.after, x.passes = c.contents[m.acknowledged+1], c.deeds[m.acknowledged].Passes
	}
	return x
}

// at names the deed of a moment.
func (c chronicle) at(m moment) string {
	switch {
	case m.begun:
		return "in " + c.deeds[m.acknowledged].Begin
	case m.acknowledged == 0:
		return "at the beginning"
	}
	return "after " + c.deeds[m.acknowledged-1].Begin
}

// copied says what a snapshot may hold at a moment; ok is false where there is none to look at. may: it may not be there.
func (c chronicle) copied(m moment) (x expected, may, ok bool) {
	for n, d := range c.deeds {
		if d.Begin == snapshot.name && n <= m.acknowledged && m.acknowledged <= n+2 {
			return expected{before: c.contents[n]}, m.acknowledged == n, m.acknowledged > n || m.begun
		}
	}
	return x, false, false
}
