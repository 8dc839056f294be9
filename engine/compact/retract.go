package compact

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Changed is a summary that a retraction changed: as it was, and how the summaries of its conversation stood right after. What it was holds text, so a purge
// has to empty it.
type Changed struct {
	ID      string
	Removed bool // it stood for nothing else
	Was     SummaryWas
	After   string // of all of the conversation
}

// SummaryWas is a summary as it was.
type SummaryWas struct {
	*Summary
	DocNo     int32 `json:"doc_no"`
	InContext bool  `json:"in_context"`
}

// Withdraw takes a message that is hidden from under its summary, or where id names a summary its text, and makes that and those above it anew from what is
// left, without a model. The lowest come first.
func (cp *Compactor) Withdraw(ctx context.Context, tx *duck.Write, conversationID, id string) (changed []Changed, err error) {
	v, err := conversation.FindConversation(ctx, tx.Conn, conversationID)
	if err != nil {
		return nil, err
	}
	list, err := duck.Column[string](ctx, tx.Conn, "summaries_over", sql.Named("id", id))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	for _, summary := range list {
		was, err := summaryWas(ctx, tx.Conn, v.ID, summary)
		if err != nil {
			return nil, err
		}
		changed = append(changed, Changed{ID: summary, Was: was})
	}
	done := &purging{}
	if !slices.Contains(list, id) {
		if _, err := tx.Exec(ctx, "sources_purge", sql.Named("ids", []string{id})); err != nil {
			return nil, err
		}
	}
	if err := cp.mendSummaries(ctx, tx, v, list, done); err != nil {
		return nil, err
	}
	after, err := standOf(ctx, tx.Conn, v.ID)
	for i := range changed {
		changed[i].Removed, changed[i].After = slices.Contains(done.Removed, changed[i].ID), after
	}
	return changed, err
}

func summaryWas(ctx context.Context, c *duck.Conn, conversationID, id string) (was SummaryWas, err error) {
	if was.Summary, was.DocNo, err = SummaryByID(ctx, c, id); err != nil {
		return was, err
	}
	_, err = c.One(ctx, "summary_shown", []any{&was.InContext}, sql.Named("conversation_id", conversationID), sql.Named("id", id))
	return was, err
}

// standOf says how the summaries of a conversation stand: which there are, in which wording, on what, and which of them are in the context.
func standOf(ctx context.Context, c *duck.Conn, conversationID string) (stand string, err error) {
	_, err = c.One(ctx, "summaries_stand", []any{duck.TextOf(&stand)}, sql.Named("conversation_id", conversationID))
	return stand, err
}

// Describe makes the documents of summaries as they were, by their ids. It needs no lock: a model may think.
func (cp *Compactor) Describe(ctx context.Context, changed []Changed) map[string]*index.Document {
	made := map[string]*index.Document{}
	for _, x := range changed {
		made[x.ID] = cp.DescribeSummary(ctx, x.Was.Summary)
	}
	return made
}

// Reinstate takes back what Withdraw did. Where the summaries of the conversation are as Withdraw left them, they become what they were. Where they have changed
// since, a message that is no more set aside goes under the summary that had it, or else the one about its place, or into the context, and those above it are made anew.
// exact says which it was.
func (cp *Compactor) Reinstate(ctx context.Context, tx *duck.Write, conversationID, messageID string, changed []Changed, documents map[string]*index.Document) (exact bool, err error) {
	v, err := conversation.FindConversation(ctx, tx.Conn, conversationID)
	if err != nil {
		return false, err
	}
	now, err := standOf(ctx, tx.Conn, v.ID)
	if err != nil {
		return false, err
	}
	whole := !slices.ContainsFunc(changed, func(x Changed) bool { return x.Was.Summary == nil || x.After != now || documents[x.ID] == nil })
	if len(changed) > 0 && whole {
		for _, x := range changed {
			if err := cp.putBack(ctx, tx, v, x, documents[x.ID]); err != nil {
				return false, err
			}
		}
		if messageID != "" && hadBy(changed, messageID) == "" { // they only told of it
			return true, cp.rejoin(ctx, tx, v, messageID, nil)
		}
		return true, nil
	}
	if messageID == "" {
		return false, nil
	}
	return false, cp.rejoin(ctx, tx, v, messageID, changed)
}

// putBack makes a summary what it was.
func (cp *Compactor) putBack(ctx context.Context, tx *duck.Write, v *conversation.Conversation, x Changed, d *index.Document) error {
	s := x.Was.Summary
	locateSummary(d, s, v.Scope, x.Was.DocNo)
	if !s.Fallback { // it tells of all again
		if err := settleSummary(ctx, tx, s.ID); err != nil {
			return err
		}
	}
	if !x.Removed {
		for _, query := range []string{"summary_delete", "summary_delete_sources"} {
			if _, err := tx.Exec(ctx, query, sql.Named("id", s.ID)); err != nil {
				return err
			}
		}
		if err := cp.index.DeleteDocument(ctx, tx, kinds.Summary, x.Was.DocNo); err != nil {
			return err
		}
	}
	var sources [][]driver.Value
	for i, source := range s.Sources {
		sources = append(sources, []driver.Value{s.ID, int32(i), string(source.Kind), source.ID})
	}
	if err := tx.AppendRows("summaries", [][]driver.Value{s.row(x.Was.DocNo)}); err != nil {
		return err
	}
	if err := tx.AppendRows("summary_sources", sources); err != nil {
		return err
	}
	if err := cp.index.InsertDocuments(ctx, tx, []*index.Document{d}); err != nil || !x.Was.InContext {
		return err
	}
	if _, err := conversation.RemoveItem(ctx, tx, v.ID, s.ID); err != nil {
		return err
	}
	return conversation.InsertItems(tx, v.ID, s.item())
}

// hadBy gives the summary that a message was a source of; empty: none. Of what a summary was that a purge has emptied the lowest is taken.
func hadBy(changed []Changed, messageID string) string {
	for _, x := range changed {
		if x.Was.Summary == nil || slices.Contains(x.Was.Sources, Source{kinds.Message, messageID}) {
			return x.ID
		}
	}
	return ""
}

// rejoin finds a message a place among summaries that have changed.
func (cp *Compactor) rejoin(ctx context.Context, tx *duck.Write, v *conversation.Conversation, messageID string, changed []Changed) error {
	had := hadBy(changed, messageID)
	var leaf string
	found, err := tx.One(ctx, "summary_about", []any{&leaf}, sql.Named("message_id", messageID), sql.Named("had", had))
	if err != nil {
		return err
	}
	if !found {
		return cp.conversations.PutBack(ctx, tx, messageID)
	}
	if _, err := tx.Exec(ctx, "summary_join", sql.Named("summary_id", leaf), sql.Named("message_id", messageID)); err != nil {
		return err
	}
	above, err := duck.Column[string](ctx, tx.Conn, "summaries_over", sql.Named("id", messageID))
	if err != nil {
		return err
	}
	return cp.mendSummaries(ctx, tx, v, above, &purging{})
}

// Encode gives what it was as JSON.
func (w SummaryWas) Encode() (json.RawMessage, error) { return json.Marshal(w) }

// DecodeSummary reads what Encode gave; nothing gives none.
func DecodeSummary(b []byte) (w SummaryWas, err error) {
	if len(b) == 0 {
		return w, nil
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return w, fmt.Errorf("summary as it was: %w", err)
	}
	return w, nil
}
