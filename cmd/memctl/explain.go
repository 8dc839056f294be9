package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text/dates"
)

// widestExplanation is how many columns an explanation takes at most: longer lines are hard to read.
const widestExplanation = 120

// printExplanation says in words why the hits are hits.
func (a *app) printExplanation(r *recall.Result) {
	a.printf("%s", a.asked(r))
	if len(r.Hits) == 0 {
		a.printf("\nNothing found.\n")
	}
	for i, h := range r.Hits {
		a.printf("\n%d  %.3f  %s  %s  %s\n", i+1, h.Score, ids.Short(h.ID), day(h.CreatedAt), printable(from(h)))
		a.printf("%s", a.sentence("“"+line(h.Shown(), 3*a.explained())+"”"))
		a.printf("%s", a.sentence(passage(h)))
		for _, s := range sentences(h.Signals, h.Explanation) {
			a.printf("%s", a.sentence(s))
		}
		a.printf("%s", allBars(h.Explanation, a.explained()))
		a.printf("%s", a.sentence(stages(h.Signals)))
	}
	if len(r.Trace.Drops) > 0 {
		a.printf("\n%s", indent(drops(r), "", a.explained()))
	}
}

// explained is how wide an explanation is.
func (a *app) explained() int { return min(a.width(), widestExplanation) }

// sentence is a paragraph below a hit, or nothing.
func (a *app) sentence(s string) string {
	if s == "" {
		return ""
	}
	return indent(s, "   ", a.explained())
}

// asked says what the question was taken for.
func (a *app) asked(r *recall.Result) string {
	parts := []string{fmt.Sprintf("Mode %s, weights %s, %s ms.", r.Mode, cmp.Or(r.WeightSet, "of the query"), milliseconds(r.Trace.Duration))}
	if len(r.Words) > 0 {
		parts = append(parts, fmt.Sprintf("Words, among %s: %s.", plural(r.Words[0].Of, "document", "documents"), joined(r.Words, rarity)))
	}
	if len(r.Trace.Tags) > 0 {
		parts = append(parts, "Tags: "+strings.Join(r.Trace.Tags, ", ")+".")
	}
	for _, p := range r.Trace.Dates {
		parts = append(parts, fmt.Sprintf("“%s” is %s.", p.Phrase, span(p)))
	}
	if len(r.Hits) > 0 && !slices.ContainsFunc(r.Hits, func(h recall.Hit) bool { return h.Confidence != nil }) {
		parts = append(parts, "How likely hits are right is not known with these weights, this model and mode, among so many.")
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(indent(part, "", a.explained()))
	}
	return b.String()
}

// span says which days a period has.
func span(p dates.Period) string {
	last := day(p.Until.AddDate(0, 0, -1))
	switch {
	case p.From.Year() == 1:
		return "until " + last
	case p.Until.Year() == 9999:
		return "from " + day(p.From) + " on"
	case p.Recurs != "":
		return day(p.From) + " to " + last + ", or another such time"
	}
	return day(p.From) + " to " + last
}

// rarity says how rare a word is.
func rarity(w recall.QuestionWord) string {
	if w.Documents == 0 {
		return w.Word + " nowhere"
	}
	return fmt.Sprintf("%s %s (%d)", w.Word, w.Rarity, w.Documents)
}

func joined[T any](list []T, say func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = say(v)
	}
	return strings.Join(parts, ", ")
}

// sentences give the reasons for a hit.
func sentences(c recall.Candidate, x *recall.Explanation) (all []string) {
	if c.Confidence != nil {
		all = append(all, fmt.Sprintf("Confidence %.2f: about %d of a hundred such hits are right.", *c.Confidence, int(math.Round(100**c.Confidence))))
	}
	if x.Speaker != nil && x.Speaker.Name == x.Speaker.Asked {
		all = append(all, fmt.Sprintf("Said by %s, whom the question names.", byline(x.Speaker.Name, "")))
	} else if x.Speaker != nil {
		all = append(all, fmt.Sprintf("Said by %s; the question names %s.", byline(x.Speaker.Name, ""), byline(x.Speaker.Asked, "")))
	}
	if x.Date != nil {
		all = append(all, dateSentence(x.Date))
	}
	if len(x.Words) > 0 {
		all = append(all, "Words: "+joined(x.Words, hitWord)+".")
	}
	if x.Reply != nil {
		all = append(all, "It may answer the question before it: "+said(*x.Reply, brings(*x.Reply, c)))
	}
	for _, n := range x.Neighbours {
		if what := brings(n, c); what != "" && (x.Reply == nil || n.Step != x.Reply.Step) {
			all = append(all, places[n.Step]+": "+said(n, what))
		}
	}
	if i := slices.IndexFunc(x.Shares, func(s recall.Share) bool { return s.Name == "vector" }); i >= 0 && x.Shares[i].Weight == 0 && x.Shares[i].Value != nil {
		all = append(all, "Its words fit so well that they count alone, without the meaning.")
	}
	if c.Asks {
		all = append(all, "It ends with a question.")
	}
	if x.Alike != nil {
		all = append(all, fmt.Sprintf("Says nearly the same as %s (cosine %.2f), so it stands behind the others.", ids.Short(x.Alike.ID), x.Alike.Cosine))
	}
	return all
}

