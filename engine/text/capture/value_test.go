package capture_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/text/capture"
)

// TestValue has the vectors W of spec/memories.md 7.2, of how much talk is worth.
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

// TestCompress: the budget is never exceeded, what tells most is kept, and all stand in their order.
func TestCompress(t *testing.T) {
	text := func(n int) capture.Said { return capture.Said{Text: strings.Repeat("a", n)} }
	long, ok, wrong, decided := text(100), capture.Said{Text: "ok"}, capture.Said{Text: "that is wrong"}, capture.Said{Text: "we decided it"}
	for _, test := range []struct {
		name   string
		said   []capture.Said
		budget int
		want   string
	}{
		{"nothing", nil, 10, "[]"},
		{"all fits", []capture.Said{ok, long, ok}, 104, "[0 1 2]"},
		{"first and last, then the correction, then the decision", []capture.Said{text(10), long, decided, wrong, text(10)}, 46, "[0 2 3 4]"},
		{"the correction goes before", []capture.Said{text(10), long, decided, wrong, text(10)}, 33, "[0 3 4]"},
		{"what does not fit is left out", []capture.Said{long, wrong, long}, 20, "[1]"},
		{"a tool takes the next along", []capture.Said{text(5), {Text: "tool", Tool: true}, text(20), wrong, text(5)}, 34, "[0 1 2 4]"},
		{"the earlier of two alike", []capture.Said{text(5), text(10), text(10), text(5)}, 20, "[0 1 3]"},
		{"trifles: the last three", []capture.Said{ok, ok, ok, ok, ok}, 6, "[0 3 4]"},
		{"no room", []capture.Said{long}, 10, "[]"},
	} {
		if got := fmt.Sprint(capture.Compress(test.said, test.budget)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	for _, test := range []struct {
		said capture.Said
		want float64
	}{
		{capture.Said{}, 0}, {capture.Said{Text: "x", Tool: true}, 1}, {wrong, 0.95}, {decided, 0.85}, {ok, 0.1}, {capture.Said{Text: "好的。"}, 0.1}, {text(81), 0.7}, {text(80), 0.4},
		{capture.Said{Text: strings.Repeat("船", 31)}, 0.7}, {capture.Said{Text: "<log>" + strings.Repeat("a", 90) + "</log>"}, 0.3}, {capture.Said{Text: "is it?"}, 0.5},
	} {
		if got := capture.Worth(test.said); got != test.want {
			t.Errorf("%q is worth %v, want %v", test.said.Text, got, test.want)
		}
	}
}
