package window

import "slices"

// Trim is what is done where rows do not fit.
type Trim string

// The rules.
const (
	// NoTrim keeps all: the budget says when to compact, not what to leave out.
	NoTrim Trim = "none"
	// ContiguousSuffix takes the newest up to the first that does not fit, so that nothing is missing in between. To take away the oldest until the rest
	// fits is the same.
	ContiguousSuffix Trim = "suffix"
	// BestFit takes what fits from the newest on, and passes over what does not.
	BestFit Trim = "best_fit"
)

// Trims lists the rules.
func Trims() []Trim { return []Trim{NoTrim, ContiguousSuffix, BestFit} }

// Oversize is what is done with the newest row where that alone is more than the budget.
type Oversize string

// The rules.
const (
	TailCut Oversize = "tail_cut" // its end is shown, as much as fits
	Drop    Oversize = "drop"     // it is left out, and all before it
	Keep    Oversize = "keep"     // it is shown, over the budget
)

// Oversizes lists the rules.
func Oversizes() []Oversize { return []Oversize{TailCut, Drop, Keep} }

// Fitted is what fits into a budget.
type Fitted struct {
	Kept []bool
	Used int // by what is kept; not more than the budget unless Over
	Cut  int // index of the row of which only the end fits, -1: of none. Used has the whole budget then
	Over bool
}

// Suffix fits the newest rows into a budget of 1 or more: from the newest back, up to the first that does not fit. Exactly the budget fits. What is fixed
// is kept in any case, and the budget is first of all for that.
func Suffix(costs []int, fixed []bool, most int, o Oversize) Fitted {
	f := begun(costs, fixed, most)
	taken := f.Used > 0
	for i := len(costs) - 1; i >= 0; i-- {
		switch {
		case f.Kept[i]:
			continue
		case f.Used+costs[i] <= most:
			f.Kept[i] = true
			f.Used += costs[i]
		case !taken && o == TailCut:
			f.Kept[i], f.Cut, f.Used = true, i, most
			return f
		case !taken && o == Keep:
			f.Kept[i] = true
			f.Used += costs[i]
			f.Over = true
			return f
		default:
			return f
		}
		taken = true
	}
	return f
}

// Best fits rows into a budget of 1 or more: first those that are protected, the older before the newer, as far as each of them fits; then all others from
// the newest back, passing over what does not fit. What is fixed is kept in any case.
func Best(costs []int, fixed, protected []bool, most int) Fitted {
	f := begun(costs, fixed, most)
	take := func(i int) {
		if !f.Kept[i] && f.Used+costs[i] <= most {
			f.Kept[i] = true
			f.Used += costs[i]
		}
	}
	for i := range costs {
		if i < len(protected) && protected[i] {
			take(i)
		}
	}
	for i := len(costs) - 1; i >= 0; i-- {
		take(i)
	}
	return f
}

// begun is a fit that has what is fixed.
func begun(costs []int, fixed []bool, most int) Fitted {
	f := Fitted{Kept: make([]bool, len(costs)), Cut: -1}
	for i, is := range fixed {
		if is {
			f.Kept[i] = true
			f.Used += costs[i]
		}
	}
	f.Over = f.Used > most
	return f
}

// Part is a part of a prompt by its name, with its length in characters.
type Part struct {
	Name  string
	Chars int
}

// Cap says how long parts may be so that all together have most characters at most: they are cut in an order, each as far as need be. One that is shorter
// than what is too much goes as a whole, and what is not in the order is never cut. What comes back are the parts that become shorter, with what is left of
// each; over is what is still too much.
func Cap(parts []Part, order []string, most int) (cut []Part, over int) {
	for _, p := range parts {
		over += p.Chars
	}
	if over -= most; most <= 0 || over <= 0 {
		return nil, 0
	}
	for _, name := range order {
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Name == name })
		if i < 0 || parts[i].Chars == 0 {
			continue
		}
		left := max(0, parts[i].Chars-over)
		cut = append(cut, Part{name, left})
		if over -= parts[i].Chars - left; over == 0 {
			break
		}
	}
	return cut, over
}
