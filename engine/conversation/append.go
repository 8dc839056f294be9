package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// AppendRequest adds messages to the end of a conversation, which is made when it does not exist. The conversation is named by
// Conversation, or as a host does by SessionKey, SessionID or both: then the active one of that key goes on, whatever session it was in.
type AppendRequest struct {
	Conversation string // its name or id
	SessionKey   string // what the host calls the dialogue across its sessions
	SessionID    string // the host's session that it is in
	// Scope of a new conversation. Default as for memory.RememberRequest, but for an internal caller the own scope of the agent that the session's key names
	// (scope.AgentOf), where that may use it.
	Scope  string
	Title  string // of a new conversation
	Parent string // of a new conversation: name or id of the one that it was forked or started from
	Agent  string // empty: an internal caller
	// Messages: Role, Text or Blocks, and SaidAt matter most; ID, ConversationID, Seq and Tokens are given by the engine.
	Messages []Message
	// Cursor is written in the same transaction: how far the host's transcript was read.
	Cursor *Cursor
}

func (r AppendRequest) conversation() Reference {
	return Reference{r.Conversation, r.SessionKey, r.SessionID}
}

// Appended says what became of an AppendRequest.
type Appended struct {
	ConversationID string
	IDs            []string // one per message; that of the earlier one where the key was there already
	Added          int
	Skipped        string   // why nothing was stored, by the session gates of setup.Conversation; empty: it was
	Heartbeats     []string // ids of messages that setup.Conversation.PruneHeartbeats set aside, earlier ones of the same turn too
	VectorErr      error    // the messages are stored, but the model failed or took too long
}

// Append stores messages in their order, with words and vectors, in one transaction, and puts them at the end of the context. A
// message whose Key the conversation has already is left out. Errors, with nothing stored: ErrInvalid, ErrNotFound for a Parent, or for a
// Conversation that is named by an id; ErrBadScope, ErrScopeDenied, ErrBadVector.
func (cs *Store) Append(ctx context.Context, r AppendRequest) (*Appended, error) {
	return cs.appendAll(ctx, r, nil)
}

// appendAll is Append. Where left is not nil, messages whose vectors are unusable are stored without, and it gets by their number what is wrong.
func (cs *Store) appendAll(ctx context.Context, r AppendRequest, left map[int]error) (*Appended, error) {
	of := r.conversation()
	if err := cmp.Or(of.Validate(), fault.CheckText("title", r.Title), fault.CheckText("parent", r.Parent)); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	if gate := cs.Gate(of); gate != "" {
		return &Appended{Skipped: gate}, nil
	}
	messages := make([]*Message, len(r.Messages))
	for i := range r.Messages {
		m := r.Messages[i]
		if err := m.normalise(cs.file.Now()); err != nil {
			return nil, fmt.Errorf("append: message %d: %w", i, err)
		}
		messages[i] = &m
	}
	known, err := cs.knownBefore(ctx, of, messages)
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	result, err := cs.appendNew(ctx, r, messages, known, left)
	if errors.Is(err, errUnprepared) {
		result, err = cs.appendNew(ctx, r, messages, nil, left)
	}
	return result, err
}

// grown is a conversation as an Append left it, and what named it: a chat goes on where it was.
type grown struct {
	write        int64 // its number
	of           Reference
	conversation Conversation
}

// forgetGrown has the next Append look for its conversation.
func (cs *Store) forgetGrown() { cs.grown = nil }

// errUnprepared: a message that was known is not any more, for its conversation was purged or archived meanwhile.
var errUnprepared = errors.New("message is not prepared")

