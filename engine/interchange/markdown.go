package interchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// shortestBullet is how many characters a bullet must have to say something.
const shortestBullet = 5

var (
	bulletLine  = regexp.MustCompile(`^([ \t]*)[-*+](?:[ \t]+(.*))?$`)
	checkBox    = regexp.MustCompile(`^\[([ xX])\](?:[ \t]+|$)`)
	headingLine = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$`)
	underline   = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	ruleLine    = regexp.MustCompile(`^[ \t]*(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	fenceLine   = regexp.MustCompile("^[ \t]*(?:(`{3,})[^`]*|(~{3,}).*)$")
	otherBlock  = regexp.MustCompile(`^[ \t]*(?:\d{1,9}[.)][ \t]|>|\||<)`) // a numbered item, a quote, a table, HTML
	leadingDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}\b`)
)

// IsMarkdown reports whether a file of that name holds Markdown.
func IsMarkdown(name string) bool { return strings.EqualFold(name[max(0, len(name)-3):], ".md") }

// IsNotes reports whether a file of that name is one of an agent's notes: MEMORY.md, or a day's, whose name begins with its date.
func IsNotes(name string) bool {
	return IsMarkdown(name) && (strings.EqualFold(name, "MEMORY.md") || dateIn(name) != "")
}

// dateIn is the date that a heading or the name of a file begins with; empty: none.
func dateIn(s string) string {
	date := leadingDate.FindString(s)
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return ""
	}
	return date
}

// EachBullet calls do for every bullet of a Markdown file of that name, in order: a memory with the keys text and file, and where they are known heading (those
// above it, joined by " > "), under (the bullets that it is part of), date (the last heading's that begins with one, else the file's), created_at (the
// beginning of that day, UTC) and done (of a check box). What is no bullet nor part of one, and a bullet of fewer than five characters, is passed over.
func EachBullet(in io.Reader, name string, do func(Row) error) error {
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	n := &notes{file: name}
	n.read(strings.Split(string(bytes.TrimPrefix(b, []byte("\ufeff"))), "\n"))
	for _, b := range n.bullets {
		if b.broken == nil && utf8.RuneCountInString(b.text) < shortestBullet {
			continue
		}
		row, err := b.row(name)
		if err != nil {
			return err
		}
		if err := do(row); err != nil {
			return err
		}
	}
	return nil
}

// notes are the bullets of a Markdown file, as far as it is read.
type notes struct {
	file      string
	headings  [6]string // by level
	paragraph string    // the line before, if it is text outside a bullet: a line below it makes it a heading
	blank     bool      // the line before was
	open      []*bullet // that lines may belong to, each part of the one before
	bullets   []*bullet
}

// bullet is an item of a list.
type bullet struct {
	line          int
	indent        int // of its mark, in columns
	text          string
	heading, date string
	parents       []*bullet
	done          *bool // what its check box says, if it has one
	broken        error // nothing is read from here on
}

func (n *notes) read(lines []string) {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	i := 0
	if lines[0] == "---" { // what some editors keep about a file, up to a line like that
		if end := slices.Index(lines[1:], "---"); end >= 0 {
			i = end + 2
		}
	}
	for ; i < len(lines); i++ {
		line := lines[i]
		if fence := fenceLine.FindStringSubmatch(line); fence != nil {
			mark := fence[1] + fence[2]
			end := closing(lines, i+1, func(s string) bool { return strings.HasPrefix(s, mark) && strings.Trim(s, mark[:1]) == "" })
			if i = n.block(lines, i, end, "code block", true); i < 0 {
				return
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "<!--") {
			end := closing(lines, i, func(s string) bool { return strings.Contains(s, "-->") })
			if i = n.block(lines, i, end, "comment", false); i < 0 {
				return
			}
			continue
		}
		n.take(i+1, line)
	}
}

// closing is the first line from there on that ends a block; -1: none does.
func closing(lines []string, from int, ends func(string) bool) int {
	end := slices.IndexFunc(lines[from:], func(s string) bool { return ends(strings.TrimSpace(s)) })
	if end < 0 {
		return -1
	}
	return from + end
}

// block takes lines in which no mark counts and gives the last of them. If they are kept, and stand below a bullet, they are part of it. A block without
// an end is a fault, and the result below 0.
func (n *notes) block(lines []string, from, end int, what string, kept bool) int {
	if end < 0 {
		n.bullets = append(n.bullets, &bullet{line: from + 1, broken: fmt.Errorf("%w: a %s that never ends; nothing is read from here on", fault.ErrInvalid, what)})
		return -1
	}
	n.paragraph, n.blank = "", false
	if !kept {
		return end
	}
	n.close(columns(lines[from]))
	if len(n.open) > 0 {
		b, indent := n.open[len(n.open)-1], columns(lines[from])
		for _, line := range lines[from : end+1] {
			b.text += "\n" + line[min(indent, len(line)-len(strings.TrimLeft(line, " \t"))):]
		}
		n.blank = true // what follows stands on a line of its own
	}
	return end
}

// take reads the line of that number, which is in no block.
func (n *notes) take(number int, line string) {
	paragraph, blank := n.paragraph, n.blank
	n.paragraph, n.blank = "", line == ""
	if m := underline.FindStringSubmatch(line); m != nil && paragraph != "" {
		n.head(map[byte]int{'=': 1, '-': 2}[m[1][0]], paragraph)
		return
	}
	heading, item := headingLine.FindStringSubmatch(line), bulletLine.FindStringSubmatch(line)
	switch {
	case line == "":
	case heading != nil:
		n.head(len(heading[1]), heading[2])
	case ruleLine.MatchString(line):
		n.open = nil
	case item != nil:
		n.add(number, columns(line), item[2])
	default:
		own := otherBlock.MatchString(line)
		if blank || own {
			n.close(columns(line))
		}
		text := strings.TrimSpace(line)
		if len(n.open) == 0 {
			n.paragraph = text
			return
		}
		b, between := n.open[len(n.open)-1], " "
		switch {
		case own:
			between = "\n"
		case blank:
			between = "\n\n"
		}
		if b.text == "" {
			between = ""
		}
		b.text += between + text
	}
}

// head begins what stands below a heading.
func (n *notes) head(level int, text string) {
	n.open = nil
	n.headings[level-1] = strings.TrimSpace(text)
	clear(n.headings[level:])
}

func (n *notes) add(number, indent int, text string) {
	n.close(indent)
	b := &bullet{line: number, indent: indent, text: strings.TrimSpace(text), date: dateIn(n.file), parents: slices.Clone(n.open)}
	if box := checkBox.FindStringSubmatch(b.text); box != nil {
		done := box[1] != " "
		b.done, b.text = &done, b.text[len(box[0]):]
	}
	var above []string
	for _, heading := range n.headings {
		if heading != "" {
			above = append(above, heading)
		}
		b.date = cmp.Or(dateIn(heading), b.date)
	}
	b.heading = strings.Join(above, " > ")
	n.open, n.bullets = append(n.open, b), append(n.bullets, b)
}

// close ends the bullets that a line of that indent can't be part of.
func (n *notes) close(indent int) {
	for len(n.open) > 0 && n.open[len(n.open)-1].indent >= indent {
		n.open = n.open[:len(n.open)-1]
	}
}

// row is the bullet as a memory.
func (b *bullet) row(file string) (Row, error) {
	at := Position{b.line, 0}
	under := make([]string, 0, len(b.parents))
	for _, p := range b.parents {
		if first, _, _ := strings.Cut(p.text, "\n"); first != "" {
			under = append(under, first)
		}
	}
	memory := struct {
		Text      string `json:"text"`
		CreatedAt string `json:"created_at,omitempty"`
		Date      string `json:"date,omitempty"`
		File      string `json:"file,omitempty"`
		Heading   string `json:"heading,omitempty"`
		Under     string `json:"under,omitempty"`
		Done      *bool  `json:"done,omitempty"`
	}{Text: b.text, Date: b.date, File: file, Heading: b.heading, Under: strings.Join(under, " > "), Done: b.done}
	if b.date != "" {
		memory.CreatedAt = b.date + "T00:00:00Z"
	}
	for _, text := range []struct{ field, value string }{{"text", memory.Text}, {"heading", memory.Heading}, {"under", memory.Under}} {
		if b.broken == nil {
			b.broken = fault.CheckText(text.field, text.value) // JSON would mend it in silence
		}
	}
	row, err := json.Marshal(memory)
	return Row{at, row, b.broken}, err
}

// columns is how far a line is indented; a tab reaches to the next fourth column.
func columns(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}
