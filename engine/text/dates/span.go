package dates

import "time"

// bounds reports whether a reading at i may stand after since, before and the like, where a bare name needs an end to be sure.
func (p *parser) bounds(r reading, i int) bool {
	switch r.need {
	case needNothing:
		return true
	case needYear:
		return p.isYearHere(i, r.end)
	case needMonth:
		m := p.at(i)
		return p.isMonthHere(i, r.end) && (p.ends(r.end) ||
			(m.kind != monthVerb || m.capital) && p.closes(r.end, false) && !p.at(r.end).is(isVerb) && !p.at(r.end).is(isAuxiliary))
	case needYearly, needDay:
		return p.closes(r.end, false)
	}
	return false
}

// open reads since X, after X, before X, until X, by X, from X on.
func (p *parser) open(i int) (reading, bool) {
	t := p.at(i)
	if !t.is(isSince | isAfter | isBefore | isUntil | isBy | isFrom) {
		return reading{}, false
	}
	j := p.pastArticles(i + 1)
	r, ok := p.single(j)
	if least, _, of, end, counted := p.amountOf(i + 1); t.is(isSince) && counted && (!ok || end > r.end) {
		from := p.back(p.today, -least, of)
		return reading{end: end, from: from, until: p.never()}, true
	}
	if !ok || !p.bounds(r, j) || t.is(isBy) && (r.need == needMonth || r.need == needYear && !p.ends(r.end) ||
		p.at(i+1).season > 0 && r.year == 0) {
		return r, false
	}
	if r, ok = p.settle(r); !ok {
		return r, false
	}
	r.recurs = ""
	switch {
	case t.is(isSince):
		r.until = p.never()
	case t.is(isAfter):
		r.from, r.until = r.until, p.never()
	case t.is(isBefore):
		r.from, r.until = p.ever(), r.from
	case t.is(isUntil | isBy):
		r.from = p.ever()
	case p.at(r.end).is(isOnward):
		r.end++
		r.until = p.never()
	default:
		return r, false
	}
	return r, r.from.Before(r.until)
}

func (p *parser) ever() time.Time { return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC) }
func (p *parser) never() time.Time {
	return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
}

// pair reads between X and Y, from X to Y, vom 3. bis 9. Mai, 3-9 May, 2019-2021.
func (p *parser) pair(i int) (reading, bool) {
	t, j := p.at(i), i
	led := t.is(isBetween | isFrom)
	if led {
		j = p.pastArticles(i + 1)
	}
	a, ok := p.endpoint(j)
	if !ok {
		return a, false
	}
	joint := p.at(a.end)
	if t.is(isBetween) && !joint.is(isAnd) || !t.is(isBetween) && !joint.is(isTo) && joint.sign != '-' && (led || joint.sign != '/' || p.at(j).month == 0) {
		return a, false
	}
	k := p.pastArticles(a.end + 1)
	b, ok := p.endpoint(k)
	if !ok || !p.bounds(b, k) && b.need != needMonth && (b.need != needYear || joint.sign != '-' || p.counts(b.end)) {
		return b, false
	}
	switch {
	case a.day > 0 && b.day == 0:
		if a.day >= b.span.fromDay || !b.from.IsZero() || !b.span.isDay() {
			return b, false
		}
		a.span, a.day, a.need, a.year = dayOf(b.span.fromMonth, a.day), 0, needNothing, b.year
	case b.day > 0 && a.day == 0:
		if b.day <= a.span.fromDay || !a.from.IsZero() || !a.span.isDay() || p.at(a.end-1).month > 0 || !p.closes(b.end, false) {
			return b, false
		}
		b.span = dayOf(a.span.fromMonth, b.day)
		if b.year, b.end = p.yearAfter(b.end); b.year == 0 {
			b.year = a.year
		}
		b.day, b.need = 0, needNothing
	case a.day > 0:
		ordinals := p.at(a.end-1).digits == 0 || p.at(j).suffix == ordinalNumber
		if !led || a.day >= b.day || !ordinals || !p.closes(b.end, false) {
			return b, false
		}
		return p.daysOfMonth(a, b)
	}
	if !led && !p.pairsAlone(a, b) {
		return b, false
	}
	return p.join(a, b)
}

// endpoint reads one end of a pair. A number of at most 31 may be a day of the month that the other end names.
func (p *parser) endpoint(i int) (reading, bool) {
	r, ok := p.single(i)
	if ok && r.need == needOther {
		ok = p.at(i).month > 0
		r.need = needMonth
	}
	if day, end, _, isDay := p.dayNumber(i); isDay && p.at(i).digits > 0 && p.opensNumber(i) && (!ok || end >= r.end) {
		return reading{end: end, day: day, need: needDay}, true
	}
	return r, ok
}

// pairsAlone reports whether two ends make a period with no "from" or "between" in front.
func (p *parser) pairsAlone(a, b reading) bool {
	switch {
	case !a.from.IsZero() || !b.from.IsZero():
		return false
	case a.need == needYear && b.need == needYear:
		return a.year < b.year
	case a.need == needMonth || a.need == needYearly:
		return b.year != 0
	}
	return a.need == needNothing && b.need == needNothing
}

// join makes one reading of two ends and lends each what it leaves unsaid.
func (p *parser) join(a, b reading) (reading, bool) {
	plainA, plainB := a.from.IsZero(), b.from.IsZero()
	borrowed := plainA && plainB && a.year == 0 && b.year != 0
	if borrowed {
		a.year = b.year
	}
	first, ok := p.settle(a)
	if !ok {
		return b, false
	}
	if plainB && b.year == 0 {
		b.year = first.from.Year()
	}
	second, ok := p.settle(b)
	if !ok {
		return b, false
	}
	switch before := second.from.Before(first.from); {
	case before && borrowed:
		a.year--
		first, ok = p.settle(a)
	case before && plainB && b.year == first.from.Year() && a.year != b.year:
		b.year++
		second, ok = p.settle(b)
	case before && second.recurs == Weekly:
		second.from, second.until = second.from.AddDate(0, 0, 7), second.until.AddDate(0, 0, 7)
	}
	r := reading{end: second.end, from: first.from, until: second.until}
	if plainA && plainB || first.recurs == second.recurs {
		r.recurs = first.recurs
	}
	return r, ok && !second.from.Before(first.from) && r.from.Before(r.until)
}

func (p *parser) daysOfMonth(a, b reading) (reading, bool) {
	first, ok := p.settle(a)
	first.end = b.end
	first.until = first.from.AddDate(0, 0, b.day-a.day+1)
	return first, ok
}
