package dates

import "time"

// quarter reads Q3, Q3 2023, 2023 Q3, third quarter of 2023, 3. Quartal, and H1 and H2 in the same places.
func (p *parser) quarter(i int) (reading, bool) {
	r := reading{need: needYearly}
	t := p.at(i)
	switch next := p.at(i + 1); {
	case t.numbered > 0:
		r.end, r.span = i+1, numberedSpan(t)
	case isYear(t) && next.numbered > 0 && p.opensNumber(i):
		return reading{end: i + 2, span: numberedSpan(next), year: t.number}, true
	default:
		n, j, _, ok := p.dayNumber(i)
		if t.digits > 0 && p.at(j-1).sign != '.' && t.suffix != ordinalNumber || !ok || n > 4 || p.at(j).unit != unitQuarter || p.at(j).numbered > 0 {
			return r, false
		}
		r.end, r.span = j+1, quarterOf(n)
		if !p.at(j).germanDate {
			r.need = needOther
		}
	}
	if sign := p.at(r.end).sign; (sign == '/' || sign == '-') && isYear(p.at(r.end+1)) {
		r.year, r.end, r.need = p.at(r.end+1).number, r.end+2, needNothing
		return r, true
	}
	if r.year, r.end = p.yearAfter(r.end); r.year != 0 {
		r.need = needNothing
	} else if year, end, ok := p.thisYear(r.end); ok {
		r.year, r.end, r.need = year, end, needNothing
	}
	return r, true
}

func numberedSpan(t *token) annual {
	if t.unit == unitHalf {
		half, _ := wholeYear().half(t.numbered)
		return half
	}
	return quarterOf(t.numbered)
}

// thisYear reads "of the year" and "des Jahres".
func (p *parser) thisYear(i int) (year, end int, ok bool) {
	for range 2 {
		if p.at(i).is(isOf | isArticle) {
			i++
			ok = true
		}
	}
	return p.today.Year(), i + 1, ok && p.at(i).unit == unitYear && !p.at(i).plural && p.at(i-1).is(isArticle)
}

// calendarWeek reads KW 19, 19. KW, calendar week 19, week 19 of 2023, 2023-W19 being left to KW 19/2023.
func (p *parser) calendarWeek(i int) (reading, bool) {
	t := p.at(i)
	number, end, sure := t.number, i+1, true
	switch {
	case t.is(isWeekNo) && t.digits > 0: // KW19
	case t.is(isWeekNo):
		number, end = p.at(i+1).number, i+2
	case t.is(isCalendar) && p.at(i+1).unit == unitWeek:
		number, end = p.at(i+2).number, i+3
	case t.unit == unitWeek && !t.germanDate:
		number, end, sure = p.at(i+1).number, i+2, false
	case p.at(i+1).sign == '.' && p.at(i+2).is(isWeekNo) && p.at(i+2).digits == 0:
		end = i + 3
	default:
		return reading{}, false
	}
	if number < 1 || number > 53 {
		return reading{}, false
	}
	year, after := p.yearAfter(end)
	if p.at(end).sign == '/' && isYear(p.at(end+1)) {
		year, after = p.at(end+1).number, end+2
	}
	if year == 0 && !sure {
		return reading{}, false
	}
	r := reading{end: after, year: year}
	for back := 0; back < 12; back++ {
		of := year
		if year == 0 {
			of = p.today.Year() + 1 - back
		}
		r.from = monday(time.Date(of, 1, 4, 0, 0, 0, 0, time.UTC)).AddDate(0, 0, 7*(number-1))
		r.until = r.from.AddDate(0, 0, 7)
		if isoYear, isoWeek := r.from.ISOWeek(); isoYear == of && isoWeek == number && (year != 0 || !r.from.After(p.today)) {
			return r, true
		}
	}
	return r, false
}

// monday is the first day of t's week.
func monday(t time.Time) time.Time { return t.AddDate(0, 0, -isoWeekday(t)+1) }

// isoWeekday counts from 1, Monday, to 7, Sunday.
func isoWeekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

