package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// outline writes a tree, a line for each node.
func outline(nodes []*compact.TreeNode, margin string) string {
	var b strings.Builder
	for _, n := range nodes {
		what := "messages"
		if n.Summary != nil {
			what = n.Summary.Text
		}
		fmt.Fprintf(&b, "%s%s %d-%d of %d, %d tokens, %t\n%s", margin, what, n.FirstSeq, n.LastSeq, n.Messages, n.Tokens, n.InContext, outline(n.Below, margin+"  "))
	}
	return b.String()
}

func TestSummaryTree(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(10)}).IDs
	leaf := func(text string, from, until int) func([]string) enginetest.Made {
		return func([]string) enginetest.Made {
			return enginetest.Made{Text: text, Tokens: 2, Sources: ids[from-1 : until]}
		}
	}
	tree := func() string {
		t.Helper()
		got, err := e.SummaryTree(t.Context(), compact.TreeRequest{Conversation: "talk"})
		if err != nil {
			t.Fatal(err)
		}
		if context := enginetest.Rows(t, e, "SELECT count(*), sum(tokens)::BIGINT FROM context_items")[0]; int64(got.Items) != context[0] || int64(got.Tokens) != context[1] {
			t.Errorf("%d items, %d tokens: the context has %v", got.Items, got.Tokens, context)
		}
		return outline(got.Nodes, "")
	}
	if diff := cmp.Diff("messages 1-10 of 10, 40 tokens, true\n", tree()); diff != "" {
		t.Errorf("without summaries (-want +got):\n%s", diff)
	}
	_, err := enginetest.AddSummaries(t.Context(), e, "talk", leaf("A", 2, 3), leaf("B", 4, 6), func(made []string) enginetest.Made {
		return enginetest.Made{Text: "AB", Tokens: 3, Sources: made}
	}, leaf("C", 9, 9))
	if err != nil {
		t.Fatal(err)
	}
	want := `messages 1-1 of 1, 4 tokens, true
AB 2-6 of 5, 3 tokens, true
  A 2-3 of 2, 2 tokens, false
  B 4-6 of 3, 2 tokens, false
messages 7-8 of 2, 8 tokens, true
C 9-9 of 1, 2 tokens, true
messages 10-10 of 1, 4 tokens, true
`
	if diff := cmp.Diff(want, tree()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "other", Scope: "agent:scout", Messages: enginetest.Sayings(1)})
	for _, r := range []compact.TreeRequest{{Conversation: "nowhere"}, {Conversation: "other", Agent: "teo"}} {
		if _, err := e.SummaryTree(t.Context(), r); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestNothingIsAnEmptyList: programs that read JSON find lists where nothing is, and no null.
func TestNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(2)})
	if _, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	assembled, err := e.Assemble(t.Context(), assemble.Request{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := e.SummaryTree(t.Context(), compact.TreeRequest{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	_, messages := assembled.Anthropic()
	for _, v := range []any{assembled, assembled.OpenAI(), messages, tree} {
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), "null") {
			t.Errorf("%T: %s, %v", v, b, err)
		}
	}
}

// TestTreesOfADamagedFile: where summaries stand for each other, neither the tree nor its report goes on for ever.
func TestTreesOfADamagedFile(t *testing.T) {
	whole, names := enginetest.TalkFile(t)
	path := enginetest.NewFile(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pair := range []string{"'{mid}' WHERE summary_id = '{low}'", "'{low}' WHERE summary_id = '{mid}'"} {
		enginetest.Tamper(t, path, names.Replace("UPDATE summary_sources SET kind = 'summary', source = "+pair))
	}
	e := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if table, err := e.Query(ctx, "SELECT DISTINCT id FROM report.summary_tree", 100); err != nil || len(table.Rows) != 4 {
		t.Errorf("the report: %v, %v", table, err)
	}
	if tree, err := e.SummaryTree(ctx, compact.TreeRequest{Conversation: "talk"}); err != nil || strings.Count(outline(tree.Nodes, ""), "\n") != 3 { // those of the circle are reached from nowhere
		t.Errorf("the tree: %v, %v", tree, err)
	}
}
