package window

// mostRounds is how many sweeps may follow each other to get a context under a target.
const mostRounds = 10

// Outcome is what became of an attempt to get a context under a target.
type Outcome struct {
	Reached bool   // the context is at most as large as the target
	Changed bool   // something was written
	Rounds  int    // sweeps made
	Reason  string // in words; empty while rounds go on
}

// Reasons of an Outcome.
const (
	ReasonUnder     = "already under target"
	ReasonCompacted = "compacted"
	ReasonLive      = "live context still exceeds target"
	ReasonNotUnder  = "could not reach target"
)

// Rounds chains forced sweeps until a context has at most target tokens, a sweep changes nothing or does not help, or ten are made.
type Rounds struct {
	target, live int
	first, last  int // stored tokens at the beginning and after the last round
	out          Outcome
}

// NewRounds begins with the stored tokens of a context and what the host saw its prompt have (0 or less: unknown). A context below the
// target needs no round; one that has as much gets one.
func NewRounds(target, stored, live int) *Rounds {
	r := &Rounds{target: target, live: live, first: stored, last: stored}
	if max(stored, live) < target {
		r.out.Reached, r.out.Reason = true, ReasonUnder
	}
	return r
}

// Next reports whether another forced sweep is to be made.
func (r *Rounds) Next() bool { return r.out.Reason == "" }

// Done takes what became of a sweep: the stored tokens after it, and whether it wrote anything. What the host saw of its prompt is taken
// to have fallen by as much as the stored tokens did, so nothing is called reached because of what was not done.
func (r *Rounds) Done(stored int, changed bool) {
	helped := changed && stored < r.last
	r.last = stored
	r.out.Rounds++
	r.out.Changed = r.out.Changed || changed
	r.out.Reached = max(stored, r.live-(r.first-stored)) <= r.target
	switch {
	case r.out.Reached && r.out.Changed:
		r.out.Reason = ReasonCompacted
	case r.out.Reached:
		r.out.Reason = ReasonUnder
	case helped && r.out.Rounds < mostRounds:
	case stored <= r.target:
		r.out.Reason = ReasonLive
	default:
		r.out.Reason = ReasonNotUnder
	}
}

// Outcome is how things stand.
func (r *Rounds) Outcome() Outcome { return r.out }
