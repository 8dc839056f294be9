package lineage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// UndoRequest names a retraction.
type UndoRequest struct {
	ID    string // of the retraction, whole or its unique ending of six characters or more
	Agent string // empty: an internal caller
}

// errMoved: what may come back has changed since it was made ready.
var errMoved = errors.New("what comes back has changed")

// mostTries is how often what comes back is made ready.
const mostTries = 10

// UndoRetraction takes a retraction back, in one transaction: all is as it was before, to the letter where nobody has changed it since. What another retraction withdraws as well
// stays away until that is undone. Where a memory that was true again was superseded meanwhile, the one that comes back takes its place between the
// two; what was purged meanwhile does not come back; and where summaries have changed, the message goes under the one about its place. The effects say which.
// Errors: ErrNotFound, ErrAmbiguous, ErrScopeDenied; ErrInvalid for one that was undone before.
func (k *Keeper) UndoRetraction(ctx context.Context, r UndoRequest) (*Retraction, error) {
	const op = "undo retraction"
	if err := k.file.Well(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		u := &undoing{}
		err := k.file.Read(ctx, op, func(c *duck.Conn) (err error) {
			if err = u.read(ctx, k, c, r); err == nil {
				_, _, err = u.look(ctx, c)
			}
			return err
		})
		if err == nil {
			err = u.revive(ctx, k)
		}
		if err == nil {
			err = k.file.Write(ctx, op, func(tx *duck.Write) error { return u.undo(ctx, k, tx, r) })
		}
		if (errors.Is(err, errMoved) || errors.Is(err, fault.ErrConflict)) && try < mostTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		return u.result, nil
	}
}

// undoing is a retraction that is taken back.
type undoing struct {
	result    *Retraction
	effects   []Effect // that it had
	hidden    *conversation.Hidden
	summaries []compact.Changed
	back      []string // memories that come back

	message   *conversation.Revived
	memories  map[string]*index.Document
	documents map[string]*index.Document // of summaries
}

// read finds the retraction.
func (u *undoing) read(ctx context.Context, k *Keeper, c *duck.Conn, r UndoRequest) error {
	if err := fault.CheckText("id", r.ID); err != nil {
		return err
	}
	found, err := duck.List(ctx, c, "retraction_by_id", scanRetraction, sql.Named("id", r.ID))
	if err != nil {
		return err
	}
	one, err := ids.One("retraction", r.ID, found, func(x Retraction) string { return x.ID })
	if err != nil {
		return err
	}
	u.result = &one
	known, err := nodes(ctx, c, []string{one.Source.ID})
	if err != nil {
		return err
	}
	if n := known[one.Source.ID]; n != nil {
		u.result.Source = *n
	}
	if !k.sees(r.Agent, &u.result.Source) {
		return ids.NotFound("retraction", r.ID)
	}
	if !one.UndoneAt.IsZero() {
		return fault.Invalid("id", one.ID, "a retraction that was not undone before")
	}
	if u.effects, err = readEffects(ctx, c, one.ID); err != nil {
		return err
	}
	for _, e := range u.effects {
		if e.Kind == kinds.Message && e.What == Withdrawn {
			u.hidden = &conversation.Hidden{}
			if err := json.Unmarshal(e.was, u.hidden); err != nil {
				return err
			}
		}
	}
	u.summaries, err = changedSummaries(u.effects)
	return err
}

// look finds what comes back: what stands, and what nothing but this retraction kept out, though it stands on nothing but itself.
func (u *undoing) look(ctx context.Context, c *duck.Conn) (d *descent, after *state, err error) {
	roots := map[string]time.Time{u.result.Source.ID: u.result.At}
	for _, s := range u.summaries {
		roots[s.ID] = u.result.At
	}
	if d, err = descend(ctx, c, &u.result.Source, roots, u.result.ID); err != nil {
		return nil, nil, err
	}
	after = d.settle(false)
	known, err := nodes(ctx, c, d.memories)
	u.back = nil
	for _, id := range d.memories {
		if n := known[id]; n != nil && n.Standing == "retracted" && (after.stands[id] || after.causes[id] == "") {
			u.back = append(u.back, id)
		}
	}
	return d, after, err
}

// revive makes the documents of what comes back, without a lock.
func (u *undoing) revive(ctx context.Context, k *Keeper) (err error) {
	var ofMemories, ofMessage error
	if u.memories, ofMemories, err = k.memories.Revive(ctx, u.back); err != nil {
		return err
	}
	if u.hidden != nil {
		if u.message, ofMessage, err = k.conversations.Revive(ctx, u.result.Source.ID, *u.hidden); err != nil {
			return err
		}
	}
	u.result.VectorErr = cmp.Or(ofMemories, ofMessage)
	whole := slices.DeleteFunc(slices.Clone(u.summaries), func(c compact.Changed) bool { return c.Was.Summary == nil })
	u.documents = k.compactor.Describe(ctx, whole)
	for _, x := range whole {
		u.result.VectorErr = cmp.Or(u.result.VectorErr, x.Was.Summary.VectorErr)
	}
	return nil
}

