package index

import (
	"math"
	"strings"
	"testing"
)

// TestFTSTextCounts: a term stands in the text as often as it counts, or in all texts twice as often.
func TestFTSTextCounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		frequency map[string]float32
		doubled   bool
	}{
		{nil, false},
		{map[string]float32{"a": 1, "b": 3}, false},
		{map[string]float32{"a": 1, "b": 0.5, "c": 2.5}, true},
	} {
		text, doubled := Indexed{Frequency: test.frequency}.ftsText()
		times := map[string]float32{}
		for _, term := range strings.Fields(text) {
			times[term]++
		}
		if doubled != test.doubled || len(times) != len(test.frequency) {
			t.Errorf("%v: %q, doubled %t", test.frequency, text, doubled)
		}
		for term, n := range test.frequency {
			if doubled {
				n *= 2
			}
			if math.Abs(float64(n-times[term])) > 0 {
				t.Errorf("%v: %s stands %v times in %q", test.frequency, term, times[term], text)
			}
		}
	}
}
