package remote

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRead: whatever a server sends, it is two vectors of two finite numbers, or an error.
func FuzzRead(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}`, `{"data":[{"embedding":[1,2]},{"index":0,"embedding":null}]}`, `{"embeddings":[[1,2],[3,4e38]]}`,
		`[[1,2],[3,4]]`, `[[1,2],[[3],4]]`, `{"data":[{"index":9223372036854775807,"embedding":[]},{}]}`, `<html>`, "", "null", `{"data":null}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, rows := range []string{"data", "embeddings", ""} {
			vectors, err := read([]byte(body), rows, 2, 2)
			if err != nil {
				continue
			}
			for _, v := range vectors {
				if sum := float64(v[0]) + float64(v[1]); len(vectors) != 2 || len(v) != 2 || math.IsNaN(sum) || math.IsInf(sum, 0) {
					t.Fatalf("%q as %q gives %v", body, rows, vectors)
				}
			}
		}
	})
}

// FuzzChunks: there is an end, no piece is too long, and a valid text has valid pieces of itself.
func FuzzChunks(f *testing.F) {
	f.Add("One sentence. And a question? ", 30, 512)
	f.Add("文字が続く。", 90, 100)
	f.Add("a\n", 900, 8192)
	f.Fuzz(func(t *testing.T, text string, times, limit int) {
		if times < 0 || times > 200 || len(text) > 200 || limit < shortest || limit > 20_000 {
			return
		}
		whole := strings.Repeat(strings.ToValidUTF8(text, "?"), times)
		rule := chunkingFor(limit, manyCJK([]rune(whole)))
		for _, p := range chunks(whole, limit, mostPieces) {
			if utf8.RuneCountInString(p) > rule.max || !strings.Contains(whole, p) || p == "" {
				t.Fatalf("limit %d: piece %q", limit, p)
			}
		}
	})
}
