package recall_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// stands gives session and place of every message of a conversation; sessions are counted from 1.
func stands(t *testing.T, e *engine.Engine, conversation string) (all [][2]int) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, fmt.Sprintf(`SELECT dense_rank() OVER (ORDER BY d.session_no), d.place, d.session_no = first(d.doc_no) OVER (PARTITION BY d.session_no ORDER BY m.seq)
		FROM messages AS m JOIN documents AS d USING (doc_no) JOIN conversations AS c ON c.id = m.conversation_id WHERE c.name = '%s' ORDER BY m.seq`, conversation)) {
		all = append(all, [2]int{int(row[0].(int64)), int(row[1].(int32))})
		if !row[2].(bool) {
			t.Errorf("%s: message %d: its session is not numbered like its first document", conversation, len(all))
		}
	}
	return all
}

// turnsOf makes messages of a host's session that are said so many minutes after noon.
func turnsOf(session string, minutes ...int) (messages []conversation.Message) {
	for _, m := range minutes {
		messages = append(messages, conversation.Message{Text: fmt.Sprint("turn ", m), Session: session, SaidAt: enginetest.Noon.Add(time.Duration(m) * time.Minute)})
	}
	return messages
}

// sessionCases are talks with the stands that their messages have.
var sessionCases = []struct {
	name     string
	messages []conversation.Message
	want     [][2]int
}{
	{"one message", turnsOf("", 0), [][2]int{{1, 0}}},
	{"without a session of the host", turnsOf("", 0, 1, 2), [][2]int{{1, 0}, {1, 1}, {1, 2}}},
	{"all at once", turnsOf("a", 0, 0, 0), [][2]int{{1, 0}, {1, 1}, {1, 2}}},
	{"another session of the host", append(turnsOf("a", 0, 1), turnsOf("b", 2, 3)...), [][2]int{{1, 0}, {1, 1}, {2, 0}, {2, 1}}},
	{"the host has none any more", append(turnsOf("a", 0, 1), turnsOf("", 2)...), [][2]int{{1, 0}, {1, 1}, {2, 0}}},
	{"a session of the host comes back", append(append(turnsOf("a", 0), turnsOf("b", 1)...), turnsOf("a", 2, 3)...), [][2]int{{1, 0}, {2, 0}, {3, 0}, {3, 1}}},
	{"six hours of silence", turnsOf("a", 0, 360), [][2]int{{1, 0}, {1, 1}}},
	{"more than six hours", turnsOf("a", 0, 361, 362), [][2]int{{1, 0}, {2, 0}, {2, 1}}},
	{"the clock goes back a bit", turnsOf("a", 360, 0, 1), [][2]int{{1, 0}, {1, 1}, {1, 2}}},
	{"the clock goes back far", turnsOf("a", 361, 0, 1), [][2]int{{1, 0}, {2, 0}, {2, 1}}},
	{"silence is counted from message to message", turnsOf("", 0, 300, 600, 900, 1300), [][2]int{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {2, 0}}},
}

// TestSessionsOfTalk: a session ends where the host's does, and at more than six hours of silence; in how many pieces a talk was
// appended makes no difference, nor does the file being closed in between.
func TestSessionsOfTalk(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	for _, test := range sessionCases {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: test.name, Messages: test.messages})
	}
	longest := 0
	for _, test := range sessionCases {
		longest = max(longest, len(test.messages))
	}
	for i := range longest { // one by one, all conversations in turns
		for _, test := range sessionCases {
			if i < len(test.messages) {
				enginetest.Append(t, e, conversation.AppendRequest{Conversation: "pieces of " + test.name, Messages: test.messages[i : i+1]})
			}
		}
		if i == 1 {
			enginetest.CloseFile(t, e)
			e = enginetest.OpenFile(t, path, engine.Options{})
		}
	}
	for _, test := range sessionCases {
		enginetest.Equal(t, test.name, test.want, stands(t, e, test.name))
		enginetest.Equal(t, "pieces of "+test.name, test.want, stands(t, e, "pieces of "+test.name))
	}
	enginetest.Check(t, e)
}

