package engine

import (
	"context"
	"database/sql"
	"time"
)

// sessionGap is how long a silence may be within one session of a conversation. The migration 0002 has it too.
const sessionGap = 6 * time.Hour

// stand is where a document stands in the talk: the session, which is numbered like its first document, and the place in it, from
// 0. Recall looks at what stands just before and after. What belongs to no session stands alone in one of its own.
type stand struct {
	sessionNo int32
	place     int32
}

// after gives the stand that follows s, or the first of a new session when s is none.
func (s *stand) after(docNo int32) stand {
	if s == nil {
		return stand{docNo, 0}
	}
	return stand{s.sessionNo, s.place + 1}
}

// seat gives a message its stand: after the conversation's last one, unless the host's session changed or there was a silence.
func (v *Conversation) seat(m *Message, docNo int32) stand {
	last := v.last
	if last != nil && (m.Session != v.lastSession || m.SaidAt.Sub(v.LastSaidAt).Abs() > sessionGap) {
		last = nil
	}
	next := last.after(docNo)
	v.last, v.lastSession, v.LastSaidAt = &next, m.Session, m.SaidAt
	return next
}

// origin is where memories come from: those of one session stand together. A memory that is moved to another scope keeps its stand, so
// two sources may go on in one session; the index made anew parts them.
type origin struct{ scope, session string }

// seats is the last stand of every source. Sources that go on in one session share it.
type seats map[origin]*stand

// seat gives a memory its stand.
func (s seats) seat(m *Memory, docNo int32) stand {
	if m.SourceSession == "" {
		return stand{docNo, 0}
	}
	from := origin{m.Scope, m.SourceSession}
	if s[from] == nil {
		s[from] = &stand{docNo, -1}
	}
	s[from].place++
	return *s[from]
}

// seatsOf reads the last stands of the sources that these memories come from.
func (e *Engine) seatsOf(ctx context.Context, c *connection, memories []*Memory) (seats, error) {
	last, sessions := seats{}, []string{}
	for _, m := range memories {
		if m.SourceSession != "" {
			sessions = append(sessions, m.SourceSession)
		}
	}
	if len(sessions) == 0 {
		return last, nil
	}
	numbered := map[int32]*stand{}
	return last, c.each(ctx, "memory_seats", func(rows *sql.Rows) error {
		var from origin
		var s stand
		if err := rows.Scan(&from.scope, &from.session, &s.sessionNo, &s.place); err != nil {
			return err
		}
		if numbered[s.sessionNo] == nil {
			numbered[s.sessionNo] = &s
		}
		last[from] = numbered[s.sessionNo]
		return nil
	}, sql.Named("sessions", sessions))
}
