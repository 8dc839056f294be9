package window

import "math"

// Level is how far the summariser had to go for a summary.
type Level string

// The levels, in order. A summary that was cut is Truncated, whatever it was before.
const (
	Normal     Level = "normal"
	Aggressive Level = "aggressive"
	Extractive Level = "extractive"
	Truncated  Level = "truncated"
)

// Verdict is what to do with an answer.
type Verdict string

// The verdicts.
const (
	Accept        Verdict = "accept"
	CutToMax      Verdict = "cut"        // take it, by Cut to Max tokens: Truncated
	TryAggressive Verdict = "aggressive" // ask again, for less
	Extract       Verdict = "extract"    // leave the model, take sentences of the source up to Target tokens
	Reject        Verdict = "reject"     // nothing can be made of this source
)

// Answer is what is known of a summariser's answer.
type Answer struct {
	Tokens int
	Blank  bool // nothing but space
	Echo   bool // it repeats its source
}

// Escalation judges the answers for one source.
type Escalation struct {
	Input  int     // tokens of the source
	Target int     // tokens that the policy wants, not what was asked for (LeafLength, CondensedLength)
	Factor float64 // how many times the target is let through whole
}

// Escalation begins one for a source of input tokens.
func (p Policy) Escalation(input int, kind Kind) Escalation {
	e := Escalation{Input: input, Target: p.LeafTargetTokens, Factor: p.OverageFactor}
	if kind == Condensed {
		e.Target = p.CondensedTargetTokens
	}
	return e
}

// Judge says what to do with an answer at a level. What a model gave is no summary when it is blank, echoes, or is not shorter than the
// source: after Normal it is asked again, after Aggressive the source speaks for itself. An extract is taken as it is unless blank. What
// is taken is cut if it has more than Max tokens; exactly Max is not cut. Whether the summary is then written is another question: only
// if the stored tokens of the context fall.
func (e Escalation) Judge(at Level, a Answer) Verdict {
	useless := a.Blank || a.Echo || a.Tokens >= max(1, e.Input)
	switch {
	case at == Extractive && a.Blank:
		return Reject
	case at == Normal && useless:
		return TryAggressive
	case at == Aggressive && useless:
		return Extract
	case a.Tokens > e.Max():
		return CutToMax
	}
	return Accept
}

// Max is the most tokens that a summary keeps: the target times the factor, rounded up.
func (e Escalation) Max() int {
	return int(math.Ceil(float64(e.Target) * e.Factor))
}