// appendNew makes messages ready that are not known, and writes them. What it is given stays as it is.
func (cs *Store) appendNew(ctx context.Context, r AppendRequest, given []*Message, known map[string]string, left map[int]error) (*Appended, error) {
	messages := make([]*Message, len(given))
	for i := range given {
		m := *given[i]
		m.Blocks = slices.Clone(m.Blocks)
		messages[i] = &m
	}
	tools, err := cs.toolsOf(ctx, r.conversation(), messages)
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	taken, vectorErr, err := cs.takeIn(ctx, messages, known, tools)
	var bad *index.Unusable
	if left != nil && errors.As(err, &bad) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	result := &Appended{VectorErr: vectorErr}
	err = cs.file.Write(ctx, "append", func(tx *duck.Write) error {
		conversation, err := cs.conversationFor(ctx, tx, r)
		if err != nil {
			return err
		}
		result.ConversationID = conversation.ID
		if result.Skipped = cs.GateOf(conversation); result.Skipped != "" { // it was named by its id
			return nil
		}
		from := conversation.NextSeq
		if err := cs.insertMessages(ctx, tx, conversation, messages, taken, result); err != nil {
			return err
		}
		cs.grown = &grown{cs.file.Writes, r.conversation(), *conversation}
		if result.Added > 0 && cs.opts.Conversation.PruneHeartbeats && slices.ContainsFunc(messages, (*Message).acknowledges) {
			if result.Heartbeats, err = cs.pruneHeartbeats(ctx, tx, conversation.ID, from); err != nil {
				return err
			}
		}
		if r.Cursor == nil {
			return nil
		}
		return cs.putCursor(ctx, tx, r.Cursor, conversation.ID, result.Added > 0)
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
func (cs *Store) insertMessages(ctx context.Context, tx *duck.Write, conversation *Conversation, messages []*Message, all []*intake, result *Appended) error {
	known, err := knownKeys(ctx, tx.Conn, conversation.ID, messages)
	if err != nil {
		return err
	}
	numbers, err := cs.index.NextDocNos(ctx, tx.Conn, len(all))
	if err != nil {
		return err
	}
	estimator, err := conversation.Tokenizer()
	if err != nil {
		return err
	}
	var rows messageRows
	var fresh []*index.Document
	for i, x := range all {
		m := x.message
		if id, ok := known[m.Key]; ok && m.Key != "" {
			result.IDs, x.vectorErr = append(result.IDs, id), nil
			continue
		}
		if x.document == nil {
			return errUnprepared
		}
		if m.ID, err = cs.file.NewID(ids.Message, m.RecordedAt); err != nil {
			return err
		}
		m.ConversationID, m.Seq = conversation.ID, conversation.NextSeq
		conversation.NextSeq++
		known[m.Key] = m.ID
		result.IDs = append(result.IDs, m.ID)
		at := conversation.seat(m, numbers[i])
		if estimator != cs.estimator {
			m.Count(estimator)
		}
		rows.add(x, numbers[i], at)
		cs.describeMessage(x.document, m, conversation.Scope, numbers[i], at)
		fresh = append(fresh, x.document)
	}
	result.Added = len(fresh)
	if len(fresh) == 0 {
		return nil
	}
	if err := cs.insertRows(ctx, tx, &rows); err != nil {
		return err
	}
	if err := cs.index.InsertDocuments(ctx, tx, fresh); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "conversation_grown", sql.Named("id", conversation.ID), sql.Named("next_seq", conversation.NextSeq),
		sql.Named("session_no", conversation.last.SessionNo), sql.Named("place", conversation.last.Place),
		sql.Named("session", duck.NullText(conversation.lastSession)), sql.Named("said_at", conversation.LastSaidAt))
	return err
}

// fewKeys is how many messages are rather prepared in vain than looked up before: a chat brings new ones, an import may not.
const fewKeys = 4

// knownBefore gives what knownKeys does, where preparing messages that are known would take long. It is no promise: they are looked up again.
func (cs *Store) knownBefore(ctx context.Context, of Reference, messages []*Message) (known map[string]string, err error) {
	if len(keysOf(messages)) <= fewKeys {
		return nil, nil
	}
	err = cs.file.Read(ctx, "known messages", func(c *duck.Conn) error {
		v, err := ResolveConversation(ctx, c, of)
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
func knownKeys(ctx context.Context, c *duck.Conn, conversationID string, messages []*Message) (map[string]string, error) {
	known := map[string]string{}
	keys := keysOf(messages)
	if len(keys) == 0 {
		return known, nil
	}
	query, arg := "message_by_key", sql.Named("keys", keys)
	if len(keys) == 1 { // as a host appends: a third of the time
		query, arg = "message_by_one_key", sql.Named("key", keys[0])
	}
	return known, c.Each(ctx, query, func(rows *sql.Rows) error {
		var id, key string
		var seq int
		if err := rows.Scan(&id, &key, &seq); err != nil {
			return err
		}
		known[key] = id
		return nil
	}, sql.Named("conversation_id", conversationID), arg)
}

// seat gives a message its stand: after the conversation's last one, unless the host's session changed or there was a silence.
func (v *Conversation) seat(m *Message, docNo int32) index.Stand {
	last := v.last
	if last != nil && (m.Session != v.lastSession || m.SaidAt.Sub(v.LastSaidAt).Abs() > index.SessionGap) {
		last = nil
	}
	next := last.After(docNo)
	v.last, v.lastSession, v.LastSaidAt = &next, m.Session, m.SaidAt
	return next
}
