package text_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/text"
)

const turn = "Yesterday Maria told me that she's moving to Berlin in March, because the company offered her the DB-42 project; " +
	"we should visit her when the weather gets better and bring the children's old books along."

func BenchmarkAppend(b *testing.B) {
	for name, s := range map[string]string{
		"english": turn,
		"german":  "Gestern erzählte Maria, dass sie im März nach Köln zieht, weil die Firma ihr größere Häuser und Straßenbauprojekte anbietet.",
		"chinese": "昨天玛丽亚告诉我她三月份要搬到柏林去，因为公司给了她一个新项目。",
		"code":    "see src/engine/text/analyzer.go and https://example.com/a/b?c=1 for v1.2.3 of foo_bar, mail ops@example.com",
	} {
		b.Run(name, func(b *testing.B) {
			a, err := text.NewAnalyzer("")
			if err != nil {
				b.Fatal(err)
			}
			var tokens []text.Token
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				tokens = a.Append(tokens[:0], s)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
			b.ReportMetric(float64(b.N*len(tokens))/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkAppendRareWords has no word twice, so that nothing is remembered.
func BenchmarkAppendRareWords(b *testing.B) {
	a, err := text.NewAnalyzer("")
	if err != nil {
		b.Fatal(err)
	}
	var s strings.Builder
	for i := range 40000 {
		word := []byte("aaaationings ")
		for j, n := 0, i; j < 4; j, n = j+1, n/26 {
			word[j] += byte(n % 26)
		}
		s.Write(word)
	}
	var tokens []text.Token
	b.SetBytes(int64(s.Len()))
	b.ReportAllocs()
	for b.Loop() {
		tokens = a.Append(tokens[:0], s.String())
	}
	b.ReportMetric(float64(b.N*len(tokens))/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkSnippet(b *testing.B) {
	a, err := text.NewAnalyzer("")
	if err != nil {
		b.Fatal(err)
	}
	s := strings.Repeat(turn+" ", 10)
	terms := map[string]bool{"berlin": true, "book": true}
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		text.Snippet(s, terms, a, 200)
	}
}

// BenchmarkExtractLeaf makes an extract of a leaf's size, a different stretch of talk each time, as compaction does.
func BenchmarkExtractLeaf(b *testing.B) {
	a, err := text.NewAnalyzer("")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.07, 2.7, 30_000)
	word := func() string {
		n := zipf.Uint64()
		spelled := ""
		for range 2 + n%3 {
			spelled += string("bcdfghklmnprstvw"[n%16]) + string("aeiou"[n%5])
			n = n*31 + 7
		}
		return spelled
	}
	leaves := make([]text.ExtractInput, 16)
	at := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	for i := range leaves {
		leaves[i].Target = 2000
		for j := range 450 {
			var said strings.Builder
			for k := range 14 + r.IntN(25) {
				if k%9 == 0 && k > 0 {
					said.WriteString(". A")
				}
				said.WriteString(word() + " ")
			}
			at = at.Add(40 * time.Second)
			leaves[i].Passages = append(leaves[i].Passages, text.Passage{Label: fmt.Sprintf("[%s] %s", at.Format("2006-01-02 15:04 UTC"), []string{"Ines", "assistant"}[j%2]), Text: said.String()})
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if a.Extract(leaves[i%len(leaves)]) == "" {
			b.Fatal("no extract")
		}
		i++
	}
}
