package build

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// hostKinds are the kinds of items that come from the host: no row has their texts.
var hostKinds = []string{"text", "excerpt", "focus", "status", "quote", "input"}

// hostParts takes what the host gave from the snapshot that is built again: by its cost and its hash.
func (g *building) hostParts() error {
	for _, it := range g.replay.Items {
		if slices.Contains(hostKinds, it.Kind) {
			g.parts[it.Section] = append(g.parts[it.Section], &Item{Section: it.Section, Kind: it.Kind, Name: it.Name, Cost: it.Cost, Hash: it.Hash, Kept: true, Reason: ReasonHost, chars: it.Chars})
		}
	}
	g.built.Recall = g.replay.Recall
	return nil
}

// Verified says whether a context is still what it was.
type Verified struct {
	SnapshotID string `json:"snapshot_id"`
	Same       bool   `json:"same"`
	Hash       string `json:"hash"`  // as it was kept
	Again      string `json:"again"` // as it is built now
	// Changes are what is different now, in the order of the context.
	Changes []Change `json:"changes"`
	Notices []string `json:"notices,omitempty"`
}

// Verify builds a context again, as of the newest message that took part, and compares the hashes: messages that came later do not matter. Nobody is asked: what a
// selector or a prompt chose, what was recalled or pointed at and what the host gave are taken as they are recorded. What is read again are messages, summaries and memories.
// Errors: ErrNotFound, ErrAmbiguous, ErrInvalid for a build that failed, and those of Build.
func (b *Builder) Verify(ctx context.Context, id, agent string) (*Verified, error) {
	s, err := b.Snapshot(ctx, id, agent)
	if err != nil {
		return nil, err
	}
	if s.Status != StatusOK {
		return nil, fmt.Errorf("verify: %w", fault.Invalid("snapshot", s.ID, "one of a build that did not fail"))
	}
	custom := s.Config
	r := Request{Conversation: s.ConversationID, Agent: agent, Custom: &custom, Until: s.Until, InputID: s.Asked.InputID, ReplyTo: s.Asked.ReplyTo, Cursor: s.Asked.Cursor}
	again, err := b.build(ctx, r, &s)
	if err != nil {
		return nil, err
	}
	v := &Verified{SnapshotID: s.ID, Hash: s.Hash, Again: again.Hash, Same: s.Hash == again.Hash, Notices: again.Notices, Changes: []Change{}}
	if !v.Same {
		now := Snapshot{Items: again.snapshotItems(), Config: again.Config}
		v.Changes = changes(&s, &now)
	}
	return v, nil
}

// positions are those of what was shown of the context, by the names of its items.
func (s *Snapshot) positions() []int {
	all := []int{}
	for _, it := range s.Items {
		var position int
		if _, err := fmt.Sscanf(it.Name, "#%d", &position); err == nil && slices.Contains([]string{"message", "summary", "tool"}, it.Kind) {
			all = append(all, position)
		}
	}
	return all
}

// Change is a difference between two contexts.
type Change struct {
	// What is added, removed, changed, moved or config.
	What    string `json:"what"`
	Section string `json:"section,omitempty"`
	Name    string `json:"name"` // of the item, or of the preset's value
	Kind    string `json:"kind,omitempty"`
	ID      string `json:"id,omitempty"`
	Was     string `json:"was,omitempty"` // of a value of the preset
	Is      string `json:"is,omitempty"`
}

// Difference is what changed between two contexts.
type Difference struct {
	From    string   `json:"from"` // ids of the snapshots
	To      string   `json:"to"`
	Same    bool     `json:"same"` // they have one hash
	Changes []Change `json:"changes"`
}

// Diff says what changed from one snapshot to another: items, and values of the preset. Errors: ErrNotFound, ErrAmbiguous.
func (b *Builder) Diff(ctx context.Context, from, to, agent string) (*Difference, error) {
	was, err := b.Snapshot(ctx, from, agent)
	if err != nil {
		return nil, err
	}
	is, err := b.Snapshot(ctx, to, agent)
	if err != nil {
		return nil, err
	}
	return &Difference{From: was.ID, To: is.ID, Same: was.Hash == is.Hash && was.Hash != "", Changes: changes(&was, &is)}, nil
}

// changes compares two contexts: what both have stands in the order of the second, after that what is gone.
func changes(was, is *Snapshot) []Change {
	all := []Change{}
	all = append(all, configChanges(was.Config, is.Config)...)
	key := func(it *SnapshotItem) string { return it.Section + " " + it.Name }
	before := map[string]*SnapshotItem{}
	order := map[string]int{}
	for i := range was.Items {
		before[key(&was.Items[i])] = &was.Items[i]
	}
	n := 0
	for i := range was.Items {
		if k := key(&was.Items[i]); slices.ContainsFunc(is.Items, func(it SnapshotItem) bool { return key(&it) == k }) {
			order[k] = n
			n++
		}
	}
	n = 0
	for i := range is.Items {
		it := &is.Items[i]
		k := key(it)
		old := before[k]
		what := ""
		switch {
		case old == nil:
			what = "added"
		case old.Hash != it.Hash:
			what = "changed"
		case order[k] != n:
			what = "moved"
		}
		if old != nil {
			n++
			delete(before, k)
		}
		if what != "" {
			all = append(all, Change{What: what, Section: it.Section, Name: it.Name, Kind: it.Kind, ID: it.ID})
		}
	}
	for i := range was.Items {
		if it := &was.Items[i]; before[key(it)] != nil {
			all = append(all, Change{What: "removed", Section: it.Section, Name: it.Name, Kind: it.Kind, ID: it.ID})
		}
	}
	return all
}

// configChanges compares two presets, value by value.
func configChanges(was, is Preset) (all []Change) {
	a, errA := configOf(was)
	b, errB := configOf(is)
	if cmp.Or(errA, errB) != nil {
		return nil
	}
	before, now := map[string]string{}, map[string]string{}
	flatten(before, "", a)
	flatten(now, "", b)
	var names []string
	for name := range before {
		names = append(names, name)
	}
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if before[name] != now[name] {
			all = append(all, Change{What: "config", Name: name, Was: before[name], Is: now[name]})
		}
	}
	return all
}

// flatten gives the values of a tree by their paths.
func flatten(into map[string]string, path string, v any) {
	if m, ok := v.(map[string]any); ok {
		for key, below := range m {
			name := key
			if path != "" {
				name = path + "." + key
			}
			flatten(into, name, below)
		}
		return
	}
	if v != nil {
		into[path] = fmt.Sprint(v)
	}
}
