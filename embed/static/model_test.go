package static_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/testdata/minilm"
)

func TestConform(t *testing.T) {
	enginetest.ConformEmbedder(t, func(*testing.T) setup.Embedder { return static.New() })
}

func TestNew(t *testing.T) {
	m := static.New()
	if m.Model() != "static-minilm-256" || m.Dims() != 256 {
		t.Errorf("%q of %d dimensions: want static-minilm-256 of 256", m.Model(), m.Dims())
	}
	near := cosine(t, m, "The kitten is asleep on the sofa.", "A cat naps on the couch.")
	far := cosine(t, m, "The kitten is asleep on the sofa.", "Quarterly revenue fell by a tenth.")
	if near < 0.5 || far > 0.25 {
		t.Errorf("cosine of like texts %.2f, of unlike %.2f: want over 0.5 and under 0.25", near, far)
	}
}

// TestThousandTexts holds vectors to those that ONNX Runtime computes of the same table.
func TestThousandTexts(t *testing.T) { minilm.HoldStatic(t, static.New().EmbedTexts) }

// TestSum checks the arithmetic on a table of four tokens.
func TestSum(t *testing.T) {
	m := openTable(t, [][]float32{{0, -1}, {9, 9}, {9, 9}, {3, 0}, {0, 1}, {-2, 0}, {0, -1}})
	for _, test := range []struct {
		text   string
		weight func(string) float64
		want   []float32
	}{
		{"a", nil, []float32{1, 0}},
		{"a b b b b", nil, []float32{0.6, 0.8}},
		{"ab", nil, []float32{1, 0}},  // a and ##b: 3 − 2
		{"x", nil, []float32{0, -1}},  // unknown
		{"a x", nil, []float32{1, 0}}, // unknown beside a known one
		{"", nil, []float32{0, -1}},   // nothing
		{"a b b b b", weights(map[string]float64{"a": 0.5, "b": 0.5}), []float32{0.6, 0.8}}, // as if plain
		{"a b", weights(map[string]float64{"b": 0.9, "a": 0.1}), []float32{0.70710677, 0.70710677}},
		{"a b", weights(map[string]float64{"b": 5, "a": -1}), []float32{0, 1}},
		{"a b", weights(map[string]float64{"b": 1, "a": math.NaN()}), []float32{0, 1}},
		{"a b b .", weights(map[string]float64{"a": 1, "b": 0.5}), []float32{0.97332853, 0.22941573}}, // 3, 2·√0.5 − √0.5
		{"a a a", weights(nil), []float32{1, 0}},                                                      // no word weighs anything
	} {
		got, err := m.EmbedQuery(t.Context(), test.text, test.weight)
		if err != nil {
			t.Fatal(err)
		}
		if distance := math.Hypot(float64(got[0]-test.want[0]), float64(got[1]-test.want[1])); distance > 1e-6 {
			t.Errorf("%q: %v: want %v", test.text, got, test.want)
		}
	}
}

func weights(of map[string]float64) func(string) float64 {
	return func(word string) float64 { return of[word] }
}

