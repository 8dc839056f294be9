package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fifteen sessions of two turns each: turn i is of session i/2.
func manySessions() *talk {
	t := &talk{name: "many"}
	for i := range 30 {
		t.turns = append(t.turns, turn{id: string(rune('a' + i)), session: "s" + string(rune('a'+i/2))})
	}
	return t
}

func TestAnswer(t *testing.T) {
	many := manySessions()
	got := many.answer(question{text: "?", category: 3, gold: []int{1, 6, 7, 29}}, []int{2, 3, 0, 6, 1})
	want := Answer{
		Conversation: "many", Question: "?", Category: 3,
		GoldTurns: []string{"b", "g", "h", "~"}, TurnRanks: []int{5, 4, 0, 0},
		GoldSessions: []string{"sa", "sd", "so"}, SessionRanks: []int{2, 3, 0}, // sb twice, sa, sd, sa
		First: []string{"c", "d", "a", "g", "b"},
	}
	want.GoldTurns[3] = many.turns[29].id
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFiguresOf(t *testing.T) {
	answers := []Answer{
		{TurnRanks: []int{2}, SessionRanks: []int{1}},
		{TurnRanks: []int{11, 4}, SessionRanks: []int{3, 6}},
		{TurnRanks: []int{0, 40}, SessionRanks: []int{0, 11}},
		{TurnRanks: []int{10, 1, 3}, SessionRanks: []int{5, 4}},
	}
	want := Figures{
		Questions:   4,
		SessionAny5: 3. / 4, SessionAny10: 3. / 4, // all but the third
		SessionAll5: 2. / 4, SessionAll10: 3. / 4, // first and fourth; then the second too
		SessionRecall10: (1 + 1 + 0 + 1) / 4.,
		TurnAny10:       3. / 4,
		TurnRecall10:    (1 + 0.5 + 0 + 1) / 4,
		TurnMRR10:       (0.5 + 0.25 + 0 + 1) / 4,
	}
	if diff := cmp.Diff(want, figuresOf(answers), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Figures{}, figuresOf(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestPercentile(t *testing.T) {
	times := []time.Duration{50, 20, 40, 30, 10}
	for _, c := range []struct {
		p    float64
		want time.Duration
	}{{0, 10}, {20, 10}, {50, 30}, {99, 50}, {100, 50}} {
		if got := percentile(times, c.p); got != c.want {
			t.Errorf("percentile %v: %d, want %d", c.p, got, c.want)
		}
	}
	for n, at := range map[int]int{1: 0, 10: 9, 20: 18, 100: 94, 1000: 949} { // of so many in order, where the 95th percentile stands: vectors AA
		ordered := make([]time.Duration, n)
		for i := range ordered {
			ordered[i] = time.Duration(i)
		}
		if got := percentile(ordered, 95); int(got) != at {
			t.Errorf("the 95th percentile of %d stands at %d, want %d", n, got, at)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("of nothing: %d, want 0", got)
	}
}
