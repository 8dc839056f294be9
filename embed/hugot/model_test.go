package hugot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mallardmem/mallard/embed/hugot"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/testdata/minilm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is a model small enough for tens of thousands of texts.
const tiny = "testdata/tiny"

func TestConform(t *testing.T) {
	enginetest.ConformEmbedder(t, func(t *testing.T) setup.Embedder { return open(t, tiny, hugot.Options{}) })
}

func TestConformMiniLM(t *testing.T) {
	dir := miniLM(t)
	if testing.Short() {
		t.Skip("a minute of a real model")
	}
	enginetest.ConformEmbedder(t, func(t *testing.T) setup.Embedder { return open(t, dir, hugot.Options{MaxTokens: 16}) })
}

// TestReference holds vectors to ones computed by another program.
func TestReference(t *testing.T) {
	m := open(t, tiny, hugot.Options{})
	var rows []struct {
		Text   string
		Vector []float32
	}
	content, err := os.ReadFile("testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &rows); err != nil || len(rows) < 5 {
		t.Fatalf("tiny.json has %d texts, error %v: want 5 or more", len(rows), err)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Text
	}
	vectors, err := m.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		var worst float64
		for j, x := range row.Vector {
			worst = max(worst, math.Abs(float64(x-vectors[i][j])))
		}
		if len(vectors[i]) != len(row.Vector) || worst > 1e-5 {
			t.Errorf("%.40q: %g off the reference", row.Text, worst)
		}
	}
}

// TestThousandTexts takes them all in the long form only, which is minutes; else twenty.
func TestThousandTexts(t *testing.T) {
	dir, every := miniLM(t), 50
	if testing.Short() {
		t.Skip("seconds of a real model")
	}
	if enginetest.Long("models") {
		every = 1
	}
	minilm.Hold(t, every, open(t, dir, hugot.Options{}).EmbedTexts)
}

// TestHostile feeds all of what tokenizers and graphs have died of.
func TestHostile(t *testing.T) {
	m := open(t, tiny, hugot.Options{})
	texts := make([]string, 20_000)
	if testing.Short() {
		texts = texts[:2000]
	}
	odd := []string{"\x00", "\xff", "\xed\xa0\x80", "é", "e\u0301", "\u200d", "\u2028", "\u3000", "ﷺ", "İ", "龍", "[SEP]", "[PAD]", "[MASK]", "##", "\U0010ffff", "x"}
	for i := range texts {
		texts[i] = fmt.Sprintf("%s%c%s", odd[i%len(odd)], rune(i*53), strings.Repeat(odd[i/len(odd)%len(odd)], i%40))
	}
	vectors, err := m.EmbedTexts(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, error %v: want %d", len(vectors), err, len(texts))
	}
	for i, v := range vectors {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != m.Dims() || math.Abs(sum-1) > 1e-4 || math.IsNaN(sum) {
			t.Fatalf("%q: %d dimensions, square %g", texts[i], len(v), sum)
		}
	}
}

func TestEmbedIDs(t *testing.T) {
	m := open(t, tiny, hugot.Options{MaxTokens: 8})
	vectors, err := m.EmbedIDs(t.Context(), [][]int32{{2, 40, 3}, {2, 3}, {40}})
	if err != nil || len(vectors) != 3 || len(vectors[2]) != 16 {
		t.Fatalf("EmbedIDs: %d vectors, error %v: want 3 of 16 dimensions", len(vectors), err)
	}
	for want, bad := range map[string][]int32{
		"sequence 1 has 0 tokens":     {},
		"sequence 1 has 9 tokens":     make([]int32, 9),
		"has the id -1":               {2, -1},
		"has the id 5000: want 0 to ": {5000},
	} {
		if _, err := m.EmbedIDs(t.Context(), [][]int32{{2}, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ids %v: error %v: want %q", bad, err, want)
		}
	}
}

// TestCancel cancels after the call has begun, and while another one runs.
func TestCancel(t *testing.T) {
	m := open(t, tiny, hugot.Options{})
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d, and a few words to fill it", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := m.EmbedTexts(&countdown{ctx, cancel, len(texts) + 10}, texts); !errors.Is(err, context.Canceled) {
		t.Errorf("between batches: error %v: want context.Canceled", err)
	}
	busy, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for busy.Err() == nil {
			m.EmbedTexts(busy, texts)
		}
	}()
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var err error
	for err == nil {
		_, err = m.EmbedTexts(ctx, texts[:100])
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside another call: error %v: want context.DeadlineExceeded", err)
	}
	stop()
	<-done
}

// countdown is cancelled when it was asked for its error n times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	n      int
}

func (c *countdown) Err() error {
	if c.n--; c.n == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func TestClose(t *testing.T) {
	m := open(t, tiny, hugot.Options{})
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.EmbedTexts(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: error %v: want one that says closed", err)
	}
}

func TestOptions(t *testing.T) {
	for want, options := range map[string]hugot.Options{
		"MaxTokens is 2":                     {MaxTokens: 2},
		"MaxTokens is 65: want at most the ": {MaxTokens: 65},
	} {
		if _, err := hugot.Open(tiny, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", options, err, want)
		}
	}
	if _, err := hugot.Open(filepath.Join(t.TempDir(), "absent"), hugot.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent folder: error %v: want fs.ErrNotExist", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	m := open(b, miniLM(b), hugot.Options{})
	for _, size := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			texts := make([]string, size)
			for i := range texts {
				texts[i] = fmt.Sprintf("Number %d: yesterday the retired pilot told me that she'd adopted two rescue puppies from the nearby shelter.", 10+i)
			}
			for b.Loop() {
				if _, err := m.EmbedTexts(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

func open(t testing.TB, dir string, options hugot.Options) *hugot.Model {
	t.Helper()
	m, err := hugot.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// miniLM gives the folder of the real model, or skips.
func miniLM(t testing.TB) string {
	t.Helper()
	models := os.Getenv("MEMCTL_MODELS")
	if models == "" {
		t.Skip("MEMCTL_MODELS is not set: all-MiniLM-L6-v2 is not tested")
	}
	return filepath.Join(models, "all-MiniLM-L6-v2")
}
