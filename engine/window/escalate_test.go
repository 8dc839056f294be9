package window_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

func TestJudge(t *testing.T) {
	type answers = map[window.Level]window.Answer
	const model = 999
	for _, c := range []struct {
		label   string
		e       window.Escalation
		answers answers // of each level, as far as it may be asked
		level   window.Level
		calls   int // of the model
	}{
		{"G1", window.Escalation{Input: 36, Target: 2400, Factor: 3}, answers{window.Normal: {Tokens: 5}}, window.Normal, 1},
		{"G2", window.Escalation{Input: 36, Target: 2400, Factor: 3}, answers{window.Normal: {Tokens: model}, window.Aggressive: {Tokens: 3}}, window.Aggressive, 2},
		{"G3: an extract", window.Escalation{Input: 36, Target: 2400, Factor: 3},
			answers{window.Normal: {Tokens: model}, window.Aggressive: {Tokens: model}, window.Extractive: {Tokens: 20}}, window.Extractive, 2},
		{"G4: a blank answer is asked again first", window.Escalation{Input: 3006, Target: 2400, Factor: 3},
			answers{window.Normal: {Blank: true}, window.Aggressive: {Blank: true}, window.Extractive: {Tokens: 2400}}, window.Extractive, 2},
		{"G5", window.Escalation{Input: 3006, Target: 100, Factor: 3}, answers{window.Normal: {Tokens: 500}}, window.Truncated, 1},
		{"G6: exactly the most", window.Escalation{Input: 3006, Target: 100, Factor: 3}, answers{window.Normal: {Tokens: 300}}, window.Normal, 1},
		{"one more", window.Escalation{Input: 3006, Target: 100, Factor: 3}, answers{window.Normal: {Tokens: 301}}, window.Truncated, 1},
		{"G7", window.Escalation{Input: 3006, Target: 2, Factor: 1}, answers{window.Normal: {Tokens: 300}}, window.Truncated, 1},
		{"an echo", window.Escalation{Input: 100, Target: 50, Factor: 3}, answers{window.Normal: {Tokens: 90, Echo: true}, window.Aggressive: {Tokens: 90}}, window.Aggressive, 2},
		{"as long as the source", window.Escalation{Input: 100, Target: 50, Factor: 3},
			answers{window.Normal: {Tokens: 100}, window.Aggressive: {Tokens: 99}}, window.Aggressive, 2},
		{"an extract may be long", window.Escalation{Input: 100, Target: 10, Factor: 1.5},
			answers{window.Normal: {Blank: true}, window.Aggressive: {Echo: true}, window.Extractive: {Tokens: 16}}, window.Truncated, 2},
		{"nothing at all", window.Escalation{Input: 0, Target: 10, Factor: 3},
			answers{window.Normal: {Blank: true}, window.Aggressive: {Blank: true}, window.Extractive: {Blank: true}}, "", 2},
	} {
		level, calls := escalate(c.e, c.answers)
		if level != c.level || calls != c.calls {
			t.Errorf("%s: level %q after %d calls, want %q after %d", c.label, level, calls, c.level, c.calls)
		}
	}
}

// escalate follows the verdicts to the level of the summary, empty if there is none, and counts the answers of the model.
func escalate(e window.Escalation, answers map[window.Level]window.Answer) (window.Level, int) {
	calls := 0
	for at := window.Normal; ; {
		if at != window.Extractive {
			calls++
		}
		switch e.Judge(at, answers[at]) {
		case window.Accept:
			return at, calls
		case window.CutToMax:
			return window.Truncated, calls
		case window.TryAggressive:
			at = window.Aggressive
		case window.Extract:
			at = window.Extractive
		default:
			return "", calls
		}
	}
}

func TestEscalation(t *testing.T) {
	p := defaultPolicy()
	leaf, condensed := p.Escalation(36, window.Leaf), p.Escalation(36, window.Condensed)
	if leaf.Max() != 7200 || condensed.Max() != 6000 {
		t.Errorf("most tokens %d and %d, want 7200 and 6000", leaf.Max(), condensed.Max())
	}
	if got := (window.Escalation{Target: 5, Factor: 1.3}).Max(); got != 7 {
		t.Errorf("5 × 1.3 gives %d, want 7", got)
	}
}
