package lookup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
)

// BenchmarkHistory searches and expands one long conversation with summaries: the median of each, in milliseconds.
func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		e := enginetest.Open(b, engine.Options{})
		longTalk(b, e, n, "migration")
		_, top := compacted(b, e, n)
		ask := func(name string, do func() error) {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					if err := do(); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
			})
		}
		search := func(name string, r lookup.GrepRequest) {
			ask(name, func() error {
				r.Conversation = "long"
				_, err := e.Grep(b.Context(), r)
				return err
			})
		}
		x := enginetest.Index(e)
		x.AskFile(true)
		search("text by SQL", lookup.GrepRequest{Pattern: "wofc wofe migrations"})
		x.AskFile(false)
		if ready, err := x.AwaitResident(b.Context()); !ready || err != nil {
			b.Fatalf("no resident index: %v", err)
		}
		search("text", lookup.GrepRequest{Pattern: "wofc wofe migrations"})
		search("frequent", lookup.GrepRequest{Pattern: "wod wofc wofe wouev"})
		search("phrase", lookup.GrepRequest{Pattern: `"wod wog" migration`, Words: lookup.AllWords})
		search("regex", lookup.GrepRequest{Pattern: `migrat\w+`, Mode: lookup.GrepRegex})
		search("absent", lookup.GrepRequest{Pattern: "nothing.*like it", Mode: lookup.GrepRegex})
		ask("expand", func() error {
			x, err := e.Expand(b.Context(), lookup.ExpandRequest{IDs: []string{top}, Depth: 10, Messages: true})
			if err == nil && x.Tokens < 3000 {
				err = fmt.Errorf("%d tokens", x.Tokens)
			}
			return err
		})
		ask("describe", func() error {
			_, err := e.Describe(b.Context(), lookup.DescribeRequest{ID: top})
			return err
		})
		ask("query", func() error {
			_, err := e.ExpandQuery(b.Context(), lookup.ExpandQueryRequest{Prompt: "wofc wofe migrations", Conversation: "long"})
			return err
		})
	}
}
