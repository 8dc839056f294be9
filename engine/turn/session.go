package turn

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

const (
	settingPrefix = "turn:"
	drawnSetting  = "turns" // when memories were drawn from talk, within the window of the options
	// mostSessions is how many are kept in memory; what is written is then forgotten there.
	mostSessions = 1000
)

// session is what is kept of one, and written as a setting.
type session struct {
	Turn           int            `json:"turn"`
	Shown          map[string]int `json:"shown"`          // the turn in which a memory was shown last, by its id; as far back as that matters
	Asked          map[string]int `json:"asked,omitzero"` // those shown in the last turn that After has not judged yet
	ConversationID string         `json:"conversation_id,omitempty"`
	Last           time.Time      `json:"last"`

	dirty bool // it is not in the file as it is
}

// name is what the session of a turn is called; empty: it belongs to none.
func (t *Turn) name() string {
	name := cmp.Or(t.Session, t.Conversation)
	if name != "" && t.Agent != "" {
		name = t.Agent + "/" + name
	}
	return name
}

// begin counts a turn of a session, and gives which memories were shown in the last ones. The session is read from the file where it isn't known.
func (t *Turns) begin(ctx context.Context, name string) (turn int, shown map[string]int, err error) {
	if name == "" {
		return 1, nil, nil
	}
	if err := t.load(ctx, name); err != nil {
		return 0, nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(name)
	s.Turn++
	s.Last, s.dirty = t.file.Now(), true
	s.Asked = nil
	maps.DeleteFunc(s.Shown, func(_ string, at int) bool { return s.Turn-at > t.opts.Turns.Repeat })
	return s.Turn, maps.Clone(s.Shown), nil
}

// session gives one by name. The caller has mu.
func (t *Turns) session(name string) *session {
	s := t.sessions[name]
	if s == nil {
		s = &session{}
		t.sessions[name] = s
	}
	return s
}

// load reads a session from the file, unless it is known.
func (t *Turns) load(ctx context.Context, name string) error {
	t.mu.Lock()
	known := t.sessions[name] != nil
	t.mu.Unlock()
	if known {
		return nil
	}
	s := &session{}
	err := t.file.Read(ctx, "turn", func(c *duck.Conn) error {
		_, err := t.file.Setting(ctx, c, settingPrefix+name, s)
		return err
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions[name] == nil {
		t.sessions[name] = s
	}
	return nil
}

// show notes what is shown in a turn of a session.
func (t *Turns) show(name string, turn int, ids []string) {
	if name == "" || len(ids) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.session(name)
	if s.Shown == nil {
		s.Shown = map[string]int{}
	}
	if s.Asked == nil {
		s.Asked = map[string]int{}
	}
	for _, id := range ids {
		s.Shown[id], s.Asked[id] = turn, turn
	}
	s.dirty = true
}

// judge gives what was shown in the last turn of a session, which is judged once.
func (t *Turns) judge(name string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[name]
	if s == nil {
		return nil
	}
	ids := slices.Sorted(maps.Keys(s.Asked))
	if s.Asked = nil; len(ids) > 0 {
		s.dirty = true
	}
	return ids
}

// save writes what has changed. Where that fails it is written the next time.
func (t *Turns) save(ctx context.Context) error {
	if t.opts.ReadOnly {
		return nil
	}
	t.mu.Lock()
	changed := map[string]session{}
	for name, s := range t.sessions {
		if s.dirty {
			s.dirty = false
			copied := *s
			copied.Shown, copied.Asked = maps.Clone(s.Shown), maps.Clone(s.Asked)
			changed[name] = copied
		}
	}
	t.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	err := t.file.Write(ctx, "turn", func(tx *duck.Write) error {
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if err := t.file.PutSetting(ctx, tx, settingPrefix+name, changed[name]); err != nil {
				return err
			}
		}
		return nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		for name := range changed {
			t.session(name).dirty = true
		}
		return err
	}
	if len(t.sessions) > mostSessions {
		maps.DeleteFunc(t.sessions, func(_ string, s *session) bool { return !s.dirty })
	}
	return nil
}

// Close writes what is kept of sessions, and forgets it.
func (t *Turns) Close() error {
	err := t.save(context.Background())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions = map[string]*session{}
	return err
}

// untouched is after how long without a turn what is kept of a session is forgotten.
const untouched = 30 * 24 * time.Hour

// Forget removes what is kept of sessions that had no turn for thirty days, and counts them; dry only counts.
func (t *Turns) Forget(ctx context.Context, dry bool) (n int, err error) {
	if err := t.save(ctx); err != nil {
		return 0, err
	}
	left := func(c *duck.Conn) (names []string, err error) {
		names, err = duck.Column[string](ctx, c, "turn_sessions_left", sql.Named("prefix", settingPrefix), sql.Named("since", t.file.Now().Add(-untouched)))
		n = len(names)
		return names, err
	}
	if dry {
		err = t.file.Read(ctx, "turn", func(c *duck.Conn) error {
			_, err := left(c)
			return err
		})
		return n, err
	}
	err = t.file.Write(ctx, "turn", func(tx *duck.Write) error {
		names, err := left(tx.Conn)
		for _, name := range names {
			if _, err := t.file.DeleteSetting(ctx, tx, name); err != nil {
				return err
			}
			t.mu.Lock()
			delete(t.sessions, name[len(settingPrefix):])
			t.mu.Unlock()
		}
		return err
	})
	return n, err
}
