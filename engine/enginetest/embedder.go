package enginetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// tolerance is how far two vectors of one text may be apart, per dimension:
// batches of other shapes add in another order.
const tolerance = 1e-4

var plainTexts = []string{
	"The harbour was full of fishing boats.",
	"She paints in oil.",
	"Rust never sleeps, and neither does the night watchman of the old shipyard by the river.",
	"Budget: 40 euros",
	"",
	"ok",
}

// ConformEmbedder holds a provider to the contract of setup.Embedder. Open
// gives an embedder that the test may use until it ends; it is called once per
// part.
func ConformEmbedder(t *testing.T, open func(t *testing.T) setup.Embedder) {
	t.Run("identity", func(t *testing.T) {
		a, b := open(t), open(t)
		if a.Model() == "" || a.Fingerprint() == "" || a.Dims() < 1 {
			t.Errorf("model %q, fingerprint %q, %d dimensions: want none of them empty", a.Model(), a.Fingerprint(), a.Dims())
		}
		if a.Model() != b.Model() || a.Fingerprint() != b.Fingerprint() || a.Dims() != b.Dims() {
			t.Errorf("opened twice: %q %q %d and %q %q %d: want the same", a.Model(), a.Fingerprint(), a.Dims(), b.Model(), b.Fingerprint(), b.Dims())
		}
	})
	t.Run("batch", func(t *testing.T) { conformBatch(t, open(t)) })
	t.Run("query", func(t *testing.T) { conformQuery(t, open(t)) })
	t.Run("cancel", func(t *testing.T) { conformCancel(t, open(t)) })
	t.Run("hostile", func(t *testing.T) { conformHostile(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { conformConcurrent(t, open(t)) })
}

// conformBatch: same order, unit length, repeatable, the same alone and
// together, and nothing for nothing.
func conformBatch(t *testing.T, e setup.Embedder) {
	together := embed(t, e, plainTexts)
	again := embed(t, e, plainTexts)
	for i, text := range plainTexts {
		checkUnit(t, e, text, together[i])
		if d := distance(together[i], again[i]); d != 0 {
			t.Errorf("%q embedded twice: %g apart", text, d)
		}
		if d := distance(together[i], embed(t, e, []string{text})[0]); d > tolerance {
			t.Errorf("%q alone and in a batch: %g apart", text, d)
		}
	}
	if d := distance(together[0], together[1]); d < 1e-3 {
		t.Errorf("two different texts are only %g apart", d)
	}
	if none := embed(t, e, nil); len(none) != 0 {
		t.Errorf("an empty batch gave %d vectors", len(none))
	}
}

// conformQuery: weights of one change nothing; a word of weight zero is as if
// left out; a query with no other word is kept.
func conformQuery(t *testing.T, e setup.Embedder) {
	query := func(text string, weight func(string) float64) []float32 {
		t.Helper()
		v, err := e.EmbedQuery(t.Context(), text, weight)
		if err != nil {
			t.Fatalf("query %q: %v", text, err)
		}
		checkUnit(t, e, text, v)
		return v
	}
	without := func(words ...string) func(string) float64 {
		return func(word string) float64 {
			if word != strings.ToLower(word) || strings.ContainsAny(word, " .,!?'éÉ") {
				t.Errorf("weight asked for %q: want a lower-case word without accents or punctuation", word)
			}
			for _, w := range words {
				if w == word {
					return 0
				}
			}
			return 1
		}
	}
	const text = "Where did Zoë hide the silver key?"
	plain := query(text, nil)
	if d := distance(plain, query(text, without())); d > tolerance {
		t.Errorf("weights of one: %g apart from none", d)
	}
	left := query("Where did hide the silver key?", nil)
	if d := distance(left, query(text, without("zoe"))); d > tolerance {
		t.Errorf("a word of weight zero: %g apart from the query without it", d)
	}
	if d := distance(plain, left); d < 1e-3 {
		t.Errorf("leaving a word out moved the query by %g only", d)
	}
	if d := distance(query("silver key", nil), query("silver key", without("silver", "key"))); d > tolerance {
		t.Errorf("all words of weight zero: %g apart from the whole query", d)
	}
	query("", without())
	query("?!", without())
}

func conformCancel(t *testing.T, e setup.Embedder) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.EmbedTexts(ctx, plainTexts); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedTexts with a cancelled context: error %v: want context.Canceled", err)
	}
	if _, err := e.EmbedQuery(ctx, "ok", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("EmbedQuery with a cancelled context: error %v: want context.Canceled", err)
	}
}

