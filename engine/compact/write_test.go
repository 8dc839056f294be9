package compact_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// harbour is a talk of 400 messages of which twelve make a leaf, in a file without a model. Progress is told of each leaf that is made, and most of these are
// not written yet.
func harbour(t *testing.T, progress func(e *engine.Engine, ids []string, made int), change ...func(*setup.Conversation)) *engine.Engine {
	t.Helper()
	var e *engine.Engine
	var ids []string
	e = enginetest.Open(t, engine.Options{Conversation: enginetest.Small(2, 300, change...), Progress: func(what string, made, _ int) {
		if what == "summaries" {
			progress(e, ids, made)
		}
	}})
	var all []conversation.Message
	for i := range 400 {
		all = append(all, conversation.Message{Text: fmt.Sprintf("Crane %d lifted the load of ship %d at pier %d. It took %d minutes, and nobody was hurt that morning.", i%17, i, i%7, i%31), SaidAt: enginetest.Noon})
	}
	ids = enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: all}).IDs
	return e
}

// TestChangedBeforeItIsWritten: a message may be said, and one that was read already may become longer, before the leaf of it is written. The leaf is made
// anew then, of what the message says now; what the passes say adds up to what the context has in the end.
func TestChangedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		made   int // leaves, when it becomes longer
		longer int // message
	}{
		{"in a leaf that is made", 12, 104},
		{"in one that is still to be made", 2, 30},
	} {
		t.Run(test.what, func(t *testing.T) {
			done := map[int]bool{}
			e := harbour(t, func(e *engine.Engine, ids []string, made int) {
				if done[made] {
					return
				}
				done[made] = true
				switch made {
				case 3, 16:
					enginetest.Say(t, e, "talk", 10)
				case test.made:
					enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "talk", MessageID: ids[test.longer], Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "The zeppelin came late."}}})
				}
			})
			c := enginetest.Compact(t, e, compact.Request{Force: true})
			sources := enginetest.Rows(t, e, "SELECT sum(messages), sum(source_tokens) FROM summaries WHERE depth = 0")
			said := enginetest.Rows(t, e, "SELECT count(*), sum(tokens) FROM messages WHERE seq <= (SELECT max(seq) - 2 FROM messages)")
			if fmt.Sprint(sources) != fmt.Sprint(said) {
				t.Errorf("leaves stand for %v messages and tokens, want %v", sources, said)
			}
			kept := enginetest.Rows(t, e, "SELECT count(*), sum(tokens_before - tokens_after) FROM compactions")
			saved := 0
			for _, p := range c.Passes {
				saved += p.TokensBefore - p.TokensAfter
			}
			if want := [][]any{{len(c.Passes), saved}}; fmt.Sprint(kept) != fmt.Sprint(want) {
				t.Errorf("%v passes and tokens saved are recorded, want %v", kept, want)
			}
			if last := c.Passes[len(c.Passes)-1]; last.TokensAfter != c.TokensAfter {
				t.Errorf("the last pass ends with %d tokens, the compaction with %d", last.TokensAfter, c.TokensAfter)
			}
			enginetest.Check(t, e)
		})
	}
}

// TestCondensedBeforeItIsWritten: summaries are condensed of those that were just made, and written with them.
func TestCondensedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	e := harbour(t, func(*engine.Engine, []string, int) {}, enginetest.Fanouts(2, 60))
	enginetest.Compact(t, e, compact.Request{Force: true})
	if deepest := enginetest.Rows(t, e, "SELECT max(depth) FROM summaries")[0][0]; fmt.Sprint(deepest) != "3" {
		t.Errorf("the deepest summary is of depth %v, want 3", deepest)
	}
	enginetest.Check(t, e)
}

// TestGivenUpBeforeItIsWritten: leaves that were made when a caller gives up are written.
func TestGivenUpBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := harbour(t, func(_ *engine.Engine, _ []string, made int) {
		if made == 3 {
			cancel()
		}
	})
	c, err := e.Compact(ctx, compact.Request{Conversation: "talk", Force: true})
	if err == nil || len(c.Passes) != 3 || !c.Changed {
		t.Errorf("%+v, %v: want three leaves, and the error of the caller", c, err)
	}
	if n := enginetest.Rows(t, e, "SELECT count(*) FROM summaries")[0][0]; fmt.Sprint(n) != "3" {
		t.Errorf("%v summaries, want 3", n)
	}
	enginetest.Check(t, e)
}
