package session_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/session"
)

// clawLine is a message of OpenClaw's.
func clawLine(id, parent, role, content, at string) string {
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + up + `,"timestamp":"` + at + `","message":{"role":"` + role + `","content":` + content + "}}\n"
}

const clawHead = `{"type":"session","version":3,"id":"inherited","timestamp":"2026-02-02T10:00:00.000Z","cwd":"/w"}` + "\n"

// TestInheritedSession: a session of OpenClaw is taken over as it is: contents that are a plain string, every call of a message, lines of one second in the order of the file, and what a compaction
// keeps by its place on the branch, whatever the ids are; the file is only read.
func TestInheritedSession(t *testing.T) {
	const second = "2026-02-02T10:00:01Z"
	calls := `[{"type":"text","text":"reading"},{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a.txt"}},{"type":"toolCall","id":"call_2","name":"read","arguments":{"path":"b.txt"}}]`
	content := clawHead + clawLine("ffffffff", "", "user", `"a plain string"`, second) + clawLine("00000001", "ffffffff", "assistant", `"before the cut"`, second) +
		clawLine("eeeeeeee", "00000001", "user", `[{"type":"text","text":"read both"}]`, second) + clawLine("00000000", "eeeeeeee", "assistant", calls, second) +
		`{"type":"compaction","id":"77777777","parentId":"00000000","timestamp":"` + second + `","summary":"what was before","firstKeptEntryId":"eeeeeeee","tokensBefore":150000}` + "\n" +
		clawLine("12345678", "77777777", "user", `"after the cut"`, second)
	e := open(t)
	path := write(t, filepath.Join(t.TempDir(), "inherited.jsonl"), content)
	imported(t, e, path)
	var shown []string
	for _, r := range rows(t, e, `SELECT coalesce(s.text, m.text) FROM main.context_items AS i LEFT JOIN main.messages AS m ON m.id = i.ref LEFT JOIN main.summaries AS s ON s.id = i.ref ORDER BY i.position`) {
		shown = append(shown, r[0])
	}
	if diff := cmp.Diff([]string{"what was before", "read both", "reading", "after the cut"}, shown); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"a plain string"}, {"before the cut"}}, rows(t, e, "SELECT m.text FROM main.summary_sources AS s JOIN main.messages AS m ON m.id = s.source ORDER BY m.seq")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"call_1"}, {"call_2"}}, rows(t, e, "SELECT call_id FROM main.parts WHERE type = 'tool_call' ORDER BY ordinal")); diff != "" {
		t.Error(diff)
	}
	if read(t, path) != content {
		t.Error("the file was written")
	}
}

// TestInheritedInHalves: of a line that comes in halves nothing is lost and nothing comes twice; a file that is begun anew is read again, and adds only what is new.
func TestInheritedInHalves(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "inherited.jsonl")
	line := clawLine("a1", "", "user", `"in two halves"`, "2026-02-02T10:00:01Z")
	counted := func(want int) {
		t.Helper()
		if got := imported(t, e, path).Messages; got != want {
			t.Errorf("%d messages; want %d", got, want)
		}
	}
	add(t, path, clawHead)
	counted(1)
	add(t, path, line[:40])
	counted(0)
	add(t, path, line[40:])
	counted(1)
	write(t, path, clawHead+line+clawLine("a2", "a1", "assistant", `"anew"`, "2026-02-02T10:00:02Z"))
	counted(1)
	write(t, path, clawHead+line) // shorter than it was
	counted(0)
	if n := rows(t, e, "SELECT count(*) FROM main.messages WHERE set_aside IS DISTINCT FROM 'event'"); n[0][0] != "2" {
		t.Errorf("%s messages", n[0][0])
	}
	if _, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}, Host: session.OpenClaw}); err != nil {
		t.Error(err)
	}
}
