package extract

import (
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

const (
	sameShare  = 0.7 // of an excerpt's terms in one that is taken, from which it says nothing new, but for numbers and negation
	fewNumbers = 4   // with more, numbers are data, such as the times of a log, and no news
	novelty    = 0.6 // of a term's weight that each excerpt with it leaves to the next
	pickRounds = 4   // of filling the room that labels and rounding left
	slack      = 4   // tokens of room that aren't worth another round
	labelCost  = 2   // tokens that an excerpt costs beside its own
	fewMarks   = 24  // bytes that go with an excerpt when it is printed: mostly its label
)

// pick takes excerpts by worth until the room is full. The worth of an excerpt only falls while others are taken, so one that comes up
// is weighed again and goes back if it has lost.
func (x *extraction) pick() {
	room := x.Target - x.topicsRoom()
	rest := make(excerptQueue, 0, len(x.excerpts))
	for i := range x.excerpts {
		rest = append(rest, ranked{i, x.worth(&x.excerpts[i])})
	}
	for range pickRounds {
		left := room - x.Tokens(x.render())
		if left <= slack || len(rest) == 0 {
			break
		}
		rest = x.fill(rest, left)
	}
	for len(x.order) > 0 && x.Tokens(x.render()) > room {
		last := &x.excerpts[x.order[len(x.order)-1]]
		x.order = x.order[:len(x.order)-1]
		last.taken = false
		for _, no := range last.terms {
			t := &x.terms[no]
			t.holders = t.holders[:len(t.holders)-1]
		}
	}
}

// fill takes excerpts of a queue that fit into the room, and returns those that may fit another time.
func (x *extraction) fill(q excerptQueue, room int) (rest excerptQueue) {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
	for len(q) > 0 && room > 0 {
		next := q[0]
		e := &x.excerpts[next.excerpt]
		if w := x.worth(e); w < next.worth {
			q[0].worth = w
			q.sink(0)
			continue
		}
		q[0] = q[len(q)-1]
		q = q[:len(q)-1]
		q.sink(0)
		if next.worth <= 0 || x.isSaid(e) {
			continue
		}
		cost := e.tokens + x.Tokens(x.lines[e.line].speaker)
		if cost > room {
			rest = append(rest, next)
			continue
		}
		room -= cost
		e.taken = true
		x.order = append(x.order, next.excerpt)
		for _, no := range e.terms {
			x.terms[no].holders = append(x.terms[no].holders, next.excerpt)
		}
	}
	return append(rest, q...)
}

// worth returns what an excerpt adds to those taken, per token.
func (x *extraction) worth(e *excerpt) float64 {
	sum := 0.0
	for _, no := range e.terms {
		w := x.terms[no].weight
		for range x.terms[no].holders {
			w *= novelty
		}
		sum += w
	}
	return sum * e.factor / float64(e.tokens+labelCost)
}

// isSaid reports whether one of the excerpts taken has most of the terms of e and agrees with it.
func (x *extraction) isSaid(e *excerpt) (said bool) {
	for _, no := range e.terms {
		for _, h := range x.terms[no].holders {
			x.shared[h]++
		}
	}
	for _, no := range e.terms {
		for _, h := range x.terms[no].holders {
			said = said || float64(x.shared[h]) >= sameShare*float64(len(e.terms)) && x.excerpts[h].agrees(e)
			x.shared[h] = 0
		}
	}
	return said
}

// agrees reports whether an excerpt has the numbers of another, if these are few, and denies as it does.
func (e *excerpt) agrees(other *excerpt) bool {
	lacks := func(number string) bool { return !slices.Contains(e.numbers, number) }
	return e.negated == other.negated && (len(other.numbers) > fewNumbers || !slices.ContainsFunc(other.numbers, lacks))
}

// render prints what is taken, one line for each label.
func (x *extraction) render() string {
	taken := slices.Sorted(slices.Values(x.order))
	length := 0
	for _, i := range taken {
		length += len(x.excerpts[i].text) + fewMarks
	}
	var b strings.Builder
	b.Grow(length)
	var labels labelPrinter
	for n, i := range taken {
		e := &x.excerpts[i]
		shown, starts := labels.next(x.lines[e.line].label)
		if starts && n > 0 {
			b.WriteByte('\n')
		} else if n > 0 {
			b.WriteString(x.joint(taken[n-1]))
		}
		b.WriteString(shown)
		if e.continues && !(i > 0 && x.excerpts[i-1].taken && x.goesOn(i-1)) {
			b.WriteString("… ")
		}
		b.WriteString(e.text)
		if e.cut && !(x.goesOn(i) && x.excerpts[i+1].taken) {
			b.WriteString(" …")
		}
	}
	return b.String()
}

// goesOn reports whether the sentence of an excerpt goes on in the next.
func (x *extraction) goesOn(i int) bool {
	return x.excerpts[i].cut && i+1 < len(x.excerpts) && x.excerpts[i+1].continues && x.excerpts[i+1].line == x.excerpts[i].line
}

// joint returns what stands between an excerpt and the next on the same line.
func (x *extraction) joint(i int) string {
	e := &x.excerpts[i]
	switch end := lastSign(e.text); {
	case isFullStop(end):
		return ""
	case e.cut, isTerminator(end), end == ':', end == ',', end == ';':
		return " "
	}
	return "; "
}

// beginning returns the best of the excerpts up to the last word that fits, with its label if that leaves most of the room.
func (x *extraction) beginning() string {
	best, most := -1, 0.0
	for i := range x.excerpts {
		if w := x.worth(&x.excerpts[i]); w > most {
			best, most = i, w
		}
	}
	if best < 0 {
		return ""
	}
	e := &x.excerpts[best]
	var labels labelPrinter
	shown, _ := labels.next(x.lines[e.line].label)
	if x.Tokens(shown) > x.Target/3 {
		shown = ""
	}
	for room := len(e.text); room > 0; room-- {
		end := room
		if room < len(e.text) {
			end = clauseEnd(e.text, room)
			room = min(room, end)
		}
		said := strings.TrimRight(e.text[:end], " ,;:")
		if end < len(e.text) || e.cut {
			said += " …"
		}
		if x.Tokens(shown+said) <= x.Target && strings.IndexFunc(said, char.StartsWord) >= 0 {
			return shown + said
		}
	}
	return ""
}

type ranked struct {
	excerpt int
	worth   float64
}

// excerptQueue is a heap with the excerpt of most worth first, the earlier of equals.
type excerptQueue []ranked

// sink moves what stands at i down to its place.
func (q excerptQueue) sink(i int) {
	for {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q[child].before(q[best]) {
				best = child
			}
		}
		if best == i {
			return
		}
		q[i], q[best] = q[best], q[i]
		i = best
	}
}

func (r ranked) before(other ranked) bool {
	return r.worth > other.worth || r.worth == other.worth && r.excerpt < other.excerpt
}
