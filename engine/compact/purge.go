package compact

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/window"
)

// PurgeMessagesRequest names messages that are to be removed for good.
type PurgeMessagesRequest struct {
	Conversation string   // name or id
	IDs          []string // whole ones
	Agent        string   // empty: an internal caller
}

// Purged says what was removed.
type Purged struct {
	Messages  int      `json:"messages"`
	Tokens    int      `json:"tokens"`
	Payloads  int      `json:"payloads"`            // contents that nothing else referred to
	Rewritten []string `json:"rewritten,omitempty"` // summaries that stood for them, and others too
	Removed   []string `json:"removed,omitempty"`   // summaries that stood for nothing else
}

// PurgeMessages removes what messages say and all that is known of it: text, blocks, what the host wrote, large files, words and vectors. Of a
// message its number, role, keys and times stay, set aside as conversation.AsidePurged, so that seq has no gap and the same line of a transcript does not bring
// it back. Summaries that stood for it are made anew at once from what is left, by the built-in summariser; where a model had made them
// they are marked as fallbacks, and they have no vector until RetryFallbacks or RebuildIndex. Words that no other document has leave the
// index's vocabulary. Bytes may stay in the file until their room is used again; Shred leaves none. Purging twice does nothing. Errors: ErrNotFound, and nothing is removed; ErrInvalid, ErrScopeDenied.
func (cp *Compactor) PurgeMessages(ctx context.Context, r PurgeMessagesRequest) (*Purged, error) {
	if err := fault.CheckTexts("ids", r.IDs); err != nil || len(r.IDs) == 0 {
		return nil, fmt.Errorf("purge messages: %w", cmp.Or(err, fault.Invalid("ids", "", "one or more")))
	}
	return cp.purge(ctx, "purge messages", func(tx *duck.Write, done *purging) error {
		v, err := cp.conversations.Writable(ctx, tx.Conn, conversation.Reference{Name: r.Conversation}, r.Agent)
		if err != nil {
			return err
		}
		if err := knownMessages(ctx, tx.Conn, v, r.IDs); err != nil {
			return err
		}
		return cp.purgeMessages(ctx, tx, v, r.IDs, done)
	})
}

// knownMessages reports the first id that is of no message of the conversation.
func knownMessages(ctx context.Context, c *duck.Conn, v *conversation.Conversation, ids []string) error {
	known := map[string]bool{}
	err := c.Each(ctx, "messages_known", func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		known[id] = true
		return nil
	}, sql.Named("conversation_id", v.ID), sql.Named("ids", ids))
	for _, id := range ids {
		if err == nil && !known[id] {
			return fmt.Errorf("%w: message %s of conversation %s", fault.ErrNotFound, fault.Quote(id), fault.Quote(v.Name))
		}
	}
	return err
}

// purging is a purge under way.
type purging struct {
	Purged
	payloads []string // that it may have left without a reference
	words    index.Leaving
}

// purge runs do, then deletes words and payloads that nothing has any more, and the payloads' files once that is on disk.
func (cp *Compactor) purge(ctx context.Context, op string, do func(*duck.Write, *purging) error) (*Purged, error) {
	done := &purging{words: index.Leaving{}}
	var files []string
	err := cp.file.WriteThen(ctx, op, func(tx *duck.Write) (err error) {
		if err := do(tx, done); err != nil {
			return err
		}
		if err := cp.index.SweepWords(ctx, tx, done.words); err != nil {
			return err
		}
		done.Payloads, files, err = cp.contents.RemoveUnused(ctx, tx, done.payloads)
		return err
	}, func() { duck.RemoveFiles(files) }) // one that stays is an orphan
	if err != nil {
		return nil, err
	}
	return &done.Purged, nil
}

