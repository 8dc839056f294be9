package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

// rowsOf reads rows such as "u a t e": of a user, an assistant, a tool, and an event.
func rowsOf(s string) (rows []window.Row) {
	for _, word := range strings.Fields(s) {
		r := window.Row{Role: map[byte]string{'u': window.User, 'a': window.Assistant, 's': window.System, 't': window.Tool, 'e': window.Assistant}[word[0]], Tokens: 10}
		r.Tool, r.Event = word[0] == 't', word[0] == 't' || word[0] == 'e'
		rows = append(rows, r)
	}
	return rows
}

func TestUserTurns(t *testing.T) {
	for _, c := range []struct {
		rows string
		n    int
		from int
	}{
		{"u a u a u a", 2, 2}, {"u a u a u a", 1, 4}, {"u a u a u a", 0, 0}, {"u a u a u a", -1, 0}, {"u a u a u a", 3, 0}, {"u a u a u a", 12, 0},
		{"a u a", 1, 0}, {"a u a u a", 1, 3}, {"a u a u a", 2, 0},
		{"u a a s u a", 1, 4}, {"u a a s u a", 2, 0}, {"", 3, 0},
	} {
		if got := window.UserTurns(rowsOf(c.rows), c.n); got != c.from {
			t.Errorf("the last %d turns of %q begin at %d, want %d", c.n, c.rows, got, c.from)
		}
	}
}

// marks writes which are kept, as x and dots.
func marks(kept []bool) string {
	var b strings.Builder
	for _, is := range kept {
		b.WriteByte(map[bool]byte{true: 'x', false: '.'}[is])
	}
	return b.String()
}

func TestNewestRows(t *testing.T) {
	for _, c := range []struct {
		rows         string
		talk, events int
		want         string
	}{
		{"u e a e u a", 2, 1, "...xxx"}, {"u e a", 9, 9, "xxx"}, {"u e a", -1, 0, "x.x"}, {"u e a", 0, -1, ".x."}, {"", 1, 1, ""},
	} {
		if got := marks(window.NewestRows(rowsOf(c.rows), c.talk, c.events)); got != c.want {
			t.Errorf("%q, %d of talk and %d events: %s, want %s", c.rows, c.talk, c.events, got, c.want)
		}
	}
}

func TestAroundCursor(t *testing.T) {
	limits := window.CursorLimits{Before: 2, EventsBefore: 1, After: 2, EventsAfter: 1}
	for _, c := range []struct {
		rows   string
		seen   int
		want   string
		unseen int
	}{
		{"u a u a u a", 2, "xxx.xx", 1}, {"u a u a u a", 5, "...xxx", 0}, {"e e u a e e u", 2, ".xxx.xx", 0}, {"u", 0, "x", 0},
	} {
		kept, unseen := window.AroundCursor(rowsOf(c.rows), c.seen, limits)
		if got := marks(kept); got != c.want || unseen != c.unseen {
			t.Errorf("%q around %d: %s, %d unseen; want %s, %d", c.rows, c.seen, got, unseen, c.want, c.unseen)
		}
	}
}

func TestNewestTokens(t *testing.T) {
	for most, want := range map[int]int{1: 2, 10: 2, 19: 2, 20: 1, 29: 1, 30: 0, 99: 0} {
		if got := window.NewestTokens(rowsOf("u a u"), most); got != want {
			t.Errorf("%d tokens begin at %d, want %d", most, got, want)
		}
	}
	if got := window.NewestTokens(nil, 5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestPairs(t *testing.T) {
	for rows, want := range map[string][]window.Stretch{
		"u a u a": {{0, 2}, {2, 4}}, "a a u a t a u": {{0, 2}, {2, 6}, {6, 7}}, "": nil, "a": {{0, 1}},
	} {
		if diff := cmp.Diff(want, window.Pairs(rowsOf(rows))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", rows, diff)
		}
	}
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		rows       string
		from, want int
	}{{"u a e t a u", 3, 2}, {"u e t t a", 3, 1}, {"t t t", 2, 0}, {"u a", 1, 1}, {"u", 1, 1}} {
		if got := window.Whole(rowsOf(c.rows), c.from); got != c.want {
			t.Errorf("%q from %d: %d, want %d", c.rows, c.from, got, c.want)
		}
	}
}

// times reads times of one day; anything else is not known.
func times(s string) (all []time.Time) {
	for _, word := range strings.Fields(s) {
		at, _ := time.Parse("15:04", word)
		all = append(all, at)
	}
	return all
}

func TestRecent(t *testing.T) {
	for _, c := range []struct {
		times string
		hours float64
		least int
		want  string
	}{
		{"08:00 09:00 11:30 11:45 12:00", 1, 3, "..xxx"},
		{"08:00 10:30 11:00 11:30 12:00", 2, 2, ".xxxx"},
		{"08:00 09:00 not-a-date", 1, 1, "xxx"},
		{"not-a-date 09:00 12:00", 1, 1, "x.x"},
		{"08:00 12:00", 1, 2, "xx"}, {"08:00 12:00", 0, 1, "xx"},
		{"08:00 09:00 12:00", 1, 0, "..x"}, // none is guaranteed: not all of them
		{"07:00 07:01 11:30 11:31 11:32 11:55 11:56 11:57", 1, 3, "..xxxxxx"},
		{"", 1, 1, ""},
	} {
		if got := marks(window.Recent(times(c.times), time.Duration(c.hours*float64(time.Hour)), c.least, time.Time{})); got != c.want {
			t.Errorf("%q, %v h, %d at least: %s, want %s", c.times, c.hours, c.least, got, c.want)
		}
	}
	now := times("15:00")[0]
	if got := marks(window.Recent(times("08:00 12:00 14:30"), time.Hour, 1, now)); got != "..x" {
		t.Errorf("before now: %s", got)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct{ n, skip, recent, want int }{
		{0, 3, 5, 0}, {3, 3, 2, 0}, {4, 3, 5, 0}, {5, 3, 5, 0}, {6, 3, 5, 1}, {5, 3, 2, 3}, {20, 3, 0, 20}, {8, 3, 2, 6},
	} {
		if got := window.Older(c.n, c.skip, c.recent); got != c.want {
			t.Errorf("of %d, skip %d, recent %d: %d are asked about, want %d", c.n, c.skip, c.recent, got, c.want)
		}
	}
}
