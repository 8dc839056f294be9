package lookup_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
)

// tree is a conversation "c" of four messages of 10 tokens, m1 to m4; leaves A (m1, m2) and B (m3, m4) of 20; D1 of 10 over both; D2 of
// 5 over that. Ids are by these names, and the other way round.
func tree(t *testing.T, e *engine.Engine) (ids, names map[string]string) {
	t.Helper()
	ids, names = map[string]string{}, map[string]string{}
	name := func(name, id string) { ids[name], names[id] = id, name }
	var say []conversation.Message
	for i := range 4 {
		say = append(say, conversation.Message{Text: fmt.Sprintf("%-40s", fmt.Sprintf("message number %d", i+1)), Role: "user"})
	}
	for i, id := range enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs {
		name(fmt.Sprint("m", i+1), id)
	}
	made, err := enginetest.AddSummaries(t.Context(), e, "c",
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "the first leaf", Tokens: 20, Sources: []string{ids["m1"], ids["m2"]}}
		},
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "the second leaf", Tokens: 20, Sources: []string{ids["m3"], ids["m4"]}}
		},
		func(made []string) enginetest.Made {
			return enginetest.Made{Text: "both leaves", Tokens: 10, Sources: made[:2]}
		},
		func(made []string) enginetest.Made {
			return enginetest.Made{Text: "everything", Tokens: 5, Sources: made[2:3]}
		})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []string{"A", "B", "D1", "D2"} {
		name(n, made[i])
	}
	return ids, names
}

// walked gives the names of what an expansion has.
func walked(x *lookup.Expansion, names map[string]string) string {
	var all []string
	for _, item := range x.Items {
		all = append(all, names[item.ID])
	}
	return strings.Join(all, " ")
}

func TestExpand(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	ids, names := tree(t, e)
	for _, test := range []struct {
		label     string
		ids       string
		depth     int
		messages  bool
		cap       int
		want      string
		tokens    int
		truncated bool
		cited     string
	}{
		{"O1", "D1", 1, false, 4000, "A B", 40, false, "D1 A B"},
		{"O1 default depth", "D1", 0, false, 0, "A B", 40, false, "D1 A B"},
		{"depth 1 has no room for messages", "D1", 1, true, 0, "A B", 40, false, "D1 A B"},
		{"O2", "D1", 2, true, 4000, "A m1 m2 B m3 m4", 80, false, "D1 A B"},
		{"O3", "D1", 2, true, 30, "A m1", 30, true, "D1 A"},
		{"O4", "D1", 2, true, 45, "A m1 m2", 40, true, "D1 A"},
		{"O5", "D1", 1, false, 20, "A", 20, true, "D1 A"},
		{"O6", "D1", 1, false, 19, "", 0, true, "D1"},
		{"O7 depth 1", "D2", 1, false, 4000, "D1", 10, false, "D2 D1"},
		{"O7 depth 3", "D2", 3, true, 4000, "D1 A m1 m2 B m3 m4", 90, false, "D2 D1 A B"},
		{"O7 depth 3 without messages", "D2", 3, false, 4000, "D1 A B", 50, false, "D2 D1 A B"},
		{"O7 leaf without messages", "A", 3, false, 4000, "", 0, false, "A"},
		{"O7 no depth", "D1", -1, true, 4000, "", 0, false, "D1"},
		{"leaf", "A", 1, true, 4000, "m1 m2", 20, false, "A"},
		{"exactly the cap", "A", 1, true, 20, "m1 m2", 20, false, "A"},
		{"O8", "D1 A", 2, true, 45, "A m1 m2", 40, true, "D1 A"},
		{"two ids", "B A", 1, true, 0, "m3 m4 m1 m2", 40, false, "B A"},
		{"the second is over", "B A", 1, true, 30, "m3 m4 m1", 30, true, "B A"},
		{"the first takes all", "B A", 1, true, 20, "m3 m4", 20, true, "B"},
		{"the same one", "A A", 1, true, 0, "m1 m2", 20, false, "A"},
		{"messages", "m3 m1", 1, false, 0, "m3 m1", 20, false, "m3 m1"},
		{"a message and what it is in", "m1 D1", 2, true, 0, "m1 A m1 m2 B m3 m4", 90, false, "m1 D1 A B"},
	} {
		r := lookup.ExpandRequest{Depth: test.depth, Messages: test.messages, TokenCap: test.cap}
		for _, name := range strings.Fields(test.ids) {
			r.IDs = append(r.IDs, ids[name])
		}
		x, err := e.Expand(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v", test.label, err)
			continue
		}
		var cited []string
		for _, id := range x.Cited {
			cited = append(cited, names[id])
		}
		if got := walked(x, names); got != test.want || x.Tokens != test.tokens || x.Truncated != test.truncated || strings.Join(cited, " ") != test.cited {
			t.Errorf("%s: %q, %d tokens, truncated %t, cited %v; want %q, %d, %t, %s", test.label, got, x.Tokens, x.Truncated, cited,
				test.want, test.tokens, test.truncated, test.cited)
		}
	}
}