// purgeMessages empties messages of a conversation.
func (cp *Compactor) purgeMessages(ctx context.Context, tx *duck.Write, v *conversation.Conversation, wanted []string, done *purging) error {
	var ids []string
	var numbers []int32
	err := tx.Each(ctx, "messages_to_purge", func(rows *sql.Rows) error {
		var id string
		var no int32
		var tokens int
		err := rows.Scan(&id, &no, &tokens)
		ids, numbers = append(ids, id), append(numbers, no)
		done.Tokens += tokens
		return err
	}, sql.Named("conversation_id", v.ID), sql.Named("ids", wanted))
	if err != nil || len(ids) == 0 {
		return err
	}
	done.Messages += len(ids)
	payloads, err := duck.Column[string](ctx, tx.Conn, "payloads_of_messages", sql.Named("ids", ids))
	if err != nil {
		return err
	}
	done.payloads = append(done.payloads, payloads...)
	above, err := duck.Column[string](ctx, tx.Conn, "summaries_over_messages", sql.Named("ids", ids))
	if err != nil {
		return err
	}
	if err := cp.index.LeaveWords(ctx, tx.Conn, done.words, map[kinds.Kind][]string{kinds.Message: ids, kinds.Summary: above}); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "sources_purge", sql.Named("ids", ids)); err != nil {
		return err
	}
	if err := cp.conversations.EmptyMessages(ctx, tx, v.ID, ids); err != nil {
		return err
	}
	if err := cp.index.PurgeDocuments(ctx, tx, kinds.Message, numbers); err != nil || len(above) == 0 {
		return err
	}
	return cp.mendSummaries(ctx, tx, v, above, done)
}

// mendSummaries makes summaries true again that have lost sources; ids are they and all above them, the lowest first.
func (cp *Compactor) mendSummaries(ctx context.Context, tx *duck.Write, v *conversation.Conversation, ids []string, done *purging) error {
	for {
		empty, err := duck.Column[string](ctx, tx.Conn, "summaries_of_nothing", sql.Named("conversation_id", v.ID))
		if err != nil {
			return err
		}
		if len(empty) == 0 {
			break
		}
		for _, id := range empty {
			if err := cp.removeSummary(ctx, tx, id); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "sources_purge", sql.Named("ids", empty)); err != nil {
			return err
		}
		done.Removed = append(done.Removed, empty...)
	}
	if err := recountSummaries(ctx, tx); err != nil {
		return err
	}
	for _, id := range ids {
		if slices.Contains(done.Removed, id) {
			continue
		}
		if err := cp.reword(ctx, tx, v, id); err != nil {
			return err
		}
		done.Rewritten = append(done.Rewritten, id)
	}
	_, err := conversation.MendContexts(ctx, tx)
	return err
}

// reword makes the text of a summary anew from its sources, without a model.
func (cp *Compactor) reword(ctx context.Context, tx *duck.Write, v *conversation.Conversation, id string) error {
	s, docNo, err := SummaryByID(ctx, tx.Conn, id)
	if err != nil {
		return err
	}
	in, err := cp.sourcesInput(ctx, tx.Conn, v, s)
	if err != nil {
		return err
	}
	estimator, err := v.Tokenizer()
	if err != nil {
		return err
	}
	target := min(s.Tokens, in.stored-1)
	s.Fallback = s.Fallback || s.Model != extractiveModel
	s.Text = extract.Summary(cp.index.Analyzer, extract.Input{Passages: in.passages, Target: target, Tokens: estimator.Tokens})
	s.Model, s.Level = extractiveModel, Extractive
	if s.Text == "" {
		s.Text, s.Level = window.Cut(in.source(), max(target, 1), estimator.Tokens), Truncated
	}
	s.Tokens, s.Attempts, s.UpdatedAt = estimator.Tokens(s.Text), s.Attempts+1, cp.file.Now()
	if in.fileIDs == nil {
		in.fileIDs = []string{}
	}
	if _, err := tx.Exec(ctx, "summary_files", sql.Named("id", s.ID), sql.Named("file_ids", in.fileIDs)); err != nil {
		return err
	}
	d := &index.Document{Kind: kinds.Summary, Words: cp.index.Analyse(s.fields())}
	d.Divide(s.Text)
	d.Read(s.Text, cp.index.Analyzer)
	if err := settleSummary(ctx, tx, s.ID); err != nil {
		return err
	}
	if s.Fallback && s.Depth == 0 { // a rolling one may be too long to be made anew at once
		if _, err := tx.Exec(ctx, "compactions_owe_all", sql.Named("summary_id", s.ID), sql.Named("from", int64(s.FirstSeq))); err != nil {
			return err
		}
	}
	return cp.updateSummary(ctx, tx, v, s, d, docNo)
}
