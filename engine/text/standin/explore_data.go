package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

const (
	shapeElements = 3
	shapeKeys     = 10
	maxNames      = 30  // keys of YAML, elements of XML
	maxColumns    = 100 // printed
	nameWidth     = 80  // characters of a key, column or element
	rowWidth      = 180 // of a row or import
)

// json adds the facts of a JSON document. A sample that ends inside the document still has its type and the shape so far.
func (d *digest) json() {
	r := shapeReader{json.NewDecoder(strings.NewReader(d.sample))}
	r.UseNumber()
	kind, shape, err := r.value(0)
	if err == nil && !d.partial {
		if _, err = r.Token(); err == nil {
			err = errors.New("more than one value")
		} else if err == io.EOF {
			err = nil
		}
	}
	if kind == "" || err != nil && !d.partial {
		d.line("JSON that can't be read.")
		d.prose()
		return
	}
	if err != nil {
		shape += ", as far as read"
	}
	d.line("JSON, %s at the top.", kind)
	d.line("Shape: %s", shape)
}

// shapeReader reads the shape of a JSON value token by token, so that it takes no more memory than what it prints.
type shapeReader struct{ *json.Decoder }

// value reads one value at a depth and returns its type and shape, both also of a value that is cut off.
func (r shapeReader) value(depth int) (kind, shape string, err error) {
	t, err := r.Token()
	if err != nil {
		return "", "", err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return r.array(depth)
		}
		return r.object(depth)
	case string:
		return "string", "string", nil
	case bool:
		return "boolean", "boolean", nil
	case nil:
		return "null", "null", nil
	}
	return "number", "number", nil
}

func (r shapeReader) array(depth int) (kind, shape string, err error) {
	var first []string
	n := 0
	for r.More() {
		if depth >= 1 || n >= shapeElements {
			err = r.skip()
		} else {
			var element string
			if _, element, err = r.value(depth + 1); element != "" {
				first = append(first, element)
			}
		}
		if err != nil {
			break
		}
		n++
	}
	if err == nil {
		_, err = r.Token()
	}
	shape = fmt.Sprintf("array(%s)", thousands(n))
	switch {
	case n == 0:
	case depth >= 1:
		shape = fmt.Sprintf("array(%s: ...)", thousands(n))
	default:
		if n > len(first) {
			first = append(first, "...")
		}
		shape = fmt.Sprintf("array(%s: %s)", thousands(n), strings.Join(first, ", "))
	}
	return "array", shape, err
}

func (r shapeReader) object(depth int) (kind, shape string, err error) {
	var first []string
	n := 0
	for r.More() {
		var t json.Token
		if t, err = r.Token(); err != nil {
			break
		}
		if key, ok := t.(string); ok && n < shapeKeys {
			first = append(first, oneLine(key, nameWidth))
		}
		n++
		if err = r.skip(); err != nil {
			break
		}
	}
	if err == nil {
		_, err = r.Token()
	}
	if n > len(first) {
		first = append(first, "...")
	}
	shape = fmt.Sprintf("object(%s keys", thousands(n))
	if n > 0 {
		shape += ": " + strings.Join(first, ", ")
	}
	return "object", shape + ")", err
}

// skip reads over one value.
func (r shapeReader) skip() error {
	for depth := 0; ; {
		t, err := r.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// table adds the facts of lines of fields.
func (d *digest) table(kind Kind, delimiter string) {
	rows, header, first := 0, "", ""
	for line := range strings.Lines(d.sample) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		switch rows++; rows {
		case 1:
			header = strings.TrimSpace(line)
		case 2:
			first = line
		}
	}
	if rows == 0 {
		d.line("%s without a row.", kind)
		return
	}
	var columns []string
	for column := range strings.SplitSeq(header, delimiter) {
		if column = strings.Trim(oneLine(column, nameWidth), "\""); column != "" {
			columns = append(columns, column)
		}
	}
	d.line("%s, %s rows below the header, %s columns.", kind, d.count(rows-1), thousands(len(columns)))
	if len(columns) > maxColumns {
		columns = append(columns[:maxColumns], "...")
	}
	d.list("Columns: ", ", ", columns)
	if first != "" {
		d.line("First row: %s", oneLine(first, rowWidth))
	}
}

// A key at the top that begins a block has nothing behind its colon but a comment.
var yamlBlock = regexp.MustCompile(`^("[^"]+"|'[^']+'|[\pL\pN_][^\s:#]*)\s*:\s*(?:#.*)?$`)

// yaml adds the keys at the top of a YAML document.
func (d *digest) yaml() {
	var keys []string
	seen := map[string]bool{}
	for line := range strings.Lines(d.sample) {
		if m := yamlBlock.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && !collect(&keys, seen, oneLine(strings.Trim(m[1], `"'`), nameWidth), maxNames) {
			break
		}
	}
	d.line("YAML, %s lines.", d.lines())
	d.list("Keys at the top: ", ", ", keys)
}

var xmlElement = regexp.MustCompile(`<([\pL_][\pL\pN_.:-]*)[\s/>]`)

// xml adds the names of elements. Comments and CDATA are left out first.
func (d *digest) xml() {
	s := xmlAside.ReplaceAllLiteralString(d.sample, "")
	var names []string
	seen := map[string]bool{}
	for s != "" {
		m := xmlElement.FindStringSubmatchIndex(s)
		if m == nil || !collect(&names, seen, oneLine(s[m[2]:m[3]], nameWidth), maxNames+1) {
			break
		}
		s = s[m[3]:]
	}
	if len(names) == 0 {
		d.line("XML that can't be read.")
		d.prose()
		return
	}
	d.line("XML, root %s.", names[0])
	d.list("Other elements: ", ", ", names[1:])
}

var xmlAside = regexp.MustCompile(`(?s)<!--.*?-->|<!\[CDATA\[.*?\]\]>`)
