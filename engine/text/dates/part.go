package dates

import "time"

// whole reads what has parts: a month, season, quarter or year, also "last month" and "the year".
func (p *parser) whole(i int) (reading, bool) {
	r, ok := p.longest(i, (*parser).calendar, (*parser).relative)
	if ok && (r.need != needMonth || p.isMonthHere(i, r.end)) && r.need != needOther {
		return r, r.need != needYearly || p.closes(r.end, p.at(i).germanDate)
	}
	if !p.at(i-1).is(isArticle) || p.at(i).plural {
		return r, false
	}
	today := reading{end: i + 1, year: p.today.Year()}
	switch p.at(i).unit {
	case unitYear:
		today.span = wholeYear()
		if isYear(p.at(i + 1)) { // Anfang des Jahres 2022
			today.year, today.end = p.at(i+1).number, i+2
		}
	case unitMonth:
		today.span = monthOf(int(p.today.Month()))
	case unitWeek:
		today.from = monday(p.today)
		today.until = today.from.AddDate(0, 0, 7)
	default:
		return r, false
	}
	return today, true
}

// partOf reads early May, end of 2022, mid-June, Ende letzten Monats, Anfang der Woche.
func (p *parser) partOf(i int) (reading, bool) {
	part := p.at(i).part
	if part == partNone {
		return reading{}, false
	}
	j := i + 1
	switch {
	case p.at(j).sign == '-' && p.joined(i) && p.joined(j):
		j++
	case p.at(j).is(isOf) && (!p.at(j).is(isIn) || p.at(j).germanDate):
		j++
	case p.at(i).is(isNoun) && !p.at(i).germanDate:
		return reading{}, false // "start May" is no date
	}
	if p.at(j).is(isArticle) {
		j++
	}
	r, ok := p.whole(j)
	if !ok {
		return r, false
	}
	r.need = needNothing
	if r.from.IsZero() {
		r.span, ok = r.span.part(part)
		return r, ok
	}
	if daysBetween(r.from, r.until) != 7 || r.recurs != "" {
		return r, false
	}
	cuts := [partCount + 1]int{partEarly: 0, partMiddle: 2, partLate: 4, partCount: 7}
	first := r.from
	r.from, r.until = first.AddDate(0, 0, cuts[part]), first.AddDate(0, 0, cuts[part+1])
	return r, true
}

// nthOf reads first half of May, second week of November 2023, last Friday in June, erste Hälfte 2022.
func (p *parser) nthOf(i int) (reading, bool) {
	n, j, ordinal, ok := p.dayNumber(i)
	if p.at(i).is(isLast) && !p.at(i).is(isPast) {
		n, j, ordinal, ok = -1, i+1, true, true
	}
	u := p.at(j)
	half := u.unit == unitHalf && u.numbered == 0
	if !ok || !ordinal || n > 5 || u.plural || u.weekday == 0 && !half && u.unit != unitWeek && u.unit != unitWeekend && u.unit != unitDay ||
		u.shortWeekday {
		return reading{}, false
	}
	j++
	if !p.at(j).is(isOf) && !(half && u.germanDate) {
		return reading{}, false
	}
	for range 2 {
		if p.at(j).is(isOf | isArticle) {
			j++
		}
	}
	r, ok := p.whole(j)
	if !ok || !r.from.IsZero() && p.at(j).season == 0 && p.at(j+1).month == 0 {
		return r, false
	}
	r.need = needNothing
	if half {
		if n < 0 {
			n = 2
		}
		if n > 2 || !r.from.IsZero() {
			return r, false
		}
		r.span, ok = r.span.half(n)
		return r, ok
	}
	if r, ok = p.settle(r); !ok || daysBetween(r.from, r.until) < 28 {
		return r, false
	}
	return nthWithin(r, n, u)
}

