package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
)

// KnownKey is where a key of a host's was stored.
type KnownKey struct {
	ConversationID string
	ID             string   // of the message, of the message that a part belongs to, or of the summary
	SetAside       SetAside // of a message
	SaidAt         time.Time
}

// KnownKeys says which keys were stored before, as those of messages, of blocks or of summaries, in any conversation that the agent
// may read. Errors: ErrInvalid.
func (cs *Store) KnownKeys(ctx context.Context, keys []string, agent string) (map[string]KnownKey, error) {
	known := map[string]KnownKey{}
	if len(keys) == 0 {
		return known, nil
	}
	if err := fault.CheckTexts("keys", keys); err != nil {
		return nil, fmt.Errorf("known keys: %w", err)
	}
	scopes, _ := cs.scopes.Now().ForReading(agent, nil)
	err := cs.file.Read(ctx, "known keys", func(c *duck.Conn) error {
		return c.Each(ctx, "key_known", func(rows *sql.Rows) error {
			var key string
			var k KnownKey
			if err := rows.Scan(&key, &k.ConversationID, &k.ID, duck.TextOf(&k.SetAside), duck.TimeOf(&k.SaidAt)); err != nil {
				return err
			}
			known[key] = k
			return nil
		}, sql.Named("keys", keys), sql.Named("scopes", duck.ListArg(scopes)))
	})
	return known, err
}

// BranchRequest says which messages of a conversation are no longer on the branch that its host is on, and which are again.
type BranchRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	Left, Found  []string
}

// SetBranch takes messages that the host edited away or rolled back out of the context, and puts those back that it returned to; both
// by their keys. What a summary stands for stays as it is, and so does what would come to be in the midst of it, and everything in a
// conversation that is archived. It gives the number of messages that it moved. Errors: ErrNotFound, ErrInvalid.
func (cs *Store) SetBranch(ctx context.Context, r BranchRequest) (moved int, err error) {
	if err := cmp.Or(fault.CheckTexts("left", r.Left), fault.CheckTexts("found", r.Found)); err != nil {
		return 0, fmt.Errorf("set branch: %w", err)
	}
	err = cs.file.Write(ctx, "set branch", func(tx *duck.Write) error {
		conversation, err := cs.Readable(ctx, tx.Conn, r.Conversation, r.Agent)
		if err != nil || !conversation.Active {
			return err
		}
		left, err := cs.leaveBranch(ctx, tx, conversation.ID, r.Left)
		if err != nil {
			return err
		}
		found, err := cs.joinBranch(ctx, tx, conversation.ID, r.Found)
		moved = left + found
		return err
	})
	return moved, err
}

// leaveBranch sets messages aside that are in the context.
func (cs *Store) leaveBranch(ctx context.Context, tx *duck.Write, conversationID string, keys []string) (int, error) {
	var ids []string
	if len(keys) == 0 {
		return 0, nil
	}
	ids, err := duck.Column[string](ctx, tx.Conn, "branch_left", sql.Named("conversation_id", conversationID), sql.Named("keys", keys))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "branch_items", sql.Named("conversation_id", conversationID), sql.Named("ids", ids)); err != nil {
		return 0, err
	}
	return len(ids), cs.markBranch(ctx, tx, conversationID, ids, AsideOffBranch)
}

// joinBranch puts messages back into the context, at their places.
func (cs *Store) joinBranch(ctx context.Context, tx *duck.Write, conversationID string, keys []string) (int, error) {
	var ids []string
	var items [][]driver.Value
	if len(keys) == 0 {
		return 0, nil
	}
	err := tx.Each(ctx, "branch_found", func(rows *sql.Rows) error {
		var id string
		var seq, tokens int32
		defer func() {
			ids = append(ids, id)
			items = append(items, []driver.Value{conversationID, seq, string(kinds.Message), id, tokens})
		}()
		return rows.Scan(&id, &seq, &tokens)
	}, sql.Named("conversation_id", conversationID), sql.Named("keys", keys))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return len(ids), cmp.Or(tx.AppendRows("context_items", items), cs.markBranch(ctx, tx, conversationID, ids, ""))
}

func (cs *Store) markBranch(ctx context.Context, tx *duck.Write, conversationID string, ids []string, why SetAside) error {
	var at driver.Value
	if why != "" {
		at = cs.file.Now()
	}
	_, err := tx.Exec(ctx, "branch_aside", sql.Named("conversation_id", conversationID), sql.Named("ids", ids), sql.Named("set_aside", duck.NullText(string(why))), sql.Named("at", at))
	return err
}

// Retitle gives a conversation another title. Errors: ErrNotFound, ErrInvalid.
func (cs *Store) Retitle(ctx context.Context, conversation, agent, title string) error {
	if err := fault.CheckText("title", title); err != nil {
		return fmt.Errorf("retitle: %w", err)
	}
	return cs.file.Write(ctx, "retitle", func(tx *duck.Write) error {
		v, err := cs.Readable(ctx, tx.Conn, conversation, agent)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "conversation_title", sql.Named("id", v.ID), sql.Named("title", duck.NullText(title)))
		return err
	})
}

// referenceTokens is about what the reference to a large content costs.
const referenceTokens = 400

// Bootstrap is how many tokens the first import of a transcript may put into a context, and what a message costs there.
func (cs *Store) Bootstrap() (budget int, count func(Message) int) {
	o := cs.opts.Conversation
	estimator, err := text.NewEstimator(o.Estimator)
	if err != nil { // validate has seen that it is one
		estimator, _ = text.NewEstimator("chars4")
	}
	reference := func(tokens int) int {
		if tokens >= o.LargeFileTokens {
			return referenceTokens
		}
		return tokens
	}
	return o.BootstrapMaxTokens, func(m Message) int {
		said := []string{m.Text}
		cost := estimator.Tokens(m.Caption)
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Said() != "" {
				said = append(said, b.Text)
			} else {
				cost += reference(b.Tokens(estimator))
			}
		}
		return cost + reference(estimator.Tokens(strings.TrimPrefix(strings.Join(said, "\n"), "\n")))
	}
}
