package remote

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCache: the question that was longest not asked goes first, an old one is asked anew, and who changes a vector changes only their own.
func TestCache(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := newCache(2, time.Minute, func() time.Time { return now })
	key := func(n int) [32]byte { return sha256.Sum256(fmt.Append(nil, n)) }
	known := func(n int) bool {
		v, ok := c.get(key(n))
		if ok && v[0] != float32(n) {
			t.Errorf("question %d has the vector %v", n, v)
		}
		return ok
	}
	mine := []float32{1}
	c.put(key(1), mine)
	mine[0] = 7
	c.put(key(2), []float32{2})
	v, ok := c.get(key(1))
	if !ok {
		t.Fatal("the first is forgotten")
	}
	v[0] = 9
	c.put(key(3), []float32{3})
	if !known(1) || known(2) || !known(3) {
		t.Error("want the second forgotten, alone")
	}
	now = now.Add(time.Minute)
	if known(1) {
		t.Error("the first is known after a minute")
	}
	c.put(key(3), []float32{3})
	if !known(3) {
		t.Error("the third was asked anew, and is forgotten")
	}
	if got, want := c.stats(), (Cached{Entries: 1, Hits: 4, Misses: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWithoutCommon(t *testing.T) {
	for _, c := range []struct{ text, common, want string }{
		{"Where did Zoë hide the silver key?", "zoe", "Where did hide the silver key?"},
		{"What is the capital?", "what is the", "capital?"},
		{"is it", "is it", "is it"},
		{"The  tea", "cup", "The  tea"},
		{"天气 is good", "天气 is", "天气 good"},
		{"?!", "", "?!"},
	} {
		got := withoutCommon(c.text, func(word string) float64 {
			if slices.Contains(strings.Fields(c.common), word) {
				return 0.1
			}
			return 0.2
		})
		if got != c.want {
			t.Errorf("%q without %q: %q, want %q", c.text, c.common, got, c.want)
		}
	}
}

// TestFacts: what models are known for, under the names that servers give them.
func TestFacts(t *testing.T) {
	for model, dims := range map[string]int{
		"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "nomic-embed-text": 768, "nomic-embed-text:latest": 768, "nomic-ai/nomic-embed-text-v1.5": 768,
		"bge-m3": 1024, "BAAI/bge-m3": 1024, "all-MiniLM-L6-v2": 384, "sentence-transformers/all-MiniLM-L6-v2": 384, "all-mpnet-base-v2": 768,
		"jina-embeddings-v5-text-small": 1024, "jina-embeddings-v5-text-nano": 768, "voyage-3": 1024, "voyage-3.5": 1024, "voyage-3-large": 1024, "voyage-3-lite": 512,
		"qwen3-embedding:0.6b": 1024, "Qwen/Qwen3-Embedding-8B": 4096, "qwen3-embedding": 0, "intfloat/e5-base-v2": 768, "of-tomorrow": 0, "": 0,
	} {
		if got := factsOf(model).dims; got != dims {
			t.Errorf("%s: %d dimensions, want %d", model, got, dims)
		}
	}
	for i, f := range known {
		if got := factsOf(f.name); got != f {
			t.Errorf("row %d, %s, is hidden by %s", i, f.name, got.name)
		}
	}
}
