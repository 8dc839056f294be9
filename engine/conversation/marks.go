package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Usage is what a provider counted for an answer, in tokens. It is worth more than any estimate of ours.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Total      int `json:"total,omitempty"`
}

// mostUsage is the most tokens that a provider is believed to have counted.
const mostUsage = 1 << 40

// check says what is wrong with a usage.
func (u *Usage) check() error {
	if u == nil {
		return nil
	}
	for _, f := range []struct {
		field string
		value int
	}{{"input", u.Input}, {"output", u.Output}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}, {"total", u.Total}} {
		if f.value < 0 || f.value > mostUsage {
			return fault.Invalid("usage."+f.field, f.value, fmt.Sprintf("0 to %d tokens", mostUsage))
		}
	}
	return nil
}

// sourceKinds is what a kind of source may look like.
var sourceKinds = regexp.MustCompile(`^[a-z0-9_-]{0,64}$`)

// mostActions is how many actions a message may name.
const mostActions = 10_000

// checkMarks says what is wrong with what a message says beside its words.
func (m *Message) checkMarks() error {
	if !sourceKinds.MatchString(m.SourceKind) {
		return fault.Invalid("source_kind", m.SourceKind, "at most 64 of a-z, 0-9, _ and -")
	}
	if len(m.Actions) > mostActions {
		return fault.Invalid("actions", fmt.Sprintf("%d lines", len(m.Actions)), fmt.Sprintf("at most %d", mostActions))
	}
	return cmp.Or(fault.CheckText("reply_to", m.ReplyTo), fault.CheckTexts("actions", m.Actions), m.Usage.check())
}

// markColumns are the columns reply_to to actions of a message.
func (m *Message) markColumns() []driver.Value {
	columns := []driver.Value{duck.NullText(m.ReplyTo), duck.NullText(m.SourceKind), nullUnless(m.Withheld), nullUnless(m.Fallback), nil, nil}
	if m.Usage != nil {
		b, _ := json.Marshal(m.Usage) // five numbers
		columns[4] = json.RawMessage(b)
	}
	if len(m.Actions) > 0 {
		columns[5] = m.Actions
	}
	return columns
}

func nullUnless(is bool) driver.Value {
	if !is {
		return nil
	}
	return true
}

// marksScan reads the columns reply_to to actions.
type marksScan struct {
	withheld, fallback sql.NullBool
	usage              sql.NullString
	actions            sql.Null[duckdb.Composite[[]string]]
}

func (s *marksScan) dest(m *Message) []any {
	return []any{duck.TextOf(&m.ReplyTo), duck.TextOf(&m.SourceKind), &s.withheld, &s.fallback, &s.usage, &s.actions}
}

func (s *marksScan) put(m *Message) error {
	m.Withheld, m.Fallback = s.withheld.Bool, s.fallback.Bool
	if s.actions.Valid {
		m.Actions = s.actions.V.Get()
	}
	if !s.usage.Valid {
		return nil
	}
	m.Usage = &Usage{}
	if err := json.Unmarshal([]byte(s.usage.String), m.Usage); err != nil {
		return fmt.Errorf("%w: usage of message %s: %w", fault.ErrCorrupt, m.ID, err)
	}
	return nil
}

// MarkRequest changes the marks of messages of one conversation.
type MarkRequest struct {
	Conversation string   // name or id
	Agent        string   // empty: an internal caller
	IDs          []string // whole ids of messages
	Keys         []string // and the caller's keys of messages
	Withheld     *bool    // whether models are not shown them; nil: as it is
	Fallback     *bool    // whether a host said them because its model failed; nil: as it is
}

// Mark changes the marks of messages, and gives how many it changed; those that are marked so already, and those that are not there, are not among
// them. Errors: ErrNotFound for the conversation, ErrInvalid, ErrScopeDenied.
func (cs *Store) Mark(ctx context.Context, r MarkRequest) (changed int, err error) {
	if r.Withheld == nil && r.Fallback == nil {
		return 0, fmt.Errorf("mark: %w", fault.Invalid("withheld and fallback", "nil", "one of them"))
	}
	if err := cmp.Or(Reference{Name: r.Conversation}.Validate(), fault.CheckTexts("ids", r.IDs), fault.CheckTexts("keys", r.Keys)); err != nil {
		return 0, fmt.Errorf("mark: %w", err)
	}
	err = cs.file.Write(ctx, "mark messages", func(tx *duck.Write) error {
		v, err := cs.Writable(ctx, tx.Conn, Reference{Name: r.Conversation}, r.Agent)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "messages_mark", sql.Named("conversation_id", v.ID), sql.Named("ids", append([]string{}, r.IDs...)), sql.Named("keys", append([]string{}, r.Keys...)),
			sql.Named("withheld", given(r.Withheld)), sql.Named("fallback", given(r.Fallback)))
		changed = int(n)
		return err
	})
	return changed, err
}

func given(is *bool) any {
	if is == nil {
		return nil
	}
	return *is
}
