package upkeep_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// lineage is what conversations are made of, as rows.
const lineage = `
	SELECT * FROM (
		SELECT 'item', conversation_id, position, kind, ref, tokens::VARCHAR FROM context_items
		UNION ALL SELECT 'source', summary_id, ordinal, kind, source, NULL FROM summary_sources
		UNION ALL SELECT 'summary', conversation_id, depth, kind, id, concat_ws(' ', first_seq, last_seq, messages, source_tokens, descendants, descendant_tokens) FROM summaries
		UNION ALL SELECT 'part', conversation_id, seq, kind::VARCHAR, message_id, concat_ws(' ', ordinal, text, call_id, input, file_id) FROM parts
		UNION ALL SELECT 'file', conversation_id, bytes, name, id, message_id FROM large_files
		UNION ALL SELECT 'content', sha256, bytes, NULL, NULL, NULL FROM payloads)
	ORDER BY ALL`

// TestDoctorLeavesNewSessionsAlone: summaries that a new session took out of the context are not lost.
func TestDoctorLeavesNewSessionsAlone(t *testing.T) {
	enginetest.Alone(t)
	for _, statement := range []string{"", "DELETE FROM context_items WHERE kind = 'message'"} { // with and without a message in the context
		whole, _ := enginetest.TalkFile(t)
		path := enginetest.NewFile(t)
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if statement != "" {
			enginetest.Tamper(t, path, "UPDATE messages SET set_aside = 'off_branch', set_aside_at = now()::TIMESTAMP WHERE id IN (SELECT ref FROM context_items)", statement)
		}
		e := enginetest.OpenFile(t, path, engine.Options{})
		enginetest.Check(t, e)
		depth := 2
		done, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "talk", RetainDepth: &depth})
		if err != nil || done.Summaries != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		enginetest.Check(t, e)
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(3)})
		enginetest.Check(t, e)
	}
}

// TestDoctorKeepsLargeFiles: a large file whose message is not known any more is that of the part that names it, and stays.
func TestDoctorKeepsLargeFiles(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	o := engine.Options{Conversation: setup.Conversation{LargeFileTokens: 100}}
	e := enginetest.OpenFile(t, path, o)
	content := bytes.Repeat([]byte("a line of notes\n"), 100)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Blocks: []conversation.Block{
		{Type: conversation.FileBlock, FileName: "notes.txt", MIME: "text/plain", Data: content}}}}})
	want := enginetest.Rows(t, e, lineage)
	enginetest.CloseFile(t, e)
	for _, statement := range []string{"UPDATE large_files SET message_id = 'msg_ghost'", "UPDATE large_files SET conversation_id = 'ghost'"} {
		enginetest.Tamper(t, path, statement)
		e := enginetest.OpenFile(t, path, o)
		d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: filepath.Join(t.TempDir(), "backup.db")})
		if err != nil || len(d.Findings) == 0 || len(d.Left) > 0 {
			t.Errorf("%s: %+v, %v", statement, d, err)
		}
		if diff := cmp.Diff(want, enginetest.Rows(t, e, lineage)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", statement, diff)
		}
		enginetest.CloseFile(t, e)
	}
}

// TestDoctorOfContentsApart: contents in the folder beside the file are checked too, and one that is missing keeps nothing else from being repaired.
func TestDoctorOfContentsApart(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "long", Raw: bytes.Repeat([]byte("x"), 17<<20)}, {Text: "short"}}})
	sum := fmt.Sprint(enginetest.Rows(t, e, "SELECT sha256 FROM payloads WHERE content IS NULL")[0][0])
	enginetest.Check(t, e)
	apart := filepath.Join(path+".files", sum)
	faults := func() string {
		t.Helper()
		found, err := e.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(found)
	}
	f, err := os.OpenFile(apart, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("y"), 1<<20)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := faults(); got != "[content that was altered: "+sum+"]" {
		t.Errorf("altered: %s", got)
	}
	if err := os.Remove(apart); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	enginetest.Tamper(t, path, "DELETE FROM context_items WHERE position = 2")
	e = enginetest.OpenFile(t, path, engine.Options{})
	d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: filepath.Join(t.TempDir(), "copy.db")})
	if err != nil || d.Backup == "" || len(d.Repairs) != 1 || len(d.Left) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if got := faults(); got != "[content that is missing: "+sum+"]" {
		t.Errorf("missing: %s", got)
	}
}
