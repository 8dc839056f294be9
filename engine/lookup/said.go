package lookup

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// Said is which messages are meant: all that the agent may read, but for what is said here. A nil slice is no restriction, an empty one matches nothing.
type Said struct {
	Agent string // empty: an internal caller
	// Conversation, by name or id, with all others of its session key, archived ones too; empty: all.
	Conversation string
	// Roles and Speakers are who said it, the speakers in any case of letters.
	Roles, Speakers []string
	// SourceKinds and NotSourceKinds are what brought it about, such as web or cron, or talk where nothing is said of that: one of the former, none of the latter.
	SourceKinds, NotSourceKinds []string
	// HumanOnly leaves out what no person began: scheduled, briefing, subtask, heartbeat and cron.
	HumanOnly     bool
	Since, Before time.Time // when it was said: from Since on, before Before
	LastDays      int       // in the last so many days, in place of Since; 0 to 36,500, default 0: ever
}

func (s *Said) validate() error {
	if s.LastDays < 0 || s.LastDays > 36_500 {
		return fault.Invalid("last_days", s.LastDays, "0 to 36500")
	}
	if s.LastDays > 0 && !s.Since.IsZero() {
		return fault.Invalid("last_days", s.LastDays, "none beside since")
	}
	if !s.Since.IsZero() && !s.Before.IsZero() && !s.Since.Before(s.Before) {
		return fault.Invalid("since", s.Since.Format(time.RFC3339), "a time before "+s.Before.Format(time.RFC3339)+", which is before")
	}
	return cmp.Or(fault.CheckText("conversation", s.Conversation), fault.Members("roles", s.Roles, kinds.Roles()), fault.CheckTexts("speakers", s.Speakers),
		fault.CheckWords("source_kinds", s.SourceKinds), fault.CheckWords("not_source_kinds", s.NotSourceKinds), fault.CheckTime("since", s.Since), fault.CheckTime("before", s.Before))
}

// settle puts what is meant by people, and by days, into the other fields.
func (s *Said) settle(now time.Time) {
	if s.HumanOnly {
		s.NotSourceKinds = append(slices.Clone(s.NotSourceKinds), kinds.Unattended()...)
		s.HumanOnly = false
	}
	if s.LastDays > 0 {
		s.Since, s.LastDays = now.AddDate(0, 0, -s.LastDays), 0
	}
	s.Since, s.Before = duck.UTC(s.Since), duck.UTC(s.Before)
}

// args are what the queries about messages want of it, among conversations.
func (s *Said) args(conversations []string) []any {
	speakers := duck.FilterArg(s.Speakers)
	for i, name := range speakers {
		speakers[i] = strings.ToLower(name)
	}
	return []any{sql.Named("conversations", append([]string{}, conversations...)), sql.Named("roles", duck.FilterArg(s.Roles)), sql.Named("speakers", speakers),
		sql.Named("source_kinds", duck.FilterArg(s.SourceKinds)), sql.Named("not_source_kinds", append([]string{}, s.NotSourceKinds...)),
		sql.Named("since", duck.OrTime(s.Since, duck.Year1)), sql.Named("until", duck.OrTime(s.Before, duck.Year10000))}
}

// family gives the ids of a conversation and of all others of its session key, as far as the agent may read them.
func (ts *Tools) family(ctx context.Context, c *duck.Conn, conversation, agent string) ([]string, error) {
	v, err := ts.conversations.Readable(ctx, c, conversation, agent)
	if err != nil {
		return nil, err
	}
	all := []string{}
	return all, c.EachFixed(ctx, "grep_family", func(rows *sql.Rows) error {
		var id, scope string
		err := rows.Scan(&id, &scope)
		if ts.scopes.Now().Sees(agent, scope) {
			all = append(all, id)
		}
		return err
	}, sql.Named("id", v.ID), sql.Named("session_key", v.SessionKey))
}

// asked gives the ids of the conversations that are meant.
func (ts *Tools) asked(ctx context.Context, c *duck.Conn, s *Said) ([]string, error) {
	if s.Conversation != "" {
		return ts.family(ctx, c, s.Conversation, s.Agent)
	}
	scopes, _ := ts.scopes.Now().ForReading(s.Agent, nil)
	return duck.Column[string](ctx, c, "grep_conversations", sql.Named("scopes", duck.ListArg(scopes)))
}

// searchRecent gives the newest.
func (ts *Tools) searchRecent(ctx context.Context, r SearchRequest, x *SearchResult) error {
	return ts.file.Read(ctx, "search", func(c *duck.Conn) error {
		conversations, err := ts.asked(ctx, c, &r.Said)
		if err != nil {
			return err
		}
		args := append(r.args(conversations), sql.Named("characters", int64(grepWidth+1)), sql.Named("limit", int64(r.Limit)))
		return c.Each(ctx, "search_recent", func(rows *sql.Rows) error {
			h := SearchHit{Kind: kinds.Message}
			var seq int32
			err := rows.Scan(&h.ID, &h.ConversationID, &seq, &h.Role, duck.TextOf(&h.Speaker), duck.TextOf(&h.SourceKind), &h.At, duck.TextOf(&h.Snippet))
			h.Seq, h.Snippet = int(seq), preview(h.Snippet)
			x.Hits = append(x.Hits, h)
			return err
		}, args...)
	})
}

