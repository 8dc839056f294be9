package session

import "slices"

// settle finds the branch that the session is on, the compaction in force and the title.
func (c *claude) settle(t *Transcript) {
	sides := map[int]bool{}
	for i, e := range t.entries {
		if c.notes[i].side {
			sides[e.thread] = true
		}
	}
	c.settleTree(t, func(e *entry) bool { return !sides[e.thread] })
	for thread := range t.Threads {
		if sides[thread] {
			if c.own != none {
				t.Threads[thread].Parent = t.Threads[c.own].ID
			}
			c.settleTree(t, func(e *entry) bool { return e.thread == thread })
		}
	}
	c.settleTitle(t)
	t.nameless = c.own != none && !c.named && len(t.Threads) == 1
}

// settleTree does so for the lines of the session and what it was forked from, or of one sub-agent.
func (c *claude) settleTree(t *Transcript, in func(*entry) bool) {
	leaf := none
	for i, e := range t.entries {
		if in(e) && c.notes[i].turn {
			leaf = i
		}
	}
	if leaf == none {
		return
	}
	on := c.path(t, in, leaf)
	setBranch(t.entries, in, on)
	newest := map[int]int{}
	for i, e := range t.entries {
		if in(e) && on[i] && e.kind == compaction {
			newest[e.thread] = i
		}
	}
	for thread := range t.Threads {
		if i, ok := newest[thread]; ok {
			enforce(t, thread, i, c.firstKept(t, i))
		} else if len(t.entries) > 0 && in(&entry{thread: thread}) {
			enforce(t, thread, none, none)
		}
	}
}

// path marks the entries from a leaf up to the root, every line of an answer that is on the way, and every result whose call is.
func (c *claude) path(t *Transcript, in func(*entry) bool, leaf int) []bool {
	on := make([]bool, len(t.entries))
	for i := leaf; i != none && !on[i]; {
		on[i] = true
		i = c.above(t, in, i)
	}
	answers := map[int]bool{}
	for i, e := range t.entries {
		if on[i] {
			answers[e.head] = true
		}
	}
	calls := map[string]bool{}
	for i, e := range t.entries {
		if in(e) && answers[e.head] {
			on[i] = true
			for _, call := range e.calls {
				calls[call] = true
			}
		}
	}
	for i, e := range t.entries {
		for _, result := range e.results {
			if in(e) && calls[result] {
				on[i] = true
			}
		}
	}
	return on
}

// above gives the parent of an entry, or none at the root. One whose parent may have been a line that could not be read goes on
// with the line before it.
func (c *claude) above(t *Transcript, in func(*entry) bool, i int) int {
	e, n := t.entries[i], c.notes[i]
	parent := or(e.parent, n.logical)
	if up, ok := c.byID[parent]; ok && up < i {
		return up
	}
	if e.parent == "" || !n.severed {
		return none
	}
	for j := i - 1; j >= 0; j-- {
		if before := t.entries[j]; in(before) && before.id != "" {
			return j
		}
	}
	return none
}

// firstKept gives the entry that the boundary before a summary says was kept first, or none.
func (c *claude) firstKept(t *Transcript, summary int) int {
	boundary, ok := c.byID[t.entries[summary].parent]
	if !ok {
		return none
	}
	kept, ok := c.byID[c.notes[boundary].kept]
	if !ok || kept > summary {
		return none
	}
	return kept
}

// settleTitle takes the user's title, or the newest by the host. One for a line of another file is that file's.
func (c *claude) settleTitle(t *Transcript) {
	for _, kind := range []string{"custom-title", "ai-title", "summary"} {
		for _, title := range slices.Backward(c.titles[kind]) {
			if _, ours := c.byID[title.leaf]; ours || title.leaf == "" {
				t.Threads[t.Own].Title = title.said
				return
			}
		}
	}
}
