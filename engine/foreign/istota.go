package foreign

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/session"
)

// isIstota reports whether a database is istota's.
func isIstota(ctx context.Context, d *database) bool {
	return d.has(ctx, "messages", "room_token", "role", "body") || d.has(ctx, "tasks", "conversation_token", "prompt") || d.has(ctx, "talk_messages", "conversation_token", "message_text")
}

// istotaTalks reads the rooms of istota.
func istotaTalks(ctx context.Context, d *database, report *session.FileReport, do func(*talk) error) error {
	tokens := map[string]bool{}
	for _, of := range [][2]string{{"messages", "room_token"}, {"tasks", "conversation_token"}, {"talk_messages", "conversation_token"}} {
		some, err := d.distinct(ctx, of[0], of[1])
		if err != nil {
			return err
		}
		for _, token := range some {
			if strings.TrimSpace(token) != "" {
				tokens[token] = true
				continue
			}
			n, err := d.homeless(ctx, of[0], of[1])
			if err != nil {
				return err
			}
			if of := of[0] + " of no room"; report.LeftOut[of] == 0 {
				report.Leave(of, n)
			}
		}
	}
	for _, token := range slices.Sorted(maps.Keys(tokens)) {
		v, err := istotaRoom(ctx, d, report, token)
		if err != nil {
			return err
		}
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}

// room is a room of istota as it is read. The ids of messages, of tasks and of the chat platform are three spaces, which are never mixed.
type room struct {
	token  string
	report *session.FileReport
	tasks  map[string]row // by id
	order  []string       // their ids, as they were written
	talk   *talk
	have   map[string]bool   // keys that are in the talk
	of     map[string]string // keys, by the ids of canonical messages
	chat   map[string]string // keys of what may be answered, by the chat platform's ids
	posted map[string]string // keys of canonical messages, by the chat platform's ids
}

func istotaRoom(ctx context.Context, d *database, report *session.FileReport, token string) (*talk, error) {
	m := &room{token: token, report: report, tasks: map[string]row{}, talk: &talk{key: "istota:" + token, session: token, judged: true},
		have: map[string]bool{}, of: map[string]string{}, chat: map[string]string{}, posted: map[string]string{}}
	err := d.each(ctx, "tasks", "conversation_token", token, func(r row) error {
		if id := r.of("id"); id == "" {
			report.Leave("tasks without an id", 1)
		} else {
			m.tasks[id], m.order = r, append(m.order, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var canonical, chat []row
	for _, of := range []struct {
		table, column string
		rows          *[]row
	}{{"messages", "room_token", &canonical}, {"talk_messages", "conversation_token", &chat}} {
		err := d.each(ctx, of.table, of.column, token, func(r row) error {
			*of.rows = append(*of.rows, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	m.name(canonical, chat)
	for _, r := range canonical {
		m.canonical(r)
	}
	for _, id := range m.order {
		m.task(m.tasks[id])
	}
	for _, r := range chat {
		m.said(r)
	}
	inOrder(m.talk.said)
	return m.talk, nil
}

// taskKey is the key of what a task was asked, or of what it answered.
func taskKey(id, role string) string { return "istota:task:" + id + ":" + role }

// completed reports whether a task has an answer.
func completed(r row) bool {
	return strings.EqualFold(r.of("status"), "completed") && r.of("result") != ""
}

// name settles the keys of the canonical messages, and those that the chat platform's ids stand for: of tasks only those that are completed, the newest first.
func (m *room) name(canonical, chat []row) {
	taken := map[string]bool{}
	for _, r := range canonical {
		id, task := r.of("id"), r.of("task_id")
		key := "istota:message:" + id
		if role := r.of("role"); task != "" && (role == "user" || role == "assistant") && !taken[taskKey(task, role)] {
			key = taskKey(task, role)
		}
		taken[key] = true
		if id != "" {
			m.of[id] = key
			for _, of := range chatIDs(r.values["external_ids"]) {
				m.posted[of] = key
			}
		}
	}
	for _, r := range chat {
		if id := r.of("message_id"); id != "" {
			m.chat[id] = m.chatKey(r)
		}
	}
	for _, id := range m.order {
		if r := m.tasks[id]; completed(r) {
			for column, role := range map[string]string{"talk_message_id": "user", "talk_response_id": "assistant"} {
				if of := r.of(column); of != "" {
					m.chat[of] = taskKey(id, role)
				}
			}
		}
	}
}

// canonical takes a row of the canonical messages.
func (m *room) canonical(r row) {
	id, role := r.of("id"), r.of("role")
	if id == "" {
		m.report.Leave("messages without an id", 1)
		return
	}
	s := said{Message: conversation.Message{Key: m.of[id], Role: role, Text: r.values["body"], SaidAt: r.time("created_at"), Raw: r.raw()}}
	task := m.tasks[r.of("task_id")]
	switch {
	case m.have[s.Key]:
		m.report.Leave("messages of an id that is there already", 1)
		return
	case role != "user" && role != "assistant" && role != "system":
		s = event(s.Key, cmp.Or(role, "message"), s.Text, s.SaidAt, s.Raw)
	case strings.TrimSpace(s.Text) == "":
		s = event(s.Key, "empty", "", s.SaidAt, s.Raw)
	default:
		for _, name := range append(list(r.values["attachments"]), list(r.values["attachment_paths"])...) {
			s.Blocks = append(s.blocks(), conversation.Block{Type: conversation.FileBlock, FileName: name[strings.LastIndexAny(name, `/\`)+1:]})
		}
		s.ReplyTo = m.replyTo(r, task)
		m.about(&s.Message, task, r.of("author_display_name", "author_name", "author", "author_id"))
	}
	m.add(s)
}

// task takes what a completed task was asked and what it answered, as far as the canonical messages do not have it.
func (m *room) task(r row) {
	id := r.of("id")
	if !completed(r) {
		if !m.have[taskKey(id, "user")] {
			m.report.Leave("tasks that are not completed", 1)
		}
		return
	}
	asked := said{Message: conversation.Message{Key: taskKey(id, "user"), Role: "user", Text: r.values["prompt"], SaidAt: r.time("created_at"), ReplyTo: m.replyTo(row{}, r)}}
	answered := said{Message: conversation.Message{Key: taskKey(id, "assistant"), Role: "assistant", Text: r.values["result"], SaidAt: r.time("completed_at", "updated_at", "created_at"), Raw: r.raw()}}
	for _, s := range []said{asked, answered} {
		if m.have[s.Key] || strings.TrimSpace(s.Text) == "" {
			continue
		}
		m.about(&s.Message, r, "")
		m.add(s)
	}
}

// about says what a task tells of a message of its own.
func (m *room) about(to *conversation.Message, task row, author string) {
	if kind := word(task.of("source_type")); kind != "talk" {
		to.SourceKind = kind
	}
	to.Withheld = task.is("withheld_from_room")
	switch to.Role {
	case "user":
		to.Speaker = cmp.Or(task.of("external_sender", "sender_label", "sender"), author, task.of("user_id"))
	case "assistant":
		to.Actions = list(task.values["actions_taken"])
	}
}

// replyTo is the key of what a message answers: by the id of a canonical message, else by an id of the chat platform. What belongs to a task that is not
// completed is not resolved.
func (m *room) replyTo(message, task row) string {
	for _, r := range []row{message, task} {
		if id := r.of("reply_to_message_id"); id != "" {
			if key, ok := m.of[id]; ok && m.answerable(key) {
				return key
			}
		}
	}
	return m.chat[cmp.Or(task.of("reply_to_talk_id"), message.of("reply_to_talk_id"))]
}

// answerable reports whether a key is not of a task that is not completed.
func (m *room) answerable(key string) bool {
	id, _, ok := strings.Cut(strings.TrimPrefix(key, "istota:task:"), ":")
	task, known := m.tasks[id]
	return !strings.HasPrefix(key, "istota:task:") || !ok || !known || completed(task)
}

func (m *room) add(s said) {
	m.have[s.Key] = true
	m.talk.said = append(m.talk.said, s)
}

// taskOf reads a reference of istota's to a task: istota:task:<id>:<tag>. Another one names none.
func taskOf(reference string) (id, tag string, ok bool) {
	rest, ok := strings.CutPrefix(reference, "istota:task:")
	if !ok {
		return "", "", false
	}
	id, tag, ok = strings.Cut(rest, ":")
	return id, tag, ok && id != "" && tag != ""
}

// chatKey is the key of a row of the chat platform.
func (m *room) chatKey(r row) string {
	return fmt.Sprintf("istota:talk:%s:%s", m.token, r.of("message_id"))
}

// said takes a row of the chat platform: what others said in the room, and what is in no other table. The platform may write a row anew until it is a result.
func (m *room) said(r row) {
	id := r.of("message_id")
	if id == "" {
		m.report.Leave("talk_messages without an id", 1)
		return
	}
	task, tag, referred := taskOf(r.of("reference_id"))
	key := m.chatKey(r)
	if of := m.chat[id]; m.have[key] || of != key && m.have[of] || m.have[m.posted[id]] || referred && tag == "result" && m.have[taskKey(task, "assistant")] {
		m.report.Leave("talk_messages that a task or a message has", 1)
		m.talk.twice = append(m.talk.twice, key)
		return
	}
	text := filled(r.values["message_text"], r.values["message_parameters"])
	s := said{Message: conversation.Message{Key: key, Role: "user", Speaker: r.of("actor_display_name", "actor_id"), SaidAt: r.time("timestamp"), Raw: r.raw(),
		Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: text}}},
		state: r.of("reference_id") + "\n" + text, final: referred && tag == "result", gone: r.is("deleted")}
	if referred || r.of("actor_type") == "bots" {
		s.Role, s.Speaker = "assistant", ""
	}
	switch {
	case s.gone:
	case r.of("message_type") == "system":
		s.Message = event(key, "system", text, s.SaidAt, s.Raw).Message
	case referred && (tag == "ack" || tag == "progress"):
		s.Message = event(key, tag, text, s.SaidAt, s.Raw).Message
	case strings.TrimSpace(text) == "":
		s.Message = event(key, "empty", "", s.SaidAt, s.Raw).Message
	default:
		s.ReplyTo = m.chat[r.of("parent_id")]
	}
	m.add(s)
}

// filled puts the names of what a chat message speaks of in the place of its parameters, which are an object, or an empty list where there are none.
func filled(text, parameters string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(parameters), &all) != nil {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var of map[string]any
		if json.Unmarshal(all[name], &of) != nil {
			continue
		}
		word := func(key string) string { s, _ := of[key].(string); return s }
		says := cmp.Or(word("name"), word("id"))
		if says == "" {
			continue
		}
		if kind := word("type"); kind == "user" || kind == "guest" || kind == "call" {
			says = "@" + says
		}
		text = strings.ReplaceAll(text, "{"+name+"}", textOf(says))
	}
	return text
}

// chatIDs are the chat platform's ids among the external ones of a message.
func chatIDs(external string) (all []string) {
	var ids map[string]json.RawMessage
	if json.Unmarshal([]byte(external), &ids) != nil {
		return nil
	}
	for name, raw := range ids {
		if id := strings.Trim(string(raw), `" `); strings.Contains(name, "talk") && id != "" && id != "null" {
			all = append(all, id)
		}
	}
	return all
}
