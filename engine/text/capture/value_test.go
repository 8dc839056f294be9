package capture_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/text/capture"
)

// TestValue has the vectors of how much talk is worth.
func TestValue(t *testing.T) {
	said := func(texts ...string) (all []capture.Said) {
		for _, text := range texts {
			all = append(all, capture.Said{Text: text})
		}
		return all
	}
	tool := capture.Said{Tool: true}
	long := strings.Repeat("a", 201)
	for _, test := range []struct {
		name string
		said []capture.Said
		want float64
	}{
		{"nothing", nil, 0},
		{"a greeting", said("hello"), 0},
		{"to be remembered", said("please remember it"), 0.5},
		{"to be remembered, in German", said("merk dir das"), 0.5},
		{"to be remembered, in Chinese", said("记住这个"), 0.5},
		{"a decision", said("we decided it"), 0.3},
		{"a decision, in German", said("das ist beschlossen"), 0.3},
		{"a tool and a correction", append(said("that is wrong"), tool), 0.7},
		{"seven short texts", said("a", "b", "c", "d", "e", "f", "g"), 0.1},
		{"six short texts", said("a", "b", "c", "d", "e", "f"), 0},
		{"one of 201 characters", said(long), 0.2},
		{"one of 200 characters", said(long[1:]), 0},
		{"six of twenty characters", said(strings.Split(strings.Repeat(strings.Repeat("a", 20)+"|", 5)+"b", "|")...), 0},
		{"eleven of twenty-one characters", said(strings.Split(strings.Repeat(strings.Repeat("a", 21)+"|", 10)+"b", "|")...), 0.3},
		{"everything", append(said("remember", "wrong", long, "a", "b", "c", "d"), tool), 1},
	} {
		if got := capture.Value(test.said); got != test.want {
			t.Errorf("%s is worth %v, want %v", test.name, got, test.want)
		}
	}
}
