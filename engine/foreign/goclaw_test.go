package foreign_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/foreign"
)

// goClawSchema are the statements of each version of GoClaw's schema; a database of version n has the first n.
var goClawSchema = []string{
	`CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER);
	CREATE TABLE sessions (key TEXT PRIMARY KEY, id TEXT UNIQUE, created_at INTEGER, updated_at INTEGER, model TEXT, thinking_level TEXT, max_tokens INTEGER DEFAULT 200000,
		compaction_count INTEGER, total_tokens INTEGER, flushed_thresholds TEXT, flush_actioned INTEGER);
	CREATE TABLE messages (id TEXT PRIMARY KEY, session_key TEXT, parent_id TEXT, timestamp INTEGER, role TEXT, content TEXT, tool_call_id TEXT, tool_name TEXT, tool_input TEXT,
		tool_result TEXT, tool_is_error INTEGER, source TEXT, channel_id TEXT, user_id TEXT, input_tokens INTEGER, output_tokens INTEGER, raw_json TEXT);
	CREATE TABLE checkpoints (id TEXT PRIMARY KEY, session_key TEXT, parent_id TEXT, timestamp INTEGER, summary TEXT, tokens_at_checkpoint INTEGER, message_count_at_checkpoint INTEGER,
		topics TEXT, key_decisions TEXT, open_questions TEXT, generated_by TEXT, covers_up_to TEXT);
	CREATE TABLE compactions (id TEXT PRIMARY KEY, session_key TEXT, parent_id TEXT, timestamp INTEGER, summary TEXT, first_kept_entry_id TEXT, tokens_before INTEGER,
		tokens_after INTEGER, messages_removed INTEGER, from_checkpoint INTEGER, checkpoint_id TEXT)`,
	`ALTER TABLE compactions ADD COLUMN needs_summary_retry INTEGER DEFAULT 0`,
	`ALTER TABLE messages ADD COLUMN transcript_indexed_at INTEGER`,
	`ALTER TABLE messages ADD COLUMN thinking TEXT`,
	`ALTER TABLE messages ADD COLUMN supervisor TEXT; ALTER TABLE messages ADD COLUMN intervention_type TEXT`,
	`CREATE TABLE provider_state (session_key TEXT, provider_key TEXT, state_json TEXT, updated_at INTEGER)`,
}

const began = 1772000000 // when the talk of these tests begins, in seconds since 1970

// goClaw makes a database of a version with one session, primary.
func goClaw(t testing.TB, version int) host {
	t.Helper()
	h := made(t, goClawSchema[:version]...)
	h.do(t, "INSERT INTO schema_version VALUES (?, 0)", version)
	h.insert(t, "sessions", "key", "primary", "id", "sess-1")
	return h
}

// says writes a message of primary's, so many seconds after the beginning.
func (h host) says(t testing.TB, id string, at int, role, content string, more ...any) {
	t.Helper()
	h.insert(t, "messages", append([]any{"id", id, "session_key", "primary", "timestamp", began + at, "role", role, "content", content}, more...)...)
}

// TestGoClawVersions reads every version of the schema, of which columns and tables are missing in the older ones, and adds nothing the second time.
func TestGoClawVersions(t *testing.T) {
	for version := 1; version <= len(goClawSchema); version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			e, h := open(t), goClaw(t, version)
			h.says(t, "1_000001", 0, "user", "which lock is open?", "source", "Telegram", "user_id", "ines")
			h.says(t, "1_000002", 1, "assistant", "The east one.", "input_tokens", 120, "output_tokens", 7)
			if version >= 4 {
				h.do(t, "UPDATE messages SET thinking = 'east or west' WHERE id = '1_000002'")
			}
			h.says(t, "1_000003", 2, "heartbeat", "tick")
			f := h.read(t, e)
			if f.Host != foreign.GoClaw || f.Messages != 3 || f.Events != 1 || f.Read["messages"] != 3 || f.Read["sessions"] != 1 || f.Lines != 4 {
				t.Errorf("%+v", f)
			}
			same(t, []string{"user goclaw:1_000001 which lock is open?", "assistant goclaw:1_000002 The east one.", "event: system goclaw:1_000003 tick"}, heard(t, e, "goclaw:primary"))
			all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "goclaw:primary"})
			if err != nil {
				t.Fatal(err)
			}
			if m := all[0]; m.SourceKind != "telegram" || m.Speaker != "ines" || m.Session != "sess-1" || m.SaidAt.Unix() != began {
				t.Errorf("%+v", m)
			}
			if m := all[1]; m.Usage == nil || *m.Usage != (conversation.Usage{Input: 120, Output: 7, Total: 127}) || (len(m.Blocks) == 2) != (version >= 4) {
				t.Errorf("%+v, %+v", m, m.Usage)
			}
			if f := h.read(t, e); !f.Unchanged {
				t.Errorf("again: %+v", f)
			}
			h.says(t, "1_000004", 3, "user", "and the west one?")
			if f := h.read(t, e); f.Messages != 1 || f.Known != 3 {
				t.Errorf("one more: %+v", f)
			}
		})
	}
}