// TestKnownMessagesTakeNoPlace: a message that is there already, by its key, neither takes a place nor ends a session.
func TestKnownMessagesTakeNoPlace(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	first := turnsOf("a", 0, 1)
	first[0].Key, first[1].Key = "k0", "k1"
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: first})
	again := append(append(turnsOf("b", 5000), first...), turnsOf("a", 2)...)
	again[0].Key = "k0"
	if r := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: again}); r.Added != 1 {
		t.Errorf("%+v: want one more", r)
	}
	enginetest.Equal(t, "stands", [][2]int{{1, 0}, {1, 1}, {1, 2}}, stands(t, e, "talk"))
}

// TestImportedTalkStandsAlike: messages that are imported stand as if they had been appended.
func TestImportedTalkStandsAlike(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	lines, n := "", 0
	for _, test := range sessionCases {
		for _, m := range test.messages {
			lines += fmt.Sprintf(`{"conversation":%q,"text":%q,"session":%q,"time":%q}`+"\n", test.name, m.Text, m.Session, m.SaidAt.Format(time.RFC3339))
			n++
		}
	}
	enginetest.ImportMessages(t, e, lines, interchange.ImportRequest{}, interchange.Imported{Lines: n, Created: n})
	for _, test := range sessionCases {
		enginetest.Equal(t, test.name, test.want, stands(t, e, test.name))
	}
}

// talkColumns are what a rebuild, or a migration, has to make of the rows.
const talkColumns = `SELECT d.doc_no, d.owner_id, d.session_no, d.place, d.speaker, d.asks, d.ends_asking, d.tells, d.characters, d.noise, m.session_no, m.place
	FROM documents AS d LEFT JOIN messages AS m ON m.doc_no = d.doc_no ORDER BY d.doc_no`

// TestRebuildKeepsTheTalk: where documents stand, and what they say of themselves, comes out of the rows the same.
func TestRebuildKeepsTheTalk(t *testing.T) {
	enginetest.Alone(t)
	rng := rand.New(rand.NewPCG(5, 1))
	e, _ := randomTalk(t, rng, 1)
	for i, text := range []string{"hello", "Is that all?", "Why? Because.", "港はどこ？", "query -> none", "Yesterday I met Anna in Porto."} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text, SourceSession: "noted 1"})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: fmt.Sprint("talk ", i%4), Messages: []conversation.Message{{Text: " " + text + "\n", Speaker: "Ines"}}})
	}
	memories, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range memories {
		changed := "Changed yesterday, wasn't it?"
		switch i % 9 {
		case 0:
			_, err = e.Forget(t.Context(), memory.ForgetRequest{ID: m.ID})
		case 1:
			_, err = e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: &changed})
		case 2:
			_, err = e.Supersede(t.Context(), memory.SupersedeRequest{ID: m.ID, By: memory.RememberRequest{Text: "newer", SourceSession: "noted 2"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := enginetest.Rows(t, e, talkColumns)
	seen := map[string]bool{}
	for _, row := range want {
		for i, name := range map[int]string{5: "asks", 6: "ends asking", 9: "noise"} {
			seen[name] = seen[name] || row[i].(bool)
		}
		seen["place"] = seen["place"] || row[3].(int32) > 5
		seen["tells"] = seen["tells"] || row[7].(float32) == 1
	}
	enginetest.Equal(t, "what the rows have", map[string]bool{"asks": true, "ends asking": true, "noise": true, "place": true, "tells": true}, seen)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "talk after a rebuild", want, enginetest.Rows(t, e, talkColumns))
}

// TestStandsAfterAPurge: the places of what is gone stay empty or close up, but two documents never share one.
func TestStandsAfterAPurge(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for range 2 {
		var ids []string
		for i := range 4 {
			ids = append(ids, enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint("note ", i), SourceSession: "s"}).ID)
		}
		for _, i := range []int{0, 3, 1} { // the first, the last and one between
			if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: ids[i]}); err != nil {
				t.Fatal(err)
			}
			enginetest.Check(t, e)
		}
		if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
			t.Fatal(err)
		}
		enginetest.Check(t, e)
	}
	if n := len(enginetest.Rows(t, e, "SELECT 1 FROM documents GROUP BY session_no")); n != 1 {
		t.Errorf("%d sessions of one source", n)
	}
}

