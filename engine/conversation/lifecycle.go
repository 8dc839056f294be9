package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// NewSessionRequest begins a new session in a conversation, which stays the same one.
type NewSessionRequest struct {
	Conversation string // name or id; or as a host names it:
	SessionKey   string
	SessionID    string
	Agent        string // empty: an internal caller
	// RetainDepth: summaries of this depth and of more stay in the context. 0 keeps them all; -1 keeps everything, messages too.
	// Default setup.Conversation.NewSessionRetainDepth.
	RetainDepth *int
}

// SessionBegun says what became of a NewSessionRequest.
type SessionBegun struct {
	ConversationID string `json:"conversation_id"`
	Messages       int    `json:"messages"`  // set aside as AsideNew
	Summaries      int    `json:"summaries"` // that left the context; what they stand for is still found below them
	Kept           int    `json:"kept"`      // items of the context
	TokensBefore   int    `json:"tokens_before"`
	TokensAfter    int    `json:"tokens_after"`
	Skipped        string `json:"skipped,omitempty"` // by the session gates, nothing was done
}

// NewSession takes messages and shallow summaries out of the context; nothing is lost, and what stays keeps its position. A compaction
// under way notices. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cs *Store) NewSession(ctx context.Context, r NewSessionRequest) (*SessionBegun, error) {
	of := Reference{r.Conversation, r.SessionKey, r.SessionID}
	if gate := cs.Gate(of); gate != "" {
		return &SessionBegun{Skipped: gate}, nil
	}
	depth := *cs.opts.Conversation.NewSessionRetainDepth
	if r.RetainDepth != nil {
		if depth = *r.RetainDepth; depth < -1 {
			return nil, fmt.Errorf("new session: %w", fault.Invalid("retain_depth", depth, "-1 or more"))
		}
	}
	result := &SessionBegun{}
	err := cs.file.Write(ctx, "new session", func(tx *duck.Write) error {
		v, err := cs.Writable(ctx, tx.Conn, of, r.Agent)
		if err != nil {
			return err
		}
		result.ConversationID = v.ID
		if result.Skipped = cs.GateOf(v); result.Skipped != "" {
			return nil
		}
		if _, result.TokensBefore, err = ContextSize(ctx, tx.Conn, v.ID); err != nil {
			return err
		}
		if depth >= 0 {
			if result.Messages, err = cs.setAsideContext(ctx, tx, v.ID, AsideNew); err != nil {
				return err
			}
			left, err := tx.Exec(ctx, "context_summaries_leave", sql.Named("conversation_id", v.ID), sql.Named("depth", int64(depth)))
			if err != nil {
				return err
			}
			result.Summaries = int(left)
		}
		result.Kept, result.TokensAfter, err = ContextSize(ctx, tx.Conn, v.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// ArchiveCause says why a conversation was archived.
type ArchiveCause string

// The causes; only a manual reset was meant by a person.
const (
	ManualReset      ArchiveCause = "manual-reset"
	SessionDeleted   ArchiveCause = "session-deleted"
	SessionEnd       ArchiveCause = "session-end"
	RolloverFallback ArchiveCause = "rollover-fallback"
	CronRotation     ArchiveCause = "cron-rotation"
	DoctorRepair     ArchiveCause = "doctor" // of two active conversations of one name, all but the newest
)

// ArchiveCauses lists them.
func ArchiveCauses() []ArchiveCause {
	return []ArchiveCause{ManualReset, SessionDeleted, SessionEnd, RolloverFallback, CronRotation, DoctorRepair}
}

// ArchiveRequest ends a conversation.
type ArchiveRequest struct {
	Conversation string // name or id; or as a host names it:
	SessionKey   string
	SessionID    string
	Agent        string       // empty: an internal caller
	Cause        ArchiveCause // default ManualReset
}

func (r ArchiveRequest) conversation() Reference {
	return Reference{r.Conversation, r.SessionKey, r.SessionID}
}

// Ended says what became of an ArchiveRequest, a ResetSession or an EndSession.
type Ended struct {
	ConversationID string `json:"conversation_id"`       // the archived one
	Already        bool   `json:"already,omitempty"`     // it was archived before, and its time and cause are as they were
	Messages       int    `json:"messages"`              // set aside as AsideReset
	Successor      string `json:"successor,omitempty"`   // of ResetSession: the id of the one that is active now
	Fresh          bool   `json:"fresh,omitempty"`       // of ResetSession: it was empty and goes on, so nothing was done
	EndIgnored     bool   `json:"end_ignored,omitempty"` // of EndSession: the reason is none to archive for
	Skipped        string `json:"skipped,omitempty"`     // by the session gates, nothing was done
}

// Archive ends a conversation: it is no longer found by its session key, and what is appended under its name begins another one. It can
// still be read, by its id and among those of its key. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cs *Store) Archive(ctx context.Context, r ArchiveRequest) (*Ended, error) {
	if gate := cs.Gate(r.conversation()); gate != "" {
		return &Ended{Skipped: gate}, nil
	}
	if err := r.normalise(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	var result *Ended
	err := cs.file.Write(ctx, "archive", func(tx *duck.Write) error {
		v, err := cs.Writable(ctx, tx.Conn, r.conversation(), r.Agent)
		if err != nil {
			return err
		}
		if gate := cs.GateOf(v); gate != "" {
			result = &Ended{ConversationID: v.ID, Skipped: gate}
			return nil
		}
		result, err = cs.archive(ctx, tx, v, r.Cause)
		return err
	})
	return result, err
}

func (r *ArchiveRequest) normalise() error {
	if r.Cause == "" {
		r.Cause = ManualReset
	}
	return fault.Member("cause", r.Cause, ArchiveCauses())
}

// archive ends a conversation.
func (cs *Store) archive(ctx context.Context, tx *duck.Write, v *Conversation, cause ArchiveCause) (*Ended, error) {
	result := &Ended{ConversationID: v.ID, Already: !v.Active}
	if result.Already {
		return result, nil
	}
	_, err := tx.Exec(ctx, "conversation_archive", sql.Named("id", v.ID), sql.Named("at", cs.file.Now()), sql.Named("cause", string(cause)))
	if err != nil {
		return nil, err
	}
	if result.Messages, err = cs.setAsideContext(ctx, tx, v.ID, AsideReset); err != nil {
		return nil, err
	}
	for _, end := range cs.archived {
		if err := end(ctx, tx, v.ID); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// ResetSession archives a conversation and begins an empty one of the same name, key, session and scope. One that is empty goes on; where
// there is none, it is made, in the scope of the newest archived one of that name which the agent may use. Errors: ErrInvalid, also for the id of
// one that is archived; ErrBadScope, ErrScopeDenied.
func (cs *Store) ResetSession(ctx context.Context, r ArchiveRequest) (*Ended, error) {
	if gate := cs.Gate(r.conversation()); gate != "" {
		return &Ended{Skipped: gate}, nil
	}
	if err := cmp.Or(r.normalise(), r.conversation().Validate()); err != nil {
		return nil, fmt.Errorf("reset session: %w", err)
	}
	var result *Ended
	err := cs.file.Write(ctx, "reset session", func(tx *duck.Write) (err error) {
		result, err = cs.reset(ctx, tx, r)
		return err
	})
	return result, err
}

func (cs *Store) reset(ctx context.Context, tx *duck.Write, r ArchiveRequest) (*Ended, error) {
	of := r.conversation()
	v, err := ResolveConversation(ctx, tx.Conn, of)
	if err != nil {
		return nil, err
	}
	if v == nil || !v.Active && !of.byID(v) {
		next := AppendRequest{Conversation: r.Conversation, SessionKey: r.SessionKey, SessionID: r.SessionID, Agent: r.Agent}
		was, err := oneConversation(ctx, tx.Conn, (*duck.Conn).Each, "", "conversation_by_name", sql.Named("name", of.String()))
		if err != nil {
			return nil, err
		}
		if was != nil && cs.mayWrite(was, r.Agent) == nil {
			next.Scope = was.Scope
		}
		if v, err = cs.makeConversation(ctx, tx, next); err != nil {
			return nil, err
		}
		return &Ended{ConversationID: v.ID, Fresh: true}, nil
	}
	if err := cs.mayWrite(v, r.Agent); err != nil {
		return nil, err
	}
	if gate := cs.GateOf(v); gate != "" {
		return &Ended{ConversationID: v.ID, Skipped: gate}, nil
	}
	if !v.Active {
		return nil, fault.Invalid("conversation", of.Name, "one that is not archived")
	}
	items, _, err := ContextSize(ctx, tx.Conn, v.ID)
	if err != nil {
		return nil, err
	}
	if items == 0 && v.Messages == 0 {
		return &Ended{ConversationID: v.ID, Fresh: true}, nil
	}
	result, err := cs.archive(ctx, tx, v, r.Cause)
	if err != nil {
		return nil, err
	}
	at := cs.file.Now()
	id, err := cs.file.NewID(ids.Conversation, at)
	if err != nil {
		return nil, err
	}
	next := &Conversation{ID: id, Name: v.Name, Scope: v.Scope, CreatedAt: at, NextSeq: 1,
		SessionKey: v.SessionKey, SessionID: cmp.Or(of.Session, v.SessionID), Active: true, Estimator: cs.opts.Conversation.Estimator}
	result.Successor = next.ID
	return result, tx.AppendRows("conversations", [][]driver.Value{next.row()})
}

// EndSessionRequest says that a host's session ended.
type EndSessionRequest struct {
	Conversation string // name or id; or as a host names it:
	SessionKey   string
	SessionID    string
	Agent        string // empty: an internal caller
	Reason       string // the host's word
}

// EndSession does what the end of a host's session calls for, by its reason. new, unknown, restart, shutdown and none: nothing, since the
// dialogue goes on. deleted: Archive. Any other: ResetSession. Errors are theirs.
func (cs *Store) EndSession(ctx context.Context, r EndSessionRequest) (*Ended, error) {
	end := ArchiveRequest{Conversation: r.Conversation, SessionKey: r.SessionKey, SessionID: r.SessionID, Agent: r.Agent, Cause: SessionEnd}
	switch r.Reason {
	case "", "new", "unknown", "restart", "shutdown":
		return &Ended{EndIgnored: true}, nil
	case "deleted":
		end.Cause = SessionDeleted
		return cs.Archive(ctx, end)
	case "reset":
		end.Cause = ManualReset
	}
	return cs.ResetSession(ctx, end)
}

// ContextSize counts the items of a context and their tokens.
func ContextSize(ctx context.Context, c *duck.Conn, conversationID string) (items, tokens int, err error) {
	_, err = c.One(ctx, "context_size", []any{&items, &tokens}, sql.Named("conversation_id", conversationID))
	return items, tokens, err
}

// setAsideContext takes every message out of a context, for no summary stands for it, and tells how many they were. The caller is in a write
// transaction.
func (cs *Store) setAsideContext(ctx context.Context, tx *duck.Write, conversationID string, why SetAside) (int, error) {
	n, err := tx.Exec(ctx, "context_set_aside", sql.Named("conversation_id", conversationID), sql.Named("why", string(why)), sql.Named("at", cs.file.Now()))
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, "context_messages_leave", sql.Named("conversation_id", conversationID))
	return int(n), err
}
