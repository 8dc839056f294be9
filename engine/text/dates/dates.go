package dates

import (
	"slices"
	"time"
)

// Period is a stretch of time that a text names.
type Period struct {
	From, Until time.Time  // the occurrence most likely meant: from From, before Until, in the location of the time of asking
	Recurs      Recurrence // which other occurrences may be meant
	Phrase      string     // the words that name it, as written
}

// Recurrence says how often what a text names comes round. It is empty where only one occurrence can be meant.
type Recurrence string

const (
	Yearly  Recurrence = "yearly"  // a month, season, holiday or day of a month without a year
	Monthly Recurrence = "monthly" // "on the 7th"
	Weekly  Recurrence = "weekly"  // "on Friday", "at the weekend"
)

// Find returns the periods that a query names in English or German, in the order of the text. Both languages are always read, in any
// case, and of readings that overlap the one with the longest phrase stays. A word that is only perhaps a date is left alone, since a
// wrong period does more harm than a missing one. The phrase leaves out a preposition or article in front, unless it bounds the period.
//
// What stands without a year is the most recent occurrence that began at or before asked, and Recurs says that there are others.
// Times are midnights in the location of asked. A week begins on Monday, a weekend on Saturday.
//
//   - Days: 2023-05-07 and 2023/05/07; 7 May 2023, May 7th, the 7th of May, 7. Mai; 7.5.2023 is day first, and so is 7-5-2023; 5/7/2023
//     is month first, unless that is no date or the text is German. Without a year, 5/7 and 7.5. need a preposition ("on", "am").
//   - Months: May 2023, 2023-05, "in May". Names that are words too (May, March, April, June, August, abbreviations) need a day, a year
//     or a preposition; may and march in lower case need the end of a clause or a word of grammar after them as well.
//   - Years: 1900 to 2100, unless they count or label something ("2000 people", "page 2000"); with a day also from 1000. Decades: the
//     90s, die 1990er; the 1900s are the century.
//   - Quarters: Q3 2023, third quarter of 2023; halves: H1 2023. Calendar weeks: KW 19, calendar week 19, by ISO 8601.
//   - Seasons are the northern meteorological ones: summer is June to August; winter 2022 begins in December 2022.
//   - Holidays with a fixed date. Christmas and Weihnachten are 24 to 26 December, New Year's is 31 December and 1 January.
//   - Parts: early, mid and late (Anfang, Mitte, Ende) are days 1 to 10, 11 to 20 and 21 to the last of a month, thirds of a year,
//     season or quarter, and Monday and Tuesday, Wednesday and Thursday, Friday to Sunday of a week. The second week of a month is days
//     8 to 14, its last week the last seven days.
//   - Today, yesterday, tomorrow and the like are days; last night is yesterday, tonight today.
//   - Last, this and next week, weekend, month, quarter and year are those of the calendar. Last summer (May, Christmas, Friday) is the
//     most recent one that is over, next summer the first to begin, this summer that of the year, this Friday that of the week. The
//     coming weekend (kommendes Wochenende) is the first to begin.
//   - N days ago is that day, N weeks ago that day and three on either side, N months ago fifteen and N years ago half a year on either
//     side; N hours or minutes ago is the day of that moment. In a shorter month the day is its last one. A couple are two to three, a
//     few two to five. "Two weeks before 20 August" is counted in the same way from that date; "the week before" is the seven days up
//     to it, "the Sunday before" the next Sunday on the way back.
//   - The last N days (weeks, months, years), and "in the last week" or "the past week", reach from N of them before today to the end
//     of today.
//   - The week of May 8 is the week that has that day.
//   - Since X begins with X, after X begins when X is over; both end on 31 December 9999. Before X ends when X begins, until X and by X
//     end when X is over; both begin on 1 January of year 1. These don't recur.
//   - Between X and Y, from X to Y: from the begin of X to the end of Y. What one of them leaves unsaid, the other lends.
//
// What falls on weekdays and leaves the year out (KW 19, first Monday in May) is the most recent and doesn't recur.
func Find(query string, asked time.Time) []Period {
	p := newParser(query, asked)
	var found []Period
	last := phrase{}
	for i := range p.tokens {
		next, ok := p.phrase(i)
		if !ok {
			continue
		}
		if len(found) > 0 && i < last.end {
			if next.length <= last.length {
				continue
			}
			found = found[:len(found)-1]
		}
		last = next
		found = append(found, p.period(next))
	}
	return found
}

// maxOccurrences is the most periods that Occurrences returns.
const maxOccurrences = 100

// Occurrences returns the occurrences of a recurring period that overlap the time from from, before until, oldest first: at most 100,
// of which the newest stay. A period that doesn't recur is returned alone, wherever it lies.
func (p Period) Occurrences(from, until time.Time) []Period {
	first := 0
	switch p.Recurs {
	case Yearly:
		first = until.Year() - p.From.Year()
	case Monthly:
		first = 12*(until.Year()-p.From.Year()) + int(until.Month()-p.From.Month())
	case Weekly:
		first = int((until.Unix() - p.From.Unix()) / (7 * 24 * 60 * 60))
	default:
		return []Period{p}
	}
	var found []Period
	// A day before or after is for locations; 29 February skips at most eight years.
	for n, misses := first+1, 0; len(found) < maxOccurrences && misses < 12; n-- {
		o, ok := p.shifted(n)
		switch {
		case ok && !o.Until.After(from):
			misses = 12
		case ok && o.From.Before(until):
			found = append(found, o)
			misses = 0
		default:
			misses++
		}
	}
	slices.Reverse(found)
	return found
}

// shifted returns the occurrence n years, months or weeks later, false if there is none, as of 29 February.
func (p Period) shifted(n int) (Period, bool) {
	from, until, exists := civil(p.From), civil(p.Until), true
	switch p.Recurs {
	case Yearly:
		shifted := from.AddDate(n, 0, 0)
		exists = shifted.Day() == from.Day()
		from, until = shifted, until.AddDate(n, 0, 0)
	case Monthly:
		shifted := from.AddDate(0, n, 0)
		exists = shifted.Day() == from.Day()
		from, until = shifted, shifted.Add(until.Sub(from))
	case Weekly:
		from, until = from.AddDate(0, 0, 7*n), until.AddDate(0, 0, 7*n)
	}
	location := p.From.Location()
	p.From, p.Until = midnight(from, location), midnight(until, location)
	return p, exists
}

// civil returns the day of t as a midnight in UTC.
func civil(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// midnight returns the begin of a civil day in a location: an hour late where the clocks skip midnight.
func midnight(day time.Time, location *time.Location) time.Time {
	year, month, date := day.Date()
	t := time.Date(year, month, date, 0, 0, 0, 0, location)
	if t.Day() != date {
		t = t.Add(time.Hour)
	}
	return t
}

// daysBetween counts the days between two midnights in UTC.
func daysBetween(from, until time.Time) int {
	return int((until.Unix() - from.Unix()) / (24 * 60 * 60))
}
