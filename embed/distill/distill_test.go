package distill_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mallardmem/mallard/embed/distill"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

const (
	words = 200
	dims  = 24
)

// teacher is a model of which a static table can learn everything: each word
// has a direction, and an importance that shows only beside other words.
type teacher struct {
	directions [][]float64
	importance []float64
}

func newTeacher() *teacher {
	rng := rand.New(rand.NewPCG(3, 4))
	m := &teacher{}
	for range words + 3 {
		direction := make([]float64, dims)
		for j := range direction {
			direction[j] = rng.NormFloat64()
		}
		m.directions = append(m.directions, direction)
		m.importance = append(m.importance, math.Exp(1.5*rng.NormFloat64()))
	}
	return m
}

func (m *teacher) EmbedIDs(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	vectors := make([][]float32, len(sequences))
	for i, ids := range sequences {
		sum, length := make([]float64, dims), 0.0
		for _, id := range ids[1 : len(ids)-1] {
			for j, x := range m.directions[id] {
				sum[j] += m.importance[id] * x
			}
		}
		for _, x := range sum {
			length += x * x
		}
		vectors[i] = make([]float32, dims)
		for j, x := range sum {
			vectors[i][j] = float32(x / math.Sqrt(length))
		}
	}
	return vectors, ctx.Err()
}

func config(t *testing.T) distill.Config {
	t.Helper()
	vocab := []string{"[UNK]", "[CLS]", "[SEP]"}
	for i := range words {
		vocab = append(vocab, fmt.Sprintf("w%d", i))
	}
	tokenizer, err := wordpiece.New(vocab, wordpiece.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return distill.Config{Encoder: newTeacher(), Tokenizer: tokenizer, Name: "taught", Dims: dims, Texts: sentences(5, 3000)}
}

func sentences(seed uint64, n int) []string {
	rng := rand.New(rand.NewPCG(seed, 0))
	texts := make([]string, n)
	for i := range texts {
		var some []string
		for range 4 + rng.IntN(6) {
			some = append(some, fmt.Sprintf("w%d", rng.IntN(words)))
		}
		texts[i] = strings.Join(some, " ")
	}
	return texts
}

// TestRun compares, on texts not learnt from, the cosines of the table with
// the model's, and the same for a plain sum of the model's word vectors.
func TestRun(t *testing.T) {
	c := config(t)
	stages := map[string]int{}
	c.Progress = func(stage string, done, total int) {
		if done > total || done < 0 {
			t.Errorf("%s: %d of %d", stage, done, total)
		}
		stages[stage]++
	}
	table, err := distill.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"tokens", "sentences", "regression", "descent"} {
		if stages[stage] < 2 {
			t.Errorf("stage %s reported %d times", stage, stages[stage])
		}
	}
	fresh := sentences(6, 200)
	learnt := agreement(t, c, model(t, table), fresh)
	plain := table
	plain.Rows, err = c.Encoder.EmbedIDs(t.Context(), single(len(table.Rows)))
	if err != nil {
		t.Fatal(err)
	}
	before := agreement(t, c, model(t, plain), fresh)
	t.Logf("correlation of cosines with the model: %.3f, a plain sum %.3f", learnt, before)
	if learnt < 0.9 || learnt < before+0.1 {
		t.Errorf("correlation of cosines with the model: %.3f, a plain sum %.3f: want 0.9 and far more than the sum", learnt, before)
	}
}

func TestRunRepeats(t *testing.T) {
	c := config(t)
	c.Dims, c.Texts = 8, sentences(7, 6000) // more than one batch
	var files [3]bytes.Buffer
	for i, seed := range []uint64{1, 1, 2} {
		c.Seed = seed
		table, err := distill.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.Rows[0]) != 8 {
			t.Fatalf("rows of %d dimensions: want 8", len(table.Rows[0]))
		}
		if err := table.Write(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("the same seed gave two tables")
	}
	if bytes.Equal(files[0].Bytes(), files[2].Bytes()) {
		t.Error("another seed gave the same table")
	}
}

