package main

import (
	"fmt"
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

func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date; allowed: 2026-05-01 or 2026-05-01T14:30:00Z", s)
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
