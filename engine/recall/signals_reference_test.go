package recall_test

import (
	"math"
	"slices"

	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/dates"
)

// score gives every candidate its signals and joins them.
func (r *reckoning) score(candidates []*told) map[string]recall.Candidate {
	made, relevance := map[*told]*recall.Candidate{}, map[*told]float64{}
	bestVector, bestLexical := 0.0, 0.0
	for _, d := range candidates {
		v := &recall.Candidate{ID: d.id, Raw: r.raw(d), Met: r.met(d), Tells: d.tells, Asks: d.endsAsking, Wishes: d.wishes, DateScore: r.date(d)}
		if r.cosine != nil {
			v.Cosine, v.NearCosine = enginetest.Pointer(r.cosine[d]), enginetest.Pointer(r.nearCosine(d))
			bestVector = max(bestVector, *v.NearCosine)
		}
		if v.Raw != nil {
			bestLexical = max(bestLexical, *v.Raw)
		}
		if d.role == "assistant" {
			v.Tells *= r.shortness(d)
		}
		made[d] = v
	}
	for d, v := range made {
		relevance[d] = r.relevance(v, bestVector, bestLexical)
	}
	spoke := r.named(candidates)
	all := map[string]recall.Candidate{}
	for d, v := range made {
		if name := spoke[d.conversation]; name != "" {
			v.SpeakerScore = enginetest.Pointer(0.0)
			if name == d.speaker {
				v.SpeakerScore = enginetest.Pointer(1.0)
			}
		}
		for other := range made {
			if r.share("reply", r.w.Reply) > 0 && other.session == d.session && other.place == d.place-1 && other.asks {
				v.ReplyScore = enginetest.Pointer(relevance[other] * r.shortness(d))
			}
			if r.share("answered", r.w.Answered) > 0 && other.session == d.session && other.place == d.place+1 && d.role == "user" && other.role == "assistant" {
				long := 1.0
				if r.share("long_turn", r.w.LongTurn) > 0 {
					long -= r.shortness(other)
				}
				v.AnsweredScore = enginetest.Pointer(relevance[other] * long)
			}
		}
		if v.Fused = r.fused(v, relevance[d]); !r.byChance(v) {
			all[d.id] = *v
		}
	}
	return all
}

// byChance: where only words were asked, what has none of them, nor the date of the question, is no candidate.
func (r *reckoning) byChance(v *recall.Candidate) bool {
	return r.cosine == nil && r.w.Chance > 0 && v.Raw == nil && orZero(v.DateScore) < 1
}

