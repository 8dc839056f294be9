package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
)

const benchMemories = 2000

// filled opens a file with the first memories of a corpus.
func filled(b *testing.B) (*engine.Engine, *phaseRun) {
	b.Helper()
	ctx := context.Background()
	r := &phaseRun{config: RecallConfig{Memories: benchMemories}.withDefaults(), corpus: newCorpus(1), file: filepath.Join(b.TempDir(), "bench.db")}
	e, _, err := r.open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	if _, err := e.RememberMany(ctx, r.corpus.memories(0, benchMemories)); err != nil {
		b.Fatal(err)
	}
	return e, r
}

func BenchmarkRecall(b *testing.B) {
	e, r := filled(b)
	for _, sort := range []struct {
		name  string
		query func(int) recall.Query
	}{{"hybrid", r.hybrid}, {"scope", r.hybridScope}, {"lexical", r.lexical}, {"miss", r.lexicalMiss}, {"vector", r.vector}} {
		b.Run(sort.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := r.recall(b.Context(), e, sort.query(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	e, r := filled(b)
	next := benchMemories
	var single float64 // seconds a memory
	b.Run("remember", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Remember(b.Context(), r.corpus.memory(next)); err != nil {
				b.Fatal(err)
			}
			next++
		}
		single = b.Elapsed().Seconds() / float64(b.N)
	})
	b.Run("many", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.RememberMany(b.Context(), r.corpus.memories(next, next+benchMemories)); err != nil {
				b.Fatal(err)
			}
			next += benchMemories
		}
		bulk := b.Elapsed().Seconds() / float64(b.N*benchMemories)
		b.ReportMetric(1/bulk, "memories/s")
		if single > 0 { // with -bench the other may have been left out
			b.ReportMetric(single/bulk, "×single")
		}
	})
	b.Run("append", func(b *testing.B) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := 0; b.Loop(); i++ {
			_, err := e.Append(b.Context(), conversation.AppendRequest{Conversation: fmt.Sprint("talk ", i%10), Messages: []conversation.Message{
				{Speaker: "Ines", Text: r.corpus.text(i), SaidAt: start.Add(time.Duration(i) * time.Minute)},
			}})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTokenise(b *testing.B) {
	a, err := text.NewAnalyzer("english")
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus(1)
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = c.text(i)
	}
	var tokens []text.Token
	for i := 0; b.Loop(); i++ {
		tokens = a.Append(tokens[:0], texts[i%len(texts)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
}
