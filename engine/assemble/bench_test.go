package assemble_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// toolTalk appends n messages of about 80 tokens, two in ten of them the call of a tool and its result.
func toolTalk(b *testing.B, e *engine.Engine, n int) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for said := 0; said < n; {
		batch := make([]conversation.Message, min(2000, n-said))
		for i := range batch {
			words := make([]string, 10+rng.IntN(90))
			for j := range words {
				words[j] = enginetest.Vocabulary[rng.IntN(len(enginetest.Vocabulary))]
			}
			m := conversation.Message{Role: []string{"user", "assistant"}[said%2], Text: strings.Join(words, " "), SaidAt: enginetest.Noon.Add(time.Duration(said) * time.Second)}
			switch said % 10 {
			case 5:
				m.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: m.Text}, {Type: conversation.ToolCallBlock, CallID: fmt.Sprint("call_", said), Tool: "look"}}
			case 6:
				m = conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: fmt.Sprint("call_", said-1), Tool: "look", Output: m.Text}}}
			}
			batch[i] = m
			said++
		}
		talked(b, e, batch...)
	}
}

// BenchmarkAssemble measures a conversation before and after its older part became summaries: leaves of 200 messages, and condensed ones of
// ten leaves.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		e := enginetest.Open(b, engine.Options{})
		toolTalk(b, e, n)
		run := func(name string, r assemble.Request) {
			r.Conversation = "c"
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Assemble(b.Context(), r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("raw", assemble.Request{})
		run("raw 8,000 tokens", assemble.Request{Budget: 8000})
		byPrompt, x := assemble.Request{PromptAware: true, Prompt: "Where did the ferry go in the storm?", Budget: 8000}, enginetest.Index(e)
		x.AskFile(true)
		run("prompt by SQL", byPrompt)
		x.AskFile(false)
		if ready, err := x.AwaitResident(b.Context()); !ready || err != nil {
			b.Fatalf("no resident index: %v", err)
		}
		run("prompt", byPrompt)
		condense(b, e, n, 200)
		condense(b, e, n, 2000)
		run("compacted", assemble.Request{})
	}
}

// condense puts summaries of 300 tokens in the place of what the context has in each stretch of positions, but for the last.
func condense(b *testing.B, e *engine.Engine, n, stretch int) {
	b.Helper()
	sources := make([][]string, n/stretch-1)
	for _, i := range assembled(b, e, assemble.Request{Budget: 1 << 30}).Items {
		if at := (i.Position - 1) / stretch; at < len(sources) {
			sources[at] = append(sources[at], i.ID)
		}
	}
	var all []func([]string) enginetest.Made
	for _, ids := range sources {
		all = append(all, func([]string) enginetest.Made {
			return enginetest.Made{Text: strings.Repeat("crane & bridge; ", 75), Tokens: 300, Sources: ids}
		})
	}
	if _, err := enginetest.AddSummaries(b.Context(), e, "c", all...); err != nil {
		b.Fatal(err)
	}
}
