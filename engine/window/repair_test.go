package window_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

// turnsOf makes turns from words: a role's first letter (t for tool), calls as +id, results as =id, then ! for one that broke off, ~ for
// one with nothing but calls and results, < for one before the tail.
func turnsOf(t *testing.T, written string) []window.Turn {
	t.Helper()
	roles := map[byte]string{'u': window.User, 'a': window.Assistant, 's': window.System, 't': window.Tool}
	var turns []window.Turn
	for i, word := range strings.Fields(written) {
		turn := window.Turn{Index: i, Role: roles[word[0]]}
		if turn.Role == "" {
			t.Fatalf("%q: no role", word)
		}
		rest := word[1:]
		for rest != "" {
			mark := rest[0]
			end := len(rest)
			if n := strings.IndexAny(rest[1:], "+=!~<"); n >= 0 {
				end = n + 1
			}
			switch id := rest[1:end]; mark {
			case '+':
				turn.Calls = append(turn.Calls, id)
			case '=':
				turn.Results = append(turn.Results, id)
			case '!':
				turn.Failed = true
			case '~':
				turn.Blank = true
			case '<':
				turn.Old = true
			}
			rest = rest[end:]
		}
		turns = append(turns, turn)
	}
	return turns
}

// shown writes turns as role, index, calls and results; * marks what is synthetic.
func shown(turns []window.Turn) string {
	words := make([]string, len(turns))
	for i, turn := range turns {
		words[i] = fmt.Sprintf("%c%d", turn.Role[0], turn.Index)
		for _, id := range turn.Calls {
			words[i] += "+" + id
		}
		for _, id := range turn.Results {
			words[i] += "=" + id
		}
		if turn.Synthetic {
			words[i] += "*"
		}
	}
	return strings.Join(words, " ")
}

func TestRepair(t *testing.T) {
	for _, c := range []struct{ label, turns, want string }{
		{"L1", "u a~+t1 t=t1 u", "u0 a1+t1 t2=t1 u3"},
		{"L2", "u t=t1 a~+t1 u", "u0 a2+t1 t1=t1 u3"},
		{"L2b", "t=t1 u a~+t1 u", "u1 a2+t1 t0=t1 u3"},
		{"L3: an orphan call before the tail", "a~<+t1 u u", "u1 u2"},
		{"L3: with words of its own", "a<+t1 u u", "a0 u1 u2"},
		{"L3: only what nothing answers", "a<+t1+t2 t<=t2 u", "a0+t2 t1=t2 u2"},
		{"L3b: in the tail", "u a~+t1 u", "u0 a1+t1 t1=t1* u2"},
		{"L4", "u t u", "u0 a1 u2"},
		{"L5: an empty assistant", "u a~ s", "u0 u2"},
		{"L6", "a~+t1+t2 u t=t2 t=t1 t=t1 t=t9", "a0+t1+t2 t3=t1 t2=t2 u1"},

		{"what stood between comes after", "a~+t1 u a u t=t1 u", "a0+t1 t4=t1 u1 a2 u3 u5"},
		{"one of two is missing", "a~+t1+t2+t3 t=t1 t=t3", "a0+t1+t2+t3 t1=t1 t0=t2* t2=t3"},
		{"one missing between two of a message", "a~+t1+t2+t3 u~=t1=t3", "a0+t1+t2+t3 t1=t1 t0=t2* t1=t3"},
		{"several results of one message", "a~+t1+t2 u~=t1=t2", "a0+t1+t2 t1=t1=t2"},
		{"in the order of the calls", "a~+t1+t2 u~=t2=t1", "a0+t1+t2 t1=t1=t2"},
		{"a message comes apart", "a~+t1 a~+t2 t=t1=t2", "a0+t1 t2=t1 a1+t2 t2=t2"},
		{"words beside results stay", "a~+t1 u=t1 a", "a0+t1 t1=t1 u1 a2"},
		{"words beside an orphan result stay", "u=t9 a", "u0 a1"},
		{"an id used again", "a~+t t=t u a~+t t=t u", "a0+t t1=t u2 a3+t t4=t u5"},
		{"an id used again, the first unanswered", "a~+t u a~+t t=t", "a0+t t0=t* u1 a2+t t3=t"},
		{"a late duplicate answers nobody else", "a~+t t=t t=t a~+t", "a0+t t1=t a3+t t3=t*"},
		{"an assistant with its own result", "u a~+t1=t1 u", "u0 a1+t1=t1 u2"},
		{"one that broke off stays, its results go", "u a+t1! t=t1 u", "u0 a1+t1 u3"},
		{"one that broke off answers for nobody", "u a~+t1! a~+t1 t=t1", "u0 a1+t1 a2+t1 t3=t1"},
		{"one that broke off before saying anything", "u a~! u", "u0 u2"},
		{"a call twice in one message", "a~+t1+t1 t=t1", "a0+t1 t1=t1"},
		{"an empty user message stays", "u~ a", "u0 a1"},
		{"nothing", "", ""},
	} {
		turns := turnsOf(t, c.turns)
		if got := shown(window.Repair(turns)); got != c.want {
			t.Errorf("%s: %q gives\n%q, want\n%q", c.label, c.turns, got, c.want)
		}
		if diff := cmp.Diff(turnsOf(t, c.turns), turns); diff != "" {
			t.Errorf("%s: the turns given were changed:\n%s", c.label, diff)
		}
	}
}
