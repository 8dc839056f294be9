package conversation

import (
	"context"
	"database/sql"
	"regexp"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// A heartbeat is a poll of the host, which asks to read its file of that name, and a whole turn that comes to nothing but the acknowledgement.
// The query heartbeat_turns has both words too.
var heartbeatAcknowledged = regexp.MustCompile(`(?i)^\s*heartbeat_ok\s*$`)

// PruneHeartbeatsRequest sets aside the heartbeats of a conversation.
type PruneHeartbeatsRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
}

// PruneHeartbeats sets aside every turn of the context that ended with exactly HEARTBEAT_OK (in any case, with any space around it), from
// the user's message before it on, if HEARTBEAT.md is named in it. What is set aside so is not recalled, but is still found by Grep and Expand. It
// gives the ids of these messages, in their order; a second call finds none. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cs *Store) PruneHeartbeats(ctx context.Context, r PruneHeartbeatsRequest) (ids []string, err error) {
	err = cs.file.Write(ctx, "prune heartbeats", func(tx *duck.Write) error {
		v, err := cs.Writable(ctx, tx.Conn, Reference{Name: r.Conversation}, r.Agent)
		if err != nil {
			return err
		}
		ids, err = cs.pruneHeartbeats(ctx, tx, v.ID, 1)
		return err
	})
	return ids, err
}

// pruneHeartbeats sets aside the heartbeats that were acknowledged from a seq on.
func (cs *Store) pruneHeartbeats(ctx context.Context, tx *duck.Write, conversationID string, from int) (ids []string, err error) {
	var numbers []int32
	err = tx.Each(ctx, "heartbeat_turns", func(rows *sql.Rows) error {
		var id string
		var no int32
		if err := rows.Scan(&id, &no); err != nil {
			return err
		}
		ids, numbers = append(ids, id), append(numbers, no)
		return nil
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)))
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := cs.setAside(ctx, tx, conversationID, ids, AsideHeartbeat); err != nil {
		return nil, err
	}
	return ids, cs.index.Retire(ctx, tx, kinds.Message, numbers)
}

// acknowledges reports whether a message may end a heartbeat.
func (m *Message) acknowledges() bool {
	return m.Role == "assistant" && m.SetAside == "" && heartbeatAcknowledged.MatchString(m.Text)
}
