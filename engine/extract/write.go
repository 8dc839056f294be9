package extract

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
)

// write stores memories, drafts and the cursor in one transaction, or gives errMoved where what was decided on has changed.
func (x *run) write(ctx context.Context, w *window, drafts []*Draft, accepted []*candidate, edits []memory.Edit) error {
	if len(drafts) == 0 && w.cursor < 0 {
		return nil
	}
	err := x.file.Write(ctx, "extract", func(tx *duck.Write) error {
		if err := x.unmoved(ctx, tx, w, drafts, accepted); err != nil {
			return err
		}
		var proposals []*memory.Proposal
		for _, c := range accepted {
			proposals = append(proposals, c.proposal)
		}
		if err := x.memories.Accept(ctx, tx, proposals, edits); err != nil {
			if errors.Is(err, fault.ErrNotFound) {
				return errMoved
			}
			return err
		}
		if err := x.insertDrafts(ctx, tx, drafts); err != nil {
			return err
		}
		if w.cursor < 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, "extract_cursor_forget", sql.Named("conversation_id", w.conversationID)); err != nil {
			return err
		}
		return tx.AppendRows("extraction_cursors", [][]driver.Value{{w.conversationID, int32(w.to), x.file.Now()}})
	})
	if errors.Is(err, errMoved) {
		return errMoved
	}
	return err
}

// unmoved makes sure that what was decided on is still so.
func (x *run) unmoved(ctx context.Context, tx *duck.Write, w *window, drafts []*Draft, accepted []*candidate) error {
	if w.conversationID != "" {
		if v, err := x.conversations.Readable(ctx, tx.Conn, w.conversationID, x.request.Agent); err != nil || v == nil {
			return fmt.Errorf("%w: conversation %s", fault.ErrNotFound, w.conversationID)
		}
	}
	if w.cursor >= 0 {
		now, err := readCursor(ctx, tx.Conn, w.conversationID)
		if err != nil {
			return err
		}
		if now != w.cursor {
			return fmt.Errorf("%w: another extraction reads conversation %s", fault.ErrConflict, w.conversationID)
		}
	}
	if err := unpurged(ctx, tx.Conn, drafts); err != nil {
		return err
	}
	planned := map[string]bool{}
	for _, c := range accepted {
		planned[c.id] = true
	}
	matched := map[string]bool{}
	for _, d := range drafts {
		if d.MatchID != "" && !planned[d.MatchID] && d.Action != Create && d.Action != Skip {
			matched[d.MatchID] = true
		}
	}
	if len(matched) == 0 {
		return nil
	}
	list := make([]string, 0, len(matched))
	for id := range matched {
		list = append(list, id)
	}
	current, err := duck.Column[string](ctx, tx.Conn, "extract_current", sql.Named("ids", list))
	if err == nil && len(current) < len(list) {
		return errMoved
	}
	return err
}

// unpurged refuses drafts of messages that were purged since they were read.
func unpurged(ctx context.Context, c *duck.Conn, drafts []*Draft) error {
	var all []string
	for _, d := range drafts {
		all = append(all, d.MessageIDs...)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	all = slices.Compact(all)
	left, err := duck.Column[string](ctx, c, "extract_unpurged", sql.Named("ids", all))
	if err == nil && len(left) < len(all) {
		err = fmt.Errorf("%w: messages were purged", fault.ErrConflict)
	}
	return err
}

func (x *run) insertDrafts(ctx context.Context, tx *duck.Write, drafts []*Draft) (err error) {
	var rows, admissions [][]driver.Value
	for _, d := range drafts {
		if d.ID, err = x.file.NewID(ids.Draft, d.MadeAt); err != nil {
			return err
		}
		row, err := d.row()
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if d.Admission == nil {
			continue
		}
		if row, err = d.Admission.row(d.ID); err != nil {
			return err
		}
		admissions = append(admissions, row)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.AppendRows("drafts", rows); err != nil || len(admissions) == 0 {
		return err
	}
	return tx.AppendRows("admissions", admissions)
}
