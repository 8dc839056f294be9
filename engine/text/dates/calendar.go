package dates

// numeric reads dates in digits: 2023-05-07, 2023/05/07, 2023-05, 7.5.2023, 7-5-2023, 5/7/2023, 5/7/23, 7.5., 5/7.
func (p *parser) numeric(i int) (reading, bool) {
	a, sign, b := p.at(i), p.at(i+1).sign, p.at(i+2)
	if sign != '-' && sign != '/' && sign != '.' || !a.isNumber(4) || !b.isNumber(2) || !p.joined(i) || !p.opensNumber(i) {
		return reading{}, false
	}
	second := p.at(i+3).sign == sign && p.joined(i+2)
	c := p.at(i + 4)
	third := second && c.isNumber(4) && (p.joined(i+3) || sign == '.' && isYear(c))
	if !p.joined(i+1) && (sign != '.' || !third) { // 7. 5. 2023 may have spaces
		return reading{}, false
	}
	r := reading{end: i + 3}
	switch {
	case third:
		r.end = i + 5
		switch {
		case a.digits == 4 && c.digits <= 2 && sign != '.':
			r.year, r.span = a.number, dayOf(b.number, c.number)
		case a.digits <= 2 && c.digits == 4:
			r.year, r.span = c.number, p.dayFirst(a, sign, b)
		case a.digits <= 2 && c.digits == 2 && (sign == '/' || sign == '.' && p.lead(i).is(isOn|isSince|isUntil|isFrom|isBefore|isAfter)):
			r.year, r.span = p.century(c), p.dayFirst(a, sign, b)
		}
	case a.digits == 4 && b.digits == 2 && sign == '-':
		r.year, r.span = a.number, monthOf(b.number)
	case a.digits <= 2 && sign == '/' || a.digits <= 2 && sign == '.' && second:
		r.span, r.need = p.dayFirst(a, sign, b), needDay
		if sign == '.' {
			r.end++
			return r, p.inYear(r) && (p.at(r.end).spaced || p.at(r.end).sign != 0)
		}
	}
	return r, p.inYear(r) && p.closesNumber(r.end)
}

// dayFirst reads a as the day and b as the month, the other way round where slashes stand in a text that isn't German.
func (p *parser) dayFirst(a *token, sign rune, b *token) annual {
	if sign == '/' && a.number <= 12 && (!p.german || b.number > 12) {
		a, b = b, a
	}
	return dayOf(b.number, a.number)
}

// inYear reports whether the date exists, in its year if it has one.
func (p *parser) inYear(r reading) bool {
	if r.span.fromMonth < 1 || r.span.fromMonth > 12 || r.span.fromDay < 1 || r.span.fromDay > 31 {
		return false
	}
	if r.year == 0 {
		return r.span.exists()
	}
	_, _, ok := r.span.in(r.year)
	return ok && r.year >= 1
}

// century adds the century to a year of two digits: the one that puts it at most ten years after the time of asking.
func (p *parser) century(t *token) int {
	if t.digits == 4 {
		return t.number
	}
	latest := p.today.Year() + 10
	return latest - ((latest-t.number)%100+100)%100
}

// joined reports whether no space stands between the tokens i and i+1.
func (p *parser) joined(i int) bool { return !p.at(i + 1).spaced }

// opensNumber reports whether the number at i isn't the end of something longer, as in v1.2 or A-7.
func (p *parser) opensNumber(i int) bool {
	if p.at(i).spaced {
		return true
	}
	switch p.at(i - 1).sign {
	case '(', '[', '"', '\'', '“', '„', ',', ';', '>', '=':
		return p.at(i-1).sign != ',' || p.at(i-1).spaced || p.at(i-2).number < 0 || isYear(p.at(i))
	case '-':
		before := p.at(i - 2)
		return before.digits <= 2 || isYear(before)
	}
	return false
}

// closesNumber reports whether the number before i isn't the front of something longer.
func (p *parser) closesNumber(i int) bool {
	next := p.at(i)
	if next.spaced {
		return true
	}
	switch next.sign {
	case '%', '°', '€', '$', '@':
		return false
	case '-', '/', '.', ',', ':', '\'':
		after := p.at(i + 1)
		return after.spaced || after.digits == 0 && after.suffix == plainNumber
	}
	return true
}

// dayMonth reads 7 May, 7th of May 2023, 7. Mai, ersten Mai.
func (p *parser) dayMonth(i int) (reading, bool) {
	day, j, ordinal, ok := p.dayNumber(i)
	if !ok || !p.opensNumber(i) {
		return reading{}, false
	}
	if p.at(j).is(isOf) && p.at(j).roles&isArticle == 0 && !p.at(j).german && (ordinal || p.at(i).ordinal > 0) {
		j++
	}
	return p.dayAndMonth(i, day, p.at(j), j+1, ordinal)
}

