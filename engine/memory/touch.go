package memory

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// touches are uses of memories that are not in the file yet: Touch notes them, and they are written together a while after the last one, before anything
// that reads what use makes of memories, and when the file is closed.
type touches struct {
	mu      sync.Mutex       // innermost, held for no call
	pending map[string][]use // by id, in the order they came
	timer   *time.Timer      // nil: nothing waits to be written
	closed  bool

	writing sync.Mutex // one flush at a time; taken before the writer's lock
}

// touchPause is how long after the last touch they are written.
const touchPause = 5 * time.Second

// Touch notes that memories were used, given by their whole ids; one that is named twice was used twice. It writes nothing itself: uses are in the file five
// seconds after the last of them, and when the engine is closed; of what a crash leaves unwritten only the counts are lost. An id of nobody is forgotten
// without a word. On a file that was opened for reading nothing is noted. How often and how lately a memory was used is part of its score and settles its tier
// (docs/recall.md, docs/agents.md).
func (ms *Store) Touch(memoryIDs ...string) { ms.noteUses(touched, memoryIDs) }

// NoteInjected notes that memories were put into a prompt, given by their whole ids. That is written as Touch is. It counts as a use, and one that was put there before
// and of no use since has been a bad recall once more: from the third on it is held back for a while (Memory.SuppressedUntil, setup.Turns).
func (ms *Store) NoteInjected(memoryIDs ...string) { ms.noteUses(injected, memoryIDs) }

// NoteFeedback notes whether memories that were put into a prompt were of use. That is written as Touch is. Use makes a memory more important, by 0.05 up to 1; of no use for
// the third time, and each time after, makes it less so, by 0.03 down to 0.1.
func (ms *Store) NoteFeedback(ofUse bool, memoryIDs ...string) {
	what := useless
	if ofUse {
		what = useful
	}
	ms.noteUses(what, memoryIDs)
}

func (ms *Store) noteUses(what useKind, memoryIDs []string) {
	if ms.opts.ReadOnly || len(memoryIDs) == 0 {
		return
	}
	at, t := ms.file.Now(), &ms.touches
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	for _, id := range memoryIDs {
		t.add(id, use{what, 1, at})
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(touchPause, func() { _, _ = ms.FlushTouches(context.Background()) }) // what fails is tried again with the next
	} else {
		t.timer.Reset(touchPause)
	}
}

// add notes uses. The caller has mu.
func (t *touches) add(id string, u use) {
	if t.pending == nil {
		t.pending = map[string][]use{}
	}
	all := t.pending[id]
	if n := len(all) - 1; n >= 0 && u.what == touched && all[n].what == touched {
		all[n] = use{touched, all[n].times + u.times, latest(all[n].at, u.at)}
		return
	}
	t.pending[id] = append(all, u)
}

// take gives what is pending, which then is not.
func (t *touches) take() map[string][]use {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.pending
	if t.pending = nil; t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	return taken
}

// FlushTouches writes the uses that were noted, and gives the tiers that memories come to by them. Where that fails they are noted as before.
func (ms *Store) FlushTouches(ctx context.Context) (changes []TierChange, err error) {
	t := &ms.touches
	t.writing.Lock()
	defer t.writing.Unlock()
	taken := t.take()
	if len(taken) == 0 {
		return nil, nil
	}
	err = ms.file.Write(ctx, "touch", func(tx *duck.Write) error {
		used, err := ms.used(ctx, tx, taken)
		if err == nil && len(used) > 0 {
			changes, err = ms.settleTiers(ctx, tx, used)
		}
		return err
	})
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		for id, all := range taken { // what came meanwhile came after them
			all, later := all, t.pending[id]
			delete(t.pending, id)
			for _, u := range append(all, later...) {
				t.add(id, u)
			}
		}
		return nil, err
	}
	return changes, nil
}

// used writes uses to the rows of memories, and gives the ids of those that are there. Only numbers and times change (docs/decisions/0012).
func (ms *Store) used(ctx context.Context, tx *duck.Write, taken map[string][]use) (found []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(taken)) {
		m, docNo, err := MemoryByID(ctx, tx.Conn, id)
		if err != nil {
			return nil, err
		}
		if m == nil || !m.RetiredAt.IsZero() {
			continue
		}
		was := *m
		for _, u := range taken[id] {
			m.use(u, ms.opts.Turns)
		}
		if err := ms.keepVersion(ctx, tx, &was, m); err != nil { // use may have made it more important, or less
			return nil, err
		}
		_, err = tx.Exec(ctx, "memory_used", sql.Named("id", id), sql.Named("access_count", int32(m.AccessCount)), sql.Named("last_accessed_at", duck.NullTime(m.LastAccessedAt)),
			sql.Named("last_confirmed_use_at", duck.NullTime(m.LastConfirmedUseAt)), sql.Named("injected_count", int32(m.InjectedCount)),
			sql.Named("last_injected_at", duck.NullTime(m.LastInjectedAt)), sql.Named("bad_recall_count", int32(m.BadRecallCount)),
			sql.Named("suppressed_until", duck.NullTime(m.SuppressedUntil)), sql.Named("importance", m.Importance))
		if err != nil {
			return nil, err
		}
		ms.index.NoteUse(ms.document(m, docNo))
		found = append(found, id)
	}
	return found, nil
}

// AsUsed gives memories of the file with the uses that are noted and not written yet.
func (ms *Store) AsUsed(ctx context.Context, memoryIDs []string) (all []*Memory, err error) {
	if len(memoryIDs) == 0 {
		return nil, nil
	}
	err = ms.file.Read(ctx, "use", func(c *duck.Conn) error {
		all, err = MemoriesByID(ctx, c, memoryIDs)
		return err
	})
	ms.touches.mu.Lock()
	defer ms.touches.mu.Unlock()
	for _, m := range all {
		for _, u := range ms.touches.pending[m.ID] {
			m.use(u, ms.opts.Turns)
		}
	}
	return all, err
}

// document is a memory's document, with its words.
func (ms *Store) document(m *Memory, docNo int32) *index.Document {
	d := &index.Document{Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
	ms.describe(d, m, docNo)
	return d
}

// Close writes the uses that were noted; from then on none is.
func (ms *Store) Close() error {
	t := &ms.touches
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return nil
	}
	_, err := ms.FlushTouches(context.Background())
	return err
}
