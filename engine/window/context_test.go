package window_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

// notation is one item: "10" is a user's message of 10 tokens, "6*10" six of them, "a10" an assistant's, "a10+t1+t2" one that calls tools,
// "r10=t1" a result, "L(20)" a leaf of 20 tokens, "D1(20)" a condensed summary of depth 1.
var notation = regexp.MustCompile(`^(?:(\d+)\*)?(?:([ar]?)(\d+)((?:\+\w+)*)((?:=\w+)*)|(?:L|D(\d+))\((\d+)\))$`)

// contextOf makes a context from its notation. Messages are numbered from 1 in order, and a summary takes a number as if it were one.
func contextOf(t testing.TB, written string) []window.Item {
	t.Helper()
	var items []window.Item
	for _, word := range strings.Fields(written) {
		m := notation.FindStringSubmatch(word)
		if m == nil {
			t.Fatalf("context %q: %q is no item", written, word)
		}
		for range max(1, number(m[1])) {
			n := len(items) + 1
			it := window.Item{Position: n, Ref: fmt.Sprintf("m%d", n), Tokens: number(m[3]), Role: window.User}
			switch {
			case m[7] != "":
				it = window.Item{Position: n, Ref: fmt.Sprintf("s%d", n), Summary: true, Depth: number(m[6]), Tokens: number(m[7])}
			case m[2] == "a":
				it.Role, it.Calls = window.Assistant, ids(m[4], "+")
			case m[2] == "r":
				it.Role, it.Results = window.Tool, ids(m[5], "=")
			}
			items = append(items, it)
		}
	}
	return items
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

func ids(joined, by string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined[1:], by)
}

// written gives a context as the vectors write it: m3 for the message of seq 3, L(5) and D1(3) for summaries.
func written(items []window.Item) string {
	words := make([]string, len(items))
	for i, it := range items {
		switch {
		case !it.Summary:
			words[i] = it.Ref
		case it.Depth == 0:
			words[i] = fmt.Sprintf("L(%d)", it.Tokens)
		default:
			words[i] = fmt.Sprintf("D%d(%d)", it.Depth, it.Tokens)
		}
	}
	return strings.Join(words, " ")
}

// messages is the notation of what remains of messages first to last.
func messages(first, last int) string {
	var words []string
	for n := first; n <= last; n++ {
		words = append(words, fmt.Sprintf("m%d", n))
	}
	return strings.Join(words, " ")
}

// summariser gives the tokens of the summary that a step makes in a context.
type summariser func(step window.Step, items []window.Item) int

// passes makes the passes of a sweep, as the engine does: what would not make the tokens fall is not written. It returns the context
// afterwards and a line for every pass.
func passes(t testing.TB, s *window.Sweep, p window.Policy, budget int, items []window.Item, length summariser) ([]window.Item, []string) {
	t.Helper()
	var log []string
	for range 100_000 {
		var tail int
		items, tail = spared(p, items, budget)
		step, ok := s.Next(items, tail)
		if !ok {
			return items, log
		}
		before := window.Tokens(items)
		sources := items[step.Lo:step.Hi]
		summary := window.Item{
			Position: sources[0].Position, Ref: fmt.Sprintf("s%d.%d", sources[0].Position, step.Depth), Summary: true, Depth: step.Depth,
			Tokens: length(step, items),
		}
		after := before - window.Tokens(sources) + summary.Tokens
		line := fmt.Sprintf("%s %d of %d tokens", step.Kind, step.Depth, window.Tokens(sources))
		for _, i := range step.Previous {
			line += " after " + items[i].Ref
		}
		if after >= before {
			s.Done(before, before, false)
			log = append(log, line+" in vain")
			continue
		}
		items = slices.Concat(items[:step.Lo], []window.Item{summary}, items[step.Hi:])
		s.Done(before, after, true)
		log = append(log, line)
	}
	t.Fatal("the sweep does not end")
	return nil, nil
}

// spared marks what compaction leaves alone before the fresh tail, and gives where that begins.
func spared(p window.Policy, items []window.Item, budget int) ([]window.Item, int) {
	lo, hi, tail := p.Spared(items, budget)
	items = slices.Clone(items)
	for i := range items {
		items[i].Spared = lo <= i && i < hi
	}
	return items, tail
}

// lengths makes every leaf and every condensed summary equally long.
func lengths(leaf, condensed int) summariser {
	return func(step window.Step, _ []window.Item) int {
		if step.Kind == window.Leaf {
			return leaf
		}
		return condensed
	}
}

// published is the policy of the acceptance vectors: the tail by count alone and passes without a bound.
func published(change func(*window.Policy)) window.Policy {
	p := defaultPolicy()
	p.TailTokens, p.MaxPasses, p.IncrementalMaxDepth, p.CondensedTargetTokens = -1, 0, 0, 900
	change(&p)
	return p
}
