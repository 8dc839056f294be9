package dates

import "time"

// dayWord reads today, gestern Abend, tomorrow morning.
func (p *parser) dayWord(i int) (reading, bool) {
	t := p.at(i)
	if !t.dayWord || t.is(isDayPart) && !p.isTomorrow(i) {
		return reading{}, false
	}
	from := p.today.AddDate(0, 0, t.day)
	if n, same, of, end, ok := p.amountOf(i + 2); ok && n == same && of >= unitDay && p.at(i+1).is(isBefore) && p.at(i+1).germanDate {
		from = p.back(from, -n, of) // heute vor einer Woche
		return reading{end: end, from: from, until: from.AddDate(0, 0, 1)}, true
	}
	return reading{end: p.afterDayPart(i + 1), from: from, until: from.AddDate(0, 0, 1)}, true
}

// isTomorrow tells the German adverb morgen from the noun: that has a capital, an article or a day before it.
func (p *parser) isTomorrow(i int) bool {
	before, t := p.at(i-1), p.at(i)
	if before.is(isArticle|isOn|isRelation|isOwner) || before.dayWord || before.weekday > 0 || before.number >= 0 || before.lexeme.number > 0 {
		return false
	}
	if !t.capital {
		return !p.ends(i+1) || p.german || p.at(i+1).sign == '\n' || p.at(i+1).sign == '?'
	}
	return p.ends(i-1) && p.german && !p.ends(i+1)
}

// relative reads last week, this May, next Friday, letzten Sommer, last night.
func (p *parser) relative(i int) (reading, bool) {
	t, of := p.at(i), p.at(i+1)
	if !t.is(isRelation) || p.at(i-1).is(isOwner) {
		return reading{}, false
	}
	n, end := relationOf(t.lexeme), i+2
	if n >= -1 && (of.season > 0 || of.month > 0 || len(of.holidays) > 0) {
		return p.relativeYearly(i, n)
	}
	if t.germanDate && p.says(end, "des") {
		return reading{}, false // die letzte Woche des Kurses
	}
	article := p.at(i-1).is(isArticle) && !t.germanDate
	switch {
	case t.is(isPast) && !p.at(i-1).is(isThis):
		return reading{}, false
	case of.is(isDayPart) && !article && (n == 0 || n < 0 && of.unit == unitNight):
		from := p.today.AddDate(0, 0, n)
		return reading{end: end, from: from, until: from.AddDate(0, 0, 1)}, true
	case article || of.plural || of.numbered > 0:
		return reading{}, false
	case of.weekday > 0 && !of.shortWeekday && n >= -1:
		return p.relativeWeekday(i, n, of.weekday)
	}
	if t.is(isComing) && of.unit == unitWeekend && isoWeekday(p.today) < 6 {
		n = 0
	}
	return p.units(n, of.unit, end)
}

