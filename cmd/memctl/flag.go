package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// date is a flag for a point in time.
type date time.Time

// dateOf makes a flag that sets dest.
func dateOf(dest *time.Time) *date { return (*date)(dest) }

func (d *date) Set(s string) error {
	t, err := parseDate(s)
	*d = date(t)
	return err
}

func (d *date) String() string {
	if time.Time(*d).IsZero() {
		return ""
	}
	return time.Time(*d).Format(time.RFC3339)
}

func (d *date) Type() string { return "DATE" }

// allowedDates leave out the year 1, whose first moment counts as no time at all.
const allowedDates = "2026-05-01 or 2026-05-01T14:30:00Z, in the years 2 to 9999"

var errNotAllowed = errors.New("not allowed")

func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		t, err := time.Parse(layout, s)
		if t = t.UTC(); err == nil && t.Year() >= 2 && t.Year() <= 9999 {
			return t, nil
		}
	}
	return time.Time{}, errNotAllowed
}

// fraction is a flag for a number from 0 to 1.
type fraction float64

// fractionOf makes a flag that sets dest, which has its default already.
func fractionOf(dest *float64) *fraction { return (*fraction)(dest) }

func (x *fraction) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= 1) { // NaN is not
		return errNotAllowed
	}
	*x = fraction(n)
	return nil
}

func (x *fraction) String() string { return strconv.FormatFloat(float64(*x), 'g', -1, 64) }

func (x *fraction) Type() string { return "SHARE" }

// allowedValues says what a flag takes, by its type.
var allowedValues = map[string]string{
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true, false", "duration": "a time such as 2s or 10m",
	(*date)(nil).Type(): allowedDates, (*fraction)(nil).Type(): "a number from 0 to 1",
	(*pairs)(nil).Type(): "KEY=VALUE, each key once",
}

// flagError names a flag, its value and what is allowed, as all errors do, in place of how Go reads a value.
func flagError(_ *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	name, allowed := wrong.GetFlag().Name, allowedValues[wrong.GetFlag().Value.Type()]
	switch {
	case allowed == "":
		return fmt.Errorf("%s: %w", name, wrong.Unwrap())
	case errors.Is(err, strconv.ErrRange):
		allowed += " of fewer digits"
	}
	return fmt.Errorf("%s is %q; allowed: %s", name, wrong.GetValue(), allowed)
}

// words is a flag that may be given several times, or once with commas.
type words[T ~string] []T

// wordsOf makes a flag that fills dest, which stays nil without it.
func wordsOf[T ~string](dest *[]T) pflag.Value { return (*words[T])(dest) }

func (w *words[T]) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		*w = append(*w, T(strings.TrimSpace(word)))
	}
	return nil
}

func (w *words[T]) String() string {
	var all []string
	for _, word := range *w {
		all = append(all, string(word))
	}
	return strings.Join(all, ",")
}

func (w *words[T]) Type() string { return "WORD" }

// pairs is a flag for keys with their values, each given once.
type pairs map[string]string

// pairsOf makes a flag that fills dest, which stays nil without it.
func pairsOf(dest *map[string]string) *pairs { return (*pairs)(dest) }

func (p *pairs) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if _, twice := (*p)[key]; !ok || key == "" || twice {
		return errNotAllowed
	}
	if *p == nil {
		*p = pairs{}
	}
	(*p)[key] = value
	return nil
}

func (p *pairs) String() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(*p)) {
		all = append(all, key+"="+(*p)[key])
	}
	return strings.Join(all, ",")
}

func (p *pairs) Type() string { return "KEY=VALUE" }

// given is nil for a flag that was not used.
func given[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// notZero refuses a 0 that somebody gave where it would count as nothing said, and the default be taken.
func notZero(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flag(name); f.Changed && (f.Value.String() == "0" || f.Value.String() == "0s") {
			return usage("%s is %s; leave it out for the default", name, f.Value)
		}
	}
	return nil
}

// complete makes the shell offer the values of a flag.
func complete[T ~string](cmd *cobra.Command, flag string, values []T) {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a command without the flag it completes
	}
}