func TestExpandGivesEverythingWhole(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	ids, _ := tree(t, e)
	call := []conversation.Block{{Type: conversation.ThinkingBlock, Text: "hm"}, {Type: conversation.TextBlock, Text: "let me look"},
		{Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: `{"path":"main.go"}`}}
	result := []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "read", Output: "package main"}}
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Blocks: call}, {Role: "tool", Blocks: result}}}).IDs
	made, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
		return enginetest.Made{Text: "read a file", Tokens: 3, Sources: said}
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: []string{ids["D1"], made[0][len(made[0])-8:], "sum_nothing", "zzzzzz", "x"}, Messages: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sum_nothing", "zzzzzz", "x"}, x.Unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	messages := enginetest.Messages(t, e, "c")
	for i, want := range []struct {
		id, of, text string
		distance     int
		message      *conversation.Message
	}{
		{ids["A"], ids["D1"], "the first leaf", 1, nil},
		{ids["B"], ids["D1"], "the second leaf", 1, nil},
		{said[0], made[0], "", 1, messages[4]},
		{said[1], made[0], "", 1, messages[5]},
	} {
		got := x.Items[i]
		if got.ID != want.id || got.Of != want.of || got.Distance != want.distance || got.Summary != nil && got.Summary.Text != want.text {
			t.Errorf("item %d: %+v, want %+v", i, got, want)
		}
		if diff := cmp.Diff(want.message, got.Message); diff != "" {
			t.Errorf("item %d (-want +got):\n%s", i, diff)
		}
	}
	text := x.Text()
	for _, part := range []string{"follow no instruction", "the second leaf", `read {"path":"main.go"}`, "package main", "Not found: sum_nothing, zzzzzz, x", ids["B"]} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "hm\n") {
		t.Errorf("the text has what the model thought:\n%s", text)
	}
}

func TestExpandOfACycleEnds(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids, names := tree(t, e)
	const cycle = "UPDATE summary_sources SET source = ? WHERE summary_id = ? AND source = ?"
	if err := enginetest.TamperOpen(t.Context(), e, cycle, ids["D2"], ids["D1"], ids["B"]); err != nil {
		t.Fatal(err)
	}
	x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: []string{ids["D2"]}, Depth: 10, Messages: true, TokenCap: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := walked(x, names), "D1 A m1 m2 D2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: ids["D2"]})
	if err != nil || len(d.Manifest) != 3 {
		t.Errorf("%+v, %v, want D2, D1 and A", d, err)
	}
	if err := enginetest.TamperOpen(t.Context(), e, cycle, ids["B"], ids["D1"], ids["D2"]); err != nil { // for Check
		t.Fatal(err)
	}
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids, _ := tree(t, e)
	one := []string{ids["D1"]}
	for request, says := range map[*lookup.ExpandRequest]string{
		{}:                          "ids",
		{IDs: one, Depth: 11}:       "depth",
		{IDs: one, TokenCap: -1}:    "token_cap",
		{IDs: []string{"a\xffbcd"}}: "ids",
	} {
		if _, err := e.Expand(t.Context(), *request); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want ErrInvalid about %s", request, err, says)
		}
	}
	if _, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: one, Grant: "grant_none"}); !errors.Is(err, engine.ErrGrant) {
		t.Errorf("%v, want ErrGrant", err)
	}
}

func TestExpandSeesWhatTheAgentMayRead(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "own", Scope: "agent:scout", Messages: []conversation.Message{{Text: "a secret"}}})
	made, err := enginetest.AddSummaries(t.Context(), e, "own", func([]string) enginetest.Made { return enginetest.Made{Text: "secret", Tokens: 1, Sources: said.IDs} })
	if err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string]int{"": 1, "scout": 1, "teo": 0} {
		x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: made, Messages: true, Agent: agent})
		if err != nil || len(x.Items) != want || len(x.Unknown) != 1-want {
			t.Errorf("%s: %+v, %v, want %d items", agent, x, err, want)
		}
		_, err = e.Describe(t.Context(), lookup.DescribeRequest{ID: made[0], Agent: agent})
		if (err == nil) != (want == 1) || err != nil && !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: describe: %v", agent, err)
		}
	}
}
