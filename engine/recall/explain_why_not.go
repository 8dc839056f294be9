package recall

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// WhyNot says what became of one document in a recall.
type WhyNot struct {
	ID   string     `json:"id"`
	Kind kinds.Kind `json:"kind"`
	Text string     `json:"text"`
	// Stage that kept it out, as in the trace: "filter" before all others, "fusion" when no channel brought it, "" for a hit.
	Stage  string `json:"stage"`
	Reason string `json:"reason"` // in words
	// Filters that it does not pass: kind, scope, conversation, category, tier, role, speaker, source_kind, time, state, forgotten, superseded, not_yet,
	// then (no document of the moment that is asked), tags, metadata.
	Filters  []string  `json:"filters,omitempty"`
	Rank     int       `json:"rank,omitempty"`     // among those that no stage but the limit dropped, from 1
	Position int       `json:"position,omitempty"` // among all candidates by Fused, from 1
	Of       int       `json:"of,omitempty"`       // candidates
	Standing *Standing `json:"standing,omitempty"` // by its own words and meaning; nil when a filter keeps it out
	Gaps     []Gap     `json:"gaps,omitempty"`     // to the last hit, where only the limit keeps it out; largest first
	// Candidate and Explanation are those of a candidate.
	Candidate   *Candidate   `json:"candidate,omitempty"`
	Explanation *Explanation `json:"explanation,omitempty"`
}

// Gap is what a signal brings less than in another document.
type Gap struct {
	Name   string  `json:"name"`
	Points float64 `json:"points"`
}

// Standing is where a document stands in each channel, without its neighbours. A place of 0 is none.
type Standing struct {
	Raw        *float64 `json:"bm25,omitempty"`
	ByWords    int      `json:"by_words"` // the place
	HaveWords  int      `json:"have_words"`
	Cosine     *float64 `json:"cosine,omitempty"`
	ByMeaning  int      `json:"by_meaning"` // the place
	HaveCosine int      `json:"have_cosine"`
	Pool       int      `json:"pool"` // how many each channel brings
}

// missed is the document that somebody misses.
type missed struct {
	docNo                                     int32
	id, conversation, supersededBy, reason    string
	kind                                      kinds.Kind
	scope                                     string
	category                                  memory.Category
	tier                                      memory.Tier
	role, speaker                             string
	state                                     memory.State
	layer                                     memory.Layer
	created, begins, invalidated, until, gone time.Time
}

// find looks the missed document up. One that the agent may not read is not found.
func (x *explanation) find(ctx context.Context) (*missed, error) {
	q := x.query
	visible, _ := x.recaller.scopes.Now().ForReading(q.Agent, nil)
	all, err := duck.List(ctx, x.c, "explain_find", func(rows *sql.Rows, to **missed) error {
		m := &missed{}
		*to = m
		return rows.Scan(&m.docNo, &m.id, &m.kind, &m.scope, duck.TextOf(&m.conversation), duck.TextOf(&m.category), duck.TextOf(&m.tier), duck.TextOf(&m.role), duck.TextOf(&m.speaker), &m.created, &m.begins,
			duck.TimeOf(&m.invalidated), duck.TextOf(&m.supersededBy), duck.TimeOf(&m.until), duck.TimeOf(&m.gone), duck.TextOf(&m.reason), duck.TextOf(&m.state), duck.TextOf(&m.layer))
	}, sql.Named("id", q.WhyNot), sql.Named("shortest", int32(ids.MinShort)), sql.Named("scopes", duck.ListArg(visible)))
	if err != nil {
		return nil, err
	}
	return ids.One("document", q.WhyNot, all, func(m *missed) string { return m.id })
}

