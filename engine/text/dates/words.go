package dates

import (
	"strings"
)

// language is what a language calls the parts of a date.
type language struct {
	german                       bool
	months, shortMonths          [12]string
	nameMonths                   string // also given names or adjectives: they need a preposition
	verbMonths                   string // also verbs: their case and what follows count too
	boundMonths                  string // only beside a day or year
	weekdays, shortWeekdays      [7]string
	seasons                      [4]string
	units                        [unitCount]string
	days                         map[int]string // by distance from today
	dayParts                     string
	numbers                      [13]string
	ordinals                     [32]string
	decades                      map[int]string
	parts                        [partCount]string
	last, beforeLast, this, next string
	roles                        map[role]string
	holidays                     []holiday
}

type holiday struct {
	name string // folded, without apostrophes
	span annual
}

// role is a set of the things that a word does around dates.
type role uint64

const (
	isFunction role = 1 << iota // a word of grammar: what comes before it is no part of a compound noun
	isIn                        // before months and everything longer
	isOn                        // before days
	isLead                      // other prepositions before a time
	isArticle
	isSince
	isBefore
	isAfter
	isUntil
	isBy
	isBetween
	isFrom
	isTo
	isAnd
	isOf
	isAgo
	isAbout
	isCouple // of "a couple of"
	isFew
	isNoun   // a part that needs "of"
	isOnward // of "from May on"
	isAuxiliary
	isPast
	isHalf // of "ein halbes Jahr"
	isLast
	isBeforeLast
	isThis
	isNext
	isComing // a next that begins with the coming weekend
	isDayPart
	isWeekNo
	isCalendar // of "calendar week"
	isOwner    // "her last year" is no date
	isThing    // "2000 people" is no year
	isLabel    // nor is "page 2000"
	isVerb     // follows the verb may
)

const isRelation = isLast | isBeforeLast | isThis | isNext

type unit uint8

const (
	unitNone unit = iota
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitWeekend
	unitMonth
	unitQuarter
	unitHalf
	unitYear
	unitDecade
	unitNight
	unitCount
)

type part uint8

const (
	partNone part = iota
	partEarly
	partMiddle
	partLate
	partCount
)

// monthKind says what a month's name needs to be read as a month when neither day nor year stands beside it.
type monthKind uint8

const (
	monthPlain monthKind = iota
	monthName
	monthVerb
	monthBound
)

// lexeme is all that a word can mean in a date, in both languages. Zero fields say nothing.
type lexeme struct {
	roles           role
	german, english bool // a word of grammar that only this language has
	germanDate      bool // a word of dates that only German has
	month           int
	kind            monthKind
	weekday         int // 1 Monday to 7 Sunday
	shortWeekday    bool
	season          int // 1 spring to 4 winter
	unit            unit
	day             int // relative to today, if dayWord
	dayWord         bool
	number, ordinal int
	decade          int
	part            part
	holidays        []holiday
	plural          bool
	numbered        int // the number within the word, with its unit: 3 of Q3
}

func (l *lexeme) is(r role) bool { return l.roles&r != 0 }

// lexicon is both languages in one table. It is never written to once built.
var lexicon = buildLexicon(&english, &german)

func buildLexicon(languages ...*language) map[string]*lexeme {
	lexicon := map[string]*lexeme{}
	for _, d := range languages {
		d.addTo(lexicon)
	}
	for _, d := range languages {
		for word := range strings.FieldsSeq(d.roles[isFunction]) {
			l := lexicon[word]
			l.german, l.english = l.german || d.german, l.english || !d.german
		}
	}
	for _, l := range lexicon {
		if l.german && l.english { // it tells nothing
			l.german, l.english = false, false
		}
	}
	return lexicon
}

func (d *language) addTo(lexicon map[string]*lexeme) {
	set := func(words string, fill func(*lexeme)) {
		for word := range strings.FieldsSeq(words) {
			l := lexicon[word]
			if l == nil {
				l = &lexeme{germanDate: d.german}
				lexicon[word] = l
			}
			l.germanDate = l.germanDate && d.german
			fill(l)
		}
	}
	for i := range d.months {
		set(d.months[i], func(l *lexeme) { l.month = i + 1 })
		set(d.shortMonths[i], func(l *lexeme) { l.month, l.kind = i+1, monthName })
	}
	set(d.nameMonths, func(l *lexeme) { l.kind = monthName })
	set(d.verbMonths, func(l *lexeme) { l.kind = monthVerb })
	set(d.boundMonths, func(l *lexeme) { l.kind = monthBound })
	for i := range d.weekdays {
		set(d.weekdays[i], func(l *lexeme) { l.weekday = i + 1 })
		set(d.shortWeekdays[i], func(l *lexeme) { l.weekday, l.shortWeekday = i+1, true })
		if d.german {
			for part := range strings.FieldsSeq(d.dayParts) {
				for day := range strings.FieldsSeq(d.weekdays[i]) {
					set(day+part, func(l *lexeme) { l.weekday = i + 1 })
				}
			}
		}
	}
	for i, words := range d.seasons {
		set(words, func(l *lexeme) { l.season = i + 1 })
	}
	for u, words := range d.units {
		set(words, func(l *lexeme) { l.unit = unit(u) })
		for i, form := range strings.Fields(words) {
			genitive := d.german && strings.HasSuffix(form, "s")
			set(form, func(l *lexeme) { l.plural = i > 0 && !genitive })
		}
	}
	for day, words := range d.days {
		set(words, func(l *lexeme) { l.day, l.dayWord = day, true })
	}
	for n, words := range d.numbers {
		set(words, func(l *lexeme) { l.number = n })
	}
	for n, words := range d.ordinals {
		set(words, func(l *lexeme) { l.ordinal = n })
	}
	for year, words := range d.decades {
		set(words, func(l *lexeme) { l.decade = year })
	}
	for p, words := range d.parts {
		set(words, func(l *lexeme) { l.part = part(p) })
	}
	for words, r := range map[string]role{d.last: isLast, d.beforeLast: isBeforeLast, d.this: isThis, d.next: isNext, d.dayParts: isDayPart} {
		set(words, func(l *lexeme) { l.roles |= r })
	}
	for r, words := range d.roles {
		set(words, func(l *lexeme) { l.roles |= r })
	}
	for _, h := range d.holidays {
		first, _, _ := strings.Cut(h.name, " ")
		set(first, func(l *lexeme) { l.holidays = append(l.holidays, h) })
	}
}