func orZero(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// wish is what a wish counts: something for a question that asks for help.
func (r *reckoning) wish() float64 {
	if !text.AsksForHelp(r.q.Text) {
		return 0
	}
	return r.share("wish", r.w.Wish)
}

func flag(set bool) *float64 {
	if set {
		return enginetest.Pointer(1.0)
	}
	return enginetest.Pointer(0.0)
}

// fused joins the signals.
func (r *reckoning) fused(v *recall.Candidate, relevance float64) float64 {
	reply, answered := r.share("reply", r.w.Reply), r.share("answered", r.w.Answered)
	sum := relevance + orZero(v.ReplyScore)*reply + orZero(v.AnsweredScore)*answered
	most := (r.share("vector", r.w.Vector) + r.share("lexical", r.w.Lexical)) * (1 + reply + answered)
	for _, signal := range []struct {
		name          string
		weight, value float64
	}{
		{"date", r.w.Date, orZero(v.DateScore)},
		{"speaker", r.w.Speaker, orZero(v.SpeakerScore)}, {"tells", r.w.Tells, v.Tells}, {"wish", r.wish(), *flag(v.Wishes)},
	} {
		sum += signal.value * r.share(signal.name, signal.weight)
		most += r.share(signal.name, signal.weight)
	}
	if v.Asks {
		sum -= r.share("question", r.w.Question)
	}
	if r.w.Normalise == "maximum" {
		sum /= max(most, 1e-9)
	}
	return clamped(sum)
}

// relevance sets the scores of both channels and joins them.
func (r *reckoning) relevance(v *recall.Candidate, bestVector, bestLexical float64) float64 {
	vector, lexical := r.share("vector", r.w.Vector), r.share("lexical", r.w.Lexical)
	if r.w.Normalise == "maximum" {
		if bestVector > 0 {
			v.VectorScore = enginetest.Pointer(max(*v.NearCosine, 0) / bestVector)
		}
		if v.Raw != nil {
			v.LexicalScore = enginetest.Pointer(*v.Raw / bestLexical)
		}
		return orZero(v.VectorScore)*vector + orZero(v.LexicalScore)*lexical
	}
	if v.NearCosine != nil {
		v.VectorScore = enginetest.Pointer(1 / (2 - *v.NearCosine))
	}
	if v.Raw != nil {
		v.LexicalScore = enginetest.Pointer(1 / (1 + math.Exp(-*v.Raw/5)))
	}
	switch {
	case v.VectorScore == nil:
		return orZero(v.LexicalScore)
	case r.q.Mode == recall.VectorMode:
		return *v.VectorScore
	}
	floor := 0.0
	if orZero(v.LexicalScore) >= 0.75 {
		floor = 0.92 * *v.LexicalScore
	}
	return clamped(max(*v.VectorScore*vector+orZero(v.LexicalScore)*lexical, floor))
}

// raw is BM25 of a document with its neighbours; nil: they say no word of the question.
func (r *reckoning) raw(d *told) *float64 {
	around, length, sum, found := r.around(d), 0.0, 0.0, false
	for other, share := range around {
		length += share * other.length
	}
	for _, w := range r.asked {
		tf := 0.0
		for other, share := range around {
			tf += share * r.frequency(w, other)
		}
		if tf > 0 {
			found = true
			sum += r.bm25(w.idf[d.kind], tf, length, w.average[d.kind]*(1+r.shortness(d)*2*(r.share("near", r.w.Near)+r.share("far", r.w.Far))), r.w.B)
		}
	}
	if !found {
		return nil
	}
	return &sum
}

// met is how much of the question's rarity stands in a document and around it; nil: there are no words.
func (r *reckoning) met(d *told) *float64 {
	all, sum := 0.0, 0.0
	for _, w := range r.asked {
		tf := 0.0
		for other, share := range r.around(d) {
			tf += share * r.frequency(w, other)
		}
		all, sum = all+w.idf[d.kind], sum+w.idf[d.kind]*min(tf, 1)
	}
	if all == 0 {
		return nil
	}
	return enginetest.Pointer(sum / all)
}

func (r *reckoning) nearCosine(d *told) float64 {
	sum, shares := 0.0, 0.0
	for other, share := range r.around(d) {
		sum, shares = sum+share*r.cosine[other], shares+share
	}
	return sum / shares
}

// date is how well a document fits the date in the question; nil: it names none.
func (r *reckoning) date(d *told) *float64 {
	if r.share("date", r.w.Date) == 0 {
		return nil
	}
	var best *float64
	for _, period := range dates.Find(r.q.Text, r.at()) {
		for _, p := range period.Occurrences(r.at().AddDate(-30, 0, 0), r.at().AddDate(2, 0, 0)) {
			away := max(0, daysBefore(p.From, d.said))
			if !d.said.Before(p.Until) {
				away = daysBefore(d.said, p.Until)
			}
			fit := math.Exp(-away / r.w.DateDays)
			if best == nil || fit > *best {
				best = &fit
			}
		}
	}
	return best
}

// named gives, by conversation, the one speaker that the question names.
func (r *reckoning) named(candidates []*told) map[string]string {
	one, names := map[string]string{}, map[string][]string{}
	if r.share("speaker", r.w.Speaker) == 0 {
		return one
	}
	var words []string
	for _, token := range r.analyzer.Tokens(r.q.Text) {
		words = append(words, token.Surface)
	}
	isAsked := func(name text.Token) bool { return slices.Contains(words, name.Surface) }
	for _, d := range candidates {
		if slices.ContainsFunc(r.analyzer.Tokens(d.speaker), isAsked) && !slices.Contains(names[d.conversation], d.speaker) {
			names[d.conversation] = append(names[d.conversation], d.speaker)
		}
	}
	for conversation, speakers := range names {
		if len(speakers) == 1 {
			one[conversation] = speakers[0]
		}
	}
	return one
}
