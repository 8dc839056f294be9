package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Checkpoint says what a conversation was about at a moment, and how it stood. It deletes nothing.
type Checkpoint struct {
	ID             string    `json:"id"`
	ConversationID string    `json:"conversation_id"`
	Key            string    `json:"key,omitempty"` // of an adopted one, the host's
	UpTo           int       `json:"upto_seq"`      // the newest message that it has read
	TokensAt       int       `json:"tokens_at"`     // of the context then
	UsersAt        int       `json:"user_count_at"` // messages of the user then
	MessagesAt     int       `json:"message_count_at"`
	Cycle          int       `json:"cycle"` // compactions of the context before it
	Summary        string    `json:"summary"`
	Topics         []string  `json:"topics"`
	Decisions      []string  `json:"decisions"`
	Questions      []string  `json:"questions"`    // that are open
	By             string    `json:"generated_by"` // the model, extractive, or the host
	CreatedAt      time.Time `json:"created_at"`
}

// Text is the checkpoint as one text: the summary, then topics, decisions and open questions, as far as there are any.
func (k *Checkpoint) Text() string {
	var b strings.Builder
	b.WriteString(k.Summary)
	if len(k.Topics) > 0 {
		b.WriteString("\n\nTopics: " + strings.Join(k.Topics, ", "))
	}
	for _, list := range []struct {
		name  string
		lines []string
	}{{"Decisions", k.Decisions}, {"Open questions", k.Questions}} {
		if len(list.lines) > 0 {
			b.WriteString("\n\n" + list.name + ":\n- " + strings.Join(list.lines, "\n- "))
		}
	}
	return b.String()
}

// Covers reports whether it was made since the context was last compacted, so that it says what stands there.
func (k *Checkpoint) Covers(v *conversation.Conversation) bool {
	return k != nil && k.Cycle == v.Compactions
}

// row gives the checkpoint as the columns of its table, in their order.
func (k *Checkpoint) row() []driver.Value {
	list := func(all []string) []string { return append([]string{}, all...) }
	return []driver.Value{k.ID, k.ConversationID, duck.NullText(k.Key), int32(k.UpTo), int32(k.TokensAt), int32(k.UsersAt), int32(k.MessagesAt), int32(k.Cycle), k.Summary,
		list(k.Topics), list(k.Decisions), list(k.Questions), k.By, k.CreatedAt}
}

func scan(rows *sql.Rows) (*Checkpoint, error) {
	var k Checkpoint
	var topics, decisions, questions duckdb.Composite[[]string]
	err := rows.Scan(&k.ID, &k.ConversationID, duck.TextOf(&k.Key), &k.UpTo, &k.TokensAt, &k.UsersAt, &k.MessagesAt, &k.Cycle, &k.Summary, &topics, &decisions, &questions,
		&k.By, &k.CreatedAt)
	k.Topics, k.Decisions, k.Questions = append([]string{}, topics.Get()...), append([]string{}, decisions.Get()...), append([]string{}, questions.Get()...)
	return &k, err
}

// Latest gives the newest checkpoint of a conversation; nil: there is none.
func Latest(ctx context.Context, c *duck.Conn, conversationID string) (*Checkpoint, error) {
	return Before(ctx, c, conversationID, math.MaxInt32)
}

// Before gives the newest checkpoint that has read no message after a seq; nil: there is none.
func Before(ctx context.Context, c *duck.Conn, conversationID string, seq int) (*Checkpoint, error) {
	all, err := list(ctx, c, conversationID, seq, 1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// ByID gives a checkpoint by its whole id; nil: it is gone.
func ByID(ctx context.Context, c *duck.Conn, id string) (*Checkpoint, error) {
	found, err := ending(ctx, c, id, nil)
	if err != nil || len(found) == 0 || found[0].ID != id {
		return nil, err
	}
	return found[0], nil
}

// ending reads the checkpoints whose ids end so, the one with that id first.
func ending(ctx context.Context, c *duck.Conn, id string, scopes []string) (found []*Checkpoint, err error) {
	err = c.Each(ctx, "checkpoint_ending", func(rows *sql.Rows) error {
		k, err := scan(rows)
		found = append(found, k)
		return err
	}, sql.Named("ending", id), sql.Named("scopes", duck.ListArg(scopes)))
	return found, err
}

func list(ctx context.Context, c *duck.Conn, conversationID string, upTo, limit int) (all []*Checkpoint, err error) {
	err = c.Each(ctx, "checkpoint_list", func(rows *sql.Rows) error {
		k, err := scan(rows)
		all = append(all, k)
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("upto", int64(upTo)), sql.Named("limit", int64(limit)))
	return all, err
}

// ListRequest names a conversation.
type ListRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	Limit        int    // default 100, at most 10,000
}

// List gives the checkpoints of a conversation, the newest first. Errors: ErrNotFound, ErrInvalid.
func (cs *Checkpoints) List(ctx context.Context, r ListRequest) (all []*Checkpoint, err error) {
	r.Limit = cmp.Or(r.Limit, 100)
	if r.Limit < 1 || r.Limit > 10_000 {
		return nil, fmt.Errorf("checkpoints: %w", fault.Invalid("limit", r.Limit, "1 to 10000"))
	}
	err = cs.file.Read(ctx, "checkpoints", func(c *duck.Conn) error {
		v, err := cs.talk.Readable(ctx, c, r.Conversation, r.Agent)
		if err != nil {
			return err
		}
		all, err = list(ctx, c, v.ID, math.MaxInt32, r.Limit)
		return err
	})
	return all, err
}

// Get gives a checkpoint by its id, or the unique ending of it. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (cs *Checkpoints) Get(ctx context.Context, id, agent string) (k *Checkpoint, err error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if len(id) < ids.MinShort {
		return nil, ids.NotFound("checkpoint", id)
	}
	err = cs.file.Read(ctx, "checkpoint", func(c *duck.Conn) error {
		scopes, _ := cs.scopes.Now().ForReading(agent, nil)
		found, err := ending(ctx, c, id, scopes)
		if err != nil {
			return err
		}
		k, err = ids.One("checkpoint", id, found, func(k *Checkpoint) string { return k.ID })
		return err
	})
	return k, err
}

