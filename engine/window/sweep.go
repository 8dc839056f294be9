package window

import "slices"

// Kind is what a pass makes.
type Kind string

// The kinds of summary.
const (
	Leaf      Kind = "leaf"
	Condensed Kind = "condensed"
)

// Mode is how much one sweep does.
type Mode int

// Full makes leaves and then condenses them, until the context is small enough or, if forced, nothing is left to do. Incremental makes
// exactly one leaf and then at most one condensed summary at each depth up to IncrementalMaxDepth.
const (
	Full Mode = iota
	Incremental
)

// Stop says why a sweep ended; empty while it goes on.
type Stop string

// Why sweeps end.
const (
	Below     Stop = "below threshold"            // nothing was due
	Reached   Stop = "reached threshold"          // enough was done
	Exhausted Stop = "nothing to compact"         // no run is left, or what an incremental sweep may do is done
	NoGain    Stop = "a pass did not help"        // a summary was written although the tokens did not fall
	Spent     Stop = "reached the most of passes" // MaxPasses
)

// Span names a run by the ids of its first and last item.
type Span struct{ First, Last string }

// SweepOptions say what a sweep is for. The zero value is a full sweep that does nothing unless the leaf trigger asks for it.
type SweepOptions struct {
	Mode   Mode
	Budget int    // of the model, in tokens; 0: unknown, and only the leaf trigger or Forced starts anything
	Stored int    // tokens of the whole context; 0: those of the items that Next sees first
	Forced bool   // whether it is over its threshold or not
	Target int    // tokens at which a forced sweep stops; 0: when nothing is left to do
	Avoid  []Span // runs that were tried in vain before
}

// Step is one pass to make: a summary of items[Lo:Hi], which stands in their place.
type Step struct {
	Kind     Kind
	Lo, Hi   int
	Depth    int   // of the summary to make: 0 for a leaf, one more than its sources' otherwise
	Previous []int // indexes of the summaries to show the summariser as what came before, oldest first
}

// Sweep is a chain of passes over one context. The caller asks for the Next, loads the texts, calls the model, writes the summary and
// says what came of it (Done), until there is no next. A pass is written only if the stored tokens fall; one that is not is remembered,
// and the run behind it is tried. Every pass written leaves fewer messages or fewer items, and every one in vain fewer runs, so a sweep
// ends, with or without MaxPasses. Time is the caller's to watch: a sweep that is left alone leaves nothing half done.
//
// A Sweep is not safe for concurrent use.
type Sweep struct {
	p Policy
	o SweepOptions

	begun      bool
	stop       Stop
	tokens     int
	passes     int
	written    int
	triggered  bool // by messages outside the tail, not by the threshold
	condensing bool // phase 2
	depth      int  // whose summaries an incremental sweep condenses next
	step       Step
	span       Span // of step
	position   int  // of step
	leaf       int  // position of the leaf written last
	vain       []Span
	refused    map[Span]bool // vain, to look up
}

// NewSweep begins a sweep.
func NewSweep(p Policy, o SweepOptions) *Sweep {
	s := &Sweep{p: p, o: o, tokens: o.Stored, refused: map[Span]bool{}}
	for _, run := range o.Avoid {
		s.avoid(run)
	}
	return s
}

// Next plans the next pass over the context as it is now, with the tail that begins at items[tail]; false when the sweep is over. items
// may be the oldest part of the context, with tail as in LeafRun; then SweepOptions.Stored is needed. Asking again without Done plans
// anew, as after a conflict.
func (s *Sweep) Next(items []Item, tail int) (Step, bool) {
	tail = clamp(tail, len(items))
	if !s.begun {
		s.begin(items, tail)
	}
	if s.stop != "" {
		return Step{}, false
	}
	step, why := s.plan(items, tail)
	if why == "" && s.p.MaxPasses > 0 && s.passes >= s.p.MaxPasses {
		why = Spent
	}
	if why != "" {
		s.stop = why
		return Step{}, false
	}
	s.step, s.position = step, items[step.Lo].Position
	s.span = spanOf(items, step.Lo, step.Hi)
	return step, true
}

// Done takes what became of the pass that Next planned: the stored tokens of the context before and after it, and whether a summary was
// written.
func (s *Sweep) Done(before, after int, wrote bool) {
	s.passes++
	s.tokens = after
	if !wrote {
		s.avoid(s.span)
		return
	}
	s.written++
	if s.step.Kind == Leaf {
		s.leaf = s.position
		s.condensing = s.o.Mode == Incremental
	} else {
		s.depth++
	}
	if after >= before {
		s.stop = NoGain
	}
}

