package foreign_test

import (
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/foreign"
)

// istotaSchema has those tables of istota that are read.
const istotaSchema = `CREATE TABLE tasks (id INTEGER PRIMARY KEY, status TEXT, source_type TEXT, conversation_token TEXT, user_id TEXT, parent_task_id INTEGER, is_group_chat INTEGER, prompt TEXT,
	result TEXT, actions_taken TEXT, execution_trace TEXT, talk_message_id INTEGER, talk_response_id INTEGER, reply_to_talk_id INTEGER, reply_to_message_id INTEGER, reply_to_content TEXT,
	withheld_from_room INTEGER, selected_skills TEXT, external_sender TEXT, created_at TEXT, updated_at TEXT, completed_at TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, room_token TEXT, role TEXT, body TEXT, title TEXT, task_id INTEGER, origin_surface TEXT, external_ids TEXT, attachments TEXT,
	attachment_paths TEXT, client_msg_id TEXT, reply_to_message_id INTEGER, author_name TEXT, created_at TEXT);
CREATE TABLE talk_messages (message_id INTEGER, conversation_token TEXT, actor_id TEXT, actor_display_name TEXT, actor_type TEXT, message_text TEXT, message_type TEXT,
	message_parameters TEXT, timestamp INTEGER, reference_id TEXT, deleted INTEGER DEFAULT 0, parent_id INTEGER, PRIMARY KEY (message_id, conversation_token)) WITHOUT ROWID`

func istota(t testing.TB) host { t.Helper(); return made(t, istotaSchema) }

// task writes a task of the room R.
func (h host) task(t testing.TB, id int, at, status, prompt, result string, more ...any) {
	t.Helper()
	h.insert(t, "tasks", append([]any{"id", id, "conversation_token", "R", "created_at", "2026-04-26 " + at, "status", status, "prompt", prompt, "result", result, "user_id", "ines"}, more...)...)
}

// message writes a canonical message of the room R.
func (h host) message(t testing.TB, id int, at, role, body string, more ...any) {
	t.Helper()
	h.insert(t, "messages", append([]any{"id", id, "room_token", "R", "created_at", "2026-04-26 " + at, "role", role, "body", body}, more...)...)
}

// chat writes a row of the chat platform in the room R, over one of its id.
func (h host) chat(t testing.TB, id int, said, reference string, more ...any) {
	t.Helper()
	h.do(t, "DELETE FROM talk_messages WHERE message_id = ?", id)
	h.insert(t, "talk_messages", "message_id", id, "conversation_token", "R", "actor_id", "bob", "actor_display_name", "Bob", "actor_type", "users", "message_text", said,
		"message_type", "comment", "message_parameters", "[]", "timestamp", 1777180000+id, "reference_id", reference)
	for i := 0; i < len(more); i += 2 {
		h.do(t, fmt.Sprintf("UPDATE talk_messages SET %s = ? WHERE message_id = ?", more[i]), more[i+1], id)
	}
}

// byKey gives the messages of the room R by their keys.
func byKey(t testing.TB, e *engine.Engine) map[string]*conversation.Message {
	t.Helper()
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "istota:R", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*conversation.Message{}
	for _, m := range all {
		found[m.Key] = m
	}
	return found
}

// TestIstotaCanonical: canonical messages come first, under the ids of their tasks; what tasks know of them is with them.
func TestIstotaCanonical(t *testing.T) {
	e, h := open(t), istota(t)
	h.task(t, 5, "05:36:00", "completed", "the prompt of the task", "the result of the task", "source_type", "email", "actions_taken", `["read mail","wrote note",7,""]`,
		"withheld_from_room", 1, "completed_at", "2026-04-26 05:37:00", "external_sender", "Eva <eva@example.org>")
	h.message(t, 1, "05:36:00", "user", "which lock?", "task_id", 5)
	h.message(t, 2, "05:36:50", "assistant", "The east one.", "task_id", 5, "attachments", `["notes/lock.pdf"]`)
	h.message(t, 3, "05:40:00", "user", "thanks", "author_name", "Ines", "reply_to_message_id", 2)
	h.message(t, 4, "05:41:00", "assistant", "a second row of the task", "task_id", 5)
	h.message(t, 5, "05:42:00", "toolbox", "what role is this?")
	f := h.read(t, e)
	if f.Host != foreign.Istota || f.Messages != 5 || f.Events != 1 || f.Read["messages"] != 5 || f.Read["tasks"] != 1 {
		t.Errorf("%+v", f)
	}
	same(t, []string{"user istota:task:5:user which lock?", "assistant istota:task:5:assistant The east one.", "user istota:message:3 thanks", "assistant istota:message:4 a second row of the task",
		"event: system istota:message:5 what role is this?"}, heard(t, e, "istota:R"))
	all := byKey(t, e)
	if m := all["istota:task:5:user"]; m.Speaker != "Eva <eva@example.org>" || m.SourceKind != "email" || !m.Withheld || m.SaidAt.Format("15:04:05") != "05:36:00" {
		t.Errorf("%+v", m)
	}
	if m := all["istota:task:5:assistant"]; !m.Withheld || len(m.Blocks) != 2 || m.Blocks[1].FileName != "lock.pdf" {
		t.Errorf("%+v", m)
	}
	same(t, []string{"read mail", "wrote note"}, all["istota:task:5:assistant"].Actions)
	same(t, "istota:task:5:assistant", all["istota:message:3"].ReplyTo)
	h.do(t, "UPDATE tasks SET withheld_from_room = 0")
	if f := h.read(t, e); f.Marked != 3 || f.Messages != 0 {
		t.Errorf("shown: %+v", f)
	}
	if m := byKey(t, e)["istota:task:5:user"]; m.Withheld {
		t.Error("it is withheld still")
	}
}

