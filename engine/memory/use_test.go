package memory

import (
	"math"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// TestInjection has the vectors T of spec/memories.md 7.2, of what auto-recall makes of a memory. Where the source counts the suppression mark of other stores, ours takes their counts of three
// and more without one for counts that nobody acted on.
func TestInjection(t *testing.T) {
	o := setup.Options{}.WithDefaults().Turns
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	off := o
	off.Repeat = -1
	never := o
	never.BadRecallDecay = -1
	for _, test := range []struct {
		name       string
		was        Memory
		options    setup.Turns
		bad        int
		suppressed time.Duration // from now on; 0: it is not
	}{
		{name: "first", was: Memory{}, bad: 0},
		{name: "unconfirmed, third", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(time.Hour)}, bad: 3, suppressed: 30 * time.Minute},
		{name: "unconfirmed, second", was: Memory{BadRecallCount: 1, LastInjectedAt: ago(time.Hour)}, bad: 2},
		{name: "long ago", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(25 * time.Hour)}, bad: 1},
		{name: "a day ago to the second", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(24 * time.Hour)}, bad: 3, suppressed: 30 * time.Minute},
		{name: "long ago, and never forgotten", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(25 * time.Hour)}, options: never, bad: 3, suppressed: 30 * time.Minute},
		{name: "of another store", was: Memory{BadRecallCount: 9, LastInjectedAt: ago(time.Hour)}, bad: 1},
		{name: "of another store, by turns", was: Memory{BadRecallCount: 2, SuppressedUntilTurn: 40, LastInjectedAt: ago(time.Hour)}, bad: 1},
		{name: "confirmed since", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(time.Hour), LastConfirmedUseAt: ago(time.Minute)}, bad: 2},
		{name: "confirmed before", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(time.Hour), LastConfirmedUseAt: ago(2 * time.Hour)}, bad: 3, suppressed: 30 * time.Minute},
		{name: "held back longer", was: Memory{BadRecallCount: 3, SuppressedUntil: now.Add(time.Hour), LastInjectedAt: ago(time.Hour)}, bad: 4, suppressed: time.Hour},
		{name: "without a window nothing is held back", was: Memory{BadRecallCount: 2, LastInjectedAt: ago(time.Hour)}, options: off, bad: 3},
	} {
		if test.options == (setup.Turns{}) {
			test.options = o
		}
		m := test.was
		m.use(use{injected, 1, now}, test.options)
		var until time.Duration
		if m.SuppressedUntil.After(now) {
			until = m.SuppressedUntil.Sub(now)
		}
		if m.BadRecallCount != test.bad || until != test.suppressed || m.InjectedCount != 1 || m.AccessCount != 1 || m.LastInjectedAt != now || m.LastAccessedAt != now || m.SuppressedUntilTurn != 0 {
			t.Errorf("%s: %d bad, suppressed for %v, want %d and %v: %+v", test.name, m.BadRecallCount, until, test.bad, test.suppressed, m)
		}
	}
}

// TestFeedback: use makes a memory more important by what its row has (the source took 0.5 for it where the metadata had none, so that a first use could make it
// less so), its lack from the third time on less so.
func TestFeedback(t *testing.T) {
	o := setup.Options{}.WithDefaults().Turns
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name             string
		what             useKind
		bad              int
		importance, want float64
		wantBad          int
	}{
		{"of use", useful, 2, 0.9, 0.95, 2},
		{"of use, at the top", useful, 0, 0.98, 1, 0},
		{"of no use", useless, 0, 0.7, 0.7, 1},
		{"of no use, the second time", useless, 1, 0.7, 0.7, 2},
		{"of no use, the third time", useless, 2, 0.7, 0.67, 3},
		{"of no use, at the bottom", useless, 7, 0.11, 0.1, 8},
		{"of no use, below it", useless, 7, 0.05, 0.05, 8},
	} {
		m := Memory{Importance: test.importance, BadRecallCount: test.bad}
		m.use(use{test.what, 1, now}, o)
		if math.Abs(m.Importance-test.want) > 1e-9 || m.BadRecallCount != test.wantBad || m.LastConfirmedUseAt.Equal(now) != (test.what == useful) || m.SuppressedUntil.After(now) != (m.BadRecallCount >= 3 && test.what == useless) {
			t.Errorf("%s: %+v", test.name, m)
		}
	}
}
