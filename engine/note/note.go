package note

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// How a file is divided: a note has up to so many bytes, of which up to so many at its beginning are the end of the note before it. A longer line is a note of
// its own.
const (
	noteBytes    = 1600
	overlapBytes = 320
)

// Note is some lines of a file.
type Note struct {
	ID        string `json:"id"` // the first 16 digits of the text's SHA-256, and the lines
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
	Text      string `json:"text"`
}

// lines takes a text apart; a newline at its end begins no line.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], "\r")
	}
	return all
}

// divide makes notes of the lines of a file. Lines that are blank together make none.
func divide(all []string) (notes []Note) {
	from, bytes := 0, 0 // of the note under way: its first line, and its bytes with a newline for each
	flush := func(to int) {
		text := strings.Join(all[from:to], "\n")
		if strings.TrimSpace(text) == "" {
			return
		}
		sum := sha256.Sum256([]byte(text))
		notes = append(notes, Note{fmt.Sprintf("%s:%d:%d", hex.EncodeToString(sum[:8]), from+1, to), from + 1, to, text})
	}
	for i, line := range all {
		if bytes > 0 && bytes+len(line)+1 > noteBytes {
			flush(i)
			from, bytes = i, 0
			for from > 0 && bytes+len(all[from-1])+1 <= overlapBytes && bytes+len(all[from-1])+len(line)+2 <= noteBytes {
				from--
				bytes += len(all[from]) + 1
			}
		}
		bytes += len(line) + 1
	}
	if from < len(all) {
		flush(len(all))
	}
	return notes
}

// fields is what the index holds of a note.
func (n *Note) fields() []index.Field { return []index.Field{{Text: n.Text, Weight: 1}} }

// document is a note as the index takes it, without its vector.
func (k *Keeper) document(n *Note, scope string, docNo int32, at index.Stand, modified time.Time) *index.Document {
	d := &index.Document{Kind: kinds.Note, No: docNo, OwnerID: n.ID, Scope: scope, Stand: at, CreatedAt: modified, Words: k.index.Analyse(n.fields())}
	d.Read(n.Text, k.index.Analyzer)
	return d
}

// noteSource gives the documents of notes.
func noteSource(k *Keeper) index.Source {
	return index.Source{Kind: kinds.Note, Reader: k.noteDocuments, Owners: noteOwners}
}

func (k *Keeper) noteDocuments() func(context.Context, *duck.Conn, duck.Numbers, func(*index.Document) error) error {
	return func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*index.Document) error) error {
		return c.EachOf(ctx, of, "notes_numbered", func(rows *sql.Rows) error {
			var n Note
			var docNo int32
			var at index.Stand
			var scope string
			var modified time.Time
			if err := rows.Scan(&docNo, &n.ID, &n.Text, &at.SessionNo, &at.Place, &scope, &modified); err != nil {
				return err
			}
			d := k.document(&n, scope, docNo, at, modified)
			d.Divide(n.Text)
			return do(d)
		})
	}
}

func noteOwners(ctx context.Context, c *duck.Conn, ids []string, do func(id string, fields []index.Field, embedded string)) error {
	return c.Each(ctx, "notes_by_id", func(rows *sql.Rows) error {
		var n Note
		err := rows.Scan(&n.ID, &n.Text)
		if err == nil {
			do(n.ID, n.fields(), n.Text)
		}
		return err
	}, sql.Named("ids", ids))
}
