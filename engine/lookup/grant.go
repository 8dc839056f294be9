package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// GrantRequest says what somebody else, such as a sub-agent, may expand.
type GrantRequest struct {
	Issuer        string        // the agent that gives it, who must be able to read what it covers; empty: an internal caller
	Conversations []string      // names or ids; at least one
	Summaries     []string      // ids of those it covers, with all that is below them; empty: all of the conversations
	MaxDepth      int           // 1 to 10; default 3
	TokenCap      int           // of everything that is expanded with it; default 4,000
	TTL           time.Duration // default 5 min
}

// Grant lets its holder expand summaries, whatever scopes that one has. It lives as long as the engine is open, at most.
type Grant struct {
	ID            string    `json:"id"`
	Issuer        string    `json:"issuer,omitempty"`
	Conversations []string  `json:"conversations"`       // ids
	Summaries     []string  `json:"summaries,omitempty"` // ids; empty: all
	MaxDepth      int       `json:"max_depth"`
	TokenCap      int       `json:"token_cap"`
	Consumed      int       `json:"consumed"` // tokens
	ExpiresAt     time.Time `json:"expires_at"`
	Revoked       bool      `json:"revoked,omitempty"`
}

// maxDepth is how far down a walk goes at most.
const maxDepth = 10

// grants are those that were given. They are in memory only.
type grants struct {
	mu   sync.Mutex // owns what is below, and the Grant of each
	byID map[string]*heldGrant
}

// heldGrant is a grant and who uses it: one call at a time, so that all of them together stay within its tokens.
type heldGrant struct {
	Grant
	grants *grants
	busy   chan struct{} // has a token while a call uses it
}