// findNow looks the missed document up among those of the present, where the moment that is asked has none.
func (x *explanation) findNow(ctx context.Context) (*WhyNot, error) {
	q := x.query
	visible, _ := x.recaller.scopes.Now().ForReading(q.Agent, nil)
	all, err := duck.List(ctx, x.c, "explain_find_now", func(rows *sql.Rows, w *WhyNot) error {
		w.Stage, w.Filters, w.Reason = "filter", []string{"then"}, "At that moment it was not true, or not known yet."
		return rows.Scan(&w.ID, &w.Kind, duck.TextOf(&w.Text))
	}, sql.Named("id", q.WhyNot), sql.Named("shortest", int32(ids.MinShort)), sql.Named("scopes", duck.ListArg(visible)))
	if err != nil {
		return nil, err
	}
	w, err := ids.One("document", q.WhyNot, all, func(w WhyNot) string { return w.ID })
	return &w, err
}

// whyNot follows the missed document through the stages.
func (x *explanation) whyNot(ctx context.Context, m *missed) (*WhyNot, error) {
	if err := x.load(ctx, []int32{m.docNo}); err != nil {
		return nil, err
	}
	w := &WhyNot{ID: m.id, Kind: m.kind, Text: x.shown[m.docNo].Text, Of: len(x.candidates), Explanation: x.made[m.docNo]}
	var outside string
	_, err := x.c.One(ctx, "explain_outside", []any{duck.TextOf(&outside)}, sql.Named("doc_no", m.docNo))
	if err != nil {
		return nil, err
	}
	if w.Filters = x.unmarked(m, strings.Fields(outside)); len(w.Filters) > 0 {
		w.Stage, w.Reason = "filter", x.filtered(m, w.Filters)
		return w, nil
	}
	s := &Standing{}
	_, err = x.c.One(ctx, "explain_standing", []any{&s.Raw, &s.ByWords, &s.HaveWords, &s.Cosine, &s.ByMeaning, &s.HaveCosine, &s.Pool}, sql.Named("doc_no", m.docNo))
	if err != nil {
		return nil, err
	}
	w.Standing = s
	v := x.subject[m.docNo]
	if v == nil {
		w.Stage, w.Reason = "fusion", x.outOfPool(s)
		return w, nil
	}
	v.ID, v.Kind = m.id, m.kind
	w.Candidate, w.Stage, w.Position = v, v.Dropped, 1
	for i, other := range x.candidates {
		if other.Fused > v.Fused {
			w.Position++
		}
		if other.DocNo == m.docNo && (v.Dropped == "" || v.Dropped == "limit") {
			w.Rank = i + 1
		}
	}
	w.Reason = x.dropped(m, w)
	if last := x.last(v); last != nil {
		w.Gaps = gaps(x.made[v.DocNo].Shares, x.made[last.DocNo].Shares)
		if own := x.made[v.DocNo]; own.Features != nil { // the fused score is one of them
			w.Gaps = gaps(own.Features, x.made[last.DocNo].Features)
		}
	}
	return w, nil
}

// last is the last hit, where a candidate stands behind it.
func (x *explanation) last(v *Candidate) *Candidate {
	n := len(x.result.Hits)
	if v == nil || v.Dropped != "limit" || n == 0 {
		return nil
	}
	return &x.result.Hits[n-1].Signals
}

// gaps gives what shares have less than better ones.
func gaps(shares, better []Share) (all []Gap) {
	points := map[string]float64{}
	for _, s := range shares {
		points[s.Name] = s.Points
	}
	for _, s := range better {
		if gap := s.Points - points[s.Name]; gap > 0 {
			all = append(all, Gap{s.Name, gap})
		}
	}
	slices.SortStableFunc(all, func(a, b Gap) int { return cmp.Compare(b.Points, a.Points) })
	return all
}