// TestIstotaTasks: where a completed task has no answer among the canonical messages, the task itself tells it; others tell nothing.
func TestIstotaTasks(t *testing.T) {
	e, h := open(t), istota(t)
	h.task(t, 1, "08:00:00", "completed", "first?", "First.", "source_type", "talk", "completed_at", "2026-04-26 08:00:10")
	h.task(t, 2, "08:01:00", "completed", "second?", "Second.", "source_type", "scheduled", "updated_at", "2026-04-26 08:01:10")
	h.task(t, 3, "08:02:00", "running", "third?", "")
	h.task(t, 4, "08:03:00", "failed", "fourth?", "half an answer")
	h.message(t, 1, "08:00:00", "user", "first, as it was said", "task_id", 1)
	f := h.read(t, e)
	if f.LeftOut["tasks that are not completed"] != 2 {
		t.Errorf("%+v", f)
	}
	want := []string{"user istota:task:1:user first, as it was said", "assistant istota:task:1:assistant First.", "user istota:task:2:user second?", "assistant istota:task:2:assistant Second."}
	same(t, want, heard(t, e, "istota:R"))
	if all := byKey(t, e); all["istota:task:2:user"].SourceKind != "scheduled" || all["istota:task:1:assistant"].SourceKind != "" {
		t.Errorf("%+v", all)
	}
	h.message(t, 2, "08:00:10", "assistant", "First.", "task_id", 1) // it comes to the canonical messages later: it is the same
	h.do(t, "UPDATE tasks SET status = 'completed', result = 'Third.', completed_at = '2026-04-26 08:02:30' WHERE id = 3")
	if f := h.read(t, e); f.Messages != 2 {
		t.Errorf("%+v", f)
	}
	same(t, append(want, "user istota:task:3:user third?", "assistant istota:task:3:assistant Third."), heard(t, e, "istota:R"))
}

// TestIstotaReplies: a reply is resolved by the id of a canonical message, else by one of the chat platform, of completed tasks the newest; a number of one space means nothing in the other.
func TestIstotaReplies(t *testing.T) {
	e, h := open(t), istota(t)
	h.task(t, 1, "08:00:00", "completed", "a?", "A.", "talk_message_id", 70, "talk_response_id", 71)
	h.task(t, 2, "08:01:00", "failed", "b?", "", "talk_message_id", 80)
	h.task(t, 3, "08:02:00", "completed", "c?", "C.", "reply_to_talk_id", 71)
	h.task(t, 4, "08:03:00", "completed", "d?", "D.", "reply_to_talk_id", 80)
	h.task(t, 5, "08:04:00", "completed", "e?", "E.", "reply_to_message_id", 71, "reply_to_talk_id", 70)
	h.task(t, 6, "08:05:00", "completed", "f?", "F.", "reply_to_message_id", 70)
	h.task(t, 7, "08:06:00", "completed", "g?", "G.", "reply_to_message_id", 9, "reply_to_talk_id", 70)
	h.task(t, 8, "08:07:00", "completed", "h?", "H.", "reply_to_talk_id", 90)
	h.message(t, 9, "08:00:30", "user", "without a task")
	h.message(t, 71, "08:00:40", "user", "of a number that the chat has too")
	h.chat(t, 90, "said by Bob", "")
	h.read(t, e)
	got := map[string]string{}
	for key, m := range byKey(t, e) {
		if m.ReplyTo != "" {
			got[key] = m.ReplyTo
		}
	}
	same(t, map[string]string{"istota:task:3:user": "istota:task:1:assistant", "istota:task:5:user": "istota:message:71", "istota:task:7:user": "istota:message:9",
		"istota:task:8:user": "istota:talk:R:90"}, got)
}

