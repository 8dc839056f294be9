package conversation

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/payload"
)

// LargeFile is a content that was too large for the context, or no text at all. Its message has a reference in its place.
type LargeFile struct {
	ID             string    `json:"id"`
	ConversationID string    `json:"conversation_id"`
	MessageID      string    `json:"message_id"`
	Name           string    `json:"name,omitempty"`
	MIME           string    `json:"mime,omitempty"`
	Bytes          int64     `json:"bytes"`
	Lines          int64     `json:"lines"`
	SHA256         string    `json:"sha256"`
	Summary        string    `json:"summary"` // what it holds, in short
	CreatedAt      time.Time `json:"created_at"`
}

// row gives the large file as the columns of its table, in their order.
func (f *LargeFile) row(m *Message) []driver.Value {
	return []driver.Value{f.ID, m.ConversationID, m.ID, duck.NullText(f.Name), duck.NullText(f.MIME), f.Bytes, f.Lines, f.SHA256, f.Summary, f.CreatedAt}
}

// scanLargeFile reads a row of the query large_file_find: the file, and the scope of its conversation.
func scanLargeFile(rows *sql.Rows) (f *LargeFile, scope string, err error) {
	f = &LargeFile{}
	err = rows.Scan(&f.ID, &f.ConversationID, &f.MessageID, duck.TextOf(&f.Name), duck.TextOf(&f.MIME), &f.Bytes, &f.Lines, &f.SHA256, &f.Summary,
		&f.CreatedAt, &scope)
	return f, scope, err
}

// LargeFile finds one by its id, or the unique ending of it. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (cs *Store) LargeFile(ctx context.Context, id, agent string) (f *LargeFile, err error) {
	err = cs.file.Read(ctx, "large file", func(c *duck.Conn) error {
		f, err = cs.FindLargeFile(ctx, c, id, agent)
		return err
	})
	return f, err
}

// LargeFiles lists those of a conversation, in the order they came. Errors: ErrNotFound, ErrInvalid.
func (cs *Store) LargeFiles(ctx context.Context, conversation, agent string) (all []*LargeFile, err error) {
	err = cs.file.Read(ctx, "large files", func(c *duck.Conn) error {
		v, err := cs.Readable(ctx, c, conversation, agent)
		if err != nil {
			return err
		}
		return c.Each(ctx, "large_file_list", func(rows *sql.Rows) error {
			f, _, err := scanLargeFile(rows)
			all = append(all, f)
			return err
		}, sql.Named("conversation_id", v.ID))
	})
	return all, err
}

// FindLargeFile is LargeFile in a caller's transaction. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (cs *Store) FindLargeFile(ctx context.Context, c *duck.Conn, id, agent string) (*LargeFile, error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, err
	}
	var found []*LargeFile
	err := c.Each(ctx, "large_file_find", func(rows *sql.Rows) error {
		f, scope, err := scanLargeFile(rows)
		if err == nil && cs.scopes.Now().Sees(agent, scope) {
			found = append(found, f)
		}
		return err
	}, sql.Named("id", id), sql.Named("shortest", int64(ids.MinShort)))
	if err != nil {
		return nil, err
	}
	return ids.One("large file", id, found, func(f *LargeFile) string { return f.ID })
}

// ReadLargeFileRequest names a piece of a large file: by bytes, or by lines.
type ReadLargeFileRequest struct {
	ID        string // whole, or its unique ending
	Agent     string // empty: an internal caller
	From      int64  // first byte, from 0
	StartLine int64  // first line, from 1; then From does not count
	EndLine   int64  // last line; 0: as far as MaxBytes goes
	MaxBytes  int    // 4 to 16,777,216; default 65,536
}

// LargeFilePiece is a piece of a large file.
type LargeFilePiece struct {
	File *LargeFile `json:"file"`
	From int64      `json:"from"` // first byte
	To   int64      `json:"to"`   // after the last one: where the next piece begins
	// Content of a text begins and ends between two characters.
	Content []byte `json:"content"`
	More    bool   `json:"more"` // there is more after To, of the lines that were asked for or of the file
}

// ReadLargeFile reads back what was put apart. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid, ErrCorrupt where the content is gone.
func (cs *Store) ReadLargeFile(ctx context.Context, r ReadLargeFileRequest) (piece *LargeFilePiece, err error) {
	if r.MaxBytes == 0 {
		r.MaxBytes = 1 << 16
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("read large file: %w", err)
	}
	err = cs.file.Read(ctx, "read large file", func(c *duck.Conn) error {
		f, err := cs.FindLargeFile(ctx, c, r.ID, r.Agent)
		if err != nil {
			return err
		}
		from, err := cs.contents.OpenPayload(ctx, c, f.SHA256)
		if err != nil {
			return err
		}
		defer from.Close()
		start, end := min(r.From, from.Bytes), from.Bytes
		if r.StartLine > 0 {
			if start, end, err = lineBounds(ctx, from, r.StartLine, r.EndLine, int64(r.MaxBytes)); err != nil {
				return err
			}
		}
		piece = &LargeFilePiece{File: f}
		return piece.read(from, start, end, r.MaxBytes)
	})
	return piece, err
}

func (r ReadLargeFileRequest) validate() error {
	switch {
	case r.MaxBytes < utf8.UTFMax || r.MaxBytes > payload.MostInTable:
		return fault.Invalid("max_bytes", r.MaxBytes, fmt.Sprintf("%d to %d", utf8.UTFMax, payload.MostInTable))
	case r.From < 0:
		return fault.Invalid("from", r.From, "0 or more")
	case r.StartLine < 0:
		return fault.Invalid("start_line", r.StartLine, "1 or more, or 0 for bytes")
	case r.EndLine != 0 && (r.StartLine == 0 || r.EndLine < r.StartLine):
		return fault.Invalid("end_line", r.EndLine, "start_line or more, or 0")
	}
	return nil
}

// read takes what is between two bytes, at most so many of them.
func (p *LargeFilePiece) read(from *payload.Content, start, end int64, most int) error {
	b := make([]byte, min(end-start, int64(most)))
	if _, err := from.ReadAt(b, start); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	p.Content = b
	if skip, keep := wholeRunes(b); utf8.Valid(b[skip:keep]) {
		if start+int64(len(b)) == from.Bytes {
			keep = len(b) // nothing comes that could make the last character whole
		}
		p.Content, start = b[skip:keep], start+int64(skip)
	}
	p.From, p.To = start, start+int64(len(p.Content))
	p.More = p.To < end
	return nil
}

// wholeRunes gives where the first character of a text begins, and where the last whole one ends.
func wholeRunes(b []byte) (first, last int) {
	for first < len(b) && first < utf8.UTFMax-1 && !utf8.RuneStart(b[first]) {
		first++
	}
	last = len(b)
	for i := len(b) - 1; i >= first && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				last = i
			}
			break
		}
	}
	return first, last
}

// lineBounds finds where a line begins, and where another one ends; 0 is the end of the file. Beyond most bytes it does not look.
func lineBounds(ctx context.Context, from *payload.Content, first, last, most int64) (start, end int64, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(from, 0, from.Bytes), 1<<16)
	line, at := int64(1), int64(0)
	for {
		if line == first {
			start = at
			first = 0
		}
		if first == 0 && last == 0 || at >= from.Bytes {
			break
		}
		piece, err := r.ReadSlice('\n')
		at += int64(len(piece))
		if err == nil {
			line++
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if first == 0 && (last != 0 && line > last || at-start > most) {
			return start, at, nil
		}
	}
	if first != 0 {
		start = from.Bytes
	}
	return start, from.Bytes, nil
}
