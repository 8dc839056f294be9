package compact

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// AdoptRequest takes over a compaction that a host made.
type AdoptRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	Key          string // the host's own; a summary with a key that is there already is left as it is
	Text         string // the summary
	Model        string // who wrote it; default "host"
	At           time.Time
	FirstKept    string // key of the first message that stays in the context; empty: none of those appended so far
}

// AdoptSummary puts a host's summary in the place of everything in the context before the message FirstKept. It becomes a leaf whose sources are
// the messages there, also those that summaries of ours stood for, which are removed. changed is false when nothing stands there, or the key
// is known. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cp *Compactor) AdoptSummary(ctx context.Context, r AdoptRequest) (s *Summary, changed bool, err error) {
	if strings.TrimSpace(r.Text) == "" {
		return nil, false, fmt.Errorf("adopt summary: %w", fault.Invalid("text", r.Text, "what the summary says"))
	}
	if err := cmp.Or(fault.CheckText("key", r.Key), fault.CheckText("model", r.Model), fault.CheckText("first_kept", r.FirstKept), fault.CheckTime("at", r.At)); err != nil {
		return nil, false, fmt.Errorf("adopt summary: %w", err)
	}
	s = &Summary{Key: r.Key, Kind: LeafKind, Text: conversation.CleanText(r.Text), Model: cmp.Or(r.Model, "host"), Level: HostMade, Attempts: 1, CreatedAt: duck.OrTime(duck.UTC(r.At), cp.file.Now()),
		UpdatedAt: cp.file.Now()}
	d := cp.DescribeSummary(ctx, s)
	err = cp.file.Write(ctx, "adopt summary", func(tx *duck.Write) error {
		v, err := cp.conversations.Writable(ctx, tx.Conn, conversation.Reference{Name: r.Conversation}, r.Agent)
		if err != nil {
			return err
		}
		if r.Key != "" {
			var id string
			found, err := tx.One(ctx, "summary_by_key", []any{&id}, sql.Named("conversation_id", v.ID), sql.Named("key", r.Key))
			if err != nil {
				return err
			}
			if found {
				s, _, err = SummaryByID(ctx, tx.Conn, id)
				return err
			}
		}
		changed, err = cp.adoptSummary(ctx, tx, v, s, d, r.FirstKept)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return s, changed, nil
}

// adoptSummary is AdoptSummary in its transaction.
func (cp *Compactor) adoptSummary(ctx context.Context, tx *duck.Write, v *conversation.Conversation, s *Summary, d *index.Document, firstKept string) (bool, error) {
	before := v.NextSeq
	if firstKept != "" {
		var id, key string
		found, err := tx.One(ctx, "message_by_key", []any{&id, &key, &before}, sql.Named("conversation_id", v.ID), sql.Named("keys", []string{firstKept}))
		if err != nil {
			return false, err
		}
		if !found {
			return false, fmt.Errorf("%w: message with the key %s", fault.ErrNotFound, fault.Quote(firstKept))
		}
	}
	size, tokens, err := conversation.ContextSize(ctx, tx.Conn, v.ID)
	if err != nil {
		return false, err
	}
	from, err := rangeFrom(ctx, tx.Conn, v.ID, before)
	if err != nil {
		return false, err
	}
	if changed, err := cp.replace(ctx, tx, v, s, d, before); err != nil || !changed {
		return false, err
	}
	left, tokensLeft, err := conversation.ContextSize(ctx, tx.Conn, v.ID)
	if err != nil {
		return false, err
	}
	return true, cp.record(ctx, tx, v.ID, &compactionRow{summary: s, policy: byHost, source: FromHost, from: from, firstKept: before, items: size - left + 1,
		before: tokens, after: tokensLeft, startedAt: cp.file.Now()})
}

// replace puts a summary in the place of everything in the context before a position: of the messages there, also those that older summaries stood for, which
// are removed. changed is false when nothing stands there.
func (cp *Compactor) replace(ctx context.Context, tx *duck.Write, v *conversation.Conversation, s *Summary, d *index.Document, before int) (changed bool, err error) {
	above, err := cp.unfold(ctx, tx.Conn, v.ID, before)
	if err != nil {
		return false, err
	}
	estimator, err := v.Tokenizer()
	if err != nil {
		return false, err
	}
	s.ConversationID, s.Tokens = v.ID, estimator.Tokens(s.Text)
	err = tx.Each(ctx, "context_messages_before", func(rows *sql.Rows) error {
		var id string
		var seq, tokens int
		var at time.Time
		if err := rows.Scan(&id, &seq, &tokens, &at); err != nil {
			return err
		}
		if len(s.Sources) == 0 {
			s.FirstSeq, s.EarliestAt = seq, at
		}
		s.Sources = append(s.Sources, Source{kinds.Message, id})
		s.LastSeq = seq
		s.Messages++
		s.SourceTokens += tokens
		if at.Before(s.EarliestAt) {
			s.EarliestAt = at
		}
		if at.After(s.LatestAt) {
			s.LatestAt = at
		}
		return nil
	}, sql.Named("conversation_id", v.ID), sql.Named("before", int64(before)), sql.Named("summaries", above))
	if err != nil || len(s.Sources) == 0 {
		return false, err
	}
	for _, id := range above {
		if err := cp.removeSummary(ctx, tx, id); err != nil {
			return false, err
		}
	}
	if err := conversation.RemoveItemsBefore(ctx, tx, v.ID, before, above); err != nil {
		return false, err
	}
	if s.ID, err = cp.file.NewID(ids.Summary, cp.file.Now()); err != nil {
		return false, err
	}
	if err := cp.InsertSummary(ctx, tx, v, s, d); err != nil {
		return false, err
	}
	return true, conversation.InsertItems(tx, v.ID, s.item())
}

// unfold lists all summaries that stand in the context before a position, and those below them.
func (cp *Compactor) unfold(ctx context.Context, c *duck.Conn, conversationID string, before int) (all []string, err error) {
	found, err := duck.Column[string](ctx, c, "context_summaries_before", sql.Named("conversation_id", conversationID), sql.Named("before", int64(before)))
	return append([]string{}, found...), err
}
