package session

import (
	"bufio"
	"context"
	"errors"
	"io"
	"regexp"
)

var listHead = regexp.MustCompile(`^(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|$)`)

// isList reports whether a file is one JSON array of objects, not lines.
func isList(r io.ReaderAt, size int64) bool {
	head := make([]byte, min(size, 512))
	n, _ := r.ReadAt(head, 0)
	return n > 0 && listHead.Match(head[:n])
}

// eachElement is eachLine for a file that is a list: it calls do for each of its values, as if that were a line, and at the list's end for
// a line that says nothing. A value that is not whole is pending.
func eachElement(ctx context.Context, r io.ReaderAt, from, to, no int64, do func(line) error) (pending int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), 1<<18)
	var value []byte
	depth, quoted, escaped, closed := 0, false, false, false
	for offset := from; ; offset++ {
		b, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(value) > 0:
			return int64(len(value)), nil
		case errors.Is(err, io.EOF) && closed:
			return 0, do(line{no: no, offset: offset})
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, err
		case len(value) == 0 && between(b):
			closed = closed || b == ']'
			continue
		}
		scalar := depth == 0 && !quoted && len(value) > 0
		if !scalar || !between(b) {
			value = append(value, b)
			depth, quoted, escaped = nested(b, depth, quoted, escaped)
			if depth > 0 || quoted || b != '}' && b != ']' && b != '"' {
				continue
			}
			offset++
		} else if err := in.UnreadByte(); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		size := int64(len(value))
		if err := do(line{no: no, offset: offset - size, size: size, text: value}); err != nil {
			return 0, err
		}
		no++
		offset--
		value, depth = value[:0], 0
	}
}

// between reports whether a byte stands between the values of a list.
func between(b byte) bool {
	switch b {
	case ' ', '\t', '\r', '\n', ',', '[', ']', 0xef, 0xbb, 0xbf:
		return true
	}
	return false
}

// nested says where in a value the next byte is: how many brackets are open, whether in a string, and whether behind a backslash.
func nested(b byte, depth int, quoted, escaped bool) (int, bool, bool) {
	switch {
	case escaped:
		return depth, quoted, false
	case quoted:
		return depth, b != '"', b == '\\'
	case b == '"':
		return depth, true, false
	case b == '{' || b == '[':
		return depth + 1, false, false
	case b == '}' || b == ']':
		return depth - 1, false, false
	}
	return depth, false, false
}
