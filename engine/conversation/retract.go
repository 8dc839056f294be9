package conversation

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Hidden is where a message was before it was retracted.
type Hidden struct {
	SetAside   SetAside  `json:"set_aside,omitempty"`
	SetAsideAt time.Time `json:"set_aside_at,omitzero"`
}

// Hide takes a message out of its context, of recall and of every search, as AsideRetracted; its text stays. The caller takes it from under
// its summary.
func (cs *Store) Hide(ctx context.Context, tx *duck.Write, id string) (was Hidden, err error) {
	m, docNo, _, _, err := storedByID(ctx, tx.Conn, id)
	if err != nil {
		return was, err
	}
	if m.SetAside == AsideRetracted || m.SetAside == AsidePurged {
		return was, fault.Invalid("id", id, "a message that was neither retracted nor purged before")
	}
	if err := cs.setAside(ctx, tx, m.ConversationID, []string{id}, AsideRetracted); err != nil {
		return was, err
	}
	return Hidden{m.SetAside, m.SetAsideAt}, cs.index.Retire(ctx, tx, kinds.Message, []int32{docNo})
}

// Revived is what Revive made of a message that is hidden.
type Revived struct {
	document *index.Document
	tokens   int // of the message then
}

// Show brings a message back that was hidden; made is what Revive made of it. Where it was in the context or under a summary, the caller finds it a
// place. It is false for one that was purged since. Errors: ErrConflict for one that has become longer since Revive.
func (cs *Store) Show(ctx context.Context, tx *duck.Write, id string, was Hidden, made *Revived) (shown bool, err error) {
	m, docNo, at, scope, err := storedByID(ctx, tx.Conn, id)
	if err != nil || m == nil || m.SetAside != AsideRetracted {
		return false, err
	}
	_, err = tx.Exec(ctx, "branch_aside", sql.Named("conversation_id", m.ConversationID), sql.Named("ids", []string{id}),
		sql.Named("set_aside", duck.NullText(string(was.SetAside))), sql.Named("at", duck.NullTime(was.SetAsideAt)))
	if err != nil {
		return false, err
	}
	d := made.document
	if m.Tokens != made.tokens {
		return false, fmt.Errorf("%w: message %s has become longer", fault.ErrConflict, id)
	}
	if d.Retired {
		return true, nil
	}
	cs.describeMessage(d, m, scope, docNo, at)
	if err := cs.index.UpdateDocument(ctx, tx, d); err != nil {
		return false, err
	}
	return true, cs.index.InsertIndex(ctx, tx, []*index.Document{d})
}

// PutBack puts a message into the context, at its place.
func (cs *Store) PutBack(ctx context.Context, tx *duck.Write, id string) error {
	m, _, _, _, err := storedByID(ctx, tx.Conn, id)
	if err != nil {
		return err
	}
	return tx.AppendRows("context_items", [][]driver.Value{{m.ConversationID, int32(m.Seq), string(kinds.Message), m.ID, int32(m.Tokens)}})
}

// Revive makes the document of a message that is hidden anew, as it would be found after Show. It needs no lock: a model may think. Where that fails the document has
// no vector, and the second error says why.
func (cs *Store) Revive(ctx context.Context, id string, was Hidden) (made *Revived, vectorErr, err error) {
	var m *Message
	err = cs.file.Read(ctx, "revive", func(c *duck.Conn) error {
		if m, _, _, _, err = storedByID(ctx, c, id); err != nil || m == nil {
			return err
		}
		return FillBlocks(ctx, c, []*Message{m})
	})
	if err != nil || m == nil {
		return &Revived{}, nil, err
	}
	m.SetAside = was.SetAside
	d := &index.Document{Kind: kinds.Message, Retired: !m.recallable()}
	if !d.Retired {
		d.Words = cs.index.Analyse(m.fields())
		if vectorErr = cs.index.EmbedDocuments(ctx, []*index.Document{d}, []string{m.embedded()}); vectorErr != nil && !index.EmbeddingFailed(ctx, vectorErr) {
			return nil, nil, vectorErr
		}
	}
	d.Read(m.Text, cs.index.Analyzer)
	return &Revived{d, m.Tokens}, vectorErr, nil
}

// storedByID reads a message with its document's number and place, and the scope of its conversation. There is none where m is nil.
func storedByID(ctx context.Context, c *duck.Conn, id string) (m *Message, docNo int32, at index.Stand, scope string, err error) {
	err = c.Each(ctx, "messages_by_id", func(rows *sql.Rows) (err error) {
		m, docNo, at, err = ScanMessage(rows, &scope)
		return err
	}, sql.Named("ids", []string{id}))
	return m, docNo, at, scope, err
}

// MessageByID gives a message without its blocks, and the scope of its conversation. Errors: ErrNotFound.
func MessageByID(ctx context.Context, c *duck.Conn, id string) (*Message, string, error) {
	m, _, _, scope, err := storedByID(ctx, c, id)
	if err == nil && m == nil {
		err = fmt.Errorf("%w: message %s", fault.ErrNotFound, fault.Quote(id))
	}
	return m, scope, err
}
