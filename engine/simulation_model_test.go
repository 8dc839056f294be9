package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
)

// simulated is what must hold of one conversation: all that was said in it, and the context as it was last seen.
type simulated struct {
	name    string
	id      string
	said    []conversation.Message // by seq, from 1
	ids     []string               // of these
	context []compact.ContextItem
	calls   []conversation.Block // of tools, without a result so far
	aside   map[int]conversation.SetAside
	past    bool // archived: a reset began another
}

func newSimulated(name string) *simulated {
	return &simulated{name: name, aside: map[int]conversation.SetAside{}}
}

// named is how requests name it.
func (d *simulated) named() string {
	if d.past {
		return d.id
	}
	return d.name
}

// hear adds what was appended, and the items that it is in the context.
func (d *simulated) hear(m conversation.Message, id string) {
	d.said, d.ids = append(d.said, m), append(d.ids, id)
	seq := len(d.said)
	if m.SetAside != "" {
		d.aside[seq] = m.SetAside
		return
	}
	d.context = append(d.context, compact.ContextItem{Position: seq, Kind: kinds.Message, Ref: id})
}

// leave takes messages out of the context, and summaries that are less deep.
func (d *simulated) leave(why conversation.SetAside, depth int) {
	var kept []compact.ContextItem
	for _, item := range d.context {
		switch {
		case item.Kind == kinds.Message:
			d.aside[item.Position] = why
		case item.Depth >= depth:
			kept = append(kept, item)
		}
	}
	d.context = kept
}

// refs are what a context is made of, without what its items say.
func refs(items []compact.ContextItem) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = fmt.Sprint(item.Position, " ", item.Ref)
	}
	return all
}

// see reads the context, which must be numbered and ordered, and be that of the model; then the model has it whole.
func (d *simulated) see(t *testing.T, e *engine.Engine) {
	t.Helper()
	if d.id == "" {
		return
	}
	found, err := e.Context(context.Background(), compact.ContextRequest{Conversation: d.named()})
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range found {
		if item.Ordinal != i || i > 0 && found[i-1].Position >= item.Position {
			t.Fatalf("%s: item %d of the context has the ordinal %d and the position %d", d.name, i, item.Ordinal, item.Position)
		}
	}
	if diff := cmp.Diff(refs(d.context), refs(found)); diff != "" {
		t.Fatalf("%s: context (-want +got):\n%s", d.name, diff)
	}
	d.context = found
}

// tokens is what the context costs.
func (d *simulated) tokens() (n int) {
	for _, item := range d.context {
		n += item.Tokens
	}
	return n
}

// fold puts the summaries that a compaction says it made in the place of their sources, which must stand side by side and be of one
// depth, and sees that every one of them made the context smaller.
func (d *simulated) fold(t *testing.T, e *engine.Engine, c *compact.Compacted) {
	t.Helper()
	tokens := d.tokens()
	unseen := max(0, c.TokensBefore-tokens) // what the host saw beside them
	for _, p := range c.Passes {
		if p.TokensBefore != tokens || p.TokensAfter >= p.TokensBefore {
			t.Fatalf("%s: a pass from %d to %d tokens; the context had %d: %+v", d.name, p.TokensBefore, p.TokensAfter, tokens, p)
		}
		sources := sourcesOf(t, e, p.SummaryID)
		at := slices.IndexFunc(d.context, func(i compact.ContextItem) bool { return i.Ref == sources[0] })
		if at < 0 || at+len(sources) > len(d.context) || len(sources) != p.Items {
			t.Fatalf("%s: the sources of %+v stand nowhere in the context", d.name, p)
		}
		run := d.context[at : at+len(sources)]
		for i, item := range run {
			if item.Ref != sources[i] || (item.Kind == kinds.Message) != (p.Depth == 0) || p.Depth > 0 && item.Depth != p.Depth-1 {
				t.Fatalf("%s: source %d of %+v is %s, and in the context there is %s of depth %d", d.name, i, p, sources[i], item.Ref, item.Depth)
			}
		}
		made := compact.ContextItem{Position: run[0].Position, Kind: kinds.Summary, Ref: p.SummaryID, Depth: p.Depth}
		d.context = slices.Replace(slices.Clone(d.context), at, at+len(sources), made)
		tokens = p.TokensAfter
	}
	d.see(t, e)
	if d.tokens() != tokens {
		t.Fatalf("%s: a context of %d tokens, said to be %d", d.name, d.tokens(), tokens)
	}
	if c.Changed != (len(c.Passes) > 0) || c.Changed && c.TokensAfter != tokens+unseen {
		t.Fatalf("%s: %+v of a context of %d tokens", d.name, c, tokens)
	}
}

// sourcesOf lists what a summary was made from.
func sourcesOf(t *testing.T, e *engine.Engine, id string) (ids []string) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, "SELECT source FROM summary_sources WHERE summary_id = '"+id+"' ORDER BY ordinal") {
		ids = append(ids, row[0].(string))
	}
	if len(ids) == 0 {
		t.Fatalf("summary %s has no sources", id)
	}
	return ids
}