// preview is a text on one line, of at most 200 characters.
func preview(s string) string {
	line := []rune(strings.Join(strings.Fields(s), " "))
	if len(line) <= grepWidth {
		return string(line)
	}
	return string(line[:grepWidth-1]) + "…"
}

// GapsRequest asks for silences between messages of a conversation.
type GapsRequest struct {
	Said                // Roles: default user
	Least time.Duration // how long a silence is at least; default 1 h
	Limit int           // 1 to 1000, default 20
}

// Gap is a silence: nothing was said, of what is asked, from one message to the next.
type Gap struct {
	ConversationID string        `json:"conversation_id"`
	Conversation   string        `json:"conversation"`
	Before         string        `json:"before"` // the message before it
	BeganAt        time.Time     `json:"began_at"`
	After          string        `json:"after"` // and the one that ended it
	EndedAt        time.Time     `json:"ended_at"`
	Lasted         time.Duration `json:"lasted"` // in nanoseconds
}

// Gaps gives the silences in conversations, newest first; by default those between messages of users. Errors: ErrInvalid, ErrNotFound.
func (ts *Tools) Gaps(ctx context.Context, r GapsRequest) (all []Gap, err error) {
	const op = "gaps"
	setup.Preset(&r.Least, time.Hour)
	setup.Preset(&r.Limit, 20)
	if r.Roles == nil {
		r.Roles = []string{"user"}
	}
	err = r.validate()
	switch {
	case err != nil:
	case r.Least < time.Microsecond:
		err = fault.Invalid("least", r.Least, "a time such as 1h")
	case r.Limit < 1 || r.Limit > 1000:
		err = fault.Invalid("limit", r.Limit, "1 to 1000")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	r.settle(ts.file.Now())
	err = ts.file.Read(ctx, op, func(c *duck.Conn) error {
		conversations, err := ts.asked(ctx, c, &r.Said)
		if err != nil {
			return err
		}
		args := append(r.args(conversations), sql.Named("least", r.Least.Microseconds()), sql.Named("limit", int64(r.Limit)))
		all, err = duck.List(ctx, c, "search_gaps", func(rows *sql.Rows, g *Gap) error {
			err := rows.Scan(&g.ConversationID, &g.Conversation, &g.Before, &g.BeganAt, &g.After, &g.EndedAt)
			g.Lasted = g.EndedAt.Sub(g.BeganAt)
			return err
		}, args...)
		return err
	})
	return all, err
}

// TallyBy is what messages are counted by.
type TallyBy string

// What they can be counted by; days, months and hours are those of UTC.
const (
	ByRole         TallyBy = "role"
	BySpeaker      TallyBy = "speaker"
	BySourceKind   TallyBy = "source_kind"
	ByConversation TallyBy = "conversation"
	ByDay          TallyBy = "day"
	ByMonth        TallyBy = "month"
	ByHour         TallyBy = "hour" // of the day
	ByNothing      TallyBy = "all"
)

// TallyWays lists them all.
func TallyWays() []TallyBy {
	return []TallyBy{ByRole, BySpeaker, BySourceKind, ByConversation, ByDay, ByMonth, ByHour, ByNothing}
}

// TallyRequest asks how many messages there are.
type TallyRequest struct {
	Said
	By TallyBy // default role
}

// Tallied are the messages of one role, speaker, day or whatever they are counted by.
type Tallied struct {
	Name     string    `json:"name"`
	Messages int64     `json:"messages"`
	Tokens   int64     `json:"tokens"`
	FirstAt  time.Time `json:"first_at"`
	LastAt   time.Time `json:"last_at"`
}

// Tally counts messages: those of times in their order, all others the most first. Errors: ErrInvalid, ErrNotFound.
func (ts *Tools) Tally(ctx context.Context, r TallyRequest) (all []Tallied, err error) {
	const op = "tally"
	setup.Preset(&r.By, ByRole)
	if err := cmp.Or(fault.Member("by", r.By, TallyWays()), r.validate()); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	r.settle(ts.file.Now())
	err = ts.file.Read(ctx, op, func(c *duck.Conn) error {
		conversations, err := ts.asked(ctx, c, &r.Said)
		if err != nil {
			return err
		}
		all, err = duck.List(ctx, c, "search_tally", func(rows *sql.Rows, t *Tallied) error {
			return rows.Scan(&t.Name, &t.Messages, &t.Tokens, &t.FirstAt, &t.LastAt)
		}, append(r.args(conversations), sql.Named("by", string(r.By)))...)
		return err
	})
	return all, err
}
