package window

import "time"

// Row is one row of a conversation as the windows of a context see it: who it is of and when it was said, not what it says.
type Row struct {
	Role   string
	Event  bool // it tells what was done, and is no talk
	Tool   bool // it holds nothing but results of tools
	At     time.Time
	Tokens int // as stored
}

// UserTurns is where the newest n turns of the user begin: at the n-th newest row of a user. With fewer rows of users than that, or n of 0 or less, nothing
// is left out, so that what stands before the first user's row stays.
func UserTurns(rows []Row, n int) (from int) {
	if n <= 0 {
		return 0
	}
	counted, first := 0, 0
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Role != User {
			continue
		}
		if counted++; counted > n {
			return first
		}
		first = i
	}
	return 0
}

// NewestRows are the newest rows of talk and the newest events, so many of each; less than 0: all of them.
func NewestRows(rows []Row, talk, events int) []bool {
	kept := make([]bool, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		room := &talk
		if rows[i].Event {
			room = &events
		}
		if kept[i] = *room != 0; kept[i] {
			*room--
		}
	}
	return kept
}

// CursorLimits bound what is shown around the row that a reader saw last: the newest so many of each before it, and the newest so many after it.
type CursorLimits struct {
	Before, EventsBefore, After, EventsAfter int
}

// AroundCursor are the rows around the one that was seen last, itself among them. unseen is how many rows of talk after it there was no room for: a reader
// who goes on behind the newest never sees them.
func AroundCursor(rows []Row, seen int, l CursorLimits) (kept []bool, unseen int) {
	kept = append(NewestRows(rows[:seen], l.Before, l.EventsBefore), true)
	for i, is := range NewestRows(rows[seen+1:], l.After, l.EventsAfter) {
		kept = append(kept, is)
		if !is && !rows[seen+1+i].Event {
			unseen++
		}
	}
	return kept, unseen
}

// NewestTokens is where the newest rows begin that have so many tokens together at most; the newest row always stays.
func NewestTokens(rows []Row, most int) (from int) {
	tokens := 0
	for i := len(rows) - 1; i >= 0; i-- {
		if tokens += rows[i].Tokens; tokens > most && i < len(rows)-1 {
			return i + 1
		}
	}
	return 0
}

// Stretch is a run of rows, from one index to before another.
type Stretch struct{ From, To int }

// Pairs are what the user said with all that was said and done for it, oldest first. What stands before the first row of a user is one of its own.
func Pairs(rows []Row) (all []Stretch) {
	for i := range rows {
		if i == 0 || rows[i].Role == User {
			all = append(all, Stretch{i, i})
		}
		all[len(all)-1].To = i + 1
	}
	return all
}

// Whole moves the beginning of a window back to the call whose results it would begin with: they say nothing alone.
func Whole(rows []Row, from int) int {
	for from > 0 && from < len(rows) && rows[from].Tool {
		from--
	}
	return from
}

// Recent says what a window of time leaves: the last least times whatever they are, and of the others those that are not more than long before the newest
// of all, or before now where that is given. A zero time is not known, and stays; where the newest is not known everything does, and so it does with a
// window of 0 or less.
func Recent(times []time.Time, long time.Duration, least int, now time.Time) []bool {
	kept := make([]bool, len(times))
	for i := range kept {
		kept[i] = true
	}
	if long <= 0 || len(times) <= least {
		return kept
	}
	if now.IsZero() {
		if now = times[len(times)-1]; now.IsZero() {
			return kept
		}
	}
	since := now.Add(-long)
	for i, at := range times[:len(times)-max(least, 0)] {
		kept[i] = at.IsZero() || !at.Before(since)
	}
	return kept
}

// Older is how many of n, from the oldest on, a selector is asked about: none where there are no more than skip, or the newest recent of them are all.
func Older(n, skip, recent int) int {
	if n <= skip || recent >= n {
		return 0
	}
	return n - max(recent, 0)
}