// TestGoClawTools: calls that follow each other are one message with the answer before them, also those that come later; results are joined by their ids.
func TestGoClawTools(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.says(t, "1", 0, "user", "read both")
	h.says(t, "2", 1, "assistant", "Reading.")
	h.says(t, "3", 1, "tool_use", "", "tool_call_id", "c1", "tool_name", "read", "tool_input", `{"path":"a"}`)
	h.read(t, e)
	h.says(t, "4", 1, "tool_use", "And the other.", "thinking", "both are wanted", "tool_call_id", "c2", "tool_name", "read", "tool_input", `{"path":"b"}`)
	h.says(t, "5", 2, "tool_result", "", "tool_call_id", "c1", "tool_name", "read", "tool_result", "body of a")
	h.says(t, "6", 2, "tool_result", "", "tool_call_id", "c2", "tool_name", "read", "tool_result", "no such file", "tool_is_error", 1)
	h.says(t, "7", 3, "tool_use", "", "tool_call_id", "c3", "tool_name", "list", "tool_input", `{}`)
	h.says(t, "8", 4, "assistant", "Done.")
	if f := h.read(t, e); f.Parts != 3 || f.Messages != 4 || f.Known != 2 {
		t.Errorf("%+v", f)
	}
	want := [][]string{{"goclaw:2", "text", "", ""}, {"goclaw:2", "tool_call", "c1", "false"}, {"goclaw:2", "thinking", "", "false"}, {"goclaw:2", "text", "", ""}, {"goclaw:2", "tool_call", "c2", "false"}, {"goclaw:5", "tool_result", "c1", "false"},
		{"goclaw:6", "tool_result", "c2", "true"}, {"goclaw:7", "tool_call", "c3", "false"}}
	same(t, want, rows(t, e, `SELECT m.caller_key, p.type, coalesce(p.call_id, ''), CASE WHEN p.type = 'text' THEN '' ELSE coalesce(p.is_error, false)::VARCHAR END
		FROM main.parts AS p JOIN main.messages AS m ON m.id = p.message_id ORDER BY m.seq, p.ordinal`))
	whole := open(t)
	h.read(t, whole)
	same(t, heard(t, whole, "goclaw:primary"), heard(t, e, "goclaw:primary"))
}

// TestGoClawInheritance: what GoClaw lost when it took a session over from OpenClaw is read from what it kept of the line: each of several calls. Rows of one second stay in the
// order in which they were written, whatever their ids say.
func TestGoClawInheritance(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.says(t, "oc-ffff", 5, "user", "first", "source", "openclaw")
	h.says(t, "oc-0000", 5, "assistant", "second", "source", "openclaw", "raw_json",
		`{"role":"assistant","content":[{"type":"text","text":"second"},{"type":"toolCall","id":"a","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"b","name":"read","arguments":{"path":"b"}}]}`)
	h.says(t, "oc-aaaa", 5, "tool_use", "", "tool_call_id", "a", "tool_name", "read")
	h.says(t, "1772000005000_000001", 5, "user", "third")
	h.says(t, "oc-1111", 4, "user", "before all of them", "source", "openclaw")
	h.read(t, e)
	same(t, []string{"user goclaw:oc-1111 before all of them", "user goclaw:oc-ffff first", "assistant goclaw:oc-0000 second", "user goclaw:1772000005000_000001 third"}, heard(t, e, "goclaw:primary"))
	same(t, [][]string{{"a"}, {"b"}}, rows(t, e, "SELECT call_id FROM main.parts WHERE type = 'tool_call' ORDER BY ordinal"))
}

