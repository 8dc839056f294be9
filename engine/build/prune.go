package build

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// PruneRequest names snapshots that are not wanted any more: those that were built OlderThan ago or before, but the newest Keep of each conversation. One of both has to be given.
type PruneRequest struct {
	Conversation string // name or id; empty: of all that the agent may use
	Agent        string // empty: an internal caller
	OlderThan    time.Duration
	Keep         int  // 0 to 1,000,000
	DryRun       bool // only counts
}

// Pruned says what was removed, or would be.
type Pruned struct {
	Conversations int  `json:"conversations"`
	Snapshots     int  `json:"snapshots"` // builds that failed counted too
	Failed        int  `json:"failed"`    // these
	DryRun        bool `json:"dry_run,omitempty"`
}

const mostKept = 1_000_000

// Prune removes snapshots, in one transaction. They say nothing that another row needs; what was removed can't be verified or compared any more. Errors: ErrInvalid, ErrNotFound,
// ErrScopeDenied.
func (b *Builder) Prune(ctx context.Context, r PruneRequest) (*Pruned, error) {
	const op = "prune snapshots"
	switch {
	case r.OlderThan < 0:
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("older_than", r.OlderThan, "0 or more"))
	case r.Keep < 0 || r.Keep > mostKept:
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("keep", r.Keep, fmt.Sprintf("0 to %d", mostKept)))
	case r.OlderThan == 0 && r.Keep == 0:
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("older_than and keep", 0, "one of them, more than 0"))
	}
	done := &Pruned{DryRun: r.DryRun}
	var ids []string
	find := func(c *duck.Conn) error {
		talks := map[string]bool{}
		*done, ids = Pruned{DryRun: r.DryRun}, []string{}
		var of any
		if r.Conversation != "" {
			v, err := b.conversations.Writable(ctx, c, conversation.Reference{Name: r.Conversation}, r.Agent)
			if err != nil {
				return err
			}
			of = v.ID
		}
		scopes, _ := b.scopes.Now().ForReading(r.Agent, nil)
		return c.Each(ctx, "build_prunable", func(rows *sql.Rows) error {
			var id, talk string
			var failed bool
			err := rows.Scan(&id, &talk, &failed)
			ids = append(ids, id)
			if done.Snapshots++; failed {
				done.Failed++
			}
			if !talks[talk] {
				talks[talk] = true
				done.Conversations++
			}
			return err
		}, sql.Named("conversation_id", of), sql.Named("scopes", duck.ListArg(scopes)), sql.Named("before", b.file.Now().Add(-r.OlderThan)), sql.Named("keep", int64(r.Keep)))
	}
	if r.DryRun {
		return done, b.file.Read(ctx, op, find)
	}
	return done, b.file.Write(ctx, op, func(tx *duck.Write) error {
		if err := find(tx.Conn); err != nil || len(ids) == 0 {
			return err
		}
		_, err := tx.Exec(ctx, "build_prune", sql.Named("ids", ids))
		return err
	})
}
