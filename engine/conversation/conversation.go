package conversation

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

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
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

	// Compactions is how often its context was compacted, CompactedSeq which message was the newest when it last was.
	Compactions  int `json:"compactions,omitempty"`
	CompactedSeq int `json:"-"`

	NextSeq     int
	last        *index.Stand // of the last message; nil: there is none
	lastSession string       // the host's, of the last message
}

// Reference names a conversation in a request: by name or id, or as a host does, by session key and session id.
type Reference struct {
	Name, Key, Session string
}

// Validate refuses one that names nothing, or two things. Errors: ErrInvalid.
func (of Reference) Validate() error {
	if of.Name == "" && of.Key == "" && of.Session == "" {
		return fault.Invalid("conversation", "", "a name or id, or a session key or id")
	}
	if of.Name != "" && of.Key != "" {
		return fault.Invalid("session_key", of.Key, "none beside a conversation")
	}
	for _, f := range []struct{ field, value string }{{"conversation", of.Name}, {"session_key", of.Key}, {"session_id", of.Session}} {
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
func (of Reference) byID(v *Conversation) bool {
	return of.Name == v.ID || of.Name != "" && of.Name != v.Name && of.Name != v.SessionKey
}

// String is the name that it gives, for messages to people.
func (of Reference) String() string { return cmp.Or(of.Name, cmp.Or(of.Key, of.Session)) }

// idEnding is what the ending of an id may look like.
var idEnding = regexp.MustCompile(`^[0-9a-z]{6,26}$`)

// FindConversation gives nil when there is none of that id, name or session key, and none whose id alone ends so; of several with a name the
// active one, or else the newest. Errors: ErrAmbiguous.
func FindConversation(ctx context.Context, c *duck.Conn, name string) (*Conversation, error) {
	return findConversation(ctx, c, name, (*duck.Conn).Each)
}

// reader runs a named query: as Each does, or EachFixed.
type reader func(c *duck.Conn, ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error

func findConversation(ctx context.Context, c *duck.Conn, name string, each reader) (*Conversation, error) {
	v, err := oneConversation(ctx, c, each, name, "conversation_by_name", sql.Named("name", name))
	if err != nil || v != nil || !idEnding.MatchString(name) {
		return v, err
	}
	n := 0
	err = c.Each(ctx, "conversation_by_ending", func(rows *sql.Rows) (err error) {
		n++
		v, err = scanConversation(rows)
		return err
	}, sql.Named("ending", name))
	if err == nil && n > 1 {
		return nil, fmt.Errorf("%w: %s fits %d conversations; give more of it", fault.ErrAmbiguous, fault.Quote(name), n)
	}
	return v, err
}

// ResolveConversation finds what a request names, as it is: nil when there is none. A session key finds the active conversation of that
// key; without one, a session id finds the active, newest one in that session, or an archived one where a host has no keys.
func ResolveConversation(ctx context.Context, c *duck.Conn, of Reference) (*Conversation, error) {
	if of.Name != "" {
		return FindConversation(ctx, c, of.Name)
	}
	if of.Key != "" {
		v, err := oneConversation(ctx, c, (*duck.Conn).Each, "", "conversation_by_key", sql.Named("session_key", of.Key))
		if err != nil || v != nil || of.Session == "" {
			return v, err
		}
	}
	v, err := oneConversation(ctx, c, (*duck.Conn).Each, "", "conversation_by_session", sql.Named("session_id", of.Session))
	if err != nil || v == nil || of.Key == "" || v.Active && v.SessionKey == "" {
		return v, err
	}
	return nil, nil
}

// oneConversation gives the best of those that a query finds: that of the id, an active one, that of the name, the newest.
func oneConversation(ctx context.Context, c *duck.Conn, each reader, name, query string, args ...any) (best *Conversation, err error) {
	rank := func(v *Conversation) []int64 {
		return []int64{count(v.ID == name), count(v.Active), count(v.Name == name), v.CreatedAt.UnixMicro()}
	}
	err = each(c, ctx, query, func(rows *sql.Rows) error {
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
	err := rows.Scan(&v.ID, &v.Name, &v.Scope, duck.TextOf(&v.Title), &v.CreatedAt, &v.NextSeq,
		&sessionNo, &place, duck.TextOf(&v.lastSession), duck.TimeOf(&v.LastSaidAt), duck.TextOf(&v.SessionKey), duck.TextOf(&v.SessionID), duck.TextOf(&v.ParentID),
		&v.Active, duck.TimeOf(&v.ArchivedAt), duck.TextOf(&v.ArchiveCause), &v.Estimator, &v.Compactions, &v.CompactedSeq)
	v.Messages = v.NextSeq - 1
	if sessionNo.Valid {
		v.last = &index.Stand{SessionNo: sessionNo.Int32, Place: place.Int32}
	}
	return &v, err
}

// Tokenizer counts its tokens.
func (v *Conversation) Tokenizer() (text.Estimator, error) {
	estimator, err := text.NewEstimator(v.Estimator)
	if err != nil {
		return estimator, fmt.Errorf("%w: conversation %s: %w", fault.ErrCorrupt, v.ID, err)
	}
	return estimator, nil
}

// row gives the conversation as the columns of its table, in their order.
func (v *Conversation) row() []driver.Value {
	var sessionNo, place driver.Value
	if v.last != nil {
		sessionNo, place = v.last.SessionNo, v.last.Place
	}
	return []driver.Value{v.ID, v.Name, v.Scope, duck.NullText(v.Title), v.CreatedAt, int32(v.NextSeq), sessionNo, place, duck.NullText(v.lastSession),
		duck.NullTime(v.LastSaidAt), duck.NullText(v.SessionKey), duck.NullText(v.SessionID), duck.NullText(v.ParentID), v.Active, duck.NullTime(v.ArchivedAt),
		duck.NullText(v.ArchiveCause), v.Estimator, int32(v.Compactions), int32(v.CompactedSeq)}
}

// Readable finds a conversation that the agent may read. Errors: ErrNotFound, ErrInvalid.
func (cs *Store) Readable(ctx context.Context, c *duck.Conn, name, agent string) (*Conversation, error) {
	if err := cmp.Or(fault.CheckText("conversation", name), Reference{Name: name}.Validate()); err != nil {
		return nil, err
	}
	v, err := findConversation(ctx, c, name, (*duck.Conn).EachFixed)
	if err != nil {
		return nil, err
	}
	if v == nil || !cs.scopes.Now().Sees(agent, v.Scope) {
		return nil, fmt.Errorf("%w: conversation %s", fault.ErrNotFound, fault.Quote(name))
	}
	return v, nil
}

// Writable finds a conversation that the agent may write to. Errors: ErrNotFound, ErrScopeDenied, ErrInvalid.
func (cs *Store) Writable(ctx context.Context, c *duck.Conn, of Reference, agent string) (*Conversation, error) {
	if err := of.Validate(); err != nil {
		return nil, err
	}
	v, err := ResolveConversation(ctx, c, of)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, fmt.Errorf("%w: conversation %s", fault.ErrNotFound, fault.Quote(of.String()))
	}
	return v, cs.mayWrite(v, agent)
}

func (cs *Store) mayWrite(v *Conversation, agent string) error {
	if cs.scopes.Now().Sees(agent, v.Scope) {
		return nil
	}
	return fmt.Errorf("%w: agent %q may not use %s", fault.ErrScopeDenied, agent, v.Scope)
}

// conversationFor finds the conversation of a request, or makes it. The caller has the writer's lock.
func (cs *Store) conversationFor(ctx context.Context, tx *duck.Write, r AppendRequest) (v *Conversation, err error) {
	of := r.conversation()
	if last := cs.grown; last != nil && last.write == cs.file.Writes-1 && last.of == of {
		v, cs.grown = &last.conversation, nil // until it has grown again
	} else if v, err = ResolveConversation(ctx, tx.Conn, of); err != nil {
		return nil, err
	}
	if v == nil || !v.Active && of.Name != "" && !of.byID(v) { // what is archived goes on only where it is named by its id
		return cs.makeConversation(ctx, tx, r)
	}
	if err := cs.mayWrite(v, r.Agent); err != nil {
		return nil, err
	}
	if r.Scope != "" && r.Scope != v.Scope {
		return nil, fault.Invalid("scope", r.Scope, v.Scope+", the scope of conversation "+fault.Quote(of.String()))
	}
	return v, cs.adoptSession(ctx, tx, v, of)
}

// adoptSession notes that a conversation goes on in another session of the host, or has a key now.
func (cs *Store) adoptSession(ctx context.Context, tx *duck.Write, v *Conversation, of Reference) error {
	key, session, name := cmp.Or(of.Key, v.SessionKey), cmp.Or(of.Session, v.SessionID), v.Name
	if key == v.SessionKey && session == v.SessionID {
		return nil
	}
	if v.SessionKey == "" && key != "" {
		name = key
	}
	v.SessionKey, v.SessionID = key, session
	_, err := tx.Exec(ctx, "conversation_session", sql.Named("id", v.ID), sql.Named("name", name), sql.Named("session_key", duck.NullText(key)),
		sql.Named("session_id", duck.NullText(session)))
	return err
}

func (cs *Store) makeConversation(ctx context.Context, tx *duck.Write, r AppendRequest) (*Conversation, error) {
	of := r.conversation()
	scopes, asked := cs.scopes.Now(), r.Scope
	if asked == "" && strings.TrimSpace(r.Agent) == "" { // nobody says whose it is: the key may
		asked = scopes.OfSession(cmp.Or(of.Name, of.Key))
	}
	scope, err := scopes.ForWriting(r.Agent, asked)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Conversation, ids.Conversation) && ids.Valid.MatchString(r.Conversation) && len(r.Conversation) == len(ids.Conversation)+26 {
		return nil, fmt.Errorf("%w: conversation %s; a new one needs a name, not an id", fault.ErrNotFound, fault.Quote(r.Conversation))
	}
	at := cs.file.Now()
	id, err := cs.file.NewID(ids.Conversation, at)
	if err != nil {
		return nil, err
	}
	v := &Conversation{ID: id, Name: of.String(), Scope: scope, Title: r.Title, CreatedAt: at, NextSeq: 1,
		SessionKey: cmp.Or(of.Name, of.Key), SessionID: of.Session, Active: true, Estimator: cs.opts.Conversation.Estimator}
	if r.Parent != "" {
		parent, err := cs.Readable(ctx, tx.Conn, r.Parent, r.Agent)
		if err != nil {
			return nil, fmt.Errorf("parent: %w", err)
		}
		v.ParentID = parent.ID
	}
	if of.Name == "" { // a session and a key of one name are two dialogues
		other, err := FindConversation(ctx, tx.Conn, v.Name)
		if err != nil {
			return nil, err
		}
		if other != nil && other.Active {
			v.Name = v.ID
		}
	}
	return v, tx.AppendRows("conversations", [][]driver.Value{v.row()})
}

// Conversations lists those that the agent may read, the one with the newest message first.
func (cs *Store) Conversations(ctx context.Context, agent string) ([]Conversation, error) {
	scopes, _ := cs.scopes.Now().ForReading(agent, nil)
	var all []Conversation
	err := cs.file.Read(ctx, "conversations", func(c *duck.Conn) (err error) {
		all, err = duck.List(ctx, c, "conversation_list", func(rows *sql.Rows, v *Conversation) error {
			return rows.Scan(&v.ID, &v.Name, &v.Scope, duck.TextOf(&v.Title), &v.CreatedAt, &v.Messages, duck.TimeOf(&v.LastSaidAt), duck.TextOf(&v.SessionKey),
				duck.TextOf(&v.SessionID), duck.TextOf(&v.ParentID), &v.Active, duck.TimeOf(&v.ArchivedAt), duck.TextOf(&v.ArchiveCause), &v.Estimator, &v.Compactions)
		}, sql.Named("scopes", duck.ListArg(scopes)))
		return err
	})
	return all, err
}

// Conversation gives one by name or id, or the unique ending of that: of several with the name the active one, or else the newest. Errors:
// ErrNotFound, ErrAmbiguous, ErrInvalid.
func (cs *Store) Conversation(ctx context.Context, name, agent string) (v *Conversation, err error) {
	err = cs.file.Read(ctx, "conversation", func(c *duck.Conn) error {
		v, err = cs.Readable(ctx, c, name, agent)
		return err
	})
	return v, err
}
