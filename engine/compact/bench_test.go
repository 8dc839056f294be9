package compact_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// BenchmarkCompactPass is what one pass costs beside the summariser: reading the context, choosing, writing. The conversation has so many
// messages, none of them summarised.
func BenchmarkCompactPass(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if n > 1000 && testing.Short() {
				b.Skip("short: no large conversation")
			}
			e := enginetest.Open(b, engine.Options{LLM: enginetest.Summing(300, 300), Conversation: setup.Conversation{LeafChunkTokens: 500, SweepMaxPasses: 1, SummaryMaxCalls: 1 << 20}})
			for from := 0; from < n; from += 1000 {
				r := conversation.AppendRequest{Conversation: "talk"}
				for i := range 1000 {
					r.Messages = append(r.Messages, conversation.Message{Text: fmt.Sprintf("Turn %d: the crane at pier %d was painted in colour %d, and then some more was said about it at length.", from+i, i%7, i%11),
						SaidAt: enginetest.Noon.Add(time.Duration(from+i) * time.Minute)})
				}
				if _, err := e.Append(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				c, err := e.Compact(b.Context(), compact.Request{Conversation: "talk", Force: true})
				if err != nil || len(c.Passes) != 1 {
					b.Fatalf("%+v, %v", c, err)
				}
			}
		})
	}
}
