package dates

import (
	"strings"
	"time"
)

// annual is a stretch that every year has, from a day to before another. A month above 12 is one of the next year, and a day past the
// end of its month one of the next month.
type annual struct{ fromMonth, fromDay, untilMonth, untilDay int }

func monthOf(m int) annual   { return annual{m, 1, m + 1, 1} }
func dayOf(m, d int) annual  { return annual{m, d, m, d + 1} }
func seasonOf(s int) annual  { return annual{3 * s, 1, 3*s + 3, 1} }
func quarterOf(q int) annual { return annual{3*q - 2, 1, 3*q + 1, 1} }
func wholeYear() annual      { return annual{1, 1, 13, 1} }
func (a annual) isDay() bool { return a.fromMonth == a.untilMonth && a.fromDay+1 == a.untilDay }
func (a annual) months() int {
	if a.fromDay != 1 || a.untilDay != 1 {
		return 0
	}
	return a.untilMonth - a.fromMonth
}

// in returns the stretch in a year, false if that year doesn't have its first day.
func (a annual) in(year int) (from, until time.Time, ok bool) {
	from = time.Date(year, time.Month(a.fromMonth), a.fromDay, 0, 0, 0, 0, time.UTC)
	until = time.Date(year, time.Month(a.untilMonth), a.untilDay, 0, 0, 0, 0, time.UTC)
	return from, until, int(from.Month()) == (a.fromMonth-1)%12+1 && from.Day() == a.fromDay
}

// exists reports whether any year has it.
func (a annual) exists() bool {
	_, _, ok := a.in(2000)
	return ok
}

// part cuts a month into days 1 to 10, 11 to 20 and the rest, and what has a multiple of three months into thirds.
func (a annual) part(p part) (annual, bool) {
	n := int(p - partEarly)
	switch months := a.months(); {
	case months == 1:
		cut := annual{a.fromMonth, 1 + 10*n, a.fromMonth, 11 + 10*n}
		if p == partLate {
			cut.untilMonth, cut.untilDay = a.untilMonth, 1
		}
		return cut, true
	case months > 0 && months%3 == 0:
		third := months / 3
		return annual{a.fromMonth + n*third, 1, a.fromMonth + (n+1)*third, 1}, true
	}
	return a, false
}

// half is the first (1) or second half of a month or year.
func (a annual) half(n int) (annual, bool) {
	switch months := a.months(); {
	case months == 1 && n == 1:
		return annual{a.fromMonth, 1, a.fromMonth, 16}, true
	case months == 1:
		return annual{a.fromMonth, 16, a.untilMonth, 1}, true
	case months == 12:
		return annual{a.fromMonth + 6*(n-1), 1, a.fromMonth + 6*n, 1}, true
	}
	return a, false
}

// reading is what a phrase says, before it is settled against the time of asking.
type reading struct {
	end         int       // the token after the phrase
	span        annual    // if from is zero and day is 0
	year        int       // of span; 0 if unsaid
	day         int       // of a month left open
	from, until time.Time // what is settled already
	recurs      Recurrence
	need        need
}

// need is what must stand around a phrase for it to be read on its own.
type need uint8

const (
	needNothing need = iota
	needYearly       // a season or holiday: a preposition before, no noun after
	needMonth        // a month that is a name or verb: in or during before
	needDay          // a weekday or day of the month: on or am before, no noun after
	needYear         // a bare number
	needOther        // more than this
)

// settle finds the occurrence that a reading means, with its recurrence. It is false if there is none, as 29 February 2023.
func (p *parser) settle(r reading) (reading, bool) {
	switch {
	case !r.from.IsZero():
	case r.day > 0:
		r.recurs = Monthly
		found := false
		for back := 0; back < 12 && !found; back++ {
			year, month, _ := p.today.Date()
			r.from = time.Date(year, month-time.Month(back), r.day, 0, 0, 0, 0, time.UTC)
			found = r.from.Day() == r.day && !r.from.After(p.today)
		}
		r.until = r.from.AddDate(0, 0, 1)
		if !found {
			return r, false
		}
	case r.year != 0:
		var ok bool
		r.from, r.until, ok = r.span.in(r.year)
		if !ok {
			return r, false
		}
	default:
		r.recurs = Yearly
		return p.recent(r, func(from, _ time.Time) bool { return !from.After(p.today) })
	}
	return r, r.from.Before(r.until)
}

// recent settles a span on the newest year that the condition holds for.
func (p *parser) recent(r reading, holds func(from, until time.Time) bool) (reading, bool) {
	for year := p.today.Year() + 1; year > p.today.Year()-12; year-- {
		from, until, ok := r.span.in(year)
		if ok && holds(from, until) {
			r.from, r.until, r.year = from, until, year
			return r, true
		}
	}
	return r, false
}