// monthDay reads May 7, May 7th 2023, May the 7th.
func (p *parser) monthDay(i int) (reading, bool) {
	m := p.at(i)
	if m.month == 0 {
		return reading{}, false
	}
	j := i + 1
	if p.at(j).sign == '.' && m.kind != monthPlain {
		j++
	}
	if p.at(j).is(isArticle) && !p.at(j).germanDate {
		j++
	}
	day, end, ordinal, ok := p.dayNumber(j)
	if !ok || p.at(end-1).sign == '.' && !p.ends(end-1) {
		return reading{}, false
	}
	if p.at(end-1).sign == '.' {
		end--
	}
	if p.at(j).number < 0 && (m.kind == monthVerb || p.at(j).germanDate) || p.at(end).sign == ':' && p.joined(end-1) && p.joined(end) {
		return reading{}, false
	}
	return p.dayAndMonth(i, day, m, end, ordinal)
}

// dayNumber reads 7, 7th, 7., seventh: the day and the token after it.
func (p *parser) dayNumber(i int) (day, end int, ordinal, ok bool) {
	t := p.at(i)
	day, end, ordinal = t.number, i+1, t.suffix == ordinalNumber
	switch {
	case t.ordinal > 0 && t.number < 0:
		day, ordinal = t.ordinal, true
	case t.digits == 0 || t.digits > 2 || t.suffix != plainNumber && t.suffix != ordinalNumber:
		return 0, i, false, false
	case p.at(end).sign == '.' && p.joined(i) && !ordinal:
		ordinal = true
		end++
	}
	return day, end, ordinal, 1 <= day && day <= 31
}

// dayAndMonth finishes a day of a month that begins at i, with the year after it if there is one.
func (p *parser) dayAndMonth(i, day int, month *token, end int, ordinal bool) (reading, bool) {
	if month.month == 0 {
		return reading{}, false
	}
	r := reading{end: end, span: dayOf(month.month, day)}
	if month.kind != monthPlain && p.at(end).sign == '.' && p.at(end-1).month > 0 && p.yearFollows(end+1) {
		r.end++
	}
	if r.year, r.end = p.yearAfter(r.end); r.year == 0 {
		r.year, r.end = p.oldYear(r.end)
	}
	if !p.inYear(r) || p.at(r.end).sign != '-' && !p.closesNumber(r.end) {
		return r, false
	}
	if r.year != 0 || month.kind != monthVerb || p.lead(i).is(isOn|isBefore|isAfter|isSince|isUntil|isBetween|isAnd|isTo) || p.ends(r.end) {
		return r, true
	}
	// "may 2 people come", "the 2 may come", "march 15 miles"
	next := p.at(r.end)
	return r, month.capital && (ordinal || next.sign == '-' || next.is(isFunction)) && !next.is(isVerb)
}

// oldYear reads the year of a day before 1900, which only what follows tells from another number.
func (p *parser) oldYear(i int) (year, end int) {
	j := i
	if p.at(j).sign == ',' {
		j++
	}
	if t := p.at(j); t.digits == 4 && t.suffix == plainNumber && 1000 <= t.number && t.number < firstYear && p.closes(j+1, false) && !p.counts(j+1) {
		return t.number, j + 1
	}
	return 0, i
}

// month reads May, May 2023, May of last year.
func (p *parser) month(i int) (reading, bool) {
	m := p.at(i)
	if m.month == 0 {
		return reading{}, false
	}
	r := reading{end: i + 1, span: monthOf(m.month)}
	if p.at(i+1).sign == '.' && m.kind != monthPlain && p.yearFollows(i+2) {
		r.end++
	}
	r.year, r.end = p.yearAfter(r.end)
	_, day, _, followed := p.dayNumber(r.end)
	switch {
	case r.year != 0:
		return r, p.closesNumber(r.end)
	case followed && p.yearFollows(day): // February 30, 2023
		return r, false
	case m.kind == monthBound:
		r.need = needOther
	case m.kind != monthPlain:
		r.need = needMonth
	}
	return r, true
}

// isMonthHere judges a bare month that is a name or verb too, at i and before end, when a preposition or the like stands in front.
func (p *parser) isMonthHere(i, end int) bool {
	m := p.at(i)
	if m.kind == monthPlain {
		return true
	}
	return m.kind != monthBound && !m.possessive && (m.kind != monthVerb || m.capital || p.closes(end, false) && !p.at(end).is(isVerb))
}
