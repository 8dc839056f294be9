package memory

import (
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// use is something that became of a memory that was recalled.
type use struct {
	what  useKind
	times int // of what is touched
	at    time.Time
}

type useKind int

const (
	touched  useKind = iota // somebody says that it was of use
	injected                // it was put into a prompt
	useful                  // and then the answer shows use of it
	useless                 // and then the answer shows none
)

// mostBad is how many bad recalls in a row hold a memory back, and make it less important.
const mostBad = 3

// How much use and its lack change the importance of a memory, and how little it becomes by that.
const (
	usefulGain     = 0.05
	uselessLoss    = 0.03
	leastImportant = 0.1
)

// use changes a memory by a use of it. What held it back for being of no use is over once somebody uses it.
func (m *Memory) use(u use, o setup.Turns) {
	switch u.what {
	case touched:
		m.access(u.times, u.at)
		m.LastConfirmedUseAt = latest(m.LastConfirmedUseAt, u.at)
		m.BadRecallCount, m.SuppressedUntil, m.SuppressedUntilTurn = 0, time.Time{}, 0
	case injected:
		m.inject(u.at, o)
	case useful:
		m.Importance = min(m.Importance+usefulGain, 1)
		m.LastConfirmedUseAt = latest(m.LastConfirmedUseAt, u.at)
	case useless:
		if m.bad(u.at, m.BadRecallCount+1, o); m.BadRecallCount >= mostBad {
			m.Importance = min(m.Importance, max(m.Importance-uselessLoss, leastImportant))
		}
	}
}

func (m *Memory) access(times int, at time.Time) {
	m.AccessCount = min(m.AccessCount+times, maxAccesses)
	m.LastAccessedAt = latest(m.LastAccessedAt, at)
}

// inject counts that a memory was put into a prompt. Bad recalls that lie far enough back are forgotten. So are those that another store counted and never
// held the memory back for, or for turns of a session that nobody knows here: else it would be gone after the first recall.
func (m *Memory) inject(at time.Time, o setup.Turns) {
	stale := !m.LastInjectedAt.IsZero() && m.LastConfirmedUseAt.Before(m.LastInjectedAt)
	bad, decay := m.BadRecallCount, time.Duration(o.BadRecallDecay)
	if decay > 0 && !m.LastInjectedAt.IsZero() && at.Sub(m.LastInjectedAt) > decay || m.SuppressedUntil.IsZero() && (bad >= mostBad || m.SuppressedUntilTurn > 0) {
		bad = 0
	}
	if stale {
		bad++
	}
	m.bad(at, bad, o)
	m.SuppressedUntilTurn = 0
	m.InjectedCount++
	m.LastInjectedAt = latest(m.LastInjectedAt, at)
	m.access(1, at)
}

// bad settles how many bad recalls in a row there were, and what follows for a memory.
func (m *Memory) bad(at time.Time, times int, o setup.Turns) {
	if m.BadRecallCount = times; times >= mostBad && o.Repeat > 0 {
		m.SuppressedUntil = latest(m.SuppressedUntil, at.Add(time.Duration(o.Suppress)))
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
