package interchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Row is one JSON value of a file that is imported: a line, an element of a list, or what a bullet of Markdown says.
type Row struct {
	Position
	JSON   []byte
	Broken error // it can't be used, or a list can't be read any further; there is no value
}

// Position is where a row begins.
type Position struct {
	line    int // from 1
	element int // of a list, from 1; else 0
}

// of says of an error which element it is about: a list may be one line.
func (p Position) of(err error) error {
	if p.element == 0 {
		return err
	}
	return fmt.Errorf("element %d: %w", p.element, err)
}

// String says it in words: "line 3", or of a list "element 5 of line 1".
func (p Position) String() string {
	if p.element == 0 {
		return fmt.Sprint("line ", p.line)
	}
	return fmt.Sprintf("element %d of line %d", p.element, p.line)
}

// Compare says which comes first, as cmp.Compare does.
func (p Position) Compare(other Position) int {
	if p.line != other.line {
		return p.line - other.line
	}
	return p.element - other.element
}

// listHead is how a file begins that is a list, or an object with one: mem0's results, or memory-lancedb-pro's memories after what it says of the export.
var listHead = regexp.MustCompile(`^\s*(\{\s*(?:"(?:version|exportedAt|count|filters)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|\{[^{}]*\}|[^",{}\[\]]*)\s*,\s*)*"(?:results|memories)"\s*:\s*)?\[\s*[{\]]`)

// listKeys are the keys of the list in such an object.
var listKeys = []string{"results", "memories"}

// EachRow calls do for every line that is not blank or, where the input begins with a list, for its elements and then for the lines after it.
func EachRow(in io.Reader, do func(Row) error) error {
	const head = 4096 // bytes in which a list must begin
	r := bufio.NewReaderSize(in, 1<<16)
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" { // the byte order mark of some editors
		_, _ = r.Discard(3)
	}
	start, _ := r.Peek(head)
	found := listHead.FindSubmatch(start)
	if found == nil {
		return eachLine(r, 1, do)
	}
	lines := &lineCounter{in: r}
	list := json.NewDecoder(lines)
	if broken, err := eachElement(list, lines, len(found[1]) > 0, do); err != nil || broken {
		return err
	}
	rest := bufio.NewReader(io.MultiReader(list.Buffered(), r))
	return eachLine(rest, lines.at(list.InputOffset()), do)
}

// eachElement calls do for the elements of a list and reads to its end, or to that of the object that it is in. A list that is broken ends
// with a row that says so: where the next element begins can't be told.
func eachElement(list *json.Decoder, lines *lineCounter, wrapped bool, do func(Row) error) (broken bool, err error) {
	n := 1
	stop := func(err error) (bool, error) {
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			err = errCutOff
		default:
			return true, err
		}
		ahead, _ := io.ReadAll(list.Buffered())
		between := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r\n,"))
		at := Position{lines.at(list.InputOffset() + int64(between)), n}
		return true, do(Row{at, nil, fmt.Errorf("%w: %v; nothing is read from here on", fault.ErrInvalid, err)})
	}
	depth := 1
	if wrapped {
		depth = 2
		if err := toList(list); err != nil {
			return stop(err)
		}
	}
	if _, err := list.Token(); err != nil { // "["
		return stop(err)
	}
	for ; list.More(); n++ {
		var value json.RawMessage
		if err := list.Decode(&value); err != nil {
			return stop(err)
		}
		at := Position{lines.at(list.InputOffset() - int64(len(value))), n}
		if err := do(Row{at, value, nil}); err != nil {
			return true, err
		}
	}
	for depth > 0 {
		token, err := list.Token()
		if err != nil {
			return stop(err)
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return false, nil
}

// toList reads an object up to its list.
func toList(object *json.Decoder) error {
	if _, err := object.Token(); err != nil { // "{"
		return err
	}
	for {
		key, err := object.Token()
		if name, _ := key.(string); err != nil || slices.Contains(listKeys, name) {
			return err
		}
		var other json.RawMessage
		if err := object.Decode(&other); err != nil {
			return err
		}
	}
}

// eachLine calls do for every line that is not blank; the first has the number n.
func eachLine(r *bufio.Reader, n int, do func(Row) error) error {
	for ; ; n++ {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := do(Row{Position{n, 0}, line, nil}); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// lineCounter tells on which line a byte stands that was read through it.
type lineCounter struct {
	in     io.Reader
	read   int64
	passed int     // line feeds before what was asked for last
	feeds  []int64 // where those after it are
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.feeds = append(c.feeds, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at is the line, from 1, of a byte that is not before the one asked for last.
func (c *lineCounter) at(offset int64) int {
	n, _ := slices.BinarySearch(c.feeds, offset)
	c.passed, c.feeds = c.passed+n, c.feeds[n:]
	return c.passed + 1
}