func TestRunCancel(t *testing.T) {
	for _, stage := range []string{"tokens", "sentences", "regression", "descent"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := config(t)
		c.Progress = func(at string, _, _ int) {
			if at == stage {
				cancel()
			}
		}
		if _, err := distill.Run(ctx, c); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), stage) {
			t.Errorf("cancelled in %s: error %v: want context.Canceled there", stage, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*distill.Config){
		"Encoder is missing":         func(c *distill.Config) { c.Encoder = nil },
		"Tokenizer is missing":       func(c *distill.Config) { c.Tokenizer = nil },
		"Name is empty":              func(c *distill.Config) { c.Name = "" },
		"Dims is -1":                 func(c *distill.Config) { c.Dims = -1 },
		"want at most the encoder's": func(c *distill.Config) { c.Dims = dims + 1 },
		"MaxTokens is 2":             func(c *distill.Config) { c.MaxTokens = 2 },
		"Texts has 99":               func(c *distill.Config) { c.Texts = c.Texts[:99] },
	} {
		c := config(t)
		change(&c)
		if _, err := distill.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}

func single(n int) [][]int32 {
	sequences := make([][]int32, n)
	for i := range sequences {
		sequences[i] = []int32{1, int32(i), 2}
	}
	return sequences
}

func model(t *testing.T, table static.Table) *static.Model {
	t.Helper()
	var content bytes.Buffer
	if err := table.Write(&content); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(path, content.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := static.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// agreement correlates the cosines of all pairs of texts in the table with
// those in the model.
func agreement(t *testing.T, c distill.Config, m *static.Model, texts []string) float64 {
	t.Helper()
	var sequences [][]int32
	for _, text := range texts {
		var e wordpiece.Encoding
		c.Tokenizer.Encode(&e, text, 0)
		sequences = append(sequences, e.IDs)
	}
	want, err := c.Encoder.EmbedIDs(t.Context(), sequences)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var n, x, y, xx, yy, xy float64
	for i := range texts {
		for j := range i {
			a, b := dot(got[i], got[j]), dot(want[i], want[j])
			n, x, y, xx, yy, xy = n+1, x+a, y+b, xx+a*a, yy+b*b, xy+a*b
		}
	}
	return (xy - x*y/n) / math.Sqrt((xx-x*x/n)*(yy-y*y/n))
}

func dot(a, b []float32) (sum float64) {
	for j := range a {
		sum += float64(a[j]) * float64(b[j])
	}
	return sum
}

func TestRead(t *testing.T) {
	wordNet := "  1 This software and database is a thing  \n" +
		"  2 with \"a licence in five lines\" or more  \n" +
		"00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 | that which is; \"it was full of rackets, balls and other objects\"; \"too few words\"; \"is this one long enough?\"  \n" +
		"00001741 03 n 01 thing 0 000 | no example at all here  \n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"plain":   {"one two three four\n\nshort line\n  élan is   what it takes! \nends in a semicolon;\nbad \xff bytes are out", []string{"One two three four.", "Élan is what it takes!", "Ends in a semicolon.", "Bad bytes are out."}},
		"WordNet": {wordNet, []string{"It was full of rackets, balls and other objects.", "Is this one long enough?"}},
		"nothing": {"; ; ; ;\n", nil},
	} {
		got, err := distill.Read(strings.NewReader(test.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := distill.Read(strings.NewReader("one line of text\n" + strings.Repeat("x", 2<<20))); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line of 2 MB: error %v: want one that names line 2", err)
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for path, text := range map[string]string{a: "one two three four\n", b: "five six seven eight\nOne two three four.\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := distill.ReadFiles(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"One two three four.", "Five six seven eight."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := distill.ReadFiles(a, filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: error %v: want os.ErrNotExist", err)
	}
}