// conformHostile feeds made-up rubbish, then very long texts: 20,000, or as
// many as two seconds allow but at least 50; in the long form ten seconds and
// 500. In short mode no more than the least.
func conformHostile(t *testing.T, e setup.Embedder) {
	rng := rand.New(rand.NewPCG(1, 2))
	start, done, least, takes := time.Now(), 0, 50, 2*time.Second
	if Long("models") {
		least, takes = 500, 10*time.Second
	}
	for ; done < 20_000; done += 50 {
		if done >= least && (testing.Short() || time.Since(start) > takes) {
			break
		}
		texts := make([]string, 50)
		for i := range texts {
			texts[i] = hostileText(rng)
		}
		for i, v := range embed(t, e, texts) {
			checkUnit(t, e, texts[i], v)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d hostile texts", done)
	long := []string{
		strings.Repeat("never ending ", 100_000/13),
		strings.Repeat("x", 100_000),
		strings.Repeat(" ", 1_000_000),
		strings.Repeat("\xff", 100_000),
		strings.Repeat("e\u0301", 50_000),
	}
	for i, v := range embed(t, e, long) {
		checkUnit(t, e, long[i][:10], v)
	}
}

func hostileText(rng *rand.Rand) string {
	odd := []string{"\x00", "\xff", "\xed\xa0\x80", "\u0301", "\u200d", "\ufffd", "\ufeff", "\u202e", "\U000e0041", "\U0010ffff", "[SEP]", "[CLS]", "İ", "ﷺ", "한", "龍", "👩‍🚀", "\u00a0", "##"}
	var b strings.Builder
	for range rng.IntN(30) {
		switch rng.IntN(4) {
		case 0:
			b.WriteByte(byte(rng.Uint32()))
		case 1:
			b.WriteRune(rune(rng.IntN(0x110000)))
		case 2:
			b.WriteString(odd[rng.IntN(len(odd))])
		default:
			b.WriteString(plainTexts[rng.IntN(2)][rng.IntN(10):])
		}
	}
	return b.String()
}

// conformConcurrent: four at once get what one gets, five times over, or as
// often as two seconds allow if it is not long.
func conformConcurrent(t *testing.T, e setup.Embedder) {
	want := embed(t, e, plainTexts)
	start := time.Now()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range 5 {
				if n > 0 && time.Since(start) > 2*time.Second && !Long("models") {
					return
				}
				got, err := e.EmbedTexts(t.Context(), plainTexts)
				if err != nil {
					t.Errorf("concurrent: %v", err)
					return
				}
				for i := range want {
					if d := distance(want[i], got[i]); d > tolerance {
						t.Errorf("concurrent: %q is %g apart", plainTexts[i], d)
					}
				}
				if _, err := e.EmbedQuery(t.Context(), "who?", func(string) float64 { return 0.5 }); err != nil {
					t.Errorf("concurrent: %v", err)
				}
			}
		})
	}
	group.Wait()
}

func embed(t *testing.T, e setup.Embedder, texts []string) [][]float32 {
	t.Helper()
	vectors, err := e.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatalf("embed %d texts: %v", len(texts), err)
	}
	if len(vectors) != len(texts) {
		t.Fatalf("%d texts gave %d vectors", len(texts), len(vectors))
	}
	return vectors
}

func checkUnit(t *testing.T, e setup.Embedder, text string, v []float32) {
	t.Helper()
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if len(v) != e.Dims() || math.IsNaN(sum) || math.Abs(math.Sqrt(sum)-1) > tolerance {
		t.Errorf("%q: %d dimensions of length %g: want %d of length 1", text, len(v), math.Sqrt(sum), e.Dims())
	}
}

// distance is the largest difference in one dimension.
func distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var most float64
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return most
}
