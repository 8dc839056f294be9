package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestContextStaysSmall: whatever is said, the context stays within its budget, and all that was said is there, byte for byte.
func TestContextStaysSmall(t *testing.T) {
	enginetest.Alone(t)
	const budget, batch = 2000, 20
	turns := 240
	if enginetest.Long("growth") {
		turns = 10_000
	}
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(10, 1)), clock: &enginetest.Clock{At: enginetest.Noon}}
	e := enginetest.Open(t, engine.Options{Threads: 1, Now: s.clock.Now, Conversation: setup.Conversation{
		FreshTailCount: 16, LeafChunkTokens: 500, LeafTargetTokens: 60, CondensedTargetTokens: 60, LeafMinFanout: 4, CondensedMinFanout: 4}})
	d := newSimulated("talk")
	largest := 0
	for len(d.said) < turns {
		r := conversation.AppendRequest{Conversation: d.name}
		for range batch {
			s.clock.Advance(time.Minute)
			r.Messages = append(r.Messages, s.message(d))
		}
		appended, err := e.Append(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		d.id = appended.ConversationID
		for i, m := range r.Messages {
			d.hear(m, appended.IDs[i])
		}
		d.see(t, e)
		c, err := e.Compact(t.Context(), compact.Request{Conversation: d.name, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		d.fold(t, e, c)
		if c.TokensAfter > budget {
			t.Fatalf("%d tokens after %d turns: %+v", c.TokensAfter, len(d.said), c)
		}
		largest = max(largest, c.TokensAfter)
		a, err := e.Assemble(t.Context(), assemble.Request{Conversation: d.name, Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		d.shown(t, a)
	}
	d.whole(t, e)
	t.Logf("%d turns, a context of %d items and at most %d tokens", len(d.said), len(d.context), largest)
}

// TestChatWhileSummarising: a chat goes on while a slow model summarises it. The model answers when forty more things were said: whoever waited for
// it before saying something would wait until the call's time is up, which is an error. What is compacted keeps up with what is said.
func TestChatWhileSummarising(t *testing.T) {
	const budget, thinks, turns = 1000, 40, 240
	var said atomic.Int64
	slow := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		for until := min(said.Load()+thinks, turns); said.Load() < until && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		return enginetest.Tokens(10), ctx.Err()
	}}
	e := enginetest.Open(t, engine.Options{LLM: slow, Conversation: setup.Conversation{
		FreshTailCount: 8, LeafChunkTokens: 400, LeafTargetTokens: 20, CondensedTargetTokens: 20, SummaryMaxCalls: 1000}})
	d := newSimulated("talk")
	var host sync.WaitGroup
	idle := make(chan bool, 1) // has a token while nobody compacts
	idle <- true
	passes := 0
	for n := range turns {
		m := conversation.Message{Text: fmt.Sprint(enginetest.Tokens(20), n), Role: "user", SaidAt: enginetest.Noon}
		appended, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: d.name, Messages: []conversation.Message{m}})
		if err != nil {
			t.Fatal(err)
		}
		d.id = appended.ConversationID
		d.said, d.ids = append(d.said, m), append(d.ids, appended.IDs[0])
		said.Add(1)
		select {
		case <-idle:
			host.Go(func() {
				defer func() { idle <- true }()
				c, err := e.Compact(t.Context(), compact.Request{Conversation: d.name, Budget: budget})
				if err != nil {
					t.Error(err)
					return
				}
				passes += len(c.Passes)
			})
		default:
		}
	}
	host.Wait()
	if passes == 0 {
		t.Error("nothing was compacted while the chat went on")
	}
	c, err := e.Compact(t.Context(), compact.Request{Conversation: d.name, Budget: budget})
	if err != nil || !c.Reached {
		t.Errorf("after the chat: %+v, %v", c, err)
	}
	if d.context, err = e.Context(t.Context(), compact.ContextRequest{Conversation: d.name}); err != nil {
		t.Fatal(err)
	}
	d.whole(t, e)
	t.Logf("%d passes during the chat, %d items left", passes, len(d.context))
}

// TestAgentWorksAlone: an agent that works on for long after one word of its user stays within its budget too, and never loses sight of what it
// was asked for.
func TestAgentWorksAlone(t *testing.T) {
	enginetest.Alone(t)
	const budget = 2000
	turns := 300
	if enginetest.Long("growth") {
		turns = 6000
	}
	e := enginetest.Open(t, engine.Options{Threads: 1, Conversation: setup.Conversation{
		FreshTailCount: 16, LeafChunkTokens: 500, LeafTargetTokens: 60, CondensedTargetTokens: 60, LeafMinFanout: 4, CondensedMinFanout: 4}})
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(11, 1)), clock: &enginetest.Clock{At: enginetest.Noon}}
	d := newSimulated("talk")
	tell := func(all ...conversation.Message) {
		t.Helper()
		appended, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: d.name, Messages: all})
		if err != nil {
			t.Fatal(err)
		}
		d.id = appended.ConversationID
		for i, m := range all {
			d.hear(m, appended.IDs[i])
		}
	}
	for n := range 30 {
		tell(conversation.Message{Role: []string{"user", "assistant"}[n%2], Text: s.words(20), SaidAt: enginetest.Noon})
	}
	tell(conversation.Message{Role: "user", Text: "Paint the crane at pier 4. " + s.words(20), SaidAt: enginetest.Noon})
	asked := d.ids[len(d.ids)-1]
	largest := 0
	for range turns / 20 {
		var work []conversation.Message
		for range 10 {
			s.keys++
			id := fmt.Sprint("call_", s.keys)
			work = append(work, conversation.Message{Role: "assistant", SaidAt: enginetest.Noon, Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: "look", Input: s.words(3)}}},
				conversation.Message{Role: "tool", SaidAt: enginetest.Noon, Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Tool: "look", Output: s.words(20)}}})
		}
		tell(work...)
		d.see(t, e)
		c, err := e.Compact(t.Context(), compact.Request{Conversation: d.name, Budget: budget})
		if err != nil || !c.Reached {
			t.Fatalf("%+v, %v", c, err)
		}
		d.fold(t, e, c)
		largest = max(largest, c.TokensAfter)
		a, err := e.Assemble(t.Context(), assemble.Request{Conversation: d.name, Budget: budget})
		if err != nil || a.OverBudget {
			t.Fatalf("%d tokens of %d: %v", a.Tokens, a.Budget, err)
		}
		d.shown(t, a)
		if !slices.ContainsFunc(a.Items, func(i assemble.AssembledItem) bool { return i.ID == asked }) {
			t.Fatalf("after %d messages it is not shown what was asked for", len(d.said))
		}
	}
	d.whole(t, e)
	tell(conversation.Message{Role: "user", Text: "Thanks.", SaidAt: enginetest.Noon})
	d.see(t, e)
	for c := (&compact.Compacted{Changed: true}); c.Changed; d.fold(t, e, c) {
		var err error
		if c, err = e.Compact(t.Context(), compact.Request{Conversation: d.name, Budget: budget, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(d.context, func(i compact.ContextItem) bool { return i.Ref == asked }) {
		t.Error("what was asked for before stays in the context when the user has spoken again")
	}
	t.Logf("%d turns, a context of %d items and at most %d tokens", len(d.said), len(d.context), largest)
}