// filtered says why a document does not take part.
func (x *explanation) filtered(m *missed, filters []string) string {
	q := x.query
	var parts []string
	for _, filter := range filters {
		switch filter {
		case "kind":
			parts = append(parts, fmt.Sprintf("It is a %s, and asked for is %s.", m.kind, fault.OneOf(q.Kinds)))
		case "scope":
			parts = append(parts, fmt.Sprintf("Its scope %s was not asked, only %s.", m.scope, cmp.Or(strings.Join(q.Scopes, ", "), "none")))
		case "conversation":
			parts = append(parts, fmt.Sprintf("It is from %s, and only %s asked.", cmp.Or(m.conversation, "no conversation"), was(q.Conversations)))
		case "category":
			parts = append(parts, fmt.Sprintf("Its category is %s, and only %s asked.", cmp.Or(string(m.category), "none"), was(q.Categories)))
		case "tier":
			parts = append(parts, fmt.Sprintf("Its tier is %s, and only %s asked.", cmp.Or(string(m.tier), "none"), was(q.Tiers)))
		case "role":
			parts = append(parts, fmt.Sprintf("Its role is %s, and only %s asked.", cmp.Or(m.role, "none"), was(q.Roles)))
		case "speaker":
			parts = append(parts, fmt.Sprintf("It was said by %s, and only %s asked.", cmp.Or(m.speaker, "nobody who has a name"), was(q.Speakers)))
		case "source_kind":
			parts = append(parts, "What brought it about is none of the source kinds asked, or one of those left out.")
		case "time":
			parts = append(parts, fmt.Sprintf("It is of %s, outside the time asked%s%s.", minute(m.created), bound(" from ", q.Since), bound(" before ", q.Until)))
		case "state":
			if m.state == memory.Confirmed {
				parts = append(parts, "It lies in the archive, which was not asked.")
			} else {
				parts = append(parts, fmt.Sprintf("It is %s, and only what is confirmed takes part.", m.state))
			}
		case "forgotten":
			parts = append(parts, fmt.Sprintf("It was forgotten on %s%s.", minute(m.gone), prefixed(": ", m.reason)))
		case "superseded":
			parts = append(parts, fmt.Sprintf("It was superseded on %s%s, and the recall is as of %s.", minute(m.invalidated), prefixed(" by ", m.supersededBy), minute(x.at)))
		case "not_yet":
			parts = append(parts, fmt.Sprintf("It begins on %s, and the recall is as of %s.", minute(m.begins), minute(x.at)))
		case "tags":
			parts = append(parts, fmt.Sprintf("Its text has not all tags of the question: %s.", strings.Join(x.tags, ", ")))
		case "metadata":
			var asked []string
			for _, key := range slices.Sorted(maps.Keys(q.Where)) {
				asked = append(asked, key+"="+q.Where[key])
			}
			if q.Sources != nil {
				asked = append(asked, "source "+cmp.Or(strings.Join(q.Sources, " or "), "none"))
			}
			if q.Trust != nil {
				asked = append(asked, "trust "+cmp.Or(strings.Join(texts(q.Trust), " or "), "none"))
			}
			if len(asked) > 0 {
				parts = append(parts, fmt.Sprintf("Its metadata has not all that was asked: %s.", strings.Join(asked, ", ")))
			}
			if states, layers := q.standing(); q.apart() {
				parts = append(parts, fmt.Sprintf("It is %s, in the layer %s; asked for is %s in %s.", m.state, cmp.Or(string(m.layer), "of none"),
					fault.OneOf(states), cmp.Or(fault.OneOf(layers), "any")))
			}
		}
	}
	return strings.Join(parts, " ")
}

// unmarked says of a document that has not all marks which it lacks.
func (x *explanation) unmarked(m *missed, filters []string) []string {
	i := slices.Index(filters, "marks")
	if i < 0 {
		return filters
	}
	filters = slices.Delete(filters, i, i+1)
	if x.tagged != nil && !slices.Contains(x.tagged, m.docNo) {
		filters = append(filters, "tags")
	}
	if x.described != nil && !slices.Contains(x.described, m.docNo) {
		filters = append(filters, "metadata")
	}
	return filters
}

