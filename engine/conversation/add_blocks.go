package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/text"
)

// AddBlocksRequest adds blocks to the end of a stored message, when a later line of a transcript belongs to it.
type AddBlocksRequest struct {
	Conversation string // name or id
	MessageID    string // or MessageKey
	MessageKey   string // the caller's
	Blocks       []Block
	Agent        string  // empty: an internal caller
	Cursor       *Cursor // written in the same transaction
}

// AddedBlocks says what became of an AddBlocksRequest.
type AddedBlocks struct {
	MessageID  string
	Added      int      // blocks; those whose Key the message has already are left out
	Tokens     int      // of the whole message
	Skipped    string   // why nothing was stored, by the session gates of setup.Conversation; empty: it was
	Heartbeats []string // as Appended has it, when the message has become an acknowledgement
	VectorErr  error    // the blocks are stored, but the model failed
}

// AddBlocks makes a message longer: its text, tokens, index, vector and place in the context with it, in one transaction. Where a summary
// stands for the message already, its source tokens and those of the summaries above it grow. Errors: ErrNotFound, ErrInvalid,
// ErrScopeDenied, ErrBadVector.
func (cs *Store) AddBlocks(ctx context.Context, r AddBlocksRequest) (*AddedBlocks, error) {
	blocks := slices.Clone(r.Blocks)
	if err := r.validate(blocks); err != nil {
		return nil, fmt.Errorf("add blocks: %w", err)
	}
	for {
		result, again, err := cs.addBlocks(ctx, r, blocks)
		if err != nil || !again {
			return result, err
		}
	}
}

func (r AddBlocksRequest) validate(blocks []Block) error {
	if (r.MessageID == "") == (r.MessageKey == "") {
		return fault.Invalid("message_id", r.MessageID, "one of message_id and message_key")
	}
	return cmp.Or(fault.CheckText("message_id", r.MessageID), fault.CheckText("message_key", r.MessageKey), takeBlocks(blocks))
}

