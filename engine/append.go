package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// AppendRequest adds messages to the end of a conversation, which is made when it does not exist. The conversation is named by
// Conversation, or as a host does by SessionKey, SessionID or both: then the active one of that key goes on, whatever session it was in.
type AppendRequest struct {
	Conversation string // its name or id
	SessionKey   string // what the host calls the dialogue across its sessions
	SessionID    string // the host's session that it is in
	Scope        string // of a new conversation; default as for RememberRequest
	Title        string // of a new conversation
	Parent       string // of a new conversation: name or id of the one that it was forked or started from
	Agent        string // empty: an internal caller
	// Messages: Role, Text or Blocks, and SaidAt matter most; ID, ConversationID, Seq and Tokens are given by the engine.
	Messages []Message
	// Cursor is written in the same transaction: how far the host's transcript was read.
	Cursor *Cursor
}

func (r AppendRequest) conversation() conversationOf {
	return conversationOf{r.Conversation, r.SessionKey, r.SessionID}
}

// Appended says what became of an AppendRequest.
type Appended struct {
	ConversationID string
	IDs            []string // one per message; that of the earlier one where the key was there already
	Added          int
	Skipped        string   // why nothing was stored, by the session gates of ConversationOptions; empty: it was
	Heartbeats     []string // ids of messages that ConversationOptions.PruneHeartbeats set aside, earlier ones of the same turn too
	VectorErr      error    // the messages are stored, but the model failed or took too long
}

// Append stores messages in their order, with words and vectors, in one transaction, and puts them at the end of the context. A
// message whose Key the conversation has already is left out. Errors, with nothing stored: ErrInvalid, ErrNotFound for a Parent, or for a
// Conversation that is named by an id; ErrBadScope, ErrScopeDenied, ErrBadVector.
func (e *Engine) Append(ctx context.Context, r AppendRequest) (*Appended, error) {
	return e.appendAll(ctx, r, nil)
}

// appendAll is Append. Where left is not nil, messages whose vectors are unusable are stored without, and it gets by their number what is wrong.
func (e *Engine) appendAll(ctx context.Context, r AppendRequest, left map[int]error) (*Appended, error) {
	of := r.conversation()
	if err := cmp.Or(of.validate(), fault.CheckText("title", r.Title), fault.CheckText("parent", r.Parent)); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	if gate := e.gate(of); gate != "" {
		return &Appended{Skipped: gate}, nil
	}
	messages := make([]*Message, len(r.Messages))
	for i := range r.Messages {
		m := r.Messages[i]
		if err := m.normalise(e.now()); err != nil {
			return nil, fmt.Errorf("append: message %d: %w", i, err)
		}
		messages[i] = &m
	}
	known, err := e.knownBefore(ctx, of, messages)
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	result, err := e.appendNew(ctx, r, messages, known, left)
	if errors.Is(err, errUnprepared) {
		result, err = e.appendNew(ctx, r, messages, nil, left)
	}
	return result, err
}

// grown is a conversation as an Append left it, and what named it: a chat goes on where it was.
type grown struct {
	write        int64 // its number
	of           conversationOf
	conversation Conversation
}

// forgetGrown has the next Append look for its conversation.
func (e *Engine) forgetGrown() { e.grown = nil }

// errUnprepared: a message that was known is not any more, for its conversation was purged or archived meanwhile.
var errUnprepared = errors.New("message is not prepared")

// appendNew makes messages ready that are not known, and writes them. What it is given stays as it is.
func (e *Engine) appendNew(ctx context.Context, r AppendRequest, given []*Message, known map[string]string, left map[int]error) (*Appended, error) {
	messages := make([]*Message, len(given))
	for i := range given {
		m := *given[i]
		m.Blocks = slices.Clone(m.Blocks)
		messages[i] = &m
	}
	tools, err := e.toolsOf(ctx, r.conversation(), messages)
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	taken, vectorErr, err := e.takeIn(ctx, messages, known, tools)
	var bad *unusable
	if left != nil && errors.As(err, &bad) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	result := &Appended{VectorErr: vectorErr}
	err = e.write(ctx, "append", func(c *connection) error {
		conversation, err := e.conversationFor(ctx, c, r)
		if err != nil {
			return err
		}
		result.ConversationID = conversation.ID
		if result.Skipped = e.gateOf(conversation); result.Skipped != "" { // it was named by its id
			return nil
		}
		from := conversation.nextSeq
		if err := e.insertMessages(ctx, c, conversation, messages, taken, result); err != nil {
			return err
		}
		e.grown = &grown{e.writes, r.conversation(), *conversation}
		if result.Added > 0 && e.opts.Conversation.PruneHeartbeats && slices.ContainsFunc(messages, (*Message).acknowledges) {
			if result.Heartbeats, err = e.pruneHeartbeats(ctx, c, conversation.ID, from); err != nil {
				return err
			}
		}
		if r.Cursor == nil {
			return nil
		}
		return e.putCursor(ctx, c, r.Cursor, conversation.ID, result.Added > 0)
	})
	if err != nil {
		return nil, err
	}
	for i, x := range taken {
		if x.vectorErr != nil {
			left[i] = x.vectorErr
		}
	}
	return result, nil
}