// whole wants every message back, byte for byte: from the context, from below its summaries and those that left it, or set aside.
func (d *simulated) whole(t *testing.T, e *engine.Engine) {
	t.Helper()
	if d.id == "" {
		return
	}
	found := map[string]*conversation.Message{}
	find := func(m *conversation.Message) {
		if found[m.ID] != nil {
			t.Fatalf("%s: message %d is there twice", d.name, m.Seq)
		}
		found[m.ID] = m
	}
	var tops []string // summaries that no other was made from
	for _, row := range enginetest.Rows(t, e, "SELECT id FROM summaries WHERE conversation_id = '"+d.id+"' AND id NOT IN (SELECT source FROM summary_sources)") {
		tops = append(tops, row[0].(string))
	}
	for _, id := range tops {
		x, err := e.Expand(context.Background(), lookup.ExpandRequest{IDs: []string{id}, Depth: 10, Messages: true, TokenCap: 1 << 30})
		if err != nil || x.Truncated {
			t.Fatalf("%s: expand %s: truncated %v, %v", d.name, id, x.Truncated, err)
		}
		for _, item := range x.Items {
			if item.Kind == kinds.Message {
				find(item.Message)
			}
		}
	}
	inContext := map[string]bool{}
	for _, item := range d.context {
		inContext[item.Ref] = true
	}
	all, err := e.Messages(context.Background(), conversation.MessagesRequest{Conversation: d.named(), Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.SetAside != d.aside[m.Seq] {
			t.Fatalf("%s: message %d is set aside as %q, want %q", d.name, m.Seq, m.SetAside, d.aside[m.Seq])
		}
		if inContext[m.ID] || m.SetAside != "" {
			find(m)
		}
	}
	if len(all) != len(d.said) || len(found) != len(d.said) {
		t.Fatalf("%s: of %d messages %d are stored and %d are found again", d.name, len(d.said), len(all), len(found))
	}
	for i, want := range d.said {
		got := found[d.ids[i]]
		if got == nil || got.Seq != i+1 {
			t.Fatalf("%s: message %d is %+v", d.name, i+1, got)
		}
		if diff := cmp.Diff(plainly(want), plainly(*got), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: message %d (-want +got):\n%s", d.name, i+1, diff)
		}
	}
}

// plainly is what a message says, in the form that it has with blocks.
func plainly(m conversation.Message) conversation.Message {
	if len(m.Blocks) == 0 {
		m.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: m.Text}}
	}
	return conversation.Message{Key: m.Key, Role: m.Role, Speaker: m.Speaker, Caption: m.Caption, SaidAt: m.SaidAt, Blocks: m.Blocks}
}

// shown looks at what a model is shown of the context: it fits the budget or says so, keeps the order and the newest, and parts no call
// from its result.
func (d *simulated) shown(t *testing.T, a *assemble.Assembled) {
	t.Helper()
	shown, at := map[string]bool{}, -1
	for _, item := range a.Items {
		next := slices.IndexFunc(d.context, func(i compact.ContextItem) bool { return i.Ref == item.ID })
		if next <= at {
			t.Fatalf("%s: %s is shown, which is number %d of the context, after number %d", d.name, item.ID, next, at)
		}
		at, shown[item.ID] = next, true
	}
	if a.Tokens > a.Budget != a.OverBudget {
		t.Fatalf("%s: %d tokens in a budget of %d, over budget: %v", d.name, a.Tokens, a.Budget, a.OverBudget)
	}
	if last := len(d.context) - 1; last >= 0 && d.context[last].Kind == kinds.Message && at != last {
		t.Fatalf("%s: the newest message is not shown", d.name)
	}
	by := map[string]string{} // the message that makes a call
	for _, item := range d.context {
		if item.Kind != kinds.Message {
			continue
		}
		for _, b := range d.said[item.Position-1].Blocks {
			switch b.Type {
			case conversation.ToolCallBlock:
				by[b.CallID] = item.Ref
			case conversation.ToolResultBlock:
				if by[b.CallID] != "" && shown[by[b.CallID]] != shown[item.Ref] {
					t.Fatalf("%s: of the call %s and its result only one is shown", d.name, b.CallID)
				}
			}
		}
	}
	callsAnswered(t, d.name, a.Messages)
}

// callsAnswered wants every call of a tool to be followed by its result.
func callsAnswered(t *testing.T, name string, messages []assemble.AssembledMessage) {
	t.Helper()
	var open []string
	for i, m := range messages {
		if m.Role != "tool" && len(open) > 0 {
			t.Fatalf("%s: message %d stands between calls and their results: %v", name, i, open)
		}
		for _, b := range m.Blocks {
			switch b.Type {
			case conversation.ToolCallBlock:
				open = append(open, b.CallID)
			case conversation.ToolResultBlock:
				k := slices.Index(open, b.CallID)
				if k < 0 {
					t.Fatalf("%s: message %d has the result of %s, which was not called right before", name, i, b.CallID)
				}
				open = slices.Delete(open, k, k+1)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: no results of the calls %v", name, open)
	}
}
