package memory

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Moment is a place in the two times of memories. The zero one is the present.
type Moment struct {
	// AsOf asks for what was true then: memories that had begun, and were neither expired, superseded nor forgotten yet, with the text that they had before an
	// edit. What was recorded later about that time is among them. Default KnownAt, or now.
	AsOf time.Time
	// KnownAt asks for what was known then: memories as their rows were, and none that was recorded later, however far it is dated back. Default now.
	KnownAt time.Time
}

// IsZero reports whether the present is meant.
func (at Moment) IsZero() bool { return at.AsOf.IsZero() && at.KnownAt.IsZero() }

// Validate says what is wrong with a moment.
func (at Moment) Validate() error {
	return cmp.Or(fault.CheckTime("as_of", at.AsOf), fault.CheckTime("known_at", at.KnownAt))
}

// True is when things are asked to be true; now is the present.
func (at Moment) True(now time.Time) time.Time {
	return duck.OrTime(duck.UTC(at.AsOf), duck.OrTime(duck.UTC(at.KnownAt), now))
}

// Formerly reports whether a moment takes more than the rows of the present, which alone say what was true as long as no text was edited and nothing forgotten since.
func (at Moment) Formerly(ctx context.Context, c *duck.Conn) (formerly bool, err error) {
	if at.AsOf.IsZero() || !at.KnownAt.IsZero() {
		return !at.KnownAt.IsZero(), nil
	}
	_, err = c.One(ctx, "memory_then_formerly", []any{&formerly}, sql.Named("as_of", duck.UTC(at.AsOf)))
	return formerly, err
}

// stamp is a time as statements write it.
const stamp = "2006-01-02 15:04:05.999999"

// Stamps are until when all that is known counts, and when that is to be true, as statements write it.
func (at Moment) Stamps() (knownAt, asOf string) {
	known := duck.OrTime(duck.UTC(at.KnownAt), lastKnown)
	return known.Format(stamp), at.True(known).Format(stamp)
}

// Then puts the memories of a moment, and their relations, in the place of the file's: whatever a statement asks of memories on this connection, it is answered for that moment.
// It is called within Conn.Passing, which takes them out again; the connection's plans are of no use meanwhile, nor what was planned then.
func Then(ctx context.Context, c *duck.Conn, at Moment) error {
	knownAt, asOf := at.Stamps()
	c.Unprepare()
	return c.ExecTempDDL(ctx, sqlfiles.Query("memory_then"), "{known_at}", knownAt, "{as_of}", asOf)
}

// lastKnown is later than anything that is known.
var lastKnown = time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC)

// at runs do with a connection that sees one state of the file, or the memories of a moment in it.
func (ms *Store) at(ctx context.Context, op string, at Moment, do func(c *duck.Conn) error) error {
	if at.IsZero() {
		return ms.file.Read(ctx, op, do)
	}
	return ms.file.Lend(ctx, op, func(c *duck.Conn) error {
		defer c.Unprepare()
		return c.Passing(ctx, func() error {
			if err := Then(ctx, c, at); err != nil {
				return err
			}
			return do(c)
		})
	})
}