// TestGoClawCompactions: the newest summary stands for what was before its first kept message, by that one's place; a stub that waits for its model stands for nothing.
func TestGoClawCompactions(t *testing.T) {
	summarised := func(kept string, retry int) (host, *conversation.Conversation, []string, int) {
		e, h := open(t), goClaw(t, 6)
		for i := range 8 {
			h.says(t, fmt.Sprintf("%d_%d", 9-i, i), 10+i/3, []string{"user", "assistant"}[i%2], fmt.Sprint("turn ", i)) // ids fall while the talk goes on
		}
		h.insert(t, "compactions", "id", "k1", "session_key", "primary", "timestamp", began+11, "summary", "the older summary", "first_kept_entry_id", "8_1")
		h.insert(t, "compactions", "id", "k2", "session_key", "primary", "timestamp", began+20, "summary", "the newer summary", "first_kept_entry_id", kept, "needs_summary_retry", retry)
		f := h.read(t, e)
		c, err := e.Conversation(t.Context(), "goclaw:primary", "")
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, r := range rows(t, e, "SELECT coalesce(s.text, m.text) FROM main.context_items AS i LEFT JOIN main.messages AS m ON m.id = i.ref LEFT JOIN main.summaries AS s ON s.id = i.ref ORDER BY i.position") {
			shown = append(shown, r[0])
		}
		if f := h.read(t, e); !f.Unchanged {
			t.Errorf("again: %+v", f)
		}
		h.says(t, "zz", 30, "user", "later")
		if f := h.read(t, e); f.Messages != 1 || f.Summaries != 0 {
			t.Errorf("later: %+v", f)
		}
		return h, c, shown, f.Summaries
	}
	_, _, shown, n := summarised("4_5", 0)
	same(t, []string{"the newer summary", "turn 5", "turn 6", "turn 7"}, shown)
	if n != 1 {
		t.Errorf("%d summaries", n)
	}
	_, _, shown, _ = summarised("4_5", 1)
	same(t, []string{"the older summary", "turn 1", "turn 2", "turn 3", "turn 4", "turn 5", "turn 6", "turn 7"}, shown)
	_, _, shown, _ = summarised("gone", 0) // deleted by the host: what was said after the compaction stays, and that is nothing yet
	same(t, []string{"the newer summary"}, shown)
}

// TestGoClawCompactionKeepsPairs: the first message that stays is moved to an older one, so that a result keeps its call.
func TestGoClawCompactionKeepsPairs(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.says(t, "1", 0, "user", "old")
	h.says(t, "2", 1, "tool_use", "", "tool_call_id", "c", "tool_name", "read")
	h.says(t, "3", 2, "tool_result", "", "tool_call_id", "c", "tool_result", "body")
	h.says(t, "4", 3, "assistant", "new")
	h.insert(t, "compactions", "id", "k", "session_key", "primary", "timestamp", began+4, "summary", "sum", "first_kept_entry_id", "3")
	h.read(t, e)
	same(t, [][]string{{"1"}}, rows(t, e, "SELECT messages FROM main.summaries"))
}

// TestGoClawCheckpoints: the host's checkpoints are taken over once, with the last message before them, and in the cycle of compaction that they were made in.
func TestGoClawCheckpoints(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.says(t, "1", 0, "user", "one")
	h.says(t, "2", 9, "user", "two")
	made := func(id string, at int) {
		h.insert(t, "checkpoints", "id", id, "session_key", "primary", "timestamp", began+at, "summary", "so far "+id, "tokens_at_checkpoint", 50000, "message_count_at_checkpoint", 84,
			"topics", `["locks"]`, "key_decisions", `["east"]`, "open_questions", `["west?", 7]`, "generated_by", "m")
	}
	made("q", 12)
	made("p", 5)
	made("before", -5)
	h.insert(t, "compactions", "id", "k", "session_key", "primary", "timestamp", began+10, "summary", "sum", "first_kept_entry_id", "2")
	if f := h.read(t, e); f.Checkpoints != 2 || f.Summaries != 1 || f.LeftOut["checkpoints before every message"] != 1 {
		t.Errorf("%+v", f)
	}
	all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: "goclaw:primary"})
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, k := range all {
		want := &checkpoint.Checkpoint{ID: k.ID, ConversationID: k.ConversationID, Key: "goclaw:checkpoint:p", UpTo: 2, UsersAt: 1, TokensAt: 50000, MessagesAt: 84, Cycle: 0, Summary: "so far p",
			Topics: []string{"locks"}, Decisions: []string{"east"}, Questions: []string{"west?"}, By: "goclaw", CreatedAt: time.Unix(began+5, 0).UTC()}
		if k.Key == "goclaw:checkpoint:q" {
			want.Key, want.Summary, want.CreatedAt, want.Cycle, want.UsersAt = k.Key, "so far q", time.Unix(began+12, 0).UTC(), 1, 2
			want.UpTo = k.UpTo
		}
		same(t, want, k)
	}
	h.says(t, "3", 20, "user", "three")
	if f := h.read(t, e); f.Checkpoints != 0 || f.Messages != 1 {
		t.Errorf("%+v", f)
	}
}

// TestGoClawBootstrap: of a session that is new, the newest messages are shown, within the budget.
func TestGoClawBootstrap(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	for i := range 100 {
		h.says(t, fmt.Sprint(i), i, []string{"user", "assistant"}[i%2], strings.Repeat("word ", 80)) // 100 tokens each
	}
	h.read(t, e)
	if n := rows(t, e, "SELECT count(*) FROM main.context_items"); n[0][0] != "60" {
		t.Errorf("%s are shown of 6,000 tokens' worth", n[0][0])
	}
	if n := rows(t, e, "SELECT count(*) FROM main.messages WHERE set_aside = 'new'"); n[0][0] != "40" {
		t.Errorf("%s are set aside", n[0][0])
	}
}