func TestWriteRefuses(t *testing.T) {
	tokenizer := tiny(t)
	row := []float32{1, 2}
	nan := []float32{1, float32(math.NaN())}
	for want, table := range map[string]static.Table{
		"want a name":            {Tokenizer: tokenizer, Rows: [][]float32{row, row, row, row, row, row, row}},
		"1 rows for 7":           {Name: "x", Tokenizer: tokenizer, Rows: [][]float32{row}},
		"row 2 has 1 dimensions": {Name: "x", Tokenizer: tokenizer, Rows: [][]float32{row, row, {1}, row, row, row, row}},
		"row 6: has a value":     {Name: "x", Tokenizer: tokenizer, Rows: [][]float32{row, row, row, row, row, row, nan}},
	} {
		if err := table.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}

// TestOpenRefuses spoils a good file in many ways, every length among them.
func TestOpenRefuses(t *testing.T) {
	good := file(t, [][]float32{{0, -1}, {9, 9}, {9, 9}, {3, 0}, {0, 1}, {-2, 0}, {0, -1}})
	dir := t.TempDir()
	open := func(content []byte) error {
		path := filepath.Join(dir, "table")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := static.Open(path)
		return err
	}
	if err := open(good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if open(good[:n]) == nil {
			t.Fatalf("a file cut to %d of %d bytes opens", n, len(good))
		}
		spoiled := bytes.Clone(good)
		spoiled[n] ^= 0x10
		if open(spoiled) == nil {
			t.Fatalf("a file with byte %d of %d changed opens", n, len(good))
		}
	}
	for want, content := range map[string][]byte{
		"not a token table":  []byte("something else, long enough"),
		"version 2":          append([]byte("mallardT\x02\x00\x00\x00"), good[12:]...),
		"damaged":            good[:len(good)-1],
		"the unknown token":  file(t, [][]float32{{0, 0}, {9, 9}, {9, 9}, {3, 0}, {0, 1}, {-2, 0}, {0, -1}}),
		"cut short or damag": append(bytes.Clone(good), 0),
	} {
		if err := open(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	if _, err := static.Open(filepath.Join(dir, "absent")); !os.IsNotExist(unwrap(err)) {
		t.Errorf("absent file: error %v: want os.ErrNotExist", err)
	}
}

func unwrap(err error) error {
	if inner, ok := err.(interface{ Unwrap() error }); ok {
		return inner.Unwrap()
	}
	return err
}

// TestRoundTrip holds int8 rows to the values they were made of.
func TestRoundTrip(t *testing.T) {
	m := openTable(t, [][]float32{{0, -1}, {9, 9}, {9, 9}, {0.3, 0.4}, {0, 1}, {-2, 0}, {0, -1}})
	got, err := m.EmbedTexts(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(got[0][0])-0.6) > 0.005 || math.Abs(float64(got[0][1])-0.8) > 0.005 {
		t.Errorf("got %v: want 0.6 and 0.8 to half a step", got[0])
	}
	other := openTable(t, [][]float32{{0, -1}, {9, 9}, {9, 9}, {0.4, 0.3}, {0, 1}, {-2, 0}, {0, -1}}) // the same scales
	if m.Fingerprint() == other.Fingerprint() {
		t.Error("another table has the same fingerprint")
	}
	if diff := cmp.Diff([]string{"tiny", "tiny"}, []string{m.Model(), other.Model()}); diff != "" {
		t.Error(diff)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(file(f, [][]float32{{0, -1}, {9, 9}, {9, 9}, {3, 0}, {0, 1}, {-2, 0}, {0, -1}}))
	f.Add([]byte("mallardT\x01\x00\x00\x00\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if m, err := static.Open(path); err == nil {
			if _, err := m.EmbedTexts(t.Context(), []string{"a b"}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	m := static.New()
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			texts := make([]string, size)
			for i := range texts {
				texts[i] = fmt.Sprintf("Number %d: yesterday the retired pilot told me that she'd adopted two rescue puppies from the shelter.", 10+i)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.EmbedTexts(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

// BenchmarkOpen measures start-up: New does the same work, without the disk, once.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, err := static.Open("static-minilm-256.table"); err != nil {
			b.Fatal(err)
		}
	}
}

func cosine(t *testing.T, m *static.Model, a, b string) (product float64) {
	t.Helper()
	v, err := m.EmbedTexts(t.Context(), []string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v[0] {
		product += float64(v[0][i]) * float64(v[1][i])
	}
	return product
}

func tiny(t testing.TB) *wordpiece.Tokenizer {
	t.Helper()
	tokenizer, err := wordpiece.New([]string{"[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "."}, wordpiece.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func file(t testing.TB, rows [][]float32) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (static.Table{Name: "tiny", Tokenizer: tiny(t), Rows: rows}).Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openTable(t *testing.T, rows [][]float32) *static.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.table")
	if err := os.WriteFile(path, file(t, rows), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := static.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChance: a question with a word that the model knows is another matter than one of scraps.
func TestChance(t *testing.T) {
	m := static.New()
	for _, test := range []struct {
		words []string
		want  float64
	}{
		{[]string{"crane"}, 0.2}, {[]string{"quxel", "crane"}, 0.2}, {[]string{"quxel", "florb"}, 0.35}, {nil, 0.35},
		{[]string{"hb"}, 0.35}, {[]string{"412"}, 0.35}, {[]string{"\U0010fffd\U0010fffd\U0010fffd"}, 0.35},
	} {
		if got := m.Chance(test.words); got != test.want {
			t.Errorf("%q: %v, want %v", test.words, got, test.want)
		}
	}
}