func (u *undoing) undo(ctx context.Context, k *Keeper, tx *duck.Write, r UndoRequest) error {
	now := &undoing{}
	if err := now.read(ctx, k, tx.Conn, r); err != nil {
		return err
	}
	d, after, err := now.look(ctx, tx.Conn)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(now.back, func(id string) bool { return u.memories[id] == nil }) {
		return errMoved
	}
	u.summaries = now.summaries // a purge may have emptied them
	if n := now.result.Source; r.Agent != "" && n.Scope != "" {
		if _, err := k.scopes.Now().ForWriting(r.Agent, n.Scope); err != nil {
			return err
		}
	}
	x := k.newAct(tx, u.result)
	x.undoing, x.documents, u.result.Agent, u.result.Effects = true, u.memories, r.Agent, []Effect{}
	if err := u.show(ctx, x); err != nil {
		return err
	}
	before := d.settle(true)
	if err := x.giveBack(ctx, now.back, d); err != nil {
		return err
	}
	if err := cmp.Or(x.observe(ctx, d, before, after), x.succeed(ctx, now.back, u.result.At)); err != nil {
		return err
	}
	if err := x.handOn(ctx, d, after); err != nil {
		return err
	}
	if err := x.write(ctx); err != nil {
		return err
	}
	u.result.UndoneAt = x.at
	if _, err := tx.Exec(ctx, "retraction_undone", sql.Named("id", u.result.ID), sql.Named("at", x.at)); err != nil {
		return err
	}
	return tell(ctx, tx.Conn, u.result.Effects)
}

// show brings the source itself back, and the summaries over it.
func (u *undoing) show(ctx context.Context, x *act) error {
	n := u.result.Source
	message := ""
	if n.Kind == kinds.Message && u.hidden == nil {
		x.note(n.Kind, n.ID, Kept, "", "its conversation was purged meanwhile")
		return nil
	}
	if u.hidden != nil {
		shown, err := x.conversations.Show(ctx, x.tx, n.ID, *u.hidden, u.message)
		if err != nil {
			return err
		}
		if !shown {
			x.note(n.Kind, n.ID, Kept, "", "it was purged meanwhile")
			return nil
		}
		x.note(n.Kind, n.ID, Returned, "", "")
		if message = n.ID; u.hidden.SetAside != "" {
			return nil // it was neither in the context nor under a summary
		}
	}
	if n.conversationID == "" || message == "" && len(u.summaries) == 0 {
		if n.Kind != kinds.Memory {
			x.note(n.Kind, n.ID, Returned, "", "")
		}
		return nil
	}
	exact, err := x.compactor.Reinstate(ctx, x.tx, n.conversationID, message, u.summaries, u.documents)
	for _, s := range u.summaries {
		if exact {
			x.note(kinds.Summary, s.ID, Returned, n.ID, "")
		} else {
			x.note(kinds.Summary, s.ID, Kept, n.ID, "the summaries have changed since: it stays as it is, and what comes back is among its sources or beside it")
		}
	}
	return err
}

// giveBack brings memories back into recall.
func (x *act) giveBack(ctx context.Context, back []string, d *descent) error {
	for _, id := range back {
		m, err := x.load(ctx, id)
		if err != nil {
			return err
		}
		images, err := x.images(ctx, id)
		if err != nil {
			return err
		}
		m.RetractedBy, m.RetiredAt, m.RetiredReason = "", time.Time{}, ""
		if i := slices.IndexFunc(images, func(i image) bool { return i.withdrawn }); i >= 0 { // it may have been forgotten before
			m.RetiredAt, m.RetiredReason = images[i].was.RetiredAt, images[i].was.RetiredReason
		}
		x.note(kinds.Memory, id, Returned, d.because[id], "")
	}
	return nil
}

// handOn has other retractions keep what stays withdrawn.
func (x *act) handOn(ctx context.Context, d *descent, after *state) error {
	for _, id := range d.memories {
		m, err := x.load(ctx, id)
		if err != nil {
			return err
		}
		heir := after.causes[id]
		if m == nil || m.RetractedBy != x.result.ID || heir == "" {
			continue
		}
		m.RetractedBy = heir
		x.note(kinds.Memory, id, Kept, heir, "another retraction withdraws it too")
	}
	return nil
}

// String says what was retracted, and why.
func (r *Retraction) String() string {
	return fmt.Sprintf("%s %s: %s", r.Source.Kind, r.Source.ID, r.Reason)
}