// TestMigrationSeatsTheTalk: an old file has, after its migration, what a new one has of the same rows; how much a turn tells is known
// once the index is made anew.
func TestMigrationSeatsTheTalk(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	enginetest.Unpack(t, "../internal/duck/testdata/schema_1.db.gz", path)
	enginetest.Tamper(t, path, oldTalk()...)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	migrated := enginetest.Rows(t, e, talkColumns)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	rebuilt := enginetest.Rows(t, e, talkColumns)
	enginetest.Check(t, e)
	for i := range migrated {
		migrated[i][7] = rebuilt[i][7] // tells
	}
	enginetest.Equal(t, "migrated, and made by the engine", rebuilt, migrated)
	for i, test := range sessionCases {
		enginetest.Equal(t, test.name, test.want, stands(t, e, fmt.Sprint("old ", i)))
	}
	more := turnsOf("a", 10_000, 10_001)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "old 3", Messages: more})
	enginetest.Equal(t, "what is appended to an old conversation", [][2]int{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}, stands(t, e, "old 3"))
	enginetest.Check(t, e)
}

// oldTalk is statements that put the talks of sessionCases, and notes of one source, into a file of the first schema.
func oldTalk() (statements []string) {
	statements = append(statements, "SELECT max(nextval('doc_nos')) FROM range(1000)")
	no := 500
	for i, test := range sessionCases {
		statements = append(statements, fmt.Sprintf("INSERT INTO conversations VALUES ('conv_old%d', 'old %d', 'global', NULL, '2026-06-15', %d)", i, i, len(test.messages)+1))
		for j, m := range test.messages {
			session := "NULL"
			if m.Session != "" {
				session = "'" + m.Session + "'"
			}
			text := []string{"Is it so?", "hello", "Why? Because I was in Porto.", "a crane ?"}[no%4]
			statements = append(statements,
				fmt.Sprintf("INSERT INTO messages VALUES ('msg_%d', %d, 'conv_old%d', %d, NULL, %s, 'user', 'Ines', '%s', NULL, '%s', '2026-06-15')", no, no, i, j+1, session, text, m.SaidAt.Format(time.DateTime)),
				fmt.Sprintf("INSERT INTO documents SELECT %d, 'message', 'msg_%d', 'global', 'conv_old%d', NULL, NULL, '%s', NULL, NULL, 0, true", no, no, i, m.SaidAt.Format(time.DateTime)))
			no++
		}
	}
	return append(statements, "UPDATE memories SET source_session = 'noted' WHERE doc_no > 1")
}

// TestStandsAfterAMove: a memory that is moved to another scope keeps its place in the session, and neither those that are left nor those that
// come after it, there or here, have the same.
func TestStandsAfterAMove(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	note := func(scope string) memory.RememberRequest {
		return memory.RememberRequest{Text: "noted in " + scope, Scope: scope, SourceSession: "s"}
	}
	enginetest.Remember(t, e, note("user:ines"))
	second := enginetest.Remember(t, e, note("user:ines"))
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: second.ID, Scope: enginetest.Pointer("project:pier")}); err != nil {
		t.Fatal(err)
	}
	enginetest.Remember(t, e, note("user:ines"))
	enginetest.Check(t, e)
	both := []memory.RememberRequest{note("project:pier"), note("user:ines"), note("project:pier")}
	if _, err := e.RememberMany(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	enginetest.Equal(t, "places", [][]any{{int32(0)}, {int32(1)}, {int32(2)}, {int32(3)}, {int32(4)}, {int32(5)}}, enginetest.Rows(t, e, "SELECT place FROM documents ORDER BY doc_no"))
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "places once the index is made anew", [][]any{{int32(0)}, {int32(0)}, {int32(1)}, {int32(1)}, {int32(2)}, {int32(2)}},
		enginetest.Rows(t, e, "SELECT place FROM documents ORDER BY doc_no"))
}
