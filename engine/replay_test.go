package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestTextsThatComeLater: what had no text when it was checkpointed, and got one since, has it after a crash too
// (docs/decisions/0012).
func TestTextsThatComeLater(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	for i := range 60 {
		r := memory.RememberRequest{ID: fmt.Sprintf("mem_%06d", i), Text: fmt.Sprint("memory ", i)}
		if i < 5 {
			r.SourceSession = "s"
		}
		enginetest.Remember(t, e, r)
	}
	r := conversation.AppendRequest{Conversation: "talk"}
	for i := range 60 {
		m := conversation.Message{Text: fmt.Sprint("turn ", i), SaidAt: enginetest.Noon}
		if i < 5 {
			m.SetAside = conversation.AsideEvent
		}
		r.Messages = append(r.Messages, m)
	}
	if _, err := e.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	// Some of each column have a text already, so that its segment has both.
	for i := range 3 {
		forget(t, e, i, "wrong")
		supersede(t, e, 10+i)
	}
	enginetest.CloseFile(t, e)

	e = enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "one more"})
	enginetest.Say(t, e, "talk", 10)
	forget(t, e, 30, "old")
	supersede(t, e, 40)
	none := 99
	if _, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "talk", RetainDepth: &none}); err != nil {
		t.Fatal(err)
	}
	const question = "SELECT id, retired_reason, superseded_by, NULL FROM memories UNION ALL SELECT id, NULL, NULL, set_aside FROM messages ORDER BY ALL"
	want := enginetest.Rows(t, e, question)
	crashed := leftByCrash(t, path)
	enginetest.CloseFile(t, e)
	after := enginetest.OpenAt(t, crashed, engine.Options{})
	if diff := cmp.Diff(want, enginetest.Rows(t, after, question)); diff != "" {
		t.Errorf("after a crash (-before +after):\n%s", diff)
	}
}

// TestPurgedAfterACrash: of a message that was checkpointed before it was purged nothing comes back by a crash.
func TestPurgedAfterACrash(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	var ids []string
	for i := range 60 {
		m := conversation.Message{Text: fmt.Sprint("turn ", i), SaidAt: enginetest.Noon}
		if i%2 == 0 { // so that a segment has both
			m.Text, m.Speaker, m.Caption, m.Raw = fmt.Sprint("secret ", i), "secret", "secret", []byte("secret")
			m.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: m.Text}, {Type: conversation.FileBlock, FileName: "secret.txt", Data: []byte("secret")}}
		}
		ids = append(ids, enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{m}}).IDs...)
	}
	enginetest.Summarise(t, e, "talk", "secret of all ten, and whatever else there is to tell of them", ids[:10]...)
	enginetest.CloseFile(t, e)

	e = enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Say(t, e, "talk", 10)
	var secrets []string
	for i := 0; i < 60; i += 2 {
		secrets = append(secrets, ids[i])
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: secrets}); err != nil {
		t.Fatal(err)
	}
	crashed := leftByCrash(t, path)
	enginetest.CloseFile(t, e)
	after := enginetest.OpenAt(t, crashed, engine.Options{})
	if places := enginetest.TablesWith(t, after, "secret"); len(places) != 0 {
		t.Errorf("after a crash the secret is in %v again", places)
	}
	if speakers := enginetest.Rows(t, after, "SELECT speaker FROM documents WHERE speaker IS NOT NULL"); len(speakers) != 0 {
		t.Errorf("after a crash the documents have the speakers %v again", speakers)
	}
}

// leftByCrash copies an open file and its log, as a process that is killed now leaves them.
func leftByCrash(t *testing.T, path string) string {
	t.Helper()
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, ending := range []string{"", ".wal"} {
		b, err := os.ReadFile(path + ending)
		if ending != "" && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(crashed+ending, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return crashed
}

func forget(t *testing.T, e *engine.Engine, i int, why string) {
	t.Helper()
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: fmt.Sprintf("mem_%06d", i), Reason: why}); err != nil {
		t.Fatal(err)
	}
}

func supersede(t *testing.T, e *engine.Engine, i int) {
	t.Helper()
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: fmt.Sprintf("mem_%06d", i), By: memory.RememberRequest{Text: fmt.Sprint("instead of ", i)}}); err != nil {
		t.Fatal(err)
	}
}