// Stopped says why the sweep is over.
func (s *Sweep) Stopped() Stop { return s.stop }

// Passes is how many passes were done, those in vain too.
func (s *Sweep) Passes() int { return s.passes }

// Written is how many summaries were written.
func (s *Sweep) Written() int { return s.written }

// Vain lists the runs that were tried in vain, with those of SweepOptions.Avoid; for the next sweep to avoid.
func (s *Sweep) Vain() []Span { return slices.Clone(s.vain) }

func (s *Sweep) avoid(run Span) {
	s.vain = append(s.vain, run)
	s.refused[run] = true
}

func (s *Sweep) begin(items []Item, tail int) {
	s.begun = true
	if s.o.Stored == 0 {
		s.tokens = Tokens(items)
	}
	s.triggered = !s.o.Forced && s.p.RawOutside(items, tail) >= s.p.LeafChunkTokens
	if !s.due() && !s.triggered {
		s.stop = Below
	}
}

// due reports whether there is more to do by the count of tokens.
func (s *Sweep) due() bool {
	if s.o.Forced {
		return s.o.Target <= 0 || s.tokens > s.o.Target
	}
	over, _, _ := s.p.Over(s.tokens, 0, s.o.Budget)
	return over
}

// pressed reports whether a full sweep is above what it is for, its target or the threshold. When nothing else is left then,
// CondensedMinFanoutHard summaries are enough to make the next: else a budget that is small beside the summaries would stay exceeded, and
// every turn would get a summary of its own.
func (s *Sweep) pressed() bool {
	if s.o.Mode != Full {
		return false
	}
	if s.o.Forced && s.o.Target > 0 {
		return s.tokens > s.o.Target
	}
	over, _, _ := s.p.Over(s.tokens, 0, s.o.Budget)
	return over
}

func (s *Sweep) plan(items []Item, tail int) (Step, Stop) {
	refused := func(lo, hi int) bool { return s.refused[spanOf(items, lo, hi)] }
	if !s.condensing {
		if s.o.Mode == Full && !s.due() && !(s.triggered && s.written == 0) {
			return Step{}, Reached
		}
		if lo, hi, ok := s.p.LeafRun(items, tail, refused); ok {
			return Step{Kind: Leaf, Lo: lo, Hi: hi, Previous: s.beforeLeaf(items[:lo])}, ""
		}
		if s.o.Mode == Incremental {
			return Step{}, Exhausted
		}
		s.condensing = true
	}
	want := anyDepth
	if s.o.Mode == Incremental {
		if want = s.depth; s.p.IncrementalMaxDepth >= 0 && want >= s.p.IncrementalMaxDepth {
			return Step{}, Exhausted
		}
	} else if !s.due() {
		return Step{}, Reached
	}
	lo, hi, depth, ok := s.p.condensed(items[:tail], want, false, refused)
	if !ok && s.pressed() {
		lo, hi, depth, ok = s.p.condensed(items[:tail], want, true, refused)
	}
	if !ok {
		return Step{}, Exhausted
	}
	return Step{Kind: Condensed, Lo: lo, Hi: hi, Depth: depth + 1, Previous: beforeCondensed(items[:lo], depth)}, ""
}

// beforeLeaf gives what a leaf continues: in a full sweep the leaf written just before, otherwise the two newest summaries.
func (s *Sweep) beforeLeaf(items []Item) []int {
	if s.o.Mode == Incremental {
		return newestSummaries(items, 2)
	}
	if s.written > 0 {
		for i := len(items) - 1; i >= 0; i-- {
			if items[i].Summary && items[i].Position == s.leaf {
				return []int{i}
			}
		}
	}
	return nil
}

// beforeCondensed gives what a summary of leaves continues: the two newest leaves among the four newest summaries. Deeper ones stand
// alone.
func beforeCondensed(items []Item, depth int) []int {
	if depth > 0 {
		return nil
	}
	leaves := slices.DeleteFunc(newestSummaries(items, 4), func(i int) bool { return items[i].Depth != depth })
	return leaves[max(0, len(leaves)-2):]
}

// newestSummaries gives the indexes of the last n summaries, oldest first.
func newestSummaries(items []Item, n int) []int {
	var found []int
	for i := len(items) - 1; i >= 0 && len(found) < n; i-- {
		if items[i].Summary {
			found = append(found, i)
		}
	}
	slices.Reverse(found)
	return found
}

func spanOf(items []Item, lo, hi int) Span {
	return Span{First: items[lo].Ref, Last: items[hi-1].Ref}
}