// units is the week, weekend, month, quarter or year n from this one.
func (p *parser) units(n int, of unit, end int) (reading, bool) {
	year, month, _ := p.today.Date()
	switch of {
	case unitWeek, unitWeekend:
		from, days := monday(p.today).AddDate(0, 0, 7*n), 7
		if of == unitWeekend {
			from, days = from.AddDate(0, 0, 5), 2
		}
		return reading{end: end, from: from, until: from.AddDate(0, 0, days)}, true
	case unitMonth:
		first := time.Date(year, month+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return reading{end: end, span: monthOf(int(first.Month())), year: first.Year()}, true
	case unitQuarter:
		first := time.Date(year, month+time.Month(3*n), 1, 0, 0, 0, 0, time.UTC)
		return reading{end: end, span: quarterOf((int(first.Month()) + 2) / 3), year: first.Year()}, true
	case unitYear:
		return reading{end: end, span: wholeYear(), year: year + n}, true
	}
	return reading{}, false
}

func (p *parser) relativeWeekday(i, n, weekday int) (reading, bool) {
	days := weekday - isoWeekday(p.today)
	switch {
	case n < 0 && days >= 0:
		days -= 7
	case n > 0 && days <= 0:
		days += 7
	}
	from := p.today.AddDate(0, 0, days)
	r := reading{end: p.afterDayPart(i + 2), from: from, until: from.AddDate(0, 0, 1)}
	if month := p.at(r.end); month.is(isOf) && p.at(r.end+1).month > 0 && p.at(i-1).is(isArticle) {
		return r, false // the last Friday in May
	}
	return r, true
}

// relativeYearly reads the month, season or holiday after last, this or next, which is at i.
func (p *parser) relativeYearly(i, n int) (reading, bool) {
	r, ok := p.longest(i+1, (*parser).month, (*parser).season, (*parser).holiday)
	m := p.at(i + 1)
	if !ok || r.year != 0 || m.month > 0 && m.kind == monthBound || r.need == needOther {
		return r, false
	}
	if m.kind == monthVerb && m.month > 0 && !(m.capital && !p.at(r.end).is(isVerb)) && !p.ends(r.end) {
		return r, false // this may be
	}
	if p.at(i).is(isPast) && !p.at(i-1).is(isArticle|isThis) {
		return r, false
	}
	r.need = needNothing
	switch {
	case n < 0:
		return p.recent(r, func(_, until time.Time) bool { return !until.After(p.today) })
	case n > 0:
		r, ok = p.recent(r, func(from, _ time.Time) bool { return !from.After(p.today) })
		for range 9 {
			r.year++
			if r.from, r.until, ok = r.span.in(r.year); ok {
				break
			}
		}
		return r, ok
	}
	r.year = p.today.Year()
	if r.span.untilMonth > 12 && r.span.fromMonth >= 12 && p.today.Month() <= time.May {
		r.year--
	}
	return r, true
}

// amount reads how many units: 3, three, a couple of, a few, ein paar, about two. It gives the least and the most.
func (p *parser) amount(i int) (least, most, end int, ok bool) {
	if p.at(i).is(isAbout) {
		i++
	}
	t, j := p.at(i), i
	if t.lexeme.number == 1 {
		j++
	}
	switch next := p.at(j); {
	case next.is(isCouple):
		if p.at(j + 1).is(isOf) {
			j++
		}
		return 2, 3, j + 1, true
	case next.is(isFew):
		return 2, 5, j + 1, true
	case t.digits > 0 && t.digits <= 4 && t.suffix == plainNumber && p.opensNumber(i):
		return t.number, t.number, i + 1, t.number > 0
	case t.lexeme.number > 0 && t.digits == 0:
		return t.lexeme.number, t.lexeme.number, i + 1, true
	}
	return 0, 0, i, false
}

// amountOf reads an amount and its unit of time.
func (p *parser) amountOf(i int) (least, most int, of unit, end int, ok bool) {
	if p.at(i).is(isHalf) && p.at(i+1).unit == unitYear { // im letzten halben Jahr
		return 6, 6, unitMonth, i + 2, true
	}
	if p.at(i).unit == unitHalf && p.at(i+1).lexeme.number == 1 && p.at(i+2).unit == unitYear { // half a year
		return 6, 6, unitMonth, i + 3, true
	}
	least, most, end, ok = p.amount(i)
	of = p.at(end).unit
	if ok && most == 1 && p.at(end).is(isHalf) && p.at(end+1).unit == unitYear { // einem halben Jahr
		return 6, 6, unitMonth, end + 2, true
	}
	if of == unitWeekend || of == unitHalf || of == unitNight || p.at(end).numbered > 0 || p.at(end).possessive {
		ok = false
	}
	return least, most, of, end + 1, ok && of != unitNone
}

// ago reads three weeks ago, vor drei Wochen.
func (p *parser) ago(i int) (reading, bool) {
	j := i
	german := p.at(i).is(isBefore) && p.at(i).germanDate
	if german {
		j++
	}
	least, most, of, end, ok := p.amountOf(j)
	if !ok || !german && !p.at(end).is(isAgo) {
		return reading{}, false
	}
	if !german {
		end++
	}
	from, _ := p.away(p.today, -most, of)
	_, until := p.away(p.today, -least, of)
	return reading{end: end, from: from, until: until}, true
}

// away is the stretch that lies n units from a day.
func (p *parser) away(day time.Time, n int, of unit) (from, until time.Time) {
	days := 0
	switch of {
	case unitMinute, unitHour:
		step := time.Hour
		if of == unitMinute {
			step = time.Minute
		}
		day = civil(p.asked.Add(time.Duration(n) * step))
	case unitDay:
		day = day.AddDate(0, 0, n)
	case unitWeek:
		day, days = day.AddDate(0, 0, 7*n), 3
	case unitMonth:
		day, days = addMonths(day, n), 15
	case unitQuarter:
		day, days = addMonths(day, 3*n), 45
	case unitYear:
		return addMonths(day, 12*n-6), addMonths(day, 12*n+6).AddDate(0, 0, 1)
	case unitDecade:
		return addMonths(day, 120*n-60), addMonths(day, 120*n+60).AddDate(0, 0, 1)
	}
	return day.AddDate(0, 0, -days), day.AddDate(0, 0, days+1)
}

// addMonths stays on the last day of a month that is too short.
func addMonths(t time.Time, n int) time.Time {
	first := t.AddDate(0, 0, 1-t.Day()).AddDate(0, n, 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// back is the day n units before or after another.
func (p *parser) back(day time.Time, n int, of unit) time.Time {
	switch of {
	case unitMinute, unitHour:
		from, _ := p.away(day, n, of)
		return from
	case unitWeek:
		return day.AddDate(0, 0, 7*n)
	case unitMonth:
		return addMonths(day, n)
	case unitQuarter:
		return addMonths(day, 3*n)
	case unitYear:
		return addMonths(day, 12*n)
	case unitDecade:
		return addMonths(day, 120*n)
	}
	return day.AddDate(0, 0, n)
}

// rolling reads the last three weeks, den letzten Tagen, in the last week, the past month.
func (p *parser) rolling(i int) (reading, bool) {
	t := p.at(i)
	n := relationOf(t.lexeme)
	if n == 0 || n < -1 || p.at(i-1).is(isOwner) {
		return reading{}, false
	}
	_, most, of, end, ok := p.amountOf(i + 1)
	next := p.at(i + 1)
	if !ok {
		most, of, end = 1, next.unit, i+2
		switch {
		case next.numbered > 0 || of == unitNone || of == unitHalf || of == unitNight || of == unitWeekend:
			return reading{}, false
		case t.germanDate && next.germanDate && next.plural:
			most = 5
		case t.germanDate || next.plural || n > 0 || !p.at(i-1).is(isArticle) || p.at(i+2).is(isOf) && !p.at(i+2).is(isIn):
			return reading{}, false
		case !t.is(isPast) && !p.lead(i).is(isIn|isLead) || p.at(i+2).is(isBefore|isAfter):
			return reading{}, false
		}
	}
	tomorrow := p.today.AddDate(0, 0, 1)
	if n > 0 {
		return reading{end: end, from: tomorrow, until: p.back(tomorrow, most, of)}, true
	}
	return reading{end: end, from: p.back(p.today, -most, of), until: tomorrow}, true
}