// weekdayDate reads a date with its weekday in front: Friday, 7 May; Freitag, den 7. Mai; Sun May 7.
func (p *parser) weekdayDate(i int) (reading, bool) {
	if p.at(i).weekday == 0 {
		return reading{}, false
	}
	j, short := i+1, p.at(i).shortWeekday
	if short && p.at(j).sign == '.' {
		j++
	}
	if p.at(j).sign == ',' {
		j++
	}
	if short && (!p.at(i).capital || j == i+1 && p.at(i).end-p.at(i).start < 3) { // so, do, mi are words
		return reading{}, false
	}
	if !short {
		j = p.pastArticles(j)
	}
	r, ok := p.longest(j, (*parser).numeric, (*parser).dayMonth, (*parser).monthDay)
	if ok && r.need == needDay {
		r.need = needNothing
	}
	return r, ok && r.span.isDay()
}

// weekday reads Friday, and Friday night as that day.
func (p *parser) weekday(i int) (reading, bool) {
	t := p.at(i)
	if t.weekday == 0 || t.shortWeekday {
		return reading{}, false
	}
	back := (isoWeekday(p.today) - t.weekday + 7) % 7
	from := p.today.AddDate(0, 0, -back)
	r := reading{end: i + 1, from: from, until: from.AddDate(0, 0, 1), recurs: Weekly, need: needDay}
	r.end = p.afterDayPart(r.end)
	if t.possessive { // Monday's meeting
		r.need = needNothing
	}
	return r, true
}

func (p *parser) afterDayPart(i int) int {
	if p.at(i).is(isDayPart) {
		return i + 1
	}
	return i
}

// weekend reads weekend and Wochenende, the last one that began.
func (p *parser) weekend(i int) (reading, bool) {
	if p.at(i).unit != unitWeekend || p.at(i).plural {
		return reading{}, false
	}
	from := monday(p.today).AddDate(0, 0, 5)
	if from.After(p.today) {
		from = from.AddDate(0, 0, -7)
	}
	r := reading{end: i + 1, from: from, until: from.AddDate(0, 0, 2), recurs: Weekly, need: needYearly}
	if !p.at(i - 1).is(isArticle | isOn) { // "for weekend trips"
		r.need = needOther
	}
	return r, true
}

// dayOfMonth reads the 7th and am 7. as a day of any month; of last month, if that follows.
func (p *parser) dayOfMonth(i int) (reading, bool) {
	t := p.at(i)
	day, j, ordinal, ok := p.dayNumber(i)
	if !ok || !ordinal || t.digits == 0 || !p.opensNumber(i) {
		return reading{}, false
	}
	if p.at(j-1).sign == '.' && (p.at(j).number >= 0 && p.joined(j-1) || !p.at(i-1).is(isOn)) {
		return reading{}, false
	}
	if p.at(j-1).sign != '.' && !p.at(i-1).is(isArticle) {
		return reading{}, false
	}
	k := j
	if p.at(k).is(isOf) {
		k++
	}
	if m := p.at(k + 1); p.at(k).is(isRelation) && m.unit == unitMonth && !m.plural {
		first := p.today.AddDate(0, relationOf(p.at(k).lexeme), 1-p.today.Day())
		from := first.AddDate(0, 0, day-1)
		return reading{end: k + 2, from: from, until: from.AddDate(0, 0, 1)}, from.Month() == first.Month()
	}
	if k > j && p.at(j).is(isOf) && !p.at(j).is(isIn) || p.at(j).month > 0 {
		return reading{}, false // the 7th of the nine
	}
	return reading{end: j, day: day, need: needDay}, true
}

// weekOf reads "week of May 8", "weekend of the 8th", "Woche vom 8. Mai".
func (p *parser) weekOf(i int) (reading, bool) {
	u := p.at(i)
	if u.unit != unitWeek && u.unit != unitWeekend || u.plural || !p.at(i+1).is(isOf|isFrom) {
		return reading{}, false
	}
	j := i + 2
	if p.at(j).is(isArticle) {
		j++
	}
	r, ok := p.longest(j, (*parser).calendar, (*parser).dayOfMonth)
	if !ok {
		return r, false
	}
	r, ok = p.settle(r)
	if !ok || daysBetween(r.from, r.until) > 3 {
		return r, false
	}
	days := 7
	r.from = monday(r.from)
	if u.unit == unitWeekend {
		r.from, days = r.from.AddDate(0, 0, 5), 2
	}
	return reading{end: r.end, from: r.from, until: r.from.AddDate(0, 0, days)}, true
}
