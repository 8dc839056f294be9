package compact

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// RewriteRequest asks for another text of a summary.
type RewriteRequest struct {
	ID           string // of the summary, or its unique ending of six characters or more
	Agent        string // empty: an internal caller
	Text         string // the new one; empty: the summariser writes it from the sources
	Instructions string // for the summariser
}

// RewriteSummary gives a summary another text. Its id, its sources and its place stay; what the summaries above it say of its tokens is
// brought up to date in the same transaction. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid for a text that is not shorter than what it stands for,
// ErrConflict when somebody else changed it meanwhile, and those of the model.
func (cp *Compactor) RewriteSummary(ctx context.Context, r RewriteRequest) (*Summary, error) {
	s, err := cp.rewriteSummary(ctx, r, r.Text == "")
	if err != nil {
		return nil, fmt.Errorf("rewrite summary: %w", err)
	}
	return s, nil
}

func (cp *Compactor) rewriteSummary(ctx context.Context, r RewriteRequest, ask bool) (*Summary, error) {
	if err := cmp.Or(fault.CheckText("text", r.Text), fault.CheckText("instructions", r.Instructions), fault.CheckText("id", r.ID)); err != nil {
		return nil, err
	}
	var s *Summary
	var in *summaryInput
	err := cp.file.Read(ctx, "read summary", func(c *duck.Conn) error {
		v, found, err := cp.findSummary(ctx, c, r.ID, r.Agent)
		if err != nil {
			return err
		}
		s = found
		in, err = cp.sourcesInput(ctx, c, v, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	estimator, err := text.NewEstimator(in.conversation.Estimator)
	if err != nil {
		return nil, fmt.Errorf("%w: conversation %s: %w", fault.ErrCorrupt, in.conversation.ID, err)
	}
	made := summarised{text: strings.TrimSpace(r.Text), level: Normal, model: "by hand"}
	made.tokens = estimator.Tokens(made.text)
	if ask {
		in.instructions = r.Instructions
		if made, err = cp.summarise(ctx, in, &rarities{}); err != nil {
			return nil, err
		}
	}
	if made.text == "" || made.tokens >= in.stored {
		return nil, fault.Invalid("text", made.text, fmt.Sprintf("not blank, and fewer than the %d tokens it stands for", in.stored))
	}
	written := s.Attempts
	s.Text, s.Tokens, s.Level, s.Model, s.Fallback = made.text, made.tokens, made.level, made.model, made.fallback
	s.Attempts, s.UpdatedAt = written+1, cp.file.Now()
	d := cp.DescribeSummary(ctx, s)
	return s, cp.file.Write(ctx, "write summary", func(tx *duck.Write) error {
		now, docNo, err := SummaryByID(ctx, tx.Conn, s.ID)
		if err != nil {
			return err
		}
		if now == nil || now.Attempts != written {
			return fmt.Errorf("%w: summary %s", fault.ErrConflict, s.ID)
		}
		if err := settleSummary(ctx, tx, s.ID); err != nil {
			return err
		}
		return cp.updateSummary(ctx, tx, in.conversation, s, d, docNo)
	})
}

// updateSummary writes the new text of a summary everywhere.
func (cp *Compactor) updateSummary(ctx context.Context, tx *duck.Write, v *conversation.Conversation, s *Summary, d *index.Document, docNo int32) error {
	_, err := tx.Exec(ctx, "summary_update", sql.Named("id", s.ID), sql.Named("text", s.Text), sql.Named("tokens", s.Tokens), sql.Named("level", string(s.Level)),
		sql.Named("model", s.Model), sql.Named("fallback", s.Fallback), sql.Named("attempts", s.Attempts), sql.Named("updated_at", s.UpdatedAt))
	if err != nil {
		return err
	}
	if _, err := conversation.PutItemTokens(ctx, tx, v.ID, s.ID, s.Tokens); err != nil {
		return err
	}
	locateSummary(d, s, v.Scope, docNo)
	if err := cp.index.RemoveIndex(ctx, tx, kinds.Summary, docNo); err != nil {
		return err
	}
	if err := cmp.Or(cp.index.UpdateDocument(ctx, tx, d), cp.index.InsertIndex(ctx, tx, []*index.Document{d})); err != nil {
		return err
	}
	return recount(ctx, tx, s.ID)
}

// findSummary finds a summary that the agent may read, and its conversation.
func (cp *Compactor) findSummary(ctx context.Context, c *duck.Conn, id, agent string) (*conversation.Conversation, *Summary, error) {
	s, _, err := SummaryByID(ctx, c, id)
	if err != nil {
		return nil, nil, err
	}
	if s == nil && len(id) >= ids.MinShort {
		scopes, _ := cp.scopes.Now().ForReading(agent, nil)
		found, err := duck.Column[string](ctx, c, "summary_ending", sql.Named("ending", id), sql.Named("scopes", duck.ListArg(scopes)))
		if err != nil {
			return nil, nil, err
		}
		whole, err := ids.One("summary", id, found, ids.Itself)
		if err != nil {
			return nil, nil, err
		}
		if s, _, err = SummaryByID(ctx, c, whole); err != nil {
			return nil, nil, err
		}
	}
	if s != nil {
		v, err := cp.conversations.Readable(ctx, c, s.ConversationID, agent)
		if err == nil {
			return v, s, nil
		}
		if !errors.Is(err, fault.ErrNotFound) {
			return nil, nil, err
		}
	}
	return nil, nil, ids.NotFound("summary", id)
}

// sourcesInput reads what a summary was made from, to make it anew.
func (cp *Compactor) sourcesInput(ctx context.Context, c *duck.Conn, v *conversation.Conversation, s *Summary) (*summaryInput, error) {
	items := make([]window.Item, len(s.Sources))
	for i, source := range s.Sources {
		items[i] = window.Item{Ref: source.ID, Summary: source.Kind == kinds.Summary, Depth: s.Depth - 1, Position: s.FirstSeq}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%w: summary %s has no sources", fault.ErrCorrupt, s.ID)
	}
	items[len(items)-1].Position = s.LastSeq
	in, err := cp.summaryInput(ctx, c, v, items)
	if err == nil && len(in.sources) != len(items) {
		return nil, fmt.Errorf("%w: %d of %d sources of summary %s are gone", fault.ErrCorrupt, len(items)-len(in.sources), len(items), s.ID)
	}
	return in, err
}

// RetryRequest names whose fallback summaries are made anew.
type RetryRequest struct {
	Conversation string // name or id; empty: of all
	Agent        string // empty: an internal caller
	Instructions string // for the summariser
	DryRun       bool   // only count them, also without a model
}

// Retried says what became of them.
type Retried struct {
	Rewritten []string `json:"rewritten"` // ids
	Left      int      `json:"left"`      // that are fallbacks still
	// Reason why the model was not asked for all: the circuit breaker is open. Empty else.
	Reason string `json:"reason,omitempty"`
	// VectorErr: what was rewritten is stored, but the model failed or took too long, so some has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// RetryFallbacks makes summaries anew that were made without the model that was asked, those that others were made from first; one of the policy Rolling is told
// only what it owes (RetryPending). It stops at the
// first error of the model; what is rewritten stays so. One that somebody else changes meanwhile is left, and so is one for which nothing shorter
// than its sources can be written. While the circuit breaker is open the model is not asked, and Reason says so. Without a model there is nothing to do. Errors: ErrNoLLM, ErrNotFound, and those of the model.
func (cp *Compactor) RetryFallbacks(ctx context.Context, r RetryRequest) (*Retried, error) {
	result := &Retried{Rewritten: []string{}}
	if cp.chain.Empty() && !r.DryRun {
		return result, fmt.Errorf("retry fallbacks: %w", fault.ErrNoLLM)
	}
	var ids []string
	err := cp.file.Read(ctx, "retry fallbacks", func(c *duck.Conn) (err error) {
		var conversation any
		if r.Conversation != "" {
			v, err := cp.conversations.Readable(ctx, c, r.Conversation, r.Agent)
			if err != nil {
				return err
			}
			conversation = v.ID
		}
		scopes, _ := cp.scopes.Now().ForReading(r.Agent, nil)
		ids, err = duck.Column[string](ctx, c, "summary_fallbacks", sql.Named("conversation_id", conversation), sql.Named("scopes", duck.ListArg(scopes)))
		return err
	})
	if err != nil {
		return result, err
	}
	if result.Left = len(ids); r.DryRun {
		return result, nil
	}
	for i, id := range ids {
		cp.opts.Progress("summaries", i, len(ids))
		if len(cp.opts.Fallbacks) == 0 && cp.conversations.Guard.Closed("", false) == conversation.ReasonOpen {
			result.Reason = conversation.ReasonOpen
			return result, nil
		}
		s, known, err := cp.retryRanges(ctx, RewriteRequest{ID: id, Agent: r.Agent, Instructions: r.Instructions})
		if err == nil && !known && cp.opts.LLM != nil {
			s, err = cp.rewriteSummary(ctx, RewriteRequest{ID: id, Agent: r.Agent, Instructions: r.Instructions}, true)
		}
		if err != nil && !errors.Is(err, fault.ErrConflict) && !errors.Is(err, fault.ErrNotFound) && !errors.Is(err, fault.ErrInvalid) {
			return result, fmt.Errorf("retry fallbacks: %s: %w", id, err)
		}
		if err == nil {
			result.VectorErr = cmp.Or(result.VectorErr, s.VectorErr)
		}
		if err == nil && !s.Fallback {
			result.Rewritten = append(result.Rewritten, id)
			result.Left--
		}
	}
	cp.opts.Progress("summaries", len(ids), len(ids))
	return result, nil
}

// DissolveRequest names a summary.
type DissolveRequest struct {
	ID    string // or its unique ending of six characters or more
	Agent string // empty: an internal caller
}

// DissolveSummary puts the sources of a summary back into the context, in its place, and removes it. Only a summary that stands in the
// context can be dissolved: one that others were made from would leave a gap. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (cp *Compactor) DissolveSummary(ctx context.Context, r DissolveRequest) (*Summary, error) {
	var dissolved *Summary
	err := cp.file.Write(ctx, "dissolve summary", func(tx *duck.Write) error {
		v, s, err := cp.findSummary(ctx, tx.Conn, r.ID, r.Agent)
		if err != nil {
			return err
		}
		removed, err := conversation.RemoveItem(ctx, tx, v.ID, s.ID)
		if err != nil {
			return err
		}
		if removed != 1 {
			return fault.Invalid("id", s.ID, "a summary that stands in the context")
		}
		var items []window.Item
		err = tx.Each(ctx, "summary_source_items", func(rows *sql.Rows) error {
			var i window.Item
			var kind kinds.Kind
			err := rows.Scan(&i.Position, &kind, &i.Ref, &i.Tokens)
			i.Summary = kind == kinds.Summary
			items = append(items, i)
			return err
		}, sql.Named("summary_id", s.ID))
		if err != nil {
			return err
		}
		if len(items) != len(s.Sources) {
			return fmt.Errorf("%w: %d of %d sources of summary %s are gone", fault.ErrCorrupt, len(s.Sources)-len(items), len(s.Sources), s.ID)
		}
		dissolved = s
		return cmp.Or(conversation.InsertItems(tx, v.ID, items...), cp.removeSummary(ctx, tx, s.ID))
	})
	return dissolved, err
}

// removeSummary deletes a summary that nothing refers to any more.
func (cp *Compactor) removeSummary(ctx context.Context, tx *duck.Write, id string) error {
	_, docNo, err := SummaryByID(ctx, tx.Conn, id)
	if err != nil {
		return err
	}
	for _, name := range []string{"summary_delete", "summary_delete_sources"} {
		if _, err := tx.Exec(ctx, name, sql.Named("id", id)); err != nil {
			return err
		}
	}
	if err := settleSummary(ctx, tx, id); err != nil {
		return err
	}
	return cp.index.DeleteDocument(ctx, tx, kinds.Summary, docNo)
}
