package compact_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestReportsOfTalk holds the analysts' views against what the engine says of a conversation that was compacted.
func TestReportsOfTalk(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		clock.Advance(time.Second)
		return "in short", nil
	}}
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: setup.Conversation{
		FreshTailCount: 2, LeafChunkTokens: 40, LeafTargetTokens: 5, CondensedTargetTokens: 5, LeafMinFanout: 2, CondensedMinFanout: 2}})
	messages := enginetest.Sayings(14)
	messages[3].SetAside = conversation.AsideEvent
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: messages})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "silent"})
	done, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Force: true})
	if err != nil || len(done.Passes) < 2 {
		t.Fatalf("%+v, %v", done, err)
	}

	var passes []compact.Pass
	for _, row := range enginetest.Rows(t, e, "SELECT summary_id, kind, depth, level, items, tokens_before, tokens_after FROM report.compaction_savings ORDER BY pass") {
		passes = append(passes, compact.Pass{SummaryID: row[0].(string), Kind: row[1].(string), Depth: int(row[2].(int32)), Level: compact.Escalation(row[3].(string)),
			Items: int(row[4].(int32)), TokensBefore: int(row[5].(int32)), TokensAfter: int(row[6].(int32))})
	}
	if diff := cmp.Diff(done.Passes, passes); diff != "" {
		t.Errorf("passes (-Compact +view):\n%s", diff)
	}
	for _, row := range enginetest.Rows(t, e, "SELECT saved = tokens_before - tokens_after, calls >= 1, seconds >= 1, model FROM report.compaction_savings") {
		if !cmp.Equal(row, []any{true, true, true, "scripted"}) {
			t.Errorf("a pass: %v", row)
		}
	}

	items, err := e.Context(t.Context(), compact.ContextRequest{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	rows := enginetest.Rows(t, e, "SELECT ordinal, position, kind, ref, tokens, text FROM report.context_items WHERE conversation = 'talk' ORDER BY ordinal")
	if len(rows) != len(items) {
		t.Fatalf("%d items, the view has %d", len(items), len(rows))
	}
	tokens := 0
	for n, i := range items {
		tokens += i.Tokens
		if diff := cmp.Diff([]any{int64(i.Ordinal), int32(i.Position), string(i.Kind), i.Ref, int32(i.Tokens), i.Text}, rows[n]); diff != "" {
			t.Errorf("item %d (-Context +view):\n%s", n, diff)
		}
	}

	tree, err := e.SummaryTree(t.Context(), compact.TreeRequest{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	var walk func(nodes []*compact.TreeNode, parent string)
	walk = func(nodes []*compact.TreeNode, parent string) {
		for _, n := range nodes {
			if n.Summary != nil {
				want = append(want, strings.Join([]string{parent, n.Summary.ID}, " "))
				walk(n.Below, n.Summary.ID)
			}
		}
	}
	walk(tree.Nodes, "-")
	for _, row := range enginetest.Rows(t, e, "SELECT coalesce(parent, '-') || ' ' || id, in_context = (parent IS NULL) FROM report.summary_tree ORDER BY conversation_id, path") {
		got = append(got, row[0].(string))
		if row[1] != true {
			t.Errorf("%v is in the context, or is not", row)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != len(done.Passes) {
		t.Errorf("tree (-SummaryTree +view):\n%s", diff)
	}

	health := enginetest.Rows(t, e, `
		SELECT messages, context_items, context_tokens, raw_messages, raw_tokens_outside_tail, list_sum(map_values(summaries_by_depth))::BIGINT, fallbacks,
			set_aside['event'], last_compacted_at IS NOT NULL, pending
		FROM report.conversation_health
		WHERE conversation = 'talk'`)
	if diff := cmp.Diff([][]any{{int64(14), int64(len(items)), int64(tokens), int64(2), int64(0), int64(len(done.Passes)), int64(0), int64(1), true, nil}}, health); diff != "" {
		t.Errorf("health (-want +view):\n%s", diff)
	}
	if silent := enginetest.Rows(t, e, "SELECT messages, context_tokens, summaries_by_depth, last_said_at FROM report.conversation_health WHERE conversation = 'silent'"); !cmp.Equal(silent, [][]any{{int64(0), int64(0), nil, nil}}) {
		t.Errorf("a conversation without messages: %v", silent)
	}
}
