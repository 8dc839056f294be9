package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// plainWidth is how wide a table may be where no terminal says.
const plainWidth = 140

// printed is standard output. It remembers the first error, for most of what prints does not look.
type printed struct {
	io.Writer
	err error
}

func (p *printed) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// printJSON prints the one document of a call.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// answer prints a document for machines, or lets person print for people.
func (a *app) answer(document any, person func()) error {
	a.progress.stop()
	if a.json {
		return a.printJSON(document)
	}
	person()
	return nil
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

// note tells a person something beside the answer.
func (a *app) note(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// table makes a table without lines; Render prints it.
func (a *app) table(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.stdout)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	if header != nil {
		t.AppendHeader(header)
	}
	return t
}

// right aligns columns by the header's names.
func right(t table.Writer, names ...string) {
	var configs []table.ColumnConfig
	for _, name := range names {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// width is how many columns the reader's terminal has.
func (a *app) width() int {
	if f, ok := a.stdout.Writer.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 40 {
			return width
		}
	}
	return plainWidth
}

// line is text on one line of at most width columns.
func line(s string, width int) string {
	return text.Snip(strings.Join(strings.Fields(printable(s)), " "), max(width, 20), "…")
}

// byline is who said a message, on one line: a name with line breaks would pass for a message of its own.
func byline(speaker, role string) string {
	return strings.Join(strings.Fields(printable(cmp.Or(strings.TrimSpace(speaker), role))), " ")
}

// printable leaves out what would steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// indent wraps text to the width and puts margin before each line.
func indent(s, margin string, width int) string {
	wrapped := text.WrapSoft(printable(s), max(width-len(margin), 20))
	var b strings.Builder
	for l := range strings.Lines(wrapped) {
		b.WriteString(margin + strings.TrimRight(l, " \n") + "\n")
	}
	return b.String()
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// number is a value that may not be known.
func number(x *float64, decimals int) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, *x)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// orEmpty makes a list that machines see as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