// passage says what is shown of a long text, and whether that brought the hit.
func passage(h recall.Hit) string {
	if h.Passage == nil {
		return ""
	}
	s := fmt.Sprintf("Shown is a passage, bytes %d to %d of %d.", h.Passage.Start, h.Passage.End, len(h.Text))
	if h.Signals.ByPassage {
		s += " By meaning the best passage speaks for it, not the whole."
	}
	return s
}

func dateSentence(d *recall.DateFit) string {
	at := d.At.Format("2 January 2006")
	if d.Days == 0 {
		return fmt.Sprintf("%s is inside “%s”.", at, d.Phrase)
	}
	return fmt.Sprintf("%s is %s from “%s”.", at, plural(int(math.Ceil(d.Days)), "day", "days"), d.Phrase)
}

// hitWord says what a word of the question is worth.
func hitWord(w recall.HitWord) string {
	s := fmt.Sprintf("%s (%s, %.1f points", w.Word, rareIn(w.QuestionWord), w.Points)
	switch {
	case len(w.Through) > 0 && w.Frequency == 0:
		s += ", by way of " + strings.Join(w.Through, ", ")
	case len(w.Through) > 0:
		s += ", also by way of " + strings.Join(w.Through, ", ")
	case w.Frequency == 0:
		s += ", only around it"
	}
	return s + ")"
}

func rareIn(w recall.QuestionWord) string {
	if w.Documents == 0 {
		return "written nowhere"
	}
	return fmt.Sprintf("%s: in %d of %d", w.Rarity, w.Documents, w.Of)
}

// telling is how much a neighbour must bring to be spoken of: of the words' points, and in cosine above the document's own.
const telling = 0.1

