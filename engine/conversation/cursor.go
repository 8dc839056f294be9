package conversation

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Cursor is how far a host's transcript was read.
type Cursor struct {
	Path           string    `json:"path"` // absolute; there is one cursor for each
	Host           string    `json:"host"`
	ConversationID string    `json:"conversation_id,omitempty"`
	FileID         string    `json:"file_id"`    // what tells the file from others of its name: device, inode, and when it was written last
	FirstLine      string    `json:"first_line"` // SHA-256 of it: another one means another file under the old name
	Bytes          int64     `json:"bytes"`      // up to the end of the last whole line
	Lines          int64     `json:"lines"`
	Skipped        int64     `json:"skipped"` // lines that could not be read
	ReadAt         time.Time `json:"read_at"`
	IngestedAt     time.Time `json:"ingested_at,omitzero"` // when it last brought a new message
}

// Cursors lists all of them by path.
func (cs *Store) Cursors(ctx context.Context) (all []Cursor, err error) {
	err = cs.file.Read(ctx, "cursors", func(c *duck.Conn) error {
		all, err = duck.List(ctx, c, "cursor_list", func(rows *sql.Rows, v *Cursor) error {
			return rows.Scan(&v.Path, &v.Host, duck.TextOf(&v.ConversationID), &v.FileID, &v.FirstLine, &v.Bytes, &v.Lines, &v.Skipped, &v.ReadAt, duck.TimeOf(&v.IngestedAt))
		})
		return err
	})
	return all, err
}

// SetCursor writes a cursor by itself, when the transcript went on without a message. Errors: ErrInvalid, ErrNotFound for its conversation.
func (cs *Store) SetCursor(ctx context.Context, v Cursor) error {
	return cs.file.Write(ctx, "set cursor", func(tx *duck.Write) error {
		if v.ConversationID != "" {
			known, err := FindConversation(ctx, tx.Conn, v.ConversationID)
			if err != nil {
				return err
			}
			if known == nil || known.ID != v.ConversationID {
				return fmt.Errorf("%w: conversation %s", fault.ErrNotFound, fault.Quote(v.ConversationID))
			}
		}
		return cs.putCursor(ctx, tx, &v, v.ConversationID, false)
	})
}

// putCursor replaces the cursor of its path.
func (cs *Store) putCursor(ctx context.Context, tx *duck.Write, v *Cursor, conversationID string, ingested bool) error {
	if v.Path == "" || v.Bytes < 0 || v.Lines < 0 || v.Skipped < 0 {
		return fmt.Errorf("cursor: %w", fault.Invalid("cursor", fmt.Sprintf("%+v", *v), "a path, and numbers of 0 or more"))
	}
	_, err := tx.Exec(ctx, "cursor_put", sql.Named("path", v.Path), sql.Named("host", v.Host), sql.Named("conversation_id", duck.NullText(conversationID)),
		sql.Named("file_id", v.FileID), sql.Named("first_line", v.FirstLine), sql.Named("bytes", v.Bytes), sql.Named("lines", v.Lines),
		sql.Named("skipped", v.Skipped), sql.Named("read_at", cs.file.Now()), sql.Named("ingested", ingested))
	return err
}
