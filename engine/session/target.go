package session

import (
	"strings"

	"github.com/mallardmem/mallard/engine/scope"
)

// target is the conversation that a thread goes to.
type target struct {
	id    string // empty: it is made with the first message
	title string
	keyed bool // the thread's key finds it
}

// target finds the conversation of a thread: the one it was read into before, or where its lines are stored already, as those of a
// session that was resumed in a copy are; else the one of its key; else a new one.
func (k *taking) target(thread int) *target {
	v := k.t.Threads[thread]
	ids := []string{}
	if thread == k.t.Own {
		ids = append(ids, k.cursor.ConversationID)
	}
	ids = append(ids, k.home(thread), k.same(thread))
	for _, c := range k.stored {
		if c.SessionKey == v.Key {
			ids = append(ids, c.ID)
		}
	}
	for _, id := range ids {
		for _, c := range k.stored {
			if c.ID == id && c.Active {
				return &target{c.ID, c.Title, c.SessionKey == v.Key}
			}
		}
	}
	return &target{}
}

// parent is the conversation that a thread was started or forked from, or "".
func (k *taking) parent(v Thread) (id string) {
	for _, c := range k.stored {
		if v.Parent != "" && (c.SessionID == v.Parent || c.SessionKey == string(k.t.Host)+":"+v.Parent) && (id == "" || c.Active) {
			id = c.ID
		}
	}
	return id
}

// home is the conversation that has most of a thread's own messages, or "".
func (k *taking) home(thread int) (id string) {
	counts := map[string]int{}
	for _, e := range k.t.entries {
		if e.thread == thread && e.kind == message && e.unique {
			if at, ok := k.known[e.key]; ok {
				if counts[at.ConversationID]++; counts[at.ConversationID] > counts[id] {
					id = at.ConversationID
				}
			}
		}
	}
	return id
}

// same is the conversation that a plain file without ids is a copy of, or that goes on in it: all that one of them has, and at least two
// messages, begins the other with the same words at the same times. "" is none.
func (k *taking) same(thread int) (id string) {
	total, same := 0, 0
	for _, e := range k.t.entries {
		if k.t.Host != Plain || e.thread != thread {
			continue
		}
		at, ok := k.known[e.key]
		if total == 0 {
			id = at.ConversationID
		}
		if ok && same == total && at.ConversationID == id && at.SaidAt.Equal(e.at) {
			same++
		}
		total++
	}
	for _, c := range k.stored {
		if c.ID == id && same > 1 && (same == total || same == c.Messages) {
			return id
		}
	}
	return ""
}

// scopeOf is the scope of a working directory, or "" where there is none.
func scopeOf(folder string) string {
	folder = strings.TrimSpace(folder)
	if folder == "" {
		return ""
	}
	name := []rune(strings.TrimSpace(folder[strings.LastIndexAny(folder, `/\`)+1:]))
	for _, of := range []string{"project:" + folder, "custom:" + storable(string(name[max(0, len(name)-60):]))} {
		if (scope.Scopes{}).Valid(of) {
			return of
		}
	}
	return ""
}