// outOfPool says why no channel brought a document that takes part.
func (x *explanation) outOfPool(s *Standing) string {
	words, meaning := "", ""
	switch {
	case x.result.Mode == VectorMode:
	case s.ByWords == 0:
		words = "it has none of the question's words"
	default:
		words = fmt.Sprintf("by words it is number %d of %d", s.ByWords, s.HaveWords)
	}
	switch {
	case x.question.vector == nil:
		meaning = "meaning was not asked"
	case s.ByMeaning == 0:
		meaning = "it has no vector of this model"
	default:
		meaning = fmt.Sprintf("by meaning it is number %d of %d", s.ByMeaning, s.HaveCosine)
	}
	reason := meaning
	if words != "" {
		reason = words + ", and " + meaning
	}
	reason = strings.ToUpper(reason[:1]) + reason[1:] + "."
	if s.ByWords > 0 || s.ByMeaning > 0 {
		reason += fmt.Sprintf(" Only the best %d of a channel and what was said around them are considered.", s.Pool)
	}
	return reason
}

// dropped says what a stage had against a candidate, or that it had nothing.
func (x *explanation) dropped(m *missed, w *WhyNot) string {
	v, q := w.Candidate, x.query
	switch v.Dropped {
	case "":
		return fmt.Sprintf("It is hit number %d of %d.", w.Rank, len(x.result.Hits))
	case "chance":
		return x.byChance(v)
	case "min_score":
		return fmt.Sprintf("Its fused score %.3f is below min_score %g.", v.Fused, x.weights.MinScore)
	case "expired":
		return fmt.Sprintf("It was valid until %s, and the recall is as of %s.", minute(m.until), minute(x.at))
	case "rerank_window":
		return fmt.Sprintf("By its fused score %.3f it is number %d of %d, and only the best %d, twice the limit, go on.", v.Fused, w.Position, w.Of, 2*q.Limit)
	case "hard_min_score":
		floor := "hard_min_score"
		if q.MinScore > 0 && q.MinScore == x.weights.HardMinScore {
			floor = "the least score asked for,"
		}
		return fmt.Sprintf("Its score after decay %.3f is below %s %g; it was %.3f after fusion, %.3f after length.", v.Decayed, floor, x.weights.HardMinScore, v.Fused, v.LengthNorm)
	case "min_confidence":
		return fmt.Sprintf("Its confidence %.3f is below the least asked for, %g.", *v.Confidence, q.MinConfidence)
	case "noise":
		return "It is a bare greeting, or the record of a look-up that found nothing."
	}
	reason := fmt.Sprintf("It is number %d with %.3f, and the limit is %d", w.Rank, v.Decayed, q.Limit)
	if n := len(x.result.Hits); n > 0 {
		reason += fmt.Sprintf("; the last hit has %.3f", x.result.Hits[n-1].Score)
	}
	if alike := w.Explanation.Alike; alike != nil {
		reason += fmt.Sprintf(". It says nearly the same as %s (cosine %.2f), so it stands behind the others", alike.ID, alike.Cosine)
	}
	return reason + "."
}

// byChance says that a candidate has nothing of the question but what any text has.
func (x *explanation) byChance(v *Candidate) string {
	const lacks = "It has none of the question's words, around it neither"
	if x.question.vector == nil {
		return lacks + ", nor has its session, and meaning was not asked."
	}
	if v.NearCosine == nil {
		return lacks + ", and no vector."
	}
	best := *v.NearCosine
	if v.Cosine != nil {
		best = max(best, *v.Cosine)
	}
	return fmt.Sprintf("%s, and its cosine %.3f is one that random text reaches: the floor is %.3f (weight chance %g).", lacks, best, x.chance(), x.weights.Chance)
}

// was is a list with its verb.
func was[T ~string](list []T) string {
	switch len(list) {
	case 0:
		return "none was"
	case 1:
		return string(list[0]) + " was"
	}
	return fault.OneOf(list) + " were"
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// bound is a word and a time, if there is one.
func bound(word string, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return word + minute(t)
}

// prefixed is a word and what follows, if it does.
func prefixed(word, rest string) string {
	if rest == "" {
		return ""
	}
	return word + rest
}