// phrase is a settled reading and the tokens it covers.
type phrase struct {
	reading
	start  int
	length int // in bytes
}

func (p *parser) period(d phrase) Period {
	location := p.asked.Location()
	return Period{From: midnight(d.from, location), Until: midnight(d.until, location), Recurs: d.recurs,
		Phrase: strings.ToValidUTF8(p.text[p.tokens[d.start].start:p.tokens[d.end-1].end], "\uFFFD")}
}

// phrase returns the longest settled reading that begins at token i.
func (p *parser) phrase(i int) (phrase, bool) {
	if t := p.tokens[i]; t.number < 0 && t.lexeme == noLexeme {
		return phrase{}, false
	}
	best, ok := p.single(i)
	if ok {
		ok = p.stands(best, i)
	}
	if ok {
		best, ok = p.settle(best)
	}
	if r, wider := p.open(i); wider && (!ok || r.end > best.end) {
		best, ok = r, true
	}
	if r, wider := p.pair(i); wider && (!ok || r.end > best.end) {
		best, ok = r, true
	}
	if !ok || best.from.Year() < 1 || best.until.Year() > 9999 {
		return phrase{}, false
	}
	return phrase{reading: best, start: i, length: p.tokens[best.end-1].end - p.tokens[i].start}, true
}

// single returns the longest reading at i that is no pair and has no open end, whatever stands before it.
func (p *parser) single(i int) (reading, bool) {
	return p.longest(i, (*parser).calendar, (*parser).dayWord, (*parser).relative, (*parser).ago, (*parser).rolling,
		(*parser).partOf, (*parser).nthOf, (*parser).weekOf, (*parser).beside, (*parser).weekday, (*parser).weekend,
		(*parser).dayOfMonth)
}

// calendar returns the longest reading that names a place in the calendar.
func (p *parser) calendar(i int) (reading, bool) {
	return p.longest(i, (*parser).numeric, (*parser).dayMonth, (*parser).monthDay, (*parser).month, (*parser).weekdayDate,
		(*parser).bareYear, (*parser).decade, (*parser).quarter, (*parser).calendarWeek, (*parser).season,
		(*parser).holiday)
}

type rule = func(*parser, int) (reading, bool)

func (p *parser) longest(i int, rules ...rule) (best reading, ok bool) {
	if i >= len(p.tokens) {
		return best, false
	}
	for _, rule := range rules {
		if r, fits := rule(p, i); fits && (!ok || r.end > best.end) {
			best, ok = r, true
		}
	}
	return best, ok
}

// stands reports whether what is around a reading at i lets it be a date.
func (p *parser) stands(r reading, i int) bool {
	lead := p.lead(i)
	switch r.need {
	case needNothing:
		return true
	case needYearly:
		return lead.is(isIn|isOn|isLead) && p.closes(r.end, p.at(i).germanDate)
	case needMonth:
		coordinate := p.at(i-1).is(isAnd) && p.at(i-2).month > 0 && p.lead(i-2).is(isIn) // in March or April
		return (lead.is(isIn) || coordinate) && p.isMonthHere(i, r.end)
	case needDay:
		return lead.is(isOn) && p.closes(r.end, false)
	case needYear:
		return p.isYearHere(i, r.end)
	}
	return false
}

// at is the token at i; past either end it is one that means nothing.
func (p *parser) at(i int) *token {
	if i < 0 || i >= len(p.tokens) {
		return noToken
	}
	return &p.tokens[i]
}

var noToken = &token{lexeme: noLexeme, number: -1, sign: '\n', spaced: true}

// lead is the preposition before i, articles passed over.
func (p *parser) lead(i int) *lexeme {
	for range 2 {
		if t := p.at(i - 1); !t.is(isArticle) || t.is(isOn) {
			break
		}
		i--
	}
	return p.at(i - 1).lexeme
}

// closes reports whether a phrase that ends before i isn't the front of a compound noun ("Christmas tree"): the text ends, or a sign
// or a word of grammar follows. A German noun is one word with its front and has a capital, so lower case may follow there, and anything may
// follow a German word that is sure.
func (p *parser) closes(i int, sure bool) bool {
	t := p.at(i)
	switch {
	case p.at(i - 1).possessive:
		return false
	case t.sign != 0:
		return t.spaced || t.sign != '-' && t.sign != '/'
	case t.is(isFunction|isDayPart) || sure:
		return true
	}
	return p.german && !t.capital && t.number < 0
}

// ends reports whether the text or a clause ends at i.
func (p *parser) ends(i int) bool {
	switch p.at(i).sign {
	case '\n', '.', ',', ';', ':', '?', '!', ')', '"', '”', '…':
		return true
	}
	return false
}
