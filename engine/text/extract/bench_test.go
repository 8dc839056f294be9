package extract_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/extract"
)

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
	leaves := make([]extract.Input, 16)
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
			leaves[i].Passages = append(leaves[i].Passages, extract.Passage{Label: fmt.Sprintf("[%s] %s", at.Format("2006-01-02 15:04 UTC"), []string{"Ines", "assistant"}[j%2]), Text: said.String()})
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if extract.Summary(a, leaves[i%len(leaves)]) == "" {
			b.Fatal("no extract")
		}
		i++
	}
}