// AdoptRequest takes over a checkpoint that a host made.
type AdoptRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	Key          string // the host's own; a checkpoint with a key that is there already is left as it is
	After        string // key of the newest message that it has read; empty, or not known: all there are
	At           time.Time
	Summary      string
	Topics       []string
	Decisions    []string
	Questions    []string
	TokensAt     int    // default those of the context now
	MessagesAt   int    // default all up to After
	By           string // default "host"
}

// Adopt stores a host's own checkpoint. adopted is false where the key is known. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cs *Checkpoints) Adopt(ctx context.Context, r AdoptRequest) (k *Checkpoint, adopted bool, err error) {
	if strings.TrimSpace(r.Summary) == "" {
		return nil, false, fmt.Errorf("adopt checkpoint: %w", fault.Invalid("summary", r.Summary, "what the checkpoint says"))
	}
	if r.TokensAt < 0 || r.MessagesAt < 0 || r.TokensAt > 1<<30 || r.MessagesAt > 1<<30 {
		return nil, false, fmt.Errorf("adopt checkpoint: %w", fault.Invalid("tokens_at", r.TokensAt, "0 or more, as messages_at"))
	}
	if err := cmp.Or(fault.CheckText("key", r.Key), fault.CheckText("after", r.After), fault.CheckText("by", r.By), fault.CheckTime("at", r.At)); err != nil {
		return nil, false, fmt.Errorf("adopt checkpoint: %w", err)
	}
	err = cs.file.Write(ctx, "adopt checkpoint", func(tx *duck.Write) error {
		v, err := cs.talk.Writable(ctx, tx.Conn, conversation.Reference{Name: r.Conversation}, r.Agent)
		if err != nil {
			return err
		}
		if r.Key != "" {
			var id string
			found, err := tx.One(ctx, "checkpoint_by_key", []any{&id}, sql.Named("conversation_id", v.ID), sql.Named("key", r.Key))
			if err != nil || found {
				k = &Checkpoint{ID: id, ConversationID: v.ID, Key: r.Key}
				return err
			}
		}
		k = &Checkpoint{ConversationID: v.ID, Key: r.Key, UpTo: v.NextSeq - 1, Cycle: v.Compactions, Summary: conversation.CleanText(r.Summary), Topics: clean(r.Topics),
			Decisions: clean(r.Decisions), Questions: clean(r.Questions), By: cmp.Or(r.By, "host"), CreatedAt: duck.OrTime(duck.UTC(r.At), cs.file.Now())}
		if r.After != "" {
			var id, key string
			if _, err := tx.One(ctx, "message_by_key", []any{&id, &key, &k.UpTo}, sql.Named("conversation_id", v.ID), sql.Named("keys", []string{r.After})); err != nil {
				return err
			}
		}
		if k.UsersAt, err = conversation.UserTurns(ctx, tx.Conn, v.ID, 0, k.UpTo); err != nil {
			return err
		}
		if k.TokensAt = r.TokensAt; k.TokensAt == 0 {
			if k.TokensAt, err = conversation.Fullness(ctx, tx.Conn, v, 0); err != nil {
				return err
			}
		}
		k.MessagesAt = cmp.Or(r.MessagesAt, k.UpTo)
		adopted = true
		return cs.insert(tx, k)
	})
	return k, adopted, err
}

// insert gives a checkpoint its id, and writes it.
func (cs *Checkpoints) insert(tx *duck.Write, k *Checkpoint) (err error) {
	if k.ID, err = cs.file.NewID(ids.Checkpoint, cs.file.Now()); err != nil {
		return err
	}
	return tx.AppendRows("checkpoints", [][]driver.Value{k.row()})
}

// clean makes lines of what a model or a host gave, without the blank ones.
func clean(lines []string) []string {
	kept := []string{}
	for _, line := range lines {
		if line = strings.Join(strings.Fields(conversation.CleanText(line)), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}
