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

// recount makes what the summaries above one say of their descendants true again.
func recount(ctx context.Context, tx *duck.Write, id string) error {
	for range MostDeep {
		var above string
		found, err := tx.One(ctx, "summary_above", []any{&above}, sql.Named("id", id))
		if err != nil || !found {
			return err
		}
		if _, err := tx.Exec(ctx, "summary_recount", sql.Named("id", above)); err != nil {
			return err
		}
		id = above
	}
	return fmt.Errorf("%w: summaries above %s go round in a circle", fault.ErrCorrupt, id)
}

// recountSummaries makes every summary say what its sources are; those that do already are left alone.
func recountSummaries(ctx context.Context, tx *duck.Write) error {
	if _, err := NumberSources(ctx, tx); err != nil {
		return err
	}
	if _, err := CountLeaves(ctx, tx); err != nil {
		return err
	}
	for range MostDeep {
		if changed, err := CountCondensed(ctx, tx); err != nil || changed == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: summaries go round in a circle", fault.ErrCorrupt)
}

// NumberSources numbers the sources of all summaries from 0, and tells how many it changed.
func NumberSources(ctx context.Context, tx *duck.Write) (changed int64, err error) {
	return tx.Exec(ctx, "doctor_sources")
}

// CountLeaves makes all leaves say what their messages are, and tells how many it changed.
func CountLeaves(ctx context.Context, tx *duck.Write) (changed int64, err error) {
	return tx.Exec(ctx, "doctor_leaves")
}

// CountCondensed makes the other summaries say what those are that they were made from, one level at a time, and tells how many it changed: it is called
// until that is 0, at most MostDeep times.
func CountCondensed(ctx context.Context, tx *duck.Write) (changed int64, err error) {
	return tx.Exec(ctx, "doctor_condensed")
}

// growSummaries makes the summaries above a message say that it has become longer by some tokens.
func growSummaries(ctx context.Context, tx *duck.Write, messageID string, tokens int) error {
	_, err := tx.Exec(ctx, "summaries_above_grow", sql.Named("message_id", messageID), sql.Named("tokens", int64(tokens)))
	return err
}
