package lineage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// What is what a retraction does to something, or the undoing of one.
type What string

// What may happen.
const (
	Withdrawn   What = "withdrawn"   // it is out of recall
	Restored    What = "restored"    // what had superseded it is withdrawn: it is true again
	Relinked    What = "relinked"    // between it and what it superseded, or what superseded it, one is withdrawn
	Unsupported What = "unsupported" // it loses a confirmation or a contradiction
	Kept        What = "kept"        // something that it came from is withdrawn, and it stays; the note says why
	Rewritten   What = "rewritten"   // a summary is made anew from what is left
	Removed     What = "removed"     // a summary stood for nothing else
	Marked      What = "marked"      // drafts that were drawn from it; they say so
	Returned    What = "returned"    // of an undoing: it is back
	Ended       What = "ended"       // of an undoing: what had superseded it is back
	Supported   What = "supported"   // of an undoing: it has its confirmation or contradiction again
)

// Effect is what happens to one thing.
type Effect struct {
	Kind kinds.Kind `json:"kind"`
	ID   string     `json:"id"`
	Text string     `json:"text,omitempty"` // what it says, in one line
	What What       `json:"what"`
	// Because is the id of what it follows from: what the memory came from, or the memory that superseded it.
	Because string `json:"because,omitempty"`
	Note    string `json:"note,omitempty"`

	was, became json.RawMessage
}

// Retraction is a source that was withdrawn, or would be, and what follows from that.
type Retraction struct {
	ID       string    `json:"id,omitempty"` // empty: a dry run
	Source   Node      `json:"source"`
	Reason   string    `json:"reason"`
	Agent    string    `json:"agent,omitempty"`
	At       time.Time `json:"at"`
	UndoneAt time.Time `json:"undone_at,omitzero"`
	Effects  []Effect  `json:"effects"` // of an undoing, what that did
	DryRun   bool      `json:"dry_run,omitempty"`
	// VectorErr: what came back is stored, but the model failed or took too long, so some has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// Count is how many effects there are of a kind.
func (r *Retraction) Count(what What) (n int) {
	for _, e := range r.Effects {
		if e.What == what {
			n++
		}
	}
	return n
}

func scanRetraction(rows *sql.Rows, r *Retraction) error {
	return rows.Scan(&r.ID, &r.Source.Kind, &r.Source.ID, &r.Reason, duck.TextOf(&r.Agent), &r.At, duck.TimeOf(&r.UndoneAt))
}

// insert writes a retraction with its effects.
func (r *Retraction) insert(tx *duck.Write) error {
	err := tx.AppendRows("retractions", [][]driver.Value{{r.ID, string(r.Source.Kind), r.Source.ID, r.Reason, duck.NullText(r.Agent), r.At, nil}})
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	for i, e := range r.Effects {
		row := []driver.Value{r.ID, int32(i), string(e.Kind), e.ID, string(e.What), e.Because, nil, nil}
		if e.was != nil {
			row[6], row[7] = e.was, e.became
		}
		rows = append(rows, row)
	}
	return tx.AppendRows("retraction_effects", rows)
}

// readEffects gives what a retraction did, as it is stored.
func readEffects(ctx context.Context, c *duck.Conn, id string) ([]Effect, error) {
	return duck.List(ctx, c, "retraction_effects", func(rows *sql.Rows, e *Effect) error {
		var was, became sql.NullString
		err := rows.Scan(&e.Kind, &e.ID, &e.What, &e.Because, &was, &became)
		if was.Valid {
			e.was = json.RawMessage(was.String)
		}
		if became.Valid {
			e.became = json.RawMessage(became.String)
		}
		return err
	}, sql.Named("retraction_id", id))
}

// tell fills in what the things say that something happens to.
func tell(ctx context.Context, c *duck.Conn, effects []Effect) error {
	var of []string
	for _, e := range effects {
		of = append(of, e.ID)
	}
	known, err := nodes(ctx, c, of)
	for i := range effects {
		if n := known[effects[i].ID]; n != nil {
			effects[i].Text = n.Text
		}
	}
	return err
}
