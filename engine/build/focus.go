package build

import (
	"fmt"
	"math"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Dose is the state that a focus is made of: dopamine, oxytocin, serotonin and endorphin, or what a host calls so, each 0 to 1.
type Dose struct {
	Dopamine, Oxytocin, Serotonin, Endorphin float64
}

// Breadth is how much is recalled.
type Breadth struct {
	Level string // focused, balanced or diffuse
	Limit int    // hits
	Chars int    // of all of them together
}

// FocusScore is how focused who feels so is, 0 to 1: 0.43 serotonin, 0.39 endorphin, 0.10 oxytocin, and 0.08 of how near dopamine is to 0.58. What is beyond 0
// to 1 counts as 0 or 1, what is no number as 0.5. Every product is rounded by itself, so that all machines agree.
func FocusScore(d Dose) float64 {
	for _, v := range []*float64{&d.Dopamine, &d.Oxytocin, &d.Serotonin, &d.Endorphin} {
		if math.IsNaN(*v) {
			*v = 0.5
		}
		*v = min(max(*v, 0), 1)
	}
	near := max(0, 1-float64(math.Abs(d.Dopamine-0.58)*1.9))
	score := float64(0.43*d.Serotonin) + float64(0.39*d.Endorphin)
	score += float64(0.10 * d.Oxytocin)
	score += float64(0.08 * near)
	return min(max(score, 0), 1)
}

// BreadthOf is what is recalled by who is so focused: the more, the less.
func BreadthOf(score float64) Breadth {
	switch {
	case score >= 0.68:
		return Breadth{"focused", 4, 900}
	case score >= 0.40:
		return Breadth{"balanced", 8, 1700}
	}
	return Breadth{"diffuse", 16, 3600}
}

// focus gives the score of a request; 0.5 where the host says nothing.
func (r *Request) focus() (float64, error) {
	switch {
	case r.Focus != nil && r.Dose != nil:
		return 0, fault.Invalid("focus", *r.Focus, "none beside a dose")
	case r.Focus != nil:
		if !(*r.Focus >= 0 && *r.Focus <= 1) {
			return 0, fault.Invalid("focus", *r.Focus, "0 to 1")
		}
		return *r.Focus, nil
	case r.Dose != nil:
		return FocusScore(*r.Dose), nil
	}
	return 0.5, nil
}

// focusLine says how focused somebody is, in a line.
func focusLine(score float64) string { return fmt.Sprintf("%s (%.2f)", BreadthOf(score).Level, score) }
