package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// writingVerbs are verbs that make ids or tell the time, each on a file that has a memory mem_here and a conversation "talk".
var writingVerbs = map[string]func(t *testing.T, e *engine.Engine) error{
	"remember": func(t *testing.T, e *engine.Engine) error {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "a boat"})
		return err
	},
	"import": func(t *testing.T, e *engine.Engine) error {
		r, err := e.Import(t.Context(), strings.NewReader(`{"text":"a boat"}`), interchange.ImportRequest{})
		if err == nil && len(r.Faults) > 0 {
			err = fmt.Errorf("%w: %s", engine.ErrInvalid, r.Faults[0].Err)
		}
		return err
	},
	"supersede": func(t *testing.T, e *engine.Engine) error {
		_, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_here", By: memory.RememberRequest{Text: "a ship"}})
		return err
	},
	"append": func(t *testing.T, e *engine.Engine) error {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "hello"}}})
		return err
	},
	"append to a new conversation": func(t *testing.T, e *engine.Engine) error {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "hello"}}})
		return err
	},
	"append a file": func(t *testing.T, e *engine.Engine) error {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk",
			Messages: []conversation.Message{{Blocks: []conversation.Block{{Type: conversation.FileBlock, FileName: "a", MIME: "a/b", Data: []byte{1, 2}}}}}})
		return err
	},
	"new session": func(t *testing.T, e *engine.Engine) error {
		_, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{Conversation: "talk"})
		return err
	},
}

// TestBadIDs: what Options.NewID gives is refused where it is no id of ours, or taken, and nothing is left of the write.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]error{"": engine.ErrInvalid, "{prefix}": engine.ErrInvalid, "boat_000001": engine.ErrInvalid, "{prefix}a b": engine.ErrInvalid,
		"{prefix}taken1": engine.ErrExists} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			bad, n := false, map[string]int{"mem_": 1}
			e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, NewID: func(prefix string, _ time.Time) string {
				if bad {
					return strings.ReplaceAll(given, "{prefix}", prefix)
				}
				n[prefix]++
				return fmt.Sprintf("%staken%d", prefix, n[prefix])
			}})
			before := written(t, e)
			for name, verb := range writingVerbs {
				bad = true
				if err := verb(t, e); !errors.Is(err, want) || !strings.Contains(err.Error(), "Options.NewID") {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
				bad = false
				enginetest.Check(t, e)
				enginetest.Equal(t, name, before, enginetest.Rows(t, e, everyRow))
			}
			if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "afterwards"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBadClocks: a time that the file can't keep is refused by what writes and by recall, and nothing is left of the write.
func TestBadClocks(t *testing.T) {
	t.Parallel()
	for _, told := range []time.Time{{}, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		t.Run(fmt.Sprint(told.Year()), func(t *testing.T) {
			t.Parallel()
			clock := &enginetest.Clock{At: enginetest.Noon}
			e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
			before := written(t, e)
			verbs := map[string]func(t *testing.T, e *engine.Engine) error{
				"forget": func(t *testing.T, e *engine.Engine) error {
					_, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_here"})
					return err
				},
				"update": func(t *testing.T, e *engine.Engine) error {
					_, err := e.Update(t.Context(), memory.UpdateRequest{ID: "mem_here", Text: enginetest.Pointer("is there")})
					return err
				},
				"recall": func(t *testing.T, e *engine.Engine) error {
					_, err := e.Recall(t.Context(), recall.Query{Text: "here"})
					return err
				},
			}
			for name, verb := range writingVerbs {
				verbs[name] = verb
			}
			for name, verb := range verbs {
				clock.At = told
				if err := verb(t, e); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "Options.Now") {
					t.Errorf("%s: %v, want ErrInvalid", name, err)
				}
				clock.At = enginetest.Noon
				enginetest.Check(t, e)
				enginetest.Equal(t, name, before, enginetest.Rows(t, e, everyRow))
			}
			if _, err := engine.Open(t.Context(), ":memory:", engine.Options{Now: func() time.Time { return told }}); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("open: %v, want ErrInvalid", err)
			}
		})
	}
}

// everyRow counts what the verbs above may write.
const everyRow = `SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM memories), (SELECT max(updated_at) FROM memories), (SELECT count(*) FROM messages),
	(SELECT list(id || active ORDER BY id)::VARCHAR FROM conversations), (SELECT count(*) FROM large_files), (SELECT count(*) FROM vectors), (SELECT count(*) FROM payloads)`

// written puts into a file what the verbs speak of, and large files, so that an id of each sort is taken.
func written(t *testing.T, e *engine.Engine) [][]any {
	t.Helper()
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_here", Text: "is here"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_taken1", Text: "has an id that will be given again"})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk",
		Messages: []conversation.Message{{Blocks: []conversation.Block{{Type: conversation.FileBlock, FileName: "b", MIME: "a/b", Data: []byte{3, 4}}}}}})
	return enginetest.Rows(t, e, everyRow)
}
