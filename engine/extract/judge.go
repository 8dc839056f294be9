package extract

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text/capture"
)

// From which likeness on, on the scale of 1/(2-cosine), two statements are taken for the same, for two versions of one, and for two of one thing.
const (
	sameFrom    = 0.98
	versionFrom = 0.95
	relatedFrom = 0.85
)

// Of the words that tell what a statement is about, how many two must share to be about the same.
const sameGist = 0.75

// decision is a verdict with what it is about.
type decision struct {
	verdict, action Verdict
	reason          string
	match           *candidate // nil: none
	context         string     // of support and contradict
}

func (d decision) to(action Verdict) decision {
	d.action = action
	return d
}

// judgeAll decides on the drafts of a window in their order. Each is held against the file and against what came before it.
func (x *run) judgeAll(ctx context.Context, drafts []*Draft, proposals []*memory.Proposal) (accepted []*candidate, edits []memory.Edit, err error) {
	var all []*candidate
	for i, d := range drafts {
		if d.failed != nil {
			d.Verdict, d.Action, d.Reason = Reject, Reject, "it can't be stored: "+d.failed.Error()
			continue
		}
		all = append(all, x.proposed(d, proposals[i]))
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	if err := x.file.Read(ctx, "extract", func(r *duck.Conn) error { return x.lookUp(ctx, r, all) }); err != nil {
		return nil, nil, err
	}
	doubles := x.doubles(all)
	for _, c := range all {
		if first := doubles[c]; first != nil {
			c.draft.Verdict, c.draft.Action, c.draft.Reason = Skip, Skip, "said in the same stretch of talk before"
			c.draft.MatchID, c.draft.Similarity = first.id, score(max(inner(first.vector, c.vector), 0))
			continue
		}
		made, more, err := x.decide(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		edits = append(edits, more...)
		if made {
			accepted = append(accepted, c)
		}
	}
	return accepted, edits, nil
}

// decide gives a draft its verdict and does what that means; made says that it becomes a memory.
func (x *run) decide(ctx context.Context, c *candidate) (made bool, edits []memory.Edit, err error) {
	near := x.near(c)
	if x.opts.Extraction.Admission.On() {
		if c.draft.Admission, err = x.admit(ctx, c, near, x.said); err != nil {
			return false, nil, err
		}
		if c.draft.Admission.Rejected {
			c.draft.Verdict, c.draft.Action, c.draft.Reason = Reject, Reject, c.draft.Admission.Reason
			return false, nil, nil
		}
	}
	decided, err := x.verdict(ctx, c, near)
	if err != nil {
		return false, nil, err
	}
	d := c.draft
	d.Verdict, d.Action, d.Reason = decided.verdict, decided.action, decided.reason
	for _, n := range near[:min(len(near), mostNear)] {
		d.Nearest = append(d.Nearest, Near{n.id, n.similarity})
	}
	if decided.match != nil {
		d.MatchID, d.Similarity = decided.match.id, decided.match.similarity
	}
	return x.act(c, decided)
}

// act does what a verdict means: to the proposal now, to memories of the file when it is written.
func (x *run) act(c *candidate, decided decision) (made bool, edits []memory.Edit, err error) {
	d, at := c.draft, c.draft.SaidAt
	observe := func(confirms bool) {
		label := capture.NormaliseContext(decided.context)
		edits = append(edits, memory.Edit{ID: decided.match.id, Change: func(m *memory.Memory) { m.SupportInfo = m.SupportOf().Observe(label, confirms, at) },
			Sources: d.observed(label, confirms)})
	}
	switch decided.action {
	case Skip, Reject:
		return false, nil, nil
	case Support:
		observe(true)
		return false, edits, nil
	case Supersede:
		err = c.proposal.Supersede(decided.match.id)
		x.ended[decided.match.id] = true
	case Merge:
		err = c.proposal.Supersede(decided.match.id)
		x.ended[decided.match.id] = true
		c.proposal.From(memory.Source{How: memory.Merged, Kind: kinds.Memory, ID: decided.match.id})
		support := decided.match.memory.SupportOf().Observe(capture.NormaliseContext(decided.context), true, at)
		edits = append(edits, memory.Edit{ID: c.id, Change: func(m *memory.Memory) { m.SupportInfo = support }})
	case Contextualize:
		c.memory.Contexts = []string{capture.NormaliseContext(decided.context)}
		err = c.proposal.Relate("contextualizes", decided.match.id)
	case Contradict:
		observe(false)
		err = c.proposal.Relate("contradicts", decided.match.id)
	}
	if err != nil {
		return false, nil, err
	}
	c.proposal.From(d.sources(memory.Drawn)...)
	d.MemoryID, c.stored = c.id, true
	if x.request.DryRun {
		d.MemoryID = ""
	}
	x.planned = append(x.planned, c)
	return true, edits, nil
}

// byLikeness is the verdict of rules: by fact keys, by what a statement says of change, and by how alike it is to what is known. The first that fits
// counts; docs/memories.md has them in this order.
func byLikeness(c *candidate, near []*candidate) decision {
	d := c.draft
	best := func(fits func(n *candidate) bool) *candidate {
		for _, n := range near {
			if fits(n) {
				return n
			}
		}
		return nil
	}
	sameKind := func(n *candidate) bool { return n.memory.Category == d.Category && n.who == c.who }
	if anotherItem(d, near) {
		return decision{verdict: Create, action: Create, reason: "another thing of the same maker"}
	}
	same := best(func(n *candidate) bool {
		ofFact := d.FactKey == "" || n.memory.FactKey == d.FactKey // else one sentence says two things
		return ofFact && n.negated == c.negated && (n.folded == c.folded || n.similarity > sameFrom && sameKind(n)) ||
			ofFact && d.FactKey != "" && strings.EqualFold(n.memory.Text, d.Text)
	})
	switch {
	case same == nil:
	case appendOnly(d.Category):
		return decision{verdict: Skip, action: Skip, reason: "it is known already", match: same}
	case same.memory.SourceSession == c.memory.SourceSession:
		return decision{verdict: Skip, action: Skip, reason: "the same talk said so before", match: same}
	default:
		return decision{verdict: Support, action: Support, reason: "it is said again", match: same, context: cmp.Or(d.Context, capture.General)}
	}
	if appendOnly(d.Category) {
		if n := best(func(n *candidate) bool { return n.similarity > versionFrom && sameKind(n) }); n != nil {
			return decision{verdict: Skip, action: Skip, reason: "nearly the same is known", match: n}
		}
		return decision{verdict: Create, action: Create, reason: "what happened is kept beside what is known"}
	}
	if d.FactKey != "" {
		if n := best(func(n *candidate) bool { return n.memory.FactKey == d.FactKey }); n != nil {
			return c.replaces(n, "its fact key has another value now")
		}
		if n := best(func(n *candidate) bool { return d.Context != "" && n.memory.FactKey == d.found.topicKey }); n != nil {
			return decision{verdict: Contextualize, action: Contextualize, reason: "it holds in its context, beside what holds generally", match: n, context: d.Context}
		}
	}
	if d.found.old != "" {
		old := strings.ToLower(d.found.old)
		if n := best(func(n *candidate) bool {
			return sameKind(n) && !n.negated && strings.Contains(strings.ToLower(saidBy(n.memory)), old)
		}); n != nil {
			return c.replaces(n, "it names what was true before")
		}
	}
	opposite := best(func(n *candidate) bool {
		return n.negated != c.negated && sameKind(n) && overlap(n.gist, c.gist) >= sameGist
	})
	switch {
	case opposite == nil:
	case versioned(d.Category) && d.Context == "":
		decided := c.replaces(opposite, "it says the opposite")
		if decided.action == Supersede && !d.found.corrects {
			decided.verdict, decided.context = Contradict, capture.General
		}
		return decided
	default:
		return decision{verdict: Contradict, action: Contradict, reason: "it says the opposite, in its context", match: opposite, context: cmp.Or(d.Context, capture.General)}
	}
	if d.FactKey == "" {
		if decided, ok := c.byWords(best, sameKind); ok {
			return decided
		}
	}
	return decision{verdict: Create, action: Create, reason: "nothing says so yet"}
}

// byWords is the verdict about a statement without a fact key, by its likeness to others.
func (c *candidate) byWords(best func(func(*candidate) bool) *candidate, sameKind func(*candidate) bool) (decision, bool) {
	d := c.draft
	related := best(func(n *candidate) bool {
		return sameKind(n) && n.negated == c.negated && (n.similarity >= relatedFrom || overlap(n.terms, c.terms) >= relatedFrom) && overlap(n.gist, c.gist) >= sameGist
	})
	if related == nil {
		return decision{}, false
	}
	shared := common(related.terms, c.terms)
	less, more := shared == len(c.terms), shared == len(related.terms)
	switch {
	case d.Context != "" && !slices.Contains(related.memory.Contexts, d.Context):
		return decision{verdict: Contextualize, action: Contextualize, reason: "it holds in its context, beside what holds generally", match: related, context: d.Context}, true
	case less && !more:
		return decision{verdict: Skip, action: Skip, reason: "it says less than is known", match: related}, true
	case more && !less && versioned(d.Category):
		return c.replaces(related, "it says what is known, and more"), true
	case related.similarity > versionFrom && versioned(d.Category):
		return c.replaces(related, "it is a newer wording"), true
	}
	return decision{verdict: Merge, action: Create, reason: "merging takes a model", match: related}, true
}

// replaces is the verdict about a memory that the draft takes the place of, unless that began later. A profile is merged: what is newest wins.
func (c *candidate) replaces(n *candidate, reason string) decision {
	switch {
	case n.memory.ValidFrom.After(c.memory.ValidFrom):
		return decision{verdict: Skip, action: Skip, reason: "a newer one stands", match: n}
	case c.draft.Category == memory.Profile:
		return decision{verdict: Merge, action: Supersede, reason: reason, match: n}
	case versioned(c.draft.Category):
		return decision{verdict: Supersede, action: Supersede, reason: reason, match: n}
	}
	return decision{verdict: Create, action: Create, reason: reason}
}

// anotherItem is the guard of slots: all that is alike likes another thing of the same maker.
func anotherItem(d *Draft, near []*candidate) bool {
	if d.found.slotBrand == "" {
		return false
	}
	guarded := false
	for _, n := range near[:min(len(near), mostNear)] {
		if n.similarity < leastNear {
			break
		}
		slot := capture.SlotOf(saidBy(n.memory))
		if slot.Brand != d.found.slotBrand || slot.Item == "" || slot.Item == d.found.slotItem {
			return false
		}
		guarded = true
	}
	return guarded
}

// doubleFrom is the cosine above which the second of two drafts of a model's says what the first does. Statements in people's own words share their phrases
// ("I love …") and not what they say, so those that rules find are held against each other like against all else.
const doubleFrom = 0.85

// doubles gives the drafts that say what one before them does, with that one.
func (x *run) doubles(all []*candidate) map[*candidate]*candidate {
	var vectors [][]float32
	var modelled []*candidate
	for _, c := range all {
		if c.draft.Model != "" {
			vectors, modelled = append(vectors, c.vector), append(modelled, c)
		}
	}
	doubles := map[*candidate]*candidate{}
	for i, of := range doublesOf(vectors) {
		if of >= 0 {
			doubles[modelled[i]] = modelled[of]
		}
	}
	return doubles
}

// doublesOf gives for each vector the first one before it that it is a double of, else -1. A double has no doubles; no vector is one of nothing.
func doublesOf(vectors [][]float32) []int {
	of := make([]int, len(vectors))
	for j, v := range vectors {
		of[j] = -1
		for i := range j {
			if of[i] < 0 && len(v) > 0 && len(v) == len(vectors[i]) && inner(vectors[i], v) > doubleFrom {
				of[j] = i
				break
			}
		}
	}
	return of
}
