package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// Conversation is our ordered record of one dialogue.
type Conversation struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"` // the caller's own, unique
	Scope      string    `json:"scope"`
	Title      string    `json:"title,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	Messages   int       `json:"messages"`
	LastSaidAt time.Time `json:"last_said_at,omitzero"`

	nextSeq     int
	last        *stand // of the last message; nil: there is none
	lastSession string // the host's, of the last message
}

// AppendRequest adds messages to the end of a conversation, which is made when it does not exist.
type AppendRequest struct {
	Conversation string    // its name or id
	Scope        string    // of a new conversation; default as for RememberRequest
	Agent        string    // empty: an internal caller
	Messages     []Message // Role, Text and SaidAt matter most; ID, ConversationID and Seq are given by the engine
}

// Appended says what became of an AppendRequest.
type Appended struct {
	ConversationID string
	IDs            []string // one per message; that of the earlier one where the key was there already
	Added          int
	VectorErr      error // the messages are stored, but the model failed
}

// Append stores messages in their order, with words and vectors, in one transaction. A message whose Key the conversation has
// already is left out. Errors: ErrInvalid (nothing is stored), ErrBadScope, ErrScopeDenied, ErrBadVector.
func (e *Engine) Append(ctx context.Context, r AppendRequest) (*Appended, error) {
	if strings.TrimSpace(r.Conversation) == "" {
		return nil, fmt.Errorf("append: %w", invalid("conversation", r.Conversation, "a name"))
	}
	if err := checkText("conversation", r.Conversation); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	messages := make([]*Message, len(r.Messages))
	texts := make([]string, len(r.Messages))
	for i := range r.Messages {
		m := r.Messages[i]
		if err := m.normalise(e.now()); err != nil {
			return nil, fmt.Errorf("append: message %d: %w", i, err)
		}
		messages[i], texts[i] = &m, m.embedded()
	}
	vectors, vectorErr := e.embed(ctx, texts)
	if vectorErr != nil && !embeddingFailed(ctx, vectorErr) {
		return nil, fmt.Errorf("append: %w", vectorErr)
	}
	documents := make([]*document, len(messages))
	for i, m := range messages {
		documents[i] = &document{kind: MessageKind, words: e.analyse(m.fields())}
		if vectorErr == nil {
			documents[i].vector = vectors[i]
		}
	}
	result := &Appended{VectorErr: vectorErr}
	err := e.write(ctx, "append", func(c *connection) error {
		conversation, err := e.conversationFor(ctx, c, r)
		if err != nil {
			return err
		}
		result.ConversationID = conversation.ID
		return e.insertMessages(ctx, c, conversation, messages, documents, result)
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// conversationFor finds the conversation of a request, or makes it.
func (e *Engine) conversationFor(ctx context.Context, c *connection, r AppendRequest) (*Conversation, error) {
	scopes := e.scopes.Load()
	conversation, err := findConversation(ctx, c, r.Conversation)
	if err != nil {
		return nil, err
	}
	if conversation != nil {
		if !internal(r.Agent) && !scopes.Allows(r.Agent, conversation.Scope) {
			return nil, fmt.Errorf("%w: agent %q may not use %s", ErrScopeDenied, r.Agent, conversation.Scope)
		}
		if r.Scope != "" && r.Scope != conversation.Scope {
			return nil, invalid("scope", r.Scope, conversation.Scope+", the scope of conversation "+quote(r.Conversation))
		}
		return conversation, nil
	}
	scope, err := scopes.ForWriting(r.Agent, r.Scope)
	if err != nil {
		return nil, err
	}
	conversation = &Conversation{ID: e.opts.NewID(conversationPrefix, e.now()), Name: r.Conversation, Scope: scope, CreatedAt: e.now(), nextSeq: 1}
	return conversation, c.appendRows("conversations", [][]driver.Value{{conversation.ID, conversation.Name, scope, nil, conversation.CreatedAt, int32(1),
		nil, nil, nil, nil}})
}

// findConversation gives nil when there is none of that name or id.
func findConversation(ctx context.Context, c *connection, name string) (*Conversation, error) {
	var v Conversation
	var sessionNo, place sql.NullInt32
	found, err := c.one(ctx, "conversation_by_name", []any{&v.ID, &v.Name, &v.Scope, textOf(&v.Title), &v.CreatedAt, &v.nextSeq,
		&sessionNo, &place, textOf(&v.lastSession), timeOf(&v.LastSaidAt)}, sql.Named("name", name))
	if err != nil || !found {
		return nil, err
	}
	if sessionNo.Valid {
		v.last = &stand{sessionNo.Int32, place.Int32}
	}
	return &v, nil
}

// insertMessages writes those messages that the conversation does not have.
func (e *Engine) insertMessages(ctx context.Context, c *connection, conversation *Conversation, messages []*Message, documents []*document, result *Appended) error {
	known := map[string]string{} // ids by key
	var keys []string
	for _, m := range messages {
		if m.Key != "" {
			keys = append(keys, m.Key)
		}
	}
	if len(keys) > 0 {
		err := c.each(ctx, "message_by_key", func(rows *sql.Rows) error {
			var id, key string
			var seq int
			defer func() { known[key] = id }()
			return rows.Scan(&id, &key, &seq)
		}, sql.Named("conversation_id", conversation.ID), sql.Named("keys", keys))
		if err != nil {
			return err
		}
	}
	numbers, err := e.nextDocNos(ctx, c, len(messages))
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	var fresh []*document
	seq := conversation.nextSeq
	for i, m := range messages {
		if id, ok := known[m.Key]; ok && m.Key != "" {
			result.IDs = append(result.IDs, id)
			continue
		}
		m.ID, m.ConversationID, m.Seq = e.opts.NewID(messagePrefix, m.RecordedAt), conversation.ID, seq
		seq++
		known[m.Key] = m.ID
		result.IDs = append(result.IDs, m.ID)
		at := conversation.seat(m, numbers[i])
		rows = append(rows, m.row(numbers[i], at))
		e.describeMessage(documents[i], m, conversation.Scope, numbers[i], at)
		fresh = append(fresh, documents[i])
	}
	result.Added = len(fresh)
	if len(fresh) == 0 {
		return nil
	}
	if err := c.appendRows("messages", rows); err != nil {
		return err
	}
	if err := e.insertDocuments(ctx, c, fresh); err != nil {
		return err
	}
	_, err = c.exec(ctx, "conversation_grown", sql.Named("id", conversation.ID), sql.Named("next_seq", seq),
		sql.Named("session_no", conversation.last.sessionNo), sql.Named("place", conversation.last.place),
		sql.Named("session", nullText(conversation.lastSession)), sql.Named("said_at", conversation.LastSaidAt))
	return err
}

// describeMessage fills in what recall filters by.
func (e *Engine) describeMessage(d *document, m *Message, scope string, docNo int32, at stand) {
	d.no, d.ownerID, d.scope, d.conversationID, d.createdAt = docNo, m.ID, scope, m.ConversationID, m.SaidAt
	d.stand, d.speaker = at, m.Speaker
	d.read(m.Text, e.analyzer)
}

// Conversations lists those that the agent may read, the one with the newest message first.
func (e *Engine) Conversations(ctx context.Context, agent string) ([]Conversation, error) {
	scopes, _ := e.scopes.Load().ForReading(agent, nil)
	var all []Conversation
	err := e.read(ctx, "conversations", func(c *connection) error {
		return c.each(ctx, "conversation_list", func(rows *sql.Rows) error {
			var v Conversation
			defer func() { all = append(all, v) }()
			return rows.Scan(&v.ID, &v.Name, &v.Scope, &v.Title, &v.CreatedAt, &v.Messages, timeOf(&v.LastSaidAt))
		}, sql.Named("scopes", listArg(scopes)))
	})
	return all, err
}

// MessagesRequest names a stretch of a conversation.
type MessagesRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	From         int    // first seq; default 1
	Limit        int    // 1 to 100,000; default 100
}

// Messages gives messages of a conversation in their order. Errors: ErrNotFound, ErrInvalid.
func (e *Engine) Messages(ctx context.Context, r MessagesRequest) (all []*Message, err error) {
	if r.Limit == 0 {
		r.Limit = 100
	}
	if r.Limit < 1 || r.Limit > 100_000 {
		return nil, fmt.Errorf("messages: %w", invalid("limit", r.Limit, "1 to 100000"))
	}
	if err := checkText("conversation", r.Conversation); err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	err = e.read(ctx, "messages", func(c *connection) error {
		conversation, err := findConversation(ctx, c, r.Conversation)
		if err != nil {
			return err
		}
		if conversation == nil || !internal(r.Agent) && !e.scopes.Load().Allows(r.Agent, conversation.Scope) {
			return fmt.Errorf("%w: conversation %s", ErrNotFound, quote(r.Conversation))
		}
		return c.each(ctx, "message_list", func(rows *sql.Rows) error {
			m, _, _, err := scanMessage(rows)
			all = append(all, m)
			return err
		}, sql.Named("conversation_id", conversation.ID), sql.Named("from", r.From), sql.Named("limit", int64(r.Limit)))
	})
	return all, err
}
