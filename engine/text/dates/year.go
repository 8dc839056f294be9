package dates

import (
	"strings"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

const (
	firstYear = 1900
	lastYear  = 2100
)

func isYear(t *token) bool {
	return t.digits == 4 && t.suffix == plainNumber && firstYear <= t.number && t.number <= lastYear
}

func (p *parser) yearFollows(i int) bool {
	year, _ := p.yearAfter(i)
	return year != 0
}

// yearAfter reads the year that goes on a month or season: 2023; , 2023; of 2023; '23; last year; letzten Jahres. It returns 0 and i if
// there is none.
func (p *parser) yearAfter(i int) (year, end int) {
	j := i
	if p.at(j).sign == ',' {
		j++
	}
	for range 3 {
		if t := p.at(j); t.is(isOf|isArticle) || t.unit == unitYear && t.germanDate && !t.plural {
			j++
		}
	}
	switch t, next := p.at(j), p.at(j+1); {
	case isYear(t) && !p.counts(j+1) && (p.closesNumber(j+1) || next.sign == '/' || isYear(p.at(j+2))):
		return t.number, j + 1
	case t.sign == '\'' && p.joined(j) && next.isNumber(2) && next.digits == 2:
		return p.century(next), j + 2
	case t.is(isRelation) && next.unit == unitYear && !next.plural && p.at(i).sign == 0:
		return p.today.Year() + relationOf(t.lexeme), j + 2
	}
	return 0, i
}

func relationOf(l *lexeme) int {
	switch {
	case l.is(isLast):
		return -1
	case l.is(isBeforeLast):
		return -2
	case l.is(isNext):
		return 1
	}
	return 0
}

// counts reports whether the word at i is what the number before it counts.
func (p *parser) counts(i int) bool {
	t := p.at(i)
	return t.is(isThing) || t.sign == '%' || t.sign == '€' || t.sign == '$'
}

// bareYear reads 2022.
func (p *parser) bareYear(i int) (reading, bool) {
	t := p.at(i)
	ranges := p.at(i+1).sign == '-' && isYear(p.at(i+2))
	if !isYear(t) || !p.opensNumber(i) || !p.closesNumber(i+1) && !ranges || p.counts(i+1) {
		return reading{}, false
	}
	return reading{end: i + 1, span: wholeYear(), year: t.number, need: needYear}, true
}

// isYearHere judges a bare number at i by what stands around it.
func (p *parser) isYearHere(i, end int) bool {
	before, after := p.at(i-1), p.at(end)
	switch {
	case before.unit == unitYear:
		return true
	case p.at(i).number > p.today.Year()+20 && !before.is(isIn|isOf|isUntil|isBy|isTo|isAnd|isAfter|isBefore|isSince):
		return false // the title of a story
	case before.sign == '-' && p.joined(i-1), after.sign == '-' && p.joined(i) && p.joined(end):
		return false
	case before.is(isLabel) && !before.is(isIn), before.sign == '#', before.sign == '$', before.sign == '€', before.number >= 0 && before.sign == 0:
		return false
	case after.sign != 0 || after.is(isFunction|isDayPart):
		return true
	case before.is(isIn|isFrom|isSince|isBefore|isAfter|isUntil|isBetween|isAnd|isTo) && !p.german:
		return after.capital || after.month > 0
	}
	return p.german && !after.capital && after.number < 0
}

// decade reads 1990s, 90s, 90er Jahre, nineties after "the" or a German article. The decades before the fifties need their century.
func (p *parser) decade(i int) (reading, bool) {
	t := p.at(i)
	first := t.decade
	article := p.at(i - 1)
	if article.sign == '\'' {
		article = p.at(i - 2)
	}
	switch {
	case t.suffix == decadeNumber && t.digits == 4 && t.number%10 == 0 && firstYear <= t.number && t.number <= lastYear:
		first = t.number
	case t.suffix == decadeNumber && t.digits == 2 && t.number%10 == 0 && 50 <= t.number && t.number <= 90:
		first = 1900 + t.number
	}
	years := 10
	if t.digits == 4 && first == 1900 {
		years = 100 // nobody means its first ten years
	}
	if first == 0 || !article.is(isArticle|isIn) && t.digits != 4 {
		return reading{}, false
	}
	r := reading{end: i + 1, span: annual{1, 1, 12*years + 1, 1}, year: first}
	if next := p.at(i + 1); next.unit == unitYear && next.germanDate {
		r.end++
	}
	return r, true
}

// season reads summer, summer 2022, winter 2022/23.
func (p *parser) season(i int) (reading, bool) {
	s := p.at(i).season
	if s == 0 {
		return reading{}, false
	}
	r := reading{end: i + 1, span: seasonOf(s), need: needYearly}
	if r.year, r.end = p.yearAfter(i + 1); r.year != 0 {
		r.need = needNothing
		if next := p.at(r.end + 1); s == 4 && (p.at(r.end).sign == '/' || p.at(r.end).sign == '-') && next.digits >= 2 && next.number%100 == (r.year+1)%100 {
			r.end += 2
		}
		return r, true
	}
	if p.at(i+1).is(isOf) && !p.german && strings.EqualFold(p.text[p.at(i).start:p.at(i).end], "fall") {
		r.need = needOther // the fall of Rome
	}
	return r, true
}

// holiday reads the name of a holiday, with its year if one follows.
func (p *parser) holiday(i int) (best reading, ok bool) {
	for _, h := range p.at(i).holidays {
		j := i
		for name := range strings.FieldsSeq(h.name) {
			if !p.says(j, name) {
				j = -1
				break
			}
			j++
		}
		if j > best.end {
			best, ok = reading{end: j, span: h.span, need: needYearly}, true
		}
	}
	if ok {
		if best.year, best.end = p.yearAfter(best.end); best.year != 0 {
			best.need = needNothing
		}
	}
	return best, ok
}

// says reports whether token i is a word, apostrophes left out.
func (p *parser) says(i int, word string) bool {
	t := p.at(i)
	if t.sign != 0 {
		return false
	}
	written := p.text[t.start:t.end]
	if t.possessive {
		_, last := written[:len(written)-1], written[len(written)-1:]
		return len(word) > 1 && strings.EqualFold(last, word[len(word)-1:]) &&
			strings.EqualFold(strings.TrimRightFunc(written[:len(written)-1], char.IsApostrophe), word[:len(word)-1])
	}
	return strings.EqualFold(written, word)
}
