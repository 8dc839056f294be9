package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
)

// line is a line of a transcript.
type line struct {
	no      int64  // from 1
	offset  int64  // of its first byte
	size    int64  // with its newline
	text    []byte // without it; the next line overwrites it
	unended bool   // the file ends before the newline
}

// eachLine calls do for the lines between two offsets, of which the first is no. A last line without its newline counts when it is a
// whole JSON object, for nothing can be missing from that; else it is pending, and left for a later read. Of a file that is one JSON array
// the lines are its values.
func eachLine(ctx context.Context, r io.ReaderAt, from, to, no int64, do func(line) error) (pending int64, err error) {
	if isList(r, to) {
		return eachElement(ctx, r, from, to, no, do)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), 1<<18)
	var long []byte // what of the line did not fit into the reader's buffer
	for offset := from; ; no++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		text, err := in.ReadSlice('\n')
		for long = long[:0]; errors.Is(err, bufio.ErrBufferFull); text, err = in.ReadSlice('\n') {
			long = append(long, text...)
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
		if len(long) > 0 {
			long = append(long, text...)
			text = long
		}
		l := line{no: no, offset: offset, size: int64(len(text)), text: text}
		switch {
		case err == nil:
			l.text = text[:len(text)-1]
		case !errors.Is(err, io.EOF):
			return 0, err
		case len(bytes.TrimSpace(text)) == 0:
			return 0, nil
		case !whole(text):
			return int64(len(text)), nil
		default:
			l.unended = true
		}
		if err := do(l); err != nil {
			return 0, err
		}
		offset += l.size
	}
}

// whole reports whether text is a JSON object that nothing can be missing from.
func whole(text []byte) bool {
	text = bytes.TrimSpace(stripped(text))
	return len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' && json.Valid(text)
}

// stripped is a line without a byte order mark, and without the NULs that a machine leaves in a file when it loses its power.
func stripped(text []byte) []byte {
	return bytes.Trim(bytes.TrimPrefix(text, []byte("\ufeff")), "\x00")
}

// blank reports whether a line says nothing.
func blank(text []byte) bool { return len(bytes.TrimSpace(stripped(text))) == 0 }