// insertMessages writes those messages that the conversation does not have.
func (e *Engine) insertMessages(ctx context.Context, c *connection, conversation *Conversation, messages []*Message, all []*intake, result *Appended) error {
	known, err := knownKeys(ctx, c, conversation.ID, messages)
	if err != nil {
		return err
	}
	numbers, err := e.nextDocNos(ctx, c, len(all))
	if err != nil {
		return err
	}
	estimator, err := conversation.estimator()
	if err != nil {
		return err
	}
	var rows messageRows
	var fresh []*document
	for i, x := range all {
		m := x.message
		if id, ok := known[m.Key]; ok && m.Key != "" {
			result.IDs, x.vectorErr = append(result.IDs, id), nil
			continue
		}
		if x.document == nil {
			return errUnprepared
		}
		if m.ID, err = e.newID(messagePrefix, m.RecordedAt); err != nil {
			return err
		}
		m.ConversationID, m.Seq = conversation.ID, conversation.nextSeq
		conversation.nextSeq++
		known[m.Key] = m.ID
		result.IDs = append(result.IDs, m.ID)
		at := conversation.seat(m, numbers[i])
		if estimator != e.estimator {
			m.count(estimator)
		}
		rows.add(x, numbers[i], at)
		e.describeMessage(x.document, m, conversation.Scope, numbers[i], at)
		fresh = append(fresh, x.document)
	}
	result.Added = len(fresh)
	if len(fresh) == 0 {
		return nil
	}
	if err := e.insertRows(ctx, c, &rows); err != nil {
		return err
	}
	if err := e.insertDocuments(ctx, c, fresh); err != nil {
		return err
	}
	_, err = c.exec(ctx, "conversation_grown", sql.Named("id", conversation.ID), sql.Named("next_seq", conversation.nextSeq),
		sql.Named("session_no", conversation.last.sessionNo), sql.Named("place", conversation.last.place),
		sql.Named("session", nullText(conversation.lastSession)), sql.Named("said_at", conversation.LastSaidAt))
	return err
}

// fewKeys is how many messages are rather prepared in vain than looked up before: a chat brings new ones, an import may not.
const fewKeys = 4

// knownBefore gives what knownKeys does, where preparing messages that are known would take long. It is no promise: they are looked up again.
func (e *Engine) knownBefore(ctx context.Context, of conversationOf, messages []*Message) (known map[string]string, err error) {
	if len(keysOf(messages)) <= fewKeys {
		return nil, nil
	}
	err = e.read(ctx, "known messages", func(c *connection) error {
		v, err := resolveConversation(ctx, c, of)
		if err != nil || v == nil {
			return err
		}
		known, err = knownKeys(ctx, c, v.ID, messages)
		return err
	})
	return known, err
}

func keysOf(messages []*Message) (keys []string) {
	for _, m := range messages {
		if m.Key != "" {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// knownKeys gives the ids of messages that the conversation has already, by their keys.
func knownKeys(ctx context.Context, c *connection, conversationID string, messages []*Message) (map[string]string, error) {
	known := map[string]string{}
	keys := keysOf(messages)
	if len(keys) == 0 {
		return known, nil
	}
	query, arg := "message_by_key", sql.Named("keys", keys)
	if len(keys) == 1 { // as a host appends: a third of the time
		query, arg = "message_by_one_key", sql.Named("key", keys[0])
	}
	return known, c.each(ctx, query, func(rows *sql.Rows) error {
		var id, key string
		var seq int
		defer func() { known[key] = id }()
		return rows.Scan(&id, &key, &seq)
	}, sql.Named("conversation_id", conversationID), arg)
}