// addBlocks is one try; again: somebody else changed the message meanwhile.
func (cs *Store) addBlocks(ctx context.Context, r AddBlocksRequest, blocks []Block) (result *AddedBlocks, again bool, err error) {
	var was *storedMessage
	err = cs.file.Read(ctx, "add blocks", func(c *duck.Conn) (err error) {
		was, err = cs.storedMessage(ctx, c, r)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if was.gate != "" {
		return &AddedBlocks{MessageID: was.ID, Tokens: was.Tokens, Skipped: was.gate}, false, nil
	}
	fresh := was.without(blocks)
	result = &AddedBlocks{MessageID: was.ID, Added: len(fresh), Tokens: was.Tokens}
	if len(fresh) == 0 && r.Cursor == nil {
		return result, false, nil
	}
	var longer *intake
	if len(fresh) > 0 {
		if longer, err = cs.lengthen(ctx, was, fresh); err != nil {
			return nil, false, fmt.Errorf("add blocks: %w", err)
		}
		if result.VectorErr, err = cs.document(ctx, []*intake{longer}); err != nil {
			return nil, false, fmt.Errorf("add blocks: %w", err)
		}
		longer.message.Count(was.estimator)
		result.Tokens = longer.message.Tokens
	}
	err = cs.file.Write(ctx, "add blocks", func(tx *duck.Write) error {
		now, err := cs.storedMessage(ctx, tx.Conn, r)
		if err != nil {
			return err
		}
		if again = !now.same(was); again {
			return nil
		}
		if longer != nil {
			if err := cs.writeLonger(ctx, tx, was, longer); err != nil {
				return err
			}
			if cs.opts.Conversation.PruneHeartbeats && longer.message.acknowledges() {
				if result.Heartbeats, err = cs.pruneHeartbeats(ctx, tx, was.ConversationID, was.Seq); err != nil {
					return err
				}
			}
		}
		if r.Cursor == nil {
			return nil
		}
		return cs.putCursor(ctx, tx, r.Cursor, was.ConversationID, longer != nil)
	})
	return result, again, err
}

// storedMessage is a message with what its rows say beside it.
type storedMessage struct {
	*Message
	docNo     int32
	at        index.Stand
	scope     string
	estimator text.Estimator
	gate      string // why nothing is written
}

// storedMessage finds the message of a request.
func (cs *Store) storedMessage(ctx context.Context, c *duck.Conn, r AddBlocksRequest) (*storedMessage, error) {
	conversation, err := cs.Writable(ctx, c, Reference{Name: r.Conversation}, r.Agent)
	if err != nil {
		return nil, err
	}
	m := &storedMessage{scope: conversation.Scope, gate: cs.GateOf(conversation)}
	if m.estimator, err = conversation.Tokenizer(); err != nil {
		return nil, err
	}
	err = c.Each(ctx, "message_of_conversation", func(rows *sql.Rows) (err error) {
		m.Message, m.docNo, m.at, err = ScanMessage(rows)
		return err
	}, sql.Named("conversation_id", conversation.ID), sql.Named("id", r.MessageID), sql.Named("key", r.MessageKey))
	if err != nil {
		return nil, err
	}
	if m.Message == nil {
		return nil, fmt.Errorf("%w: message %s of conversation %s", fault.ErrNotFound, fault.Quote(cmp.Or(r.MessageID, r.MessageKey)), fault.Quote(conversation.Name))
	}
	return m, FillBlocks(ctx, c, []*Message{m.Message})
}

// without leaves those of blocks out that the message has, and all of them where it was purged.
func (m *storedMessage) without(blocks []Block) (fresh []Block) {
	if m.SetAside == AsidePurged {
		return nil
	}
	known := map[string]bool{}
	for _, b := range m.Blocks {
		known[b.Key] = true
	}
	for _, b := range blocks {
		if b.Key == "" || !known[b.Key] {
			fresh = append(fresh, b)
			known[b.Key] = true
		}
	}
	return fresh
}

func (m *storedMessage) same(other *storedMessage) bool {
	return m.ID == other.ID && m.Text == other.Text && m.Tokens == other.Tokens && len(m.Blocks) == len(other.Blocks) && m.SetAside == other.SetAside
}

// lengthen makes the message with more blocks ready to be written. It needs no lock.
func (cs *Store) lengthen(ctx context.Context, was *storedMessage, fresh []Block) (*intake, error) {
	m := *was.Message
	m.Blocks = slices.Clone(m.Blocks)
	if len(m.Blocks) == 0 && m.Text != "" {
		m.Blocks = []Block{{Type: TextBlock, Text: m.Text}}
	}
	m.Blocks = append(m.Blocks, fresh...)
	tools, err := cs.toolsOf(ctx, Reference{Name: was.ConversationID}, []*Message{&m})
	if err != nil {
		return nil, err
	}
	x := &intake{message: &m, tools: tools, payloads: payload.Pending{}}
	cs.keepLarge(ctx, x, m.Blocks[len(m.Blocks)-len(fresh):])
	if x.err != nil {
		return nil, x.err
	}
	x.keepRaw(m.Blocks[len(was.Blocks):])
	return x, cs.contents.PutAllApart(x.payloads)
}

// writeLonger writes what became of a message.
func (cs *Store) writeLonger(ctx context.Context, tx *duck.Write, was *storedMessage, x *intake) error {
	m := x.message
	var rows messageRows
	rows.addParts(x, m.Blocks[len(was.Blocks):], len(was.Blocks))
	rows.addContents(x)
	if err := cs.insertRows(ctx, tx, &rows); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "message_longer", sql.Named("id", m.ID), sql.Named("text", m.Text), sql.Named("tokens", int64(m.Tokens))); err != nil {
		return err
	}
	shown, err := PutItemTokens(ctx, tx, m.ConversationID, m.ID, m.Tokens)
	if err != nil {
		return err
	}
	if more := m.Tokens - was.Tokens; !shown && m.SetAside == "" && more != 0 {
		for _, grow := range cs.longer {
			if err := grow(ctx, tx, m.ID, more); err != nil {
				return err
			}
		}
	}
	if err := cs.index.RemoveIndex(ctx, tx, kinds.Message, was.docNo); err != nil {
		return err
	}
	cs.describeMessage(x.document, m, was.scope, was.docNo, was.at)
	if err := cs.index.UpdateDocument(ctx, tx, x.document); err != nil || x.document.Retired {
		return err
	}
	return cs.index.InsertIndex(ctx, tx, []*index.Document{x.document})
}
