package dates_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text/dates"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
)

func day(t testing.TB, s string, in *time.Location) time.Time {
	t.Helper()
	d, err := time.ParseInLocation(time.DateOnly, s, in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func shown(periods []dates.Period) string {
	var lines []string
	for _, p := range periods {
		recurs := string(p.Recurs)
		if recurs == "" {
			recurs = "-"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %q", p.From.Format(time.DateOnly), p.Until.Format(time.DateOnly), recurs, p.Phrase))
	}
	if lines == nil {
		return "none"
	}
	return strings.Join(lines, "\n")
}

// TestDates reads the phrases and what they mean from a table, whose first line explains it.
func TestDates(t *testing.T) {
	file, err := os.Open("testdata/dates.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tested := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			t.Fatalf("%q: want a date, a text and periods, divided by tabs", lines.Text())
		}
		tested++
		asked := day(t, fields[0], time.UTC).Add(15 * time.Hour)
		if diff := cmp.Diff(strings.Join(fields[2:], "\n"), shown(dates.Find(fields[1], asked))); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", fields[0], fields[1], diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if tested == 0 {
		t.Fatal("testdata/dates.tsv: no phrases")
	}
}

// TestDatesWrittenOtherwise has marks and cases that must not matter.
func TestDatesWrittenOtherwise(t *testing.T) {
	asked := day(t, "2023-05-16", time.UTC)
	for want, spellings := range map[string][]string{
		"2023-03-01 2023-04-01": {"im März", "IM MÄRZ", "im Ma\u0308rz", "im Maerz", "im\u00a0März", "\xffim März\xff"},
		"2023-05-03 2023-05-10": {"3-9 May 2023", "3–9 May 2023", "3 — 9 MAY 2023", "3 to 9 may 2023"},
		"2021-12-31 2022-01-01": {"New Year's Eve 2021", "new year’s eve 2021", "NEW YEARS EVE 2021"},
	} {
		for _, s := range spellings {
			got := dates.Find(s, asked)
			if len(got) != 1 || !strings.HasPrefix(shown(got), want) {
				t.Errorf("%q: got %s, want %s", s, shown(got), want)
			}
		}
	}
}

func TestDatesLocation(t *testing.T) {
	tests := []struct{ location, asked, query, from, until string }{
		{"Europe/Berlin", "2023-03-27T00:30:00", "yesterday", "2023-03-26T00:00:00+01:00", "2023-03-27T00:00:00+02:00"},
		{"Europe/Berlin", "2023-03-26T12:00:00", "last week", "2023-03-13T00:00:00+01:00", "2023-03-20T00:00:00+01:00"},
		{"America/New_York", "2023-01-01T00:10:00", "last month", "2022-12-01T00:00:00-05:00", "2023-01-01T00:00:00-05:00"},
		{"America/New_York", "2023-01-01T00:10:00", "20 minutes ago", "2022-12-31T00:00:00-05:00", "2023-01-01T00:00:00-05:00"},
		// The clocks went from 23:59 to 1:00.
		{"America/Sao_Paulo", "2018-11-04T12:00:00", "today", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"America/Sao_Paulo", "2018-11-04T12:00:00", "yesterday", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
	}
	for _, test := range tests {
		location, err := time.LoadLocation(test.location)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := time.ParseInLocation("2006-01-02T15:04:05", test.asked, location)
		if err != nil {
			t.Fatal(err)
		}
		got := dates.Find(test.query, asked)
		if len(got) != 1 || got[0].From.Format(time.RFC3339) != test.from || got[0].Until.Format(time.RFC3339) != test.until {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}

func TestOccurrences(t *testing.T) {
	tests := []struct {
		query, from, until string
		want               []string // From of each
	}{
		{"in May", "2021-05-31", "2023-05-01", []string{"2021-05-01", "2022-05-01"}},
		{"in May", "2021-06-01", "2023-05-02", []string{"2022-05-01", "2023-05-01"}},
		{"in winter", "2021-02-28", "2022-01-01", []string{"2020-12-01", "2021-12-01"}},
		{"29 February", "2010-01-01", "2023-01-01", []string{"2012-02-29", "2016-02-29", "2020-02-29"}},
		{"in February", "2023-02-28", "2024-02-29", []string{"2023-02-01", "2024-02-01"}},
		{"between November and January", "2021-01-31", "2022-11-02", []string{"2020-11-01", "2021-11-01", "2022-11-01"}},
		{"on the 31st", "2023-01-01", "2023-06-01", []string{"2023-01-31", "2023-03-31", "2023-05-31"}},
		{"am 7.", "2023-01-07", "2023-03-07", []string{"2023-01-07", "2023-02-07"}},
		{"on Friday", "2023-05-12", "2023-05-27", []string{"2023-05-12", "2023-05-19", "2023-05-26"}},
		{"am Wochenende", "2023-05-07", "2023-05-20", []string{"2023-05-06", "2023-05-13"}},
		{"from Monday to Friday", "2023-05-05", "2023-05-15", []string{"2023-05-01", "2023-05-08"}},
		{"in May", "2023-06-01", "2024-05-01", nil},
		{"in May", "2024-01-01", "2020-01-01", nil},
		{"May 2022", "1990-01-01", "1991-01-01", []string{"2022-05-01"}},
	}
	asked := day(t, "2023-05-16", time.UTC)
	for _, test := range tests {
		periods := dates.Find(test.query, asked)
		if len(periods) != 1 {
			t.Fatalf("%q: %v", test.query, periods)
		}
		var got []string
		for _, o := range periods[0].Occurrences(day(t, test.from, time.UTC), day(t, test.until, time.UTC)) {
			if o.Phrase != periods[0].Phrase || o.Recurs != periods[0].Recurs {
				t.Errorf("%q: got %+v of %+v", test.query, o, periods[0])
			}
			got = append(got, o.From.Format(time.DateOnly))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q %s to %s (-want +got):\n%s", test.query, test.from, test.until, diff)
		}
	}
}

func TestOccurrencesAreTheNewest(t *testing.T) {
	asked := day(t, "2023-05-16", time.UTC)
	got := dates.Find("on Friday", asked)[0].Occurrences(time.Time{}, asked)
	if len(got) != 100 || shown(got[99:]) != `2023-05-12 2023-05-13 weekly "Friday"` || shown(got[:1]) != `2021-06-18 2021-06-19 weekly "Friday"` {
		t.Errorf("%d from %s to %s", len(got), shown(got[:1]), shown(got[len(got)-1:]))
	}
}

func TestOccurrencesKeepMidnight(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	asked := day(t, "2023-04-05", berlin)
	for _, o := range dates.Find("on Sunday", asked)[0].Occurrences(day(t, "2023-03-01", berlin), asked) {
		if o.From.Hour() != 0 || o.Until.Hour() != 0 || o.From.Weekday() != time.Sunday {
			t.Errorf("got %s to %s", o.From, o.Until)
		}
	}
}

func FuzzDates(f *testing.F) {
	texttest.Seed(f)
	for _, s := range []string{"7 May 2023", "vom 3.5. bis 9.5.2023", "New Year’s Eve", "between 3 and 9 May or last week", "2019-2021", "vor 9999 Jahren",
		"am 31.", "KW 53", "90s", "mid-\xffMay", "9999 decades ago", "Q3/2023", "5/7/00", "29 February 0000", "the 31st of last month"} {
		f.Add(s)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	times := []time.Time{{}, day(f, "2024-02-29", berlin).Add(90 * time.Minute), day(f, "9999-12-31", time.UTC), time.Unix(1<<40, 0), time.Unix(-1<<40, 0)}
	f.Fuzz(func(t *testing.T, s string) {
		for _, asked := range times {
			rest := strings.ToValidUTF8(s, "\uFFFD")
			for _, p := range dates.Find(s, asked) {
				if !p.From.Before(p.Until) || p.From.Location() != asked.Location() || p.Phrase == "" || !utf8.ValidString(p.Phrase) {
					t.Fatalf("%q at %s: %+v", s, asked, p)
				}
				_, after, found := strings.Cut(rest, p.Phrase)
				if !found {
					t.Fatalf("%q at %s: %q isn't in order", s, asked, p.Phrase)
				}
				rest = after
				from, until := p.From.AddDate(-30, 0, 0), p.From.AddDate(30, 0, 0)
				occurrences := p.Occurrences(from, until)
				if len(occurrences) == 0 || len(occurrences) > 100 {
					t.Fatalf("%+v: %d occurrences", p, len(occurrences))
				}
				for i, o := range occurrences {
					if i > 0 && !occurrences[i-1].From.Before(o.From) || p.Recurs != "" && (!o.Until.After(from) || !o.From.Before(until)) {
						t.Fatalf("%+v: occurrence %+v", p, o)
					}
				}
			}
		}
	})
}

func BenchmarkDates(b *testing.B) {
	asked := day(b, "2023-05-16", time.UTC)
	question := "What did Maria say about the trip to Berlin that we planned for the second week of March last year, before Easter?"
	for name, s := range map[string]string{
		"question": question,
		"plain":    "What did Maria say about the old project that her company offered to us?",
		"long":     strings.Repeat(question+" ", 100_000/len(question)),
		"dates":    strings.Repeat("between 3 and 9 May 2023 or since the week before last ", 1800),
		"hostile":  strings.Repeat("the last week of the first week of the ", 2500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				dates.Find(s, asked)
			}
		})
	}
}
