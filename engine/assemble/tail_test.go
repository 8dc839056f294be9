package assemble_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestAssembleShortensResults(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	talked(t, e, turn("user old "+long(50)), turn("user q"), turn("assistant >t1 >t2 >t3"), turn("tool <t1 "+long(100)), turn("tool <t2 "+long(300)),
		turn("tool <t3 x"), turn("assistant a "+long(20)))
	const reference = 30 // tokens, about
	for _, test := range []struct {
		budget int
		short  string // the calls whose results are references
		over   bool
	}{
		{600, "", false},
		{430, "", false},
		{400, "t2", false},
		{180, "t2", false},
		{150, "t1 t2", false},
		{50, "t1 t2", true}, // a reference for t3 would be longer than what it says
	} {
		a := assembled(t, e, assemble.Request{Budget: test.budget, ToolNames: assemble.ToolNames{Describe: "mallard_describe"}})
		var short []string
		for _, m := range a.Messages {
			for _, b := range m.Blocks {
				if strings.Contains(b.Output, "left out") {
					short = append(short, b.CallID)
					if !strings.Contains(b.Output, m.ID) || !strings.Contains(b.Output, "look, ") || !strings.Contains(b.Output, "mallard_describe") {
						t.Errorf("reference: %q, want the tool, its tokens, and how to read %s", b.Output, m.ID)
					}
				}
			}
		}
		if got := strings.Join(short, " "); got != test.short || a.OverBudget != test.over || a.Left.Results != len(short) {
			t.Errorf("budget %d: references for %q, %d tokens, over %v, left %+v; want %q, %v", test.budget, got, a.Tokens, a.OverBudget, a.Left, test.short, test.over)
		}
		if want := 430 - 100*strings.Count(test.short, "t1") - 300*strings.Count(test.short, "t2"); test.short != "" && (a.Tokens < want || a.Tokens > want+reference*len(short)) {
			t.Errorf("budget %d: %d tokens, want about %d", test.budget, a.Tokens, want)
		}
		checkProviders(t, a)
	}
	if whole, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c"}); err != nil || whole[4].Blocks[0].Output != long(300) {
		t.Errorf("the stored result changed: %v, %v", whole[4], err)
	}
}

// TestAssembleLooksBackForTheUser: an agent may work on for long without a word from its user.
func TestAssembleLooksBackForTheUser(t *testing.T) {
	enginetest.Alone(t)
	for _, user := range []int{-1, 0, 40, 399} {
		t.Run(fmt.Sprint(user), func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{})
			var all []conversation.Message
			for i := range 400 {
				all = append(all, turn("assistant "+long(10)))
				if i == user {
					all[i] = turn("user " + long(10))
				}
			}
			all = append(all, conversation.Message{Role: "user", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "none", Output: "x"}}}) // no user's
			talked(t, e, all...)
			want := 10 // as many as the budget has room for
			if user >= 0 {
				want = max(want, 401-user)
			}
			a := assembled(t, e, assemble.Request{Budget: 101})
			if shown := len(a.Items); shown != want && shown != want+1 || a.OverBudget != (want > 11) {
				t.Errorf("%d items, over %v; want about %d", shown, a.OverBudget, want)
			}
			if user >= 0 && a.Items[0].Position > user+1 {
				t.Errorf("the first item that is shown is %d, want the user's, %d", a.Items[0].Position, user+1)
			}
		})
	}
}

// TestTailIsTheSameForCompaction: hosts that give results of tools as a user's messages say nothing of the user's with them.
func TestTailIsTheSameForCompaction(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: setup.Conversation{FreshTailCount: 2}})
	all := []conversation.Message{turn("user " + long(50)), turn("assistant " + long(50)), turn("user q")}
	for i := range 100 {
		all = append(all, turn(fmt.Sprintf("assistant >t%d", i)), turn(fmt.Sprintf("user <t%d %s", i, long(10))))
	}
	talked(t, e, all...)
	a := assembled(t, e, assemble.Request{})
	if _, err := e.Compact(t.Context(), compact.Request{Conversation: "c", Force: true}); err != nil {
		t.Fatal(err)
	}
	items, err := e.Context(t.Context(), compact.ContextRequest{Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Items[a.Tail].Position != 3 || len(items) < 2 || items[0].Kind != kinds.Summary || items[1].Position != 3 {
		t.Errorf("assembled tail from %d; compacted to %d items, %+v", a.Items[a.Tail].Position, len(items), items[:2])
	}
}

func TestProvidersTakeAnyNames(t *testing.T) {
	t.Parallel()
	call := func(id, tool, input string) conversation.Block {
		return conversation.Block{Type: conversation.ToolCallBlock, CallID: id, Tool: tool, Input: input}
	}
	result := func(id string) conversation.Block {
		return conversation.Block{Type: conversation.ToolResultBlock, CallID: id}
	}
	e := enginetest.Open(t, engine.Options{})
	many := strings.Repeat("x", 100)
	var live []conversation.Message
	for _, id := range []string{"a", "a", "日本", many, many + "y", strings.Repeat("z", 40), strings.Repeat("z", 40), "a_2"} {
		live = append(live, conversation.Message{Role: "assistant", Blocks: []conversation.Block{call(id, "näme "+many, "{")}},
			conversation.Message{Role: "tool", Blocks: []conversation.Block{result(id)}})
	}
	for _, input := range []string{"", " ", "null", "7", `"x"`, "[1]", `{"a":`, `{"a": "<&>"}`, "x\u2028", `{"\ud83d": "\ud83d\ude00 \ude00\uD83D\\ud83d"}`, "{\"a\":\"\xff\x00\"}", "{\"a\":\"\xff\"}"} {
		live = append(live, conversation.Message{Role: "assistant", Blocks: []conversation.Block{call("i"+fmt.Sprintf("%x", input), "", input), result("i" + fmt.Sprintf("%x", input))}})
	}
	live = append(live, conversation.Message{Role: "assistant", Text: "bye \n"})
	a := assembled(t, e, assemble.Request{Conversation: "unknown", Live: live})
	checkProviders(t, a)
	openAI, ids, inputs := a.OpenAI(), []string{}, []string{}
	for _, m := range openAI {
		for _, c := range m.ToolCalls {
			ids, inputs = append(ids, c.ID), append(inputs, c.Function.Arguments)
		}
	}
	if openAI[0].Role != "user" || openAI[0].Content == "" {
		t.Errorf("begins with %+v", openAI[0])
	}
	z := strings.Repeat("z", 40)
	if diff := cmp.Diff([]string{"a", "a_2", ids[2], ids[3], ids[4], z, z[:32] + "_2", "a_2_2"}, ids[:8]); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"{}", "{}", `{"input":null}`, `{"input":7}`, `{"input":"x"}`, `{"input":[1]}`, `{"input":"{\"a\":"}`, `{"a":"<&>"}`, `{"input":"x\u2028"}`,
		`{"\ufffd":"\ud83d\ude00 \ufffd\ufffd\\ud83d"}`, `{"a":"��"}`, `{"a":"�"}`}, inputs[8:]); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	_, messages := a.Anthropic()
	if last := messages[len(messages)-1]; last.Role != "assistant" || last.Content[0].Text != "bye" {
		t.Errorf("ends with %+v", last)
	}
	if system, none := new(assemble.Assembled).Anthropic(); system != "" || len(none) != 0 || len(new(assemble.Assembled).OpenAI()) != 0 || new(assemble.Assembled).Text() != "" {
		t.Error("nothing gives something")
	}
}