// brings says what a neighbour brings; nothing, if that is little.
func brings(n recall.Neighbour, c recall.Candidate) string {
	var parts []string
	if n.Raw != nil && c.Raw != nil && n.Share**n.Raw >= telling**c.Raw {
		parts = append(parts, fmt.Sprintf("%.1f points of words", *n.Raw))
	}
	if n.Share > 0 && n.Cosine != nil && (c.Cosine == nil || *n.Cosine > *c.Cosine+telling) {
		parts = append(parts, fmt.Sprintf("cosine %.2f", *n.Cosine))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s, share %.2g", strings.Join(parts, ", "), n.Share)
}

// places are where neighbours stand.
var places = map[int]string{-2: "Two before it", -1: "Just before it", 1: "Just after it", 2: "Two after it"}

// said is who said a neighbour, and what, and what that brings.
func said(n recall.Neighbour, brings string) string {
	s := strings.TrimSpace(fmt.Sprintf("%s “%s”", byline(n.Speaker, ""), n.Snippet))
	if brings == "" {
		return s
	}
	return s + " (" + brings + ")"
}

// signalNames are what people call the signals.
var signalNames = map[string]string{
	"vector": "meaning", "lexical": "words", "date": "date", "speaker": "speaker", "reply": "answers", "answered": "answered", "tells": "tells", "wish": "a wish",
	"question": "asks", "relation": "related", "verbatim": "verbatim", "fresh": "fresh", "cap": "bounds", "fused": "fused",
	"feature_cosine": "cosine", "feature_lexical": "BM25", "feature_coverage": "coverage", "feature_proximity": "nearness", "feature_phrase": "phrase", "feature_name": "names",
	"feature_date": "date", "feature_neighbour": "beside", "feature_session": "session",
}

// allBars draws what the signals brought, and below it what the features made of that, where they reranked.
func allBars(x *recall.Explanation, width int) string {
	s := bars(x.Shares, width)
	if x.Features != nil {
		s += "   Reranked by features, of which the fused score is one:\n" + bars(x.Features, width)
	}
	return s
}

// bars draws one bar for each signal that counted: full blocks for what it brought, light ones for what more it could have.
func bars(shares []recall.Share, width int) string {
	most, fused := 0.0, 0.0
	for _, s := range shares {
		most, fused = max(most, math.Abs(s.Weight), math.Abs(s.Points)), fused+s.Points
	}
	room := float64(min(width-30, 50))
	var b strings.Builder
	var none []string
	for _, s := range shares {
		switch {
		case s.Points == 0 && s.Weight > 0:
			none = append(none, signalNames[s.Name])
			continue
		case s.Points == 0:
			continue
		case s.Weight < 0 || s.Name == "cap":
			fmt.Fprintf(&b, "   %-8s%+6.3f           %s\n", signalNames[s.Name], s.Points, bar(math.Abs(s.Points)/most*room))
			continue
		}
		full := bar(s.Points / most * room)
		rest := int(math.Round(s.Weight/most*room)) - len([]rune(full))
		fmt.Fprintf(&b, "   %-8s%6.3f of %.3f  %s%s\n", signalNames[s.Name], s.Points, s.Weight, full, strings.Repeat("░", max(rest, 0)))
	}
	fmt.Fprintf(&b, "   %-8s%6.3f\n", "sum", fused)
	if none != nil {
		b.WriteString(indent("Nothing from: "+strings.Join(none, ", ")+".", "   ", width))
	}
	return b.String()
}

// bar is a line of blocks, to an eighth of a column.
func bar(columns float64) string {
	eighths := int(math.Round(columns * 8))
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return s
}

// stages says what came after fusion; nothing, if nothing did.
func stages(c recall.Candidate) string {
	var parts []string
	before := c.Fused
	for _, s := range []struct {
		name  string
		after float64
	}{{"rerank", c.Reranked}, {"recency", c.Recency}, {"importance", c.Importance}, {"trust", c.Trusted}, {"length", c.LengthNorm}, {"age, tier and use", c.Decayed}} {
		if math.Abs(s.after-before) > 0.0005 && before > 0 {
			parts = append(parts, fmt.Sprintf("%s ×%.2f", s.name, s.after/before))
		}
		before = s.after
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("After that: %s: %.3f.", strings.Join(parts, ", "), c.Decayed)
}

// drops says in a line what the stages took away.
func drops(r *recall.Result) string {
	return fmt.Sprintf("Not shown: %s. --trace shows every stage, --why-not ID follows one document.",
		joined(r.Trace.Drops, func(d recall.Drop) string { return fmt.Sprintf("%d of %d at %s", d.Dropped, d.Before, d.Stage) }))
}

// printWhyNot says what became of the document that was missed.
func (a *app) printWhyNot(r *recall.Result) {
	w := r.WhyNot
	a.printf("%s  %s\n", ids.Short(w.ID), line(w.Text, a.explained()-12))
	reason := w.Reason
	switch w.Stage {
	case "":
	case "filter":
		reason = "Kept out by a filter. " + reason
	default:
		reason = fmt.Sprintf("Kept out at %s. %s", w.Stage, reason)
	}
	a.printf("%s", a.sentence(reason))
	if len(w.Gaps) > 0 {
		a.printf("%s", a.sentence("Behind the last hit by "+joined(w.Gaps[:min(len(w.Gaps), 3)], func(g recall.Gap) string {
			return fmt.Sprintf("%s (%.3f)", signalNames[g.Name], g.Points)
		})+"."))
	}
	if w.Candidate == nil {
		return
	}
	x := *w.Explanation
	x.Alike = nil // the reason names it
	for _, s := range sentences(*w.Candidate, &x) {
		a.printf("%s", a.sentence(s))
	}
	a.printf("%s", allBars(w.Explanation, a.explained()))
	if w.Stage != "chance" && w.Stage != "min_score" && w.Stage != "expired" && w.Stage != "rerank_window" { // there it ended
		a.printf("%s", a.sentence(stages(*w.Candidate)))
	}
}