// TestIstotaPromise11: the chat's cache. A row that is written anew takes the place of what was there, an acknowledgement or progress becomes the result, and a result is never
// written over; parameters are an object or a list; a deleted row is removed. What the cache forgets stays here.
func TestIstotaPromise11(t *testing.T) {
	e, h := open(t), istota(t)
	h.chat(t, 1, "berth five is free, {mention-user1}", "", "message_parameters", `{"mention-user1":{"type":"user","id":"ines","name":"Ines"},"x":{"id":3}}`)
	h.chat(t, 2, "working on it", "istota:task:5:progress", "actor_type", "bots")
	h.chat(t, 3, "the result", "istota:task:6:result", "actor_type", "bots", "parent_id", 1)
	h.chat(t, 4, "wrong room, sorry", "")
	h.chat(t, 5, "Ines joined", "", "message_type", "system")
	h.chat(t, 6, "gone before", "", "deleted", 1)
	if f := h.read(t, e); f.Messages != 5 || f.Events != 2 || f.LeftOut["rows that the host deleted"] != 1 {
		t.Errorf("%+v", f)
	}
	same(t, []string{"user istota:talk:R:1 berth five is free, @Ines", "event: system istota:talk:R:2 working on it", "assistant istota:talk:R:3 the result", "user istota:talk:R:4 wrong room, sorry",
		"event: system istota:talk:R:5 Ines joined"}, heard(t, e, "istota:R"))
	same(t, "istota:talk:R:1", byKey(t, e)["istota:talk:R:3"].ReplyTo)
	h.chat(t, 1, "berth four is free", "")
	h.chat(t, 2, "done: berth four", "istota:task:5:result", "actor_type", "bots")
	h.chat(t, 3, "something else", "istota:task:6:result", "actor_type", "bots", "parent_id", 1)
	h.chat(t, 4, "wrong room, sorry", "", "deleted", 1)
	if f := h.read(t, e); f.Messages != 2 || f.Moved != 1 || f.Redacted != 1 {
		t.Errorf("%+v", f)
	}
	h.chat(t, 1, "berth three is free", "")
	h.chat(t, 2, "and now this", "istota:task:5:result", "actor_type", "bots")
	h.do(t, "DELETE FROM talk_messages WHERE message_id = 3")
	if f := h.read(t, e); f.Messages != 1 || f.Moved != 1 || f.Redacted != 0 {
		t.Errorf("%+v", f)
	}
	var shown []string
	for _, r := range rows(t, e, "SELECT m.caller_key || ' ' || m.text FROM main.messages AS m JOIN main.context_items AS i ON i.ref = m.id ORDER BY m.seq") {
		shown = append(shown, r[0])
	}
	same(t, []string{"istota:talk:R:3 the result", "istota:talk:R:2#1 done: berth four", "istota:talk:R:1#2 berth three is free"}, shown)
	if left := rows(t, e, "SELECT text FROM main.messages WHERE text LIKE '%wrong room%'"); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// TestIstotaPromise12: what came by mail is there under its sender's label, once its task is completed.
func TestIstotaPromise12(t *testing.T) {
	e, h := open(t), istota(t)
	h.task(t, 1, "09:00:00", "running", "When do you open?", "", "source_type", "email", "external_sender", "Eva (eva@example.org)")
	h.task(t, 2, "09:01:00", "completed", "Is there a berth?", "Yes, berth four.", "source_type", "email", "external_sender", "Jo")
	h.read(t, e)
	if all := byKey(t, e); len(all) != 2 || all["istota:task:2:user"].Speaker != "Jo" || all["istota:task:2:user"].SourceKind != "email" {
		t.Errorf("%+v", all)
	}
	h.do(t, "UPDATE tasks SET status = 'completed', result = 'At nine.' WHERE id = 1")
	h.read(t, e)
	if m := byKey(t, e)["istota:task:1:user"]; m == nil || m.Speaker != "Eva (eva@example.org)" || m.Text != "When do you open?" {
		t.Errorf("%+v", m)
	}
}

// TestIstotaTwice: what the chat said first and a task or a message says later is shown once.
func TestIstotaTwice(t *testing.T) {
	e, h := open(t), istota(t)
	h.chat(t, 10, "which lock?", "")
	h.chat(t, 11, "by its external id", "")
	h.read(t, e)
	h.task(t, 1, "09:00:00", "completed", "which lock?", "The east one.", "talk_message_id", 10, "talk_response_id", 12)
	h.message(t, 3, "09:02:00", "user", "by its external id", "external_ids", `{"talk":11,"matrix":"x"}`)
	h.chat(t, 12, "The east one.", "istota:task:1:result", "actor_type", "bots")
	if f := h.read(t, e); f.Messages != 3 || f.Moved != 2 || f.LeftOut["talk_messages that a task or a message has"] != 3 {
		t.Errorf("%+v", f)
	}
	same(t, [][]string{{"istota:task:1:user"}, {"istota:task:1:assistant"}, {"istota:message:3"}},
		rows(t, e, "SELECT m.caller_key FROM main.messages AS m JOIN main.context_items AS i ON i.ref = m.id ORDER BY m.seq"))
}

// TestIstotaRooms: a room is a conversation; what is of no room is left out, and that is said.
func TestIstotaRooms(t *testing.T) {
	e, h := open(t), istota(t)
	for i, room := range []any{"A", "B", nil, "", " "} {
		h.insert(t, "tasks", "id", i, "conversation_token", room, "status", "completed", "prompt", "p", "result", "r", "created_at", "never")
	}
	if f := h.read(t, e); f.Messages != 4 || f.Threads != 2 || f.LeftOut["tasks of no room"] != 3 {
		t.Errorf("%+v", f)
	}
	for _, room := range []string{"A", "B"} {
		if all := heard(t, e, "istota:"+room); len(all) != 2 {
			t.Errorf("%s: %q", room, all)
		}
	}
}
