package assemble_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/window"
)

// randomTurns makes messages of all roles. Tools are called alone or together and answered soon, late, twice, before they were called or
// never; ids come again now and then.
func randomTurns(rng *rand.Rand, n int) (all []conversation.Message) {
	var open []string
	for i := range n {
		m := conversation.Message{Role: []string{"user", "assistant", "assistant", "system", "tool"}[rng.IntN(5)]}
		text := strings.Repeat("word", 1+rng.IntN(30)) + []string{"", " crane", " bridge"}[rng.IntN(3)]
		switch {
		case m.Role == "assistant" && rng.IntN(3) == 0:
			for range 1 + rng.IntN(3) {
				id := fmt.Sprint("call_", i, "_", len(open))
				if rng.IntN(15) == 0 {
					id = "call"
				}
				open = append(open, id)
				m.Blocks = append(m.Blocks, conversation.Block{Type: conversation.ToolCallBlock, CallID: id, Tool: "look", Input: `{"at":1}`})
			}
			if rng.IntN(2) == 0 {
				m.Blocks = append(m.Blocks, conversation.Block{Type: conversation.TextBlock, Text: text})
			}
		case m.Role == "tool" || m.Role == "user" && rng.IntN(10) == 0:
			id := fmt.Sprint("none_", i)
			if len(open) > 0 && rng.IntN(8) > 0 {
				at := rng.IntN(len(open))
				id = open[at]
				open = slices.Delete(open, at, at+1)
			}
			m.Blocks = []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Tool: "look", Output: strings.Repeat("word", rng.IntN(10+90*rng.IntN(4)))}}
		default:
			m.Text = text
		}
		all = append(all, m)
	}
	return all
}

// plannedItems gives what window plans with, of all items of a context that are shown.
func plannedItems(items []assemble.AssembledItem) (all []window.Item) {
	for _, i := range items {
		planned := window.Item{Position: i.Position, Ref: i.ID, Tokens: i.Tokens, Summary: i.Summary != nil}
		if i.Message != nil {
			planned.Role = i.Message.Role
			for _, b := range i.Message.Blocks {
				switch b.Type {
				case conversation.ToolCallBlock:
					planned.Calls = append(planned.Calls, b.CallID)
				case conversation.ToolResultBlock:
					planned.Results = append(planned.Results, b.CallID)
				}
			}
		}
		all = append(all, planned)
	}
	return all
}

// TestAssembleIsAsIfItHadReadEverything: what is read for a budget is enough to choose as from the whole context, and what comes of it keeps
// every rule of providers.
func TestAssembleIsAsIfItHadReadEverything(t *testing.T) {
	enginetest.Alone(t)
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range rounds {
		e := enginetest.Open(t, engine.Options{})
		n := 5 + rng.IntN(450)
		talked(t, e, randomTurns(rng, n)...)
		for from := 1; from < n/2 && rng.IntN(3) > 0; {
			to := from + rng.IntN(n/4+1)
			summarised(t, e, strings.Repeat("was crane ", 1+rng.IntN(40)), from, to)
			from = to + 1 + rng.IntN(3)
		}
		everything := assembled(t, e, assemble.Request{Budget: 1 << 30})
		if len(everything.Items) != everything.Total.Messages+everything.Total.Summaries || everything.Left.Items != 0 || everything.OverBudget {
			t.Fatalf("not everything is shown: %+v, left %+v", everything.Total, everything.Left)
		}
		items := plannedItems(everything.Items)
		for range 10 {
			r := assemble.Request{Budget: 1 + rng.IntN(everything.Tokens+10), TailCount: rng.IntN(70) - 1, TailTokens: []int{0, -1, 50, 1000}[rng.IntN(4)]}
			a := assembled(t, e, r)
			policy := window.Policy{TailCount: r.TailCount, TailTokens: r.TailTokens}
			if r.TailCount == 0 {
				policy.TailCount = 64
			}
			tail := policy.Tail(items, r.Budget)
			want := window.Select(items, window.SelectOptions{Budget: r.Budget, Tail: tail})
			checkChoice(t, a, items, want, tail)
			r.PromptAware, r.Prompt = true, "the crane"
			checkShown(t, assembled(t, e, r), items, tail)
		}
		if t.Failed() {
			return
		}
	}
}

// checkChoice compares what was chosen with a selection from all items.
func checkChoice(t *testing.T, a *assemble.Assembled, items []window.Item, want window.Selection, tail int) {
	t.Helper()
	var got, wanted []int
	for _, i := range a.Items {
		got = append(got, i.Position)
	}
	for _, i := range want.Indexes {
		wanted = append(wanted, items[i].Position)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("budget %d (-want +got):\n%s", a.Budget, diff)
	}
	if want.Over != (a.Tokens > a.Budget || a.Left.Results > 0) || !want.Over && a.Tokens != want.Tokens || a.Tokens > want.Tokens {
		t.Errorf("budget %d: %d tokens, %d results left out; as planned %d", a.Budget, a.Tokens, a.Left.Results, want.Tokens)
	}
	checkShown(t, a, items, tail)
}

// checkShown: never over the budget in silence, in order, no half of a pair, and all messages of the fresh tail.
func checkShown(t *testing.T, a *assemble.Assembled, items []window.Item, tail int) {
	t.Helper()
	checkProviders(t, a)
	tokens := 0
	shown := map[string]bool{}
	for i, item := range a.Items {
		tokens += item.Tokens
		shown[item.ID] = true
		if i > 0 && item.Position <= a.Items[i-1].Position {
			t.Errorf("out of order: %d after %d", item.Position, a.Items[i-1].Position)
		}
	}
	if tokens != a.Tokens || a.OverBudget != (tokens > a.Budget) {
		t.Errorf("%d tokens, in fact %d, of %d; over: %v", a.Tokens, tokens, a.Budget, a.OverBudget)
	}
	if a.OverBudget && a.Tail > 0 && a.Left.Items == 0 {
		t.Errorf("over the budget, but nothing is left out of %d items before the tail", a.Tail)
	}
	calls := map[string][]string{} // ids of the messages that hold a call or a result, by the call's
	for i, it := range items {
		if i >= tail && !it.Summary && !shown[it.Ref] {
			t.Errorf("%d of the fresh tail is not shown", it.Position)
		}
		for _, id := range append(slices.Clone(it.Calls), it.Results...) {
			calls[id] = append(calls[id], it.Ref)
		}
	}
	for id, refs := range calls {
		if len(refs) == 2 && shown[refs[0]] != shown[refs[1]] && id != "call" {
			t.Errorf("half of %s is shown", id)
		}
	}
}
