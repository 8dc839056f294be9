package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// topicsLine is how the last line of a summary begins.
const topicsLine = "Expand for details about: "

const (
	maxTopics     = 10
	maxEarlier    = 200  // topics of earlier summaries looked at
	maxTopic      = 60   // bytes
	topicsShare   = 0.06 // of the target
	maxTopicsRoom = 60   // tokens
	commonShare   = 200  // one of so many sentences has a common word, which makes no topic with another unless both are names
)

// topic is something that the sources speak of.
type topic struct {
	text  string
	terms []int32
	score float64
}

// topicsRoom returns the tokens to keep free for topics. A small summary has none.
func (x *extraction) topicsRoom() int {
	room := min(int(topicsShare*float64(x.Target)), maxTopicsRoom)
	if room < x.Tokens(topicsLine)+4 {
		return 0
	}
	return room
}

// withTopics appends the line of topics, as many as fit, to a summary.
func (x *extraction) withTopics(summary string) string {
	line, named, tooLong := "\n"+topicsLine, 0, 0
	said := map[int32]bool{}
	for _, t := range x.leftOut() {
		if slices.ContainsFunc(t.terms, func(no int32) bool { return said[no] }) {
			continue
		}
		longer := line + t.text
		if named > 0 {
			longer = line + ", " + t.text
		}
		if x.Tokens(summary+longer) > x.Target {
			if tooLong++; tooLong > maxTopics {
				break
			}
			continue
		}
		line = longer
		for _, no := range t.terms {
			said[no] = true
		}
		if named++; named == maxTopics {
			break
		}
	}
	if named == 0 {
		return summary
	}
	return summary + line
}

// leftOut returns the topics that no excerpt taken speaks of, best first: identifiers, names, what several sentences have, and pairs of
// words that go together.
func (x *extraction) leftOut() []topic {
	var found []topic
	common := max(3, len(x.excerpts)/commonShare)
	mayName := make([]bool, len(x.terms))
	for i := range x.terms {
		t := &x.terms[i]
		mayName[i] = t.mayName()
		if mayName[i] && len(t.holders) == 0 && (t.count > 2 || t.capitals > 0 || t.isCode) {
			found = append(found, topic{t.surface, []int32{int32(i)}, x.standing(t)})
		}
	}
	for p, count := range x.pairs {
		first, second := &x.terms[p.first], &x.terms[p.second]
		rare, often := first, second
		if rare.count > often.count {
			rare, often = often, rare
		}
		areNames := first.capitals > 0 && second.capitals > 0
		if mayName[p.first] && mayName[p.second] && len(rare.holders) == 0 && 2*count >= rare.count && (areNames || count > 1 && often.count <= common) {
			found = append(found, topic{first.surface + " " + second.surface, []int32{p.first, p.second}, 1.2 * x.standing(rare)})
		}
	}
	for _, s := range x.topics[:min(len(x.topics), maxEarlier)] {
		if t, ok := x.earlier(s); ok {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b topic) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.text, b.text), slices.Compare(a.terms, b.terms))
	})
	return found
}

// mayName reports whether a term may be part of a topic.
func (t *term) mayName() bool {
	return t.weight > 0 && len(t.surface) > 2 && len(t.surface) <= maxTopic && !isOpaque(t.term) && (t.surface[0] < '0' || t.surface[0] > '9')
}

// standing returns how much a term is a topic: more than its weight if several sentences have it, and twice that if it is a name or
// identifier; any other word needs a sentence that tells something.
func (x *extraction) standing(t *term) float64 {
	s := t.weight * (1 + math.Log(float64(min(t.count, 4))))
	if t.capitals*2 > t.count || t.isCode {
		return 2 * s
	}
	return s * min(1, t.best/3)
}

// earlier returns a topic of an earlier summary unless an excerpt taken speaks of it.
func (x *extraction) earlier(s string) (topic, bool) {
	t := topic{text: strings.Join(strings.Fields(s), " ")}
	isNew := false
	for _, token := range x.analyzer.Tokens(s) {
		count := 0
		if no, ok := x.termNo[token.Term]; ok {
			t.terms = append(t.terms, no)
			count = x.terms[no].count
			isNew = isNew || len(x.terms[no].holders) == 0
		} else {
			isNew = true
		}
		t.score = max(t.score, 2*x.rarity(token.Term, count))
	}
	return t, isNew && len(t.text) <= maxTopic
}
