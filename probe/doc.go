// Package probe looks whether a model does what it should: it puts known sentences to it (sentences.json) and judges what comes back.
//
// Two kinds of checks are told apart. A reference is what another program made of the same model: cosines, vectors or scores, which have to come out the
// same. all-MiniLM-L6-v2 has one here (all-MiniLM-L6-v2.json, by testdata/generate.py); for others the caller may bring one. A property is what every such
// model has, whatever it was trained on: vectors of length 1, the same for a text alone and among others, paraphrases nearer than strangers.
//
// It only asks; it never changes a model's files.
package probe

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

// What a check came to.
const (
	OK      = "ok"
	Wrong   = "wrong"   // the model is not to be used so
	Note    = "note"    // worth knowing: good models of that kind do better, or it does not serve that language
	Skipped = "skipped" // there is nothing to hold it to
)

// Check is one thing that was looked at.
type Check struct {
	Name     string `json:"check"`
	Status   string `json:"status"`
	Found    string `json:"found"`
	Wanted   string `json:"wanted,omitempty"`
	ByOthers bool   `json:"by_reference"` // compared with what another program computed, and not by a property
}

// Report is all that was looked at.
type Report struct {
	Model   string  `json:"model"`
	Kind    string  `json:"kind"` // embedding or cross-encoder
	Runtime string  `json:"runtime,omitempty"`
	Dims    int     `json:"dims,omitempty"`
	Checks  []Check `json:"checks"`

	// How many texts, or pairs of a question and a text, it read in a second, one at a time and 32 at once.
	PerSecondOne  float64 `json:"per_second_one"`
	PerSecondMany float64 `json:"per_second_32"`
}

// Faults counts what is wrong.
func (r *Report) Faults() (n int) {
	for _, c := range r.Checks {
		if c.Status == Wrong {
			n++
		}
	}
	return n
}

func (r *Report) add(name, status, wanted, found string, args ...any) {
	r.Checks = append(r.Checks, Check{Name: name, Status: status, Wanted: wanted, Found: fmt.Sprintf(found, args...)})
}

// judge gives OK where something holds, and otherwise what it is then.
func judge(holds bool, otherwise string) string {
	if holds {
		return OK
	}
	return otherwise
}

// Reference is what another program computed: of a text its vector, of two texts their cosine, or of a query and a text the score.
type Reference struct {
	Text   string    `json:"text,omitempty"`
	Vector []float32 `json:"vector,omitempty"`

	A      string   `json:"a,omitempty"`
	B      string   `json:"b,omitempty"`
	Cosine *float64 `json:"cosine,omitempty"`

	Query string   `json:"query,omitempty"` // of Text
	Score *float64 `json:"score,omitempty"`
}

// ReadReference reads a JSON array of references.
func ReadReference(content []byte) ([]Reference, error) {
	var all []Reference
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	for i, r := range all {
		if r.Vector == nil && r.Cosine == nil && r.Score == nil {
			return nil, fmt.Errorf(`reference: row %d has neither "vector" (of "text"), "cosine" (of "a" and "b") nor "score" (of "query" and "text")`, i)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("reference: it has no row")
	}
	return all, nil
}

//go:embed all-MiniLM-L6-v2.json
var miniLM []byte

// KnownReference gives the reference that comes with the program for a model of that name; nil where there is none.
func KnownReference(model string) []Reference {
	name, _, _ := strings.Cut(model, "/") // another graph of the folder
	if name != "all-MiniLM-L6-v2" {
		return nil
	}
	all, err := ReadReference(miniLM)
	if err != nil {
		panic(err) // a part of the program, which a test reads
	}
	return all
}

//go:embed sentences.json
var sentencesText []byte

// sentences are what is put to models.
type sentences struct {
	Plain   []string
	Meaning []struct{ Language, Text, Same, Other string }
	// Of Questions the answer fits, and the other text does not.
	Questions []struct{ Language, Question, Answer, Other string }
	Odd       []string
}

var said = sync.OnceValue(func() (s sentences) {
	if err := json.Unmarshal(sentencesText, &s); err != nil {
		panic(fmt.Errorf("sentences.json: %w", err)) // a part of the program, which a test reads
	}
	s.Odd = append(s.Odd, "\xff\xfe broken \xed\xa0\x80", strings.Repeat("a very long text that never comes to its end ", 2000), strings.Repeat("x", 20_000))
	return s
})

// cosine of two vectors of whatever length.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range min(len(a), len(b)) {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

// apart is the greatest difference between two numbers at the same place; infinite where there are not as many, or one is none.
func apart(a, b []float32) (most float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		most = worse(most, math.Abs(float64(a[i])-float64(b[i])))
	}
	return most
}

// worse is the greater of two differences, and infinite where either is no number.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.Inf(1)
	}
	return max(a, b)
}
