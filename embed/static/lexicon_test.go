package static_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

func ExampleModel_Related() {
	words, cosines := static.New().Related("doctor")
	for i, word := range words[:5] {
		fmt.Printf("%s %.2f\n", word, cosines[i])
	}
	// Output:
	// medical 0.79
	// physician 0.77
	// patients 0.68
	// medicine 0.68
	// surgeon 0.60
}

func TestRelatedMeaning(t *testing.T) {
	m := static.New()
	for word, want := range map[string][]string{
		"guitar":  {"instrument", "musician", "music", "acoustic", "strings", "chords"},
		"pottery": {"ceramics", "porcelain", "clay"},
		"happy":   {"joy", "smiling", "delighted", "cheerful"},
		"bought":  {"buy", "purchased", "sold"}, // irregular forms have stems of their own
		"camping": {"tents", "wilderness", "hiking"},
	} {
		got, _ := m.Related(word)
		missing := slices.DeleteFunc(want, func(w string) bool { return hasStem(got, w) })
		if len(missing) > 0 {
			t.Errorf("%s: %v: want %v too", word, got, missing)
		}
	}
}

// hasStem takes musical for music: which of them is nearest is the table's affair.
func hasStem(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, word[:min(len(word), 5)]) })
}

// TestRelatedTiny holds the rules on vectors of two dimensions.
func TestRelatedTiny(t *testing.T) {
	at := func(degrees float64) []float32 {
		return []float32{float32(math.Cos(degrees * math.Pi / 180)), float32(math.Sin(degrees * math.Pi / 180))}
	}
	m := openVocab(t, []string{"[UNK]", "[CLS]", "[SEP]"}, [][]float32{at(5), at(5), at(5)},
		map[string][]float32{
			"paint": at(0), "paints": at(1), "painting": at(2), // one stem
			"colour": at(30), "colours": at(25), "canvas": {-8, 0.1}, "brush": at(71), "opera": at(74), "zero": {0, 0},
			"##paint": at(3), "ox": at(3), "Paint": at(3), "pa1nt": at(3), "päint": at(3), "don't": at(3), "3000": at(3),
		})
	for word, want := range map[string]map[string]float64{
		"paint":  {"colours": cosDegrees(25), "brush": cosDegrees(71)},
		"paints": {"colours": cosDegrees(24), "brush": cosDegrees(70)},
		"brush":  {"opera": cosDegrees(3), "colour": cosDegrees(41), "painting": cosDegrees(69)},
		"canvas": {}, "zero": {}, "ox": {}, "Paint": {}, "##paint": {}, "pa1nt": {}, "päint": {}, "don't": {}, "3000": {}, "[UNK]": {}, "unknown": {},
	} {
		words, cosines := m.Related(word)
		if len(words) != len(want) || len(cosines) != len(want) {
			t.Errorf("%s: %v, %v: want %v", word, words, cosines, want)
			continue
		}
		for i, w := range words {
			if math.Abs(float64(cosines[i])-want[w]) > 0.01 || i > 0 && cosines[i] > cosines[i-1] {
				t.Errorf("%s: %v, %v: want %v, highest first", word, words, cosines, want)
			}
		}
	}
}

func cosDegrees(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }

// TestRelatedCosines checks a sample of words against their vectors.
func TestRelatedCosines(t *testing.T) {
	m := static.New()
	words := m.Words()
	for i := 0; i < len(words); i += len(words) / 50 {
		related, cosines := m.Related(words[i])
		if len(related) > 16 {
			t.Errorf("%s has %d related words: want at most 16", words[i], len(related))
		}
		for k, other := range related {
			want := cosine(t, m, words[i], other)
			if math.Abs(float64(cosines[k])-want) > 1e-5 || want <= 0.3 {
				t.Errorf("%s and %s: %.6f: want the cosine of their vectors, %.6f, over 0.3", words[i], other, cosines[k], want)
			}
		}
	}
}

// TestRelatedSketches bounds what sketches miss of all words' cosines.
func TestRelatedSketches(t *testing.T) {
	m := static.New()
	exhaustive, words := m.Forgetful(true), m.Words()
	found, all := 0, 0
	for i := 0; i < len(words); i += len(words) / 100 {
		got, _ := m.Related(words[i])
		want, _ := exhaustive.Related(words[i])
		for _, w := range want {
			all++
			if slices.Contains(got, w) {
				found++
			}
		}
	}
	if share := float64(found) / float64(all); share < 0.97 || all < 1000 {
		t.Errorf("%d of %d nearest words found, %.3f: want 0.97 of a thousand or more", found, all, share)
	}
}

func TestRelatedHostile(t *testing.T) {
	m := static.New()
	for _, word := range []string{"", "a", "ox", "Doctor", "DOCTOR", " doctor", "doctor ", "doctor.", "the doctor", "##ing", "ing\x00", "café", "été",
		"猫", "2023", "b2b", "[CLS]", "[unused1]", "\xff\xfe", "doctor\xff", "doctorish", "'", "'; drop table x", strings.Repeat("doctor", 1<<18)} {
		if words, cosines := m.Related(word); len(words) != 0 || len(cosines) != 0 {
			t.Errorf("%.20q: %v, %v: want none", word, words, cosines)
		}
	}
}

// TestRelatedConcurrent asks for the same words from many goroutines, the
// first of all among them, and spoils what it gets.
func TestRelatedConcurrent(t *testing.T) {
	m, err := static.Open("static-minilm-256.table")
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{"guitar", "doctor", "pottery", "unheard", "summer"}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 20 {
				words, cosines := m.Related(asked[(g+i)%len(asked)])
				clear(words)
				clear(cosines)
			}
		})
	}
	group.Wait()
	for _, word := range asked {
		got, gotCosines := m.Related(word)
		want, wantCosines := static.New().Related(word)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantCosines, gotCosines); diff != "" {
			t.Errorf("%s: built in and file differ:\n%s", word, diff)
		}
	}
}

// BenchmarkRelated: first is a word not asked for before, again one that was.
func BenchmarkRelated(b *testing.B) {
	m := static.New()
	words := m.Words()
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%len(words) == 0 {
				m = m.Forgetful(false)
			}
			m.Related(words[i*7919%len(words)]) // a prime: every word once, in no order
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Related("guitar")
		}
	})
}

// openVocab makes a table of some tokens in order and more in that of the alphabet.
func openVocab(t *testing.T, vocab []string, rows [][]float32, more map[string][]float32) *static.Model {
	t.Helper()
	for token := range more {
		vocab = append(vocab, token)
	}
	slices.Sort(vocab[len(rows):])
	for _, token := range vocab[len(rows):] {
		rows = append(rows, more[token])
	}
	tokenizer, err := wordpiece.New(vocab, wordpiece.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (static.Table{Name: "words", Tokenizer: tokenizer, Rows: rows}).Write(&out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "words.table")
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := static.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
