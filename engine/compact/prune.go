package compact

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// PruneSetAsideRequest names old messages that were set aside.
type PruneSetAsideRequest struct {
	Conversation string                  // name or id; empty: of all that the agent may use
	Agent        string                  // empty: an internal caller
	OlderThan    time.Duration           // since they were set aside
	Reasons      []conversation.SetAside // default conversation.AsideHeartbeat, conversation.AsideEvent and conversation.AsideOffBranch; conversation.AsideNew and conversation.AsideReset are talk, and have to be named
	DryRun       bool                    // only counts
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

// PruneSetAside purges messages that were set aside long ago, one conversation after the other: PurgeMessages says what stays of them. With an
// error it gives what was purged before. Errors: ErrInvalid, ErrNotFound, ErrScopeDenied.
func (cp *Compactor) PruneSetAside(ctx context.Context, r PruneSetAsideRequest) (*Pruned, error) {
	if r.Reasons == nil {
		r.Reasons = []conversation.SetAside{conversation.AsideHeartbeat, conversation.AsideEvent, conversation.AsideOffBranch}
	}
	prunable := slices.DeleteFunc(conversation.SetAsides(), func(s conversation.SetAside) bool { return s == conversation.AsidePurged })
	if err := fault.Members("reasons", r.Reasons, prunable); err != nil {
		return nil, fmt.Errorf("prune set aside: %w", err)
	}
	if r.OlderThan < 0 {
		return nil, fmt.Errorf("prune set aside: %w", fault.Invalid("older_than", r.OlderThan, "0 or more"))
	}
	before := cp.file.Now().Add(-r.OlderThan)
	result := &Pruned{DryRun: r.DryRun}
	var found []*oldAside
	err := cp.file.Read(ctx, "prune set aside", func(c *duck.Conn) (err error) {
		var of any
		if r.Conversation != "" {
			v, err := cp.conversations.Writable(ctx, c, conversation.Reference{Name: r.Conversation}, r.Agent)
			if err != nil {
				return err
			}
			of = v.ID
		}
		scopes, _ := cp.scopes.Now().ForReading(r.Agent, nil)
		found, err = setAsideBefore(ctx, c, r.Reasons, before, of, scopes)
		return err
	})
	if err != nil {
		return result, err
	}
	for i, old := range found {
		if !r.DryRun {
			cp.opts.Progress("conversations", i, len(found))
			if old, err = cp.pruneOld(ctx, r, before, old.conversationID, result); err != nil {
				return result, err
			}
		}
		if old != nil {
			result.Conversations++
			result.Messages, result.Tokens, result.Bytes = result.Messages+len(old.ids), result.Tokens+old.tokens, result.Bytes+old.bytes
		}
	}
	return result, nil
}

// oldAside is what was set aside long ago in a conversation.
type oldAside struct {
	conversationID string
	ids            []string
	tokens         int
	bytes          int64
}

// setAsideBefore lists what was set aside before a time, by conversation: one, or all in some scopes; nil: all.
func setAsideBefore(ctx context.Context, c *duck.Conn, reasons []conversation.SetAside, before time.Time, of any, scopes []string) (all []*oldAside, err error) {
	err = c.Each(ctx, "set_aside_old", func(rows *sql.Rows) error {
		var conversation, id string
		var tokens int
		var bytes int64
		err := rows.Scan(&conversation, &id, &tokens, &bytes)
		if len(all) == 0 || all[len(all)-1].conversationID != conversation {
			all = append(all, &oldAside{conversationID: conversation})
		}
		last := all[len(all)-1]
		last.ids, last.tokens, last.bytes = append(last.ids, id), last.tokens+tokens, last.bytes+bytes
		return err
	}, sql.Named("reasons", duck.ListArg(reasons)), sql.Named("before", before), sql.Named("conversation_id", of), sql.Named("scopes", duck.ListArg(scopes)))
	return all, err
}

// pruneOld purges what is still set aside in a conversation, and gives it; nil: nothing is, or the conversation is gone.
func (cp *Compactor) pruneOld(ctx context.Context, r PruneSetAsideRequest, before time.Time, conversationID string, result *Pruned) (old *oldAside, err error) {
	purged, err := cp.purge(ctx, "prune set aside", func(tx *duck.Write, done *purging) error {
		found, err := setAsideBefore(ctx, tx.Conn, r.Reasons, before, conversationID, nil)
		if err != nil || len(found) == 0 {
			return err
		}
		v, err := cp.conversations.Writable(ctx, tx.Conn, conversation.Reference{Name: conversationID}, r.Agent)
		if err != nil {
			return err
		}
		old = found[0]
		return cp.purgeMessages(ctx, tx, v, old.ids, done)
	})
	if err != nil {
		return nil, err
	}
	result.Payloads += purged.Payloads
	return old, nil
}
