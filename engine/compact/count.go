package compact

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// MostDeep is how many levels of summaries are walked; no more can come of compaction.
const MostDeep = 100

// recount makes what the summaries above one say of their descendants true again. The caller is in a write transaction.
func recount(ctx context.Context, c *duck.Conn, id string) error {
	for range MostDeep {
		var above string
		found, err := c.One(ctx, "summary_above", []any{&above}, sql.Named("id", id))
		if err != nil || !found {
			return err
		}
		if _, err := c.Exec(ctx, "summary_recount", sql.Named("id", above)); err != nil {
			return err
		}
		id = above
	}
	return fmt.Errorf("%w: summaries above %s go round in a circle", fault.ErrCorrupt, id)
}

// recountSummaries makes every summary say what its sources are; those that do already are left alone. The caller is in a write transaction.
func recountSummaries(ctx context.Context, c *duck.Conn) error {
	if _, err := NumberSources(ctx, c); err != nil {
		return err
	}
	if _, err := CountLeaves(ctx, c); err != nil {
		return err
	}
	for range MostDeep {
		if changed, err := CountCondensed(ctx, c); err != nil || changed == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: summaries go round in a circle", fault.ErrCorrupt)
}

// NumberSources numbers the sources of all summaries from 0, and tells how many it changed. The caller is in a write transaction.
func NumberSources(ctx context.Context, c *duck.Conn) (changed int64, err error) {
	return c.Exec(ctx, "doctor_sources")
}

// CountLeaves makes all leaves say what their messages are, and tells how many it changed. The caller is in a write transaction.
func CountLeaves(ctx context.Context, c *duck.Conn) (changed int64, err error) {
	return c.Exec(ctx, "doctor_leaves")
}

// CountCondensed makes the other summaries say what those are that they were made from, one level at a time, and tells how many it changed: it is called
// until that is 0, at most MostDeep times. The caller is in a write transaction.
func CountCondensed(ctx context.Context, c *duck.Conn) (changed int64, err error) {
	return c.Exec(ctx, "doctor_condensed")
}

// growSummaries makes the summaries above a message say that it has become longer by some tokens. The caller is in a write transaction.
func growSummaries(ctx context.Context, c *duck.Conn, messageID string, tokens int) error {
	_, err := c.Exec(ctx, "summaries_above_grow", sql.Named("message_id", messageID), sql.Named("tokens", int64(tokens)))
	return err
}
