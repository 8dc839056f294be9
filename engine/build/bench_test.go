package build_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// BenchmarkBuild measures each preset over conversations of several lengths, of which all but the newest 250 messages are one summary. Nobody is asked, nothing
// recalled.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		e := open(b)
		for from := 0; from < n; from += 1000 {
			all := make([]conversation.Message, 1000)
			for i := range all {
				at := from + i
				all[i] = conversation.Message{Role: []string{"user", "assistant"}[at%2], Text: fmt.Sprintf("Message %d. %s", at, strings.Repeat("The crane stands at the pier. ", 5)),
					Key: fmt.Sprint("k", at), SaidAt: enginetest.Noon.Add(time.Duration(at) * time.Minute)}
			}
			if _, err := e.Append(b.Context(), conversation.AppendRequest{Conversation: "c", Messages: all}); err != nil {
				b.Fatal(err)
			}
		}
		if _, _, err := e.AdoptSummary(b.Context(), compact.AdoptRequest{Conversation: "c", Text: "They spoke of cranes.", FirstKept: fmt.Sprint("k", n-250)}); err != nil {
			b.Fatal(err)
		}
		for _, p := range build.Presets() {
			p.Snapshot, p.Recall.On = "", false
			r := build.Request{Conversation: "c", Custom: &p, Input: "What now?"}
			if p.Name == build.DefaultPreset {
				r.Budget = 8000
			}
			b.Run(fmt.Sprintf("%s/%d", p.Name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := e.Build(b.Context(), r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
