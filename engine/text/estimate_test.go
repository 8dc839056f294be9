package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

func TestEstimateTokens(t *testing.T) {
	tests := []struct {
		in   string
		want int
	}{
		{"", 0}, {"a", 1}, {"abcd", 1}, {"abcde", 2}, {"äöüß", 1}, {"用户", 2}, {"用户。", 3}, {"ガス", 2}, {"한국어", 3}, {"用 a", 2},
	}
	for _, test := range tests {
		if got := text.EstimateTokens(test.in); got != test.want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", test.in, got, test.want)
		}
	}
}