// nthWithin cuts the nth, or with -1 the last, day, seven days, weekend or weekday out of a reading.
func nthWithin(r reading, n int, u *token) (reading, bool) {
	step, days := 7, 7
	first, last := r.from, r.until.AddDate(0, 0, -7)
	switch {
	case u.unit == unitDay:
		step, days, last = 1, 1, r.until.AddDate(0, 0, -1)
	case u.weekday > 0 || u.unit == unitWeekend:
		weekday := u.weekday
		days = 1
		if u.unit == unitWeekend {
			weekday, days = 6, 2
		}
		first = first.AddDate(0, 0, (weekday-isoWeekday(first)+7)%7)
		last = last.AddDate(0, 0, (weekday-isoWeekday(last)+7)%7)
		r.recurs = ""
	}
	from := last
	if n > 0 {
		from = first.AddDate(0, 0, step*(n-1))
	}
	until := from.AddDate(0, 0, days)
	if days == 7 && until.After(r.until) {
		until = r.until
	}
	if !from.Before(r.until) {
		return r, false
	}
	r.from, r.until = from, until
	return r, true
}

// beside reads two weeks before 20 August, the week after Christmas, Sunday before May 1, am Tag vor Weihnachten.
func (p *parser) beside(i int) (reading, bool) {
	least, most, of, j, counted := p.amountOf(i)
	weekday := 0
	if !counted {
		u := p.at(i)
		j = i + 1
		if u.is(isLast|isNext) && !u.is(isPast) {
			u, j = p.at(i+1), i+2
		}
		of, weekday = u.unit, u.weekday
		if u.plural || u.shortWeekday || of == unitNone && weekday == 0 || u.numbered > 0 || of == unitHalf || of == unitQuarter || of == unitDecade {
			return reading{}, false
		}
	}
	after := p.at(j).is(isAfter)
	if !after && !p.at(j).is(isBefore) {
		return reading{}, false
	}
	if p.at(j+1).is(isLast) && !counted && !after && !p.at(j+1).germanDate && weekday == 0 {
		if next := p.at(j + 2); next.sign != 0 || next.is(isFunction) { // the week before last
			return p.units(-2, of, j+2)
		}
	}
	j = p.pastArticles(j + 1)
	r, ok := p.longest(j, (*parser).calendar, (*parser).dayWord, (*parser).dayOfMonth)
	if ok {
		ok = p.bounds(r, j)
	}
	if ok {
		r, ok = p.settle(r)
	}
	if !ok {
		return r, false
	}
	r.need = needNothing
	base, sign := r.from, -1
	if after {
		base, sign = r.until.AddDate(0, 0, -1), 1
	}
	switch {
	case counted && sign < 0:
		r.from, _ = p.away(base, -most, of)
		_, r.until = p.away(base, -least, of)
	case counted:
		r.from, _ = p.away(base, least, of)
		_, r.until = p.away(base, most, of)
	case weekday > 0 || of == unitWeekend:
		r.from, r.until = weekdayBeside(base, sign, weekday)
		r.recurs = ""
	case of == unitMinute || of == unitHour:
		return r, false
	case of == unitNight:
		of = unitDay
		fallthrough
	case after:
		r.from, r.until = r.until, p.back(r.until, 1, of)
	default:
		r.from, r.until = p.back(r.from, -1, of), r.from
	}
	return r, true
}

// weekdayBeside is the weekday, or with 0 the weekend, next before (-1) or after (1) a day.
func weekdayBeside(base time.Time, sign, weekday int) (from, until time.Time) {
	days := 1
	if weekday == 0 {
		weekday, days = 6, 2
	}
	if sign > 0 {
		from = base.AddDate(0, 0, (weekday-isoWeekday(base)+6)%7+1)
	} else {
		last := base.AddDate(0, 0, -days)
		from = last.AddDate(0, 0, -((isoWeekday(last) - weekday + 7) % 7))
	}
	return from, from.AddDate(0, 0, days)
}

// pastArticles passes over "the", "zum", "dem".
func (p *parser) pastArticles(i int) int {
	for range 2 {
		if p.at(i).is(isArticle) || p.at(i).is(isOn) && p.at(i).lexeme.month == 0 {
			i++
		}
	}
	return i
}