// CreateGrant lets whoever is given its id expand what it covers. Errors: ErrInvalid, ErrNotFound.
func (ts *Tools) CreateGrant(ctx context.Context, r GrantRequest) (*Grant, error) {
	const op = "create grant"
	setup.Preset(&r.MaxDepth, 3)
	setup.Preset(&r.TokenCap, 4000)
	setup.Preset(&r.TTL, 5*time.Minute)
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	g := Grant{Issuer: r.Issuer, MaxDepth: r.MaxDepth, TokenCap: r.TokenCap}
	err := ts.file.Read(ctx, op, func(c *duck.Conn) error {
		for _, name := range r.Conversations {
			v, err := ts.conversations.Readable(ctx, c, name, r.Issuer)
			if err != nil {
				return err
			}
			g.Conversations = append(g.Conversations, v.ID)
		}
		for _, id := range r.Summaries {
			n, err := ts.lookUp(ctx, c, id, r.Issuer)
			if err != nil {
				return err
			}
			if n.kind != kinds.Summary || !slices.Contains(g.Conversations, n.conversationID) {
				return fault.Invalid("summaries", id, "summaries of the conversations named")
			}
			g.Summaries = append(g.Summaries, n.id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := ts.file.Now()
	if g.ID, err = ts.file.NewID(ids.Grant, now); err != nil {
		return nil, fmt.Errorf("grant: %w", err)
	}
	g.ExpiresAt = now.Add(r.TTL)
	ts.grants.add(&heldGrant{Grant: g, grants: &ts.grants, busy: make(chan struct{}, 1)}, now)
	return g.copied(), nil
}

func (r GrantRequest) validate() error {
	switch {
	case len(r.Conversations) == 0:
		return fault.Invalid("conversations", "", "one or more names or ids")
	case r.MaxDepth < 1 || r.MaxDepth > maxDepth:
		return fault.Invalid("max_depth", r.MaxDepth, fmt.Sprintf("1 to %d", maxDepth))
	case r.TokenCap < 1:
		return fault.Invalid("token_cap", r.TokenCap, "1 or more")
	case r.TTL < 0:
		return fault.Invalid("ttl", r.TTL, "a time such as 5m")
	}
	return fault.CheckText("issuer", r.Issuer)
}

// Grant gives one as it stands. Errors: ErrNotFound.
func (ts *Tools) Grant(id string) (*Grant, error) {
	h := ts.grants.find(id)
	if h == nil {
		return nil, fmt.Errorf("grant: %w: %s", fault.ErrNotFound, fault.Quote(id))
	}
	ts.grants.mu.Lock()
	defer ts.grants.mu.Unlock()
	return h.copied(), nil
}

// copied is the grant for a caller: what he does to it makes no difference.
func (g Grant) copied() *Grant {
	g.Conversations, g.Summaries = slices.Clone(g.Conversations), slices.Clone(g.Summaries)
	return &g
}

// RevokeGrant ends a grant; a call that uses it comes to its end. Errors: ErrNotFound.
func (ts *Tools) RevokeGrant(id string) error {
	h := ts.grants.find(id)
	if h == nil {
		return fmt.Errorf("revoke grant: %w: %s", fault.ErrNotFound, fault.Quote(id))
	}
	ts.grants.mu.Lock()
	defer ts.grants.mu.Unlock()
	h.Revoked = true
	return nil
}

// forgotten is how long an expired grant is still known as one.
const forgotten = time.Hour

// add keeps a grant, and drops those that expired long ago.
func (all *grants) add(h *heldGrant, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byID == nil {
		all.byID = map[string]*heldGrant{}
	}
	for id, other := range all.byID {
		if now.Sub(other.ExpiresAt) > forgotten {
			delete(all.byID, id)
		}
	}
	all.byID[h.ID] = h
}

// find gives nil when there is none of that id.
func (all *grants) find(id string) *heldGrant {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byID[id]
}

// hold gives the grant of a request to this call alone, until release; nil when the request has none.
func (ts *Tools) hold(ctx context.Context, id string) (*heldGrant, error) {
	if id == "" {
		return nil, nil
	}
	h := ts.grants.find(id)
	if h == nil {
		return nil, fmt.Errorf("%w: there is no grant %s", fault.ErrGrant, fault.Quote(id))
	}
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := h.valid(ts.file.Now()); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

func (h *heldGrant) release() {
	if h != nil {
		<-h.busy
	}
}

func (h *heldGrant) valid(now time.Time) error {
	h.grants.mu.Lock()
	defer h.grants.mu.Unlock()
	switch {
	case h.Revoked:
		return fmt.Errorf("%w: grant %s was revoked", fault.ErrGrant, h.ID)
	case !h.ExpiresAt.After(now):
		return fmt.Errorf("%w: grant %s expired at %s", fault.ErrGrant, h.ID, h.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

// covers says why the grant is no good for what is asked for; conversations come first.
func (h *heldGrant) covers(ctx context.Context, c *duck.Conn, asked []*named) error {
	for _, n := range asked {
		if n.kind != kinds.Summary && n.kind != kinds.Message && n.kind != FileKind || !slices.Contains(h.Conversations, n.conversationID) {
			return fmt.Errorf("%w: grant %s does not cover the conversation of %s", fault.ErrGrant, h.ID, n.id)
		}
	}
	if len(h.Summaries) == 0 {
		return nil
	}
	for _, n := range asked {
		of := n.id
		if n.kind == FileKind {
			if _, err := c.One(ctx, "message_of_file", []any{&of}, sql.Named("id", n.id)); err != nil {
				return err
			}
		}
		above, err := duck.Column[string](ctx, c, "summaries_above", sql.Named("id", of))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(append(above, n.id), func(id string) bool { return slices.Contains(h.Summaries, id) }) {
			return fmt.Errorf("%w: grant %s does not cover %s", fault.ErrGrant, h.ID, n.id)
		}
	}
	return nil
}

// lacks is the error for a conversation of which the grant covers nothing.
func (h *heldGrant) lacks(conversation string) error {
	return fmt.Errorf("%w: grant %s does not cover conversation %s", fault.ErrGrant, h.ID, fault.Quote(conversation))
}

// left is how many tokens there still are.
func (h *heldGrant) left() int {
	h.grants.mu.Lock()
	defer h.grants.mu.Unlock()
	return h.TokenCap - h.Consumed
}

// room is left, which must be something. Errors: ErrGrantSpent.
func (h *heldGrant) room() (int, error) {
	left := h.left()
	if left <= 0 {
		return 0, fmt.Errorf("%w: grant %s had %d tokens", fault.ErrGrantSpent, h.ID, h.TokenCap)
	}
	return left, nil
}

func (h *heldGrant) consume(tokens int) {
	h.grants.mu.Lock()
	defer h.grants.mu.Unlock()
	h.Consumed = min(h.Consumed+tokens, h.TokenCap)
}
