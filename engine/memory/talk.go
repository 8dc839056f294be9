package memory

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// origin is where memories come from: those of one session stand together. A memory that is moved to another scope keeps its stand, so
// two sources may go on in one session; the index made anew parts them.
type origin struct{ scope, session string }

// seats is the last stand of every source. Sources that go on in one session share it.
type seats map[origin]*index.Stand

// seat gives a memory its stand.
func (s seats) seat(m *Memory, docNo int32) index.Stand {
	if m.SourceSession == "" {
		return index.Stand{SessionNo: docNo, Place: 0}
	}
	from := origin{m.Scope, m.SourceSession}
	if s[from] == nil {
		s[from] = &index.Stand{SessionNo: docNo, Place: -1}
	}
	s[from].Place++
	return *s[from]
}

// seatsOf reads the last stands of the sources that these memories come from.
func (ms *Store) seatsOf(ctx context.Context, c *duck.Conn, memories []*Memory) (seats, error) {
	last, sessions := seats{}, []string{}
	for _, m := range memories {
		if m.SourceSession != "" {
			sessions = append(sessions, m.SourceSession)
		}
	}
	if len(sessions) == 0 {
		return last, nil
	}
	numbered := map[int32]*index.Stand{}
	return last, c.Each(ctx, "memory_seats", func(rows *sql.Rows) error {
		var from origin
		var s index.Stand
		if err := rows.Scan(&from.scope, &from.session, &s.SessionNo, &s.Place); err != nil {
			return err
		}
		if numbered[s.SessionNo] == nil {
			numbered[s.SessionNo] = &s
		}
		last[from] = numbered[s.SessionNo]
		return nil
	}, sql.Named("sessions", sessions))
}
