package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
)

// Conversation is our ordered record of one dialogue.
type Conversation struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"` // of those with one name at most one is active
	Scope      string    `json:"scope"`
	Title      string    `json:"title,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	Messages   int       `json:"messages"`
	LastSaidAt time.Time `json:"last_said_at,omitzero"`

	// SessionKey names the dialogue across the sessions of a host, SessionID is the one it is in.
	SessionKey   string    `json:"session_key,omitempty"`
	SessionID    string    `json:"session_id,omitempty"`
	ParentID     string    `json:"parent_id,omitempty"` // the conversation that it was forked or started from
	Active       bool      `json:"active"`
	ArchivedAt   time.Time `json:"archived_at,omitzero"`
	ArchiveCause string    `json:"archive_cause,omitempty"`
	Estimator    string    `json:"estimator"` // how its tokens are counted

	nextSeq     int
	last        *stand // of the last message; nil: there is none
	lastSession string // the host's, of the last message
}

// conversationOf names a conversation in a request: by name or id, or as a host does, by session key and session id.
type conversationOf struct {
	name, key, session string
}

func (of conversationOf) validate() error {
	if of.name == "" && of.key == "" && of.session == "" {
		return fault.Invalid("conversation", "", "a name or id, or a session key or id")
	}
	if of.name != "" && of.key != "" {
		return fault.Invalid("session_key", of.key, "none beside a conversation")
	}
	for _, f := range []struct{ field, value string }{{"conversation", of.name}, {"session_key", of.key}, {"session_id", of.session}} {
		if f.value != "" && strings.TrimSpace(f.value) == "" {
			return fault.Invalid(f.field, f.value, "a name")
		}
		if err := fault.CheckText(f.field, f.value); err != nil {
			return err
		}
	}
	return nil
}

// byID reports whether a conversation that was found is named by its id or the ending of it.
func (of conversationOf) byID(v *Conversation) bool {
	return of.name == v.ID || of.name != "" && of.name != v.Name && of.name != v.SessionKey
}

func (of conversationOf) String() string { return cmp.Or(of.name, cmp.Or(of.key, of.session)) }

// idEnding is what the ending of an id may look like.
var idEnding = regexp.MustCompile(`^[0-9a-z]{6,26}$`)

// findConversation gives nil when there is none of that id, name or session key, and none whose id alone ends so; of several with a name the
// active one, or else the newest. Errors: ErrAmbiguous.
func findConversation(ctx context.Context, c *connection, name string) (*Conversation, error) {
	v, err := oneConversation(ctx, c, name, "conversation_by_name", sql.Named("name", name))
	if err != nil || v != nil || !idEnding.MatchString(name) {
		return v, err
	}
	n := 0
	err = c.each(ctx, "conversation_by_ending", func(rows *sql.Rows) (err error) {
		n++
		v, err = scanConversation(rows)
		return err
	}, sql.Named("ending", name))
	if err == nil && n > 1 {
		return nil, fmt.Errorf("%w: %s fits %d conversations; give more of it", ErrAmbiguous, fault.Quote(name), n)
	}
	return v, err
}

// resolveConversation finds what a request names, as it is: nil when there is none. A session key finds the active conversation of that
// key; without one, a session id finds the active, newest one in that session, or an archived one where a host has no keys.
func resolveConversation(ctx context.Context, c *connection, of conversationOf) (*Conversation, error) {
	if of.name != "" {
		return findConversation(ctx, c, of.name)
	}
	if of.key != "" {
		v, err := oneConversation(ctx, c, "", "conversation_by_key", sql.Named("session_key", of.key))
		if err != nil || v != nil || of.session == "" {
			return v, err
		}
	}
	v, err := oneConversation(ctx, c, "", "conversation_by_session", sql.Named("session_id", of.session))
	if err != nil || v == nil || of.key == "" || v.Active && v.SessionKey == "" {
		return v, err
	}
	return nil, nil
}

// oneConversation gives the best of those that a query finds: that of the id, an active one, that of the name, the newest.
func oneConversation(ctx context.Context, c *connection, name, query string, args ...any) (best *Conversation, err error) {
	rank := func(v *Conversation) []int64 {
		return []int64{count(v.ID == name), count(v.Active), count(v.Name == name), v.CreatedAt.UnixMicro()}
	}
	err = c.each(ctx, query, func(rows *sql.Rows) error {
		v, err := scanConversation(rows)
		if best == nil || cmp.Or(slices.Compare(rank(v), rank(best)), strings.Compare(v.ID, best.ID)) > 0 {
			best = v
		}
		return err
	}, args...)
	return best, err
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// scanConversation reads a row of these queries.
func scanConversation(rows *sql.Rows) (*Conversation, error) {
	var v Conversation
	var sessionNo, place sql.NullInt32
	err := rows.Scan(&v.ID, &v.Name, &v.Scope, textOf(&v.Title), &v.CreatedAt, &v.nextSeq,
		&sessionNo, &place, textOf(&v.lastSession), timeOf(&v.LastSaidAt), textOf(&v.SessionKey), textOf(&v.SessionID), textOf(&v.ParentID),
		&v.Active, timeOf(&v.ArchivedAt), textOf(&v.ArchiveCause), &v.Estimator)
	v.Messages = v.nextSeq - 1
	if sessionNo.Valid {
		v.last = &stand{sessionNo.Int32, place.Int32}
	}
	return &v, err
}

// estimator counts its tokens.
func (v *Conversation) estimator() (text.Estimator, error) {
	estimator, err := text.NewEstimator(v.Estimator)
	if err != nil {
		return estimator, fmt.Errorf("%w: conversation %s: %w", ErrCorrupt, v.ID, err)
	}
	return estimator, nil
}

// row gives the conversation as the columns of its table, in their order.
func (v *Conversation) row() []driver.Value {
	var sessionNo, place driver.Value
	if v.last != nil {
		sessionNo, place = v.last.sessionNo, v.last.place
	}
	return []driver.Value{v.ID, v.Name, v.Scope, nullText(v.Title), v.CreatedAt, int32(v.nextSeq), sessionNo, place, nullText(v.lastSession),
		nullTime(v.LastSaidAt), nullText(v.SessionKey), nullText(v.SessionID), nullText(v.ParentID), v.Active, nullTime(v.ArchivedAt),
		nullText(v.ArchiveCause), v.Estimator}
}

// readable finds a conversation that the agent may read. Errors: ErrNotFound, ErrInvalid.
func (e *Engine) readable(ctx context.Context, c *connection, name, agent string) (*Conversation, error) {
	if err := cmp.Or(fault.CheckText("conversation", name), conversationOf{name: name}.validate()); err != nil {
		return nil, err
	}
	v, err := findConversation(ctx, c, name)
	if err != nil {
		return nil, err
	}
	if v == nil || !e.scopesNow().Sees(agent, v.Scope) {
		return nil, fmt.Errorf("%w: conversation %s", ErrNotFound, fault.Quote(name))
	}
	return v, nil
}

// writable finds a conversation that the agent may write to. Errors: ErrNotFound, ErrScopeDenied, ErrInvalid.
func (e *Engine) writable(ctx context.Context, c *connection, of conversationOf, agent string) (*Conversation, error) {
	if err := of.validate(); err != nil {
		return nil, err
	}
	v, err := resolveConversation(ctx, c, of)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("%w: conversation %s", ErrNotFound, fault.Quote(of.String()))
	}
	return v, e.mayWrite(v, agent)
}

func (e *Engine) mayWrite(v *Conversation, agent string) error {
	if e.scopesNow().Sees(agent, v.Scope) {
		return nil
	}
	return fmt.Errorf("%w: agent %q may not use %s", ErrScopeDenied, agent, v.Scope)
}

// conversationFor finds the conversation of a request, or makes it. The caller has the writer's lock.
func (e *Engine) conversationFor(ctx context.Context, c *connection, r AppendRequest) (v *Conversation, err error) {
	of := r.conversation()
	if last := e.grown; last != nil && last.write == e.writes-1 && last.of == of {
		v, e.grown = &last.conversation, nil // until it has grown again
	} else if v, err = resolveConversation(ctx, c, of); err != nil {
		return nil, err
	}
	if v == nil || !v.Active && of.name != "" && !of.byID(v) { // what is archived goes on only where it is named by its id
		return e.makeConversation(ctx, c, r)
	}
	if err := e.mayWrite(v, r.Agent); err != nil {
		return nil, err
	}
	if r.Scope != "" && r.Scope != v.Scope {
		return nil, fault.Invalid("scope", r.Scope, v.Scope+", the scope of conversation "+fault.Quote(of.String()))
	}
	return v, e.adoptSession(ctx, c, v, of)
}

// adoptSession notes that a conversation goes on in another session of the host, or has a key now.
func (e *Engine) adoptSession(ctx context.Context, c *connection, v *Conversation, of conversationOf) error {
	key, session, name := cmp.Or(of.key, v.SessionKey), cmp.Or(of.session, v.SessionID), v.Name
	if key == v.SessionKey && session == v.SessionID {
		return nil
	}
	if v.SessionKey == "" && key != "" {
		name = key
	}
	v.SessionKey, v.SessionID = key, session
	_, err := c.exec(ctx, "conversation_session", sql.Named("id", v.ID), sql.Named("name", name), sql.Named("session_key", nullText(key)),
		sql.Named("session_id", nullText(session)))
	return err
}

func (e *Engine) makeConversation(ctx context.Context, c *connection, r AppendRequest) (*Conversation, error) {
	scope, err := e.scopesNow().ForWriting(r.Agent, r.Scope)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Conversation, conversationPrefix) && validID.MatchString(r.Conversation) && len(r.Conversation) == len(conversationPrefix)+26 {
		return nil, fmt.Errorf("%w: conversation %s; a new one needs a name, not an id", ErrNotFound, fault.Quote(r.Conversation))
	}
	of := r.conversation()
	at := e.now()
	id, err := e.newID(conversationPrefix, at)
	if err != nil {
		return nil, err
	}
	v := &Conversation{ID: id, Name: of.String(), Scope: scope, Title: r.Title, CreatedAt: at, nextSeq: 1,
		SessionKey: cmp.Or(of.name, of.key), SessionID: of.session, Active: true, Estimator: e.opts.Conversation.Estimator}
	if r.Parent != "" {
		parent, err := e.readable(ctx, c, r.Parent, r.Agent)
		if err != nil {
			return nil, fmt.Errorf("parent: %w", err)
		}
		v.ParentID = parent.ID
	}
	if of.name == "" { // a session and a key of one name are two dialogues
		other, err := findConversation(ctx, c, v.Name)
		if err != nil {
			return nil, err
		}
		if other != nil && other.Active {
			v.Name = v.ID
		}
	}
	return v, c.appendRows("conversations", [][]driver.Value{v.row()})
}

// Conversations lists those that the agent may read, the one with the newest message first.
func (e *Engine) Conversations(ctx context.Context, agent string) ([]Conversation, error) {
	scopes, _ := e.scopesNow().ForReading(agent, nil)
	var all []Conversation
	err := e.read(ctx, "conversations", func(c *connection) error {
		return c.each(ctx, "conversation_list", func(rows *sql.Rows) error {
			var v Conversation
			defer func() { all = append(all, v) }()
			return rows.Scan(&v.ID, &v.Name, &v.Scope, textOf(&v.Title), &v.CreatedAt, &v.Messages, timeOf(&v.LastSaidAt), textOf(&v.SessionKey),
				textOf(&v.SessionID), textOf(&v.ParentID), &v.Active, timeOf(&v.ArchivedAt), textOf(&v.ArchiveCause), &v.Estimator)
		}, sql.Named("scopes", listArg(scopes)))
	})
	return all, err
}

// Conversation gives one by name or id, or the unique ending of that: of several with the name the active one, or else the newest. Errors:
// ErrNotFound, ErrAmbiguous, ErrInvalid.
func (e *Engine) Conversation(ctx context.Context, name, agent string) (v *Conversation, err error) {
	err = e.read(ctx, "conversation", func(c *connection) error {
		v, err = e.readable(ctx, c, name, agent)
		return err
	})
	return v, err
}
