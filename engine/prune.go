package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// PruneSetAsideRequest names old messages that were set aside.
type PruneSetAsideRequest struct {
	Conversation string        // name or id; empty: of all that the agent may use
	Agent        string        // empty: an internal caller
	OlderThan    time.Duration // since they were set aside
	Reasons      []SetAside    // default AsideHeartbeat, AsideEvent and AsideOffBranch; AsideNew and AsideReset are talk, and have to be named
	DryRun       bool          // only counts
}

// Pruned says what was removed, or would be.
type Pruned struct {
	Conversations int   `json:"conversations"`
	Messages      int   `json:"messages"`
	Tokens        int   `json:"tokens"`
	Bytes         int64 `json:"bytes"` // of their texts and what the host wrote, without large files
	Payloads      int   `json:"payloads"`
	DryRun        bool  `json:"dry_run,omitempty"`
}

// PruneSetAside purges messages that were set aside long ago, conversation by conversation: PurgeMessages says what stays of them. Errors:
// ErrInvalid, ErrNotFound, ErrScopeDenied.
func (e *Engine) PruneSetAside(ctx context.Context, r PruneSetAsideRequest) (*Pruned, error) {
	if r.Reasons == nil {
		r.Reasons = []SetAside{AsideHeartbeat, AsideEvent, AsideOffBranch}
	}
	prunable := slices.DeleteFunc(SetAsides(), func(s SetAside) bool { return s == AsidePurged })
	if err := members("reasons", r.Reasons, prunable); err != nil {
		return nil, fmt.Errorf("prune set aside: %w", err)
	}
	if r.OlderThan < 0 {
		return nil, fmt.Errorf("prune set aside: %w", invalid("older_than", r.OlderThan, "0 or more"))
	}
	result := &Pruned{DryRun: r.DryRun}
	old := map[string][]string{}
	var conversations []string
	err := e.read(ctx, "prune set aside", func(c *connection) error {
		var of any
		if r.Conversation != "" {
			v, err := e.writable(ctx, c, conversationOf{name: r.Conversation}, r.Agent)
			if err != nil {
				return err
			}
			of = v.ID
		}
		scopes, _ := e.scopes.Load().ForReading(r.Agent, nil)
		return c.each(ctx, "set_aside_old", func(rows *sql.Rows) error {
			var conversation, id string
			var tokens int
			var bytes int64
			err := rows.Scan(&conversation, &id, &tokens, &bytes)
			if old[conversation] == nil {
				conversations = append(conversations, conversation)
			}
			old[conversation] = append(old[conversation], id)
			result.Messages, result.Tokens, result.Bytes = result.Messages+1, result.Tokens+tokens, result.Bytes+bytes
			return err
		}, sql.Named("reasons", listArg(r.Reasons)), sql.Named("before", e.now().Add(-r.OlderThan)), sql.Named("conversation_id", of),
			sql.Named("scopes", listArg(scopes)))
	})
	result.Conversations = len(conversations)
	if err != nil || r.DryRun {
		return result, err
	}
	for i, id := range conversations {
		e.opts.Progress("conversations", i, len(conversations))
		purged, err := e.PurgeMessages(ctx, PurgeMessagesRequest{Conversation: id, IDs: old[id], Agent: r.Agent})
		if err != nil {
			return result, err
		}
		result.Payloads += purged.Payloads
	}
	return result, nil
}
