package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// shelf makes a conversation whose context is m1, a leaf, one of depth 1, one of depth 2, and m11 of ten characters each.
func shelf(t *testing.T, e *engine.Engine) (ids []string) {
	t.Helper()
	var say []conversation.Message
	for i := range 11 {
		say = append(say, conversation.Message{Text: fmt.Sprintf("message %02d", i+1), Key: fmt.Sprint("k", i+1)})
	}
	ids = appended(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs
	madeSummary(t, e, "c", "leaf", ids[1], ids[2])
	madeSummary(t, e, "c", "deep", madeSummary(t, e, "c", "a", ids[3], ids[4]))
	madeSummary(t, e, "c", "deeper", madeSummary(t, e, "c", "b", madeSummary(t, e, "c", "d", ids[5], ids[6], ids[7], ids[8], ids[9])))
	return ids
}

// contextLine gives the context of a conversation: messages by number, summaries by their text, each with its position.
func contextLine(t *testing.T, e *engine.Engine, conversation string) string {
	t.Helper()
	v, err := e.Conversation(t.Context(), conversation, "")
	if err != nil {
		t.Fatal(err)
	}
	table, err := e.Query(t.Context(), `SELECT coalesce('m' || m.seq, s.text) || '@' || i.position FROM context_items AS i
		LEFT JOIN messages AS m ON m.id = i.ref LEFT JOIN summaries AS s ON s.id = i.ref WHERE i.conversation_id = '`+v.ID+`' ORDER BY i.position`, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for _, row := range table.Rows {
		items = append(items, fmt.Sprint(row[0]))
	}
	return strings.Join(items, " ")
}

// asideOf gives what is set aside in a conversation and why.
func asideOf(t *testing.T, e *engine.Engine, conversation string) (aside string) {
	t.Helper()
	for _, m := range messagesOf(t, e, conversation) {
		if m.SetAside != "" {
			aside += fmt.Sprintf("m%d:%s ", m.Seq, m.SetAside)
		}
		if m.SetAside == "" != m.SetAsideAt.IsZero() {
			t.Errorf("%+v: set aside at no time", m)
		}
	}
	return strings.TrimSpace(aside)
}

func TestNewSession(t *testing.T) {
	alone(t)
	for _, test := range []struct {
		name    string
		depth   *int
		option  *int
		context string
		want    conversation.SessionBegun
	}{
		{"X1 by default", nil, nil, "deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 2, Kept: 1, TokensBefore: 10, TokensAfter: 2}},
		{"X1 retain 2", pointer(2), nil, "deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 2, Kept: 1, TokensBefore: 10, TokensAfter: 2}},
		{"X1 retain 1", pointer(1), nil, "deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 1, Kept: 2, TokensBefore: 10, TokensAfter: 3}},
		{"X1 retain 0", pointer(0), nil, "leaf@2 deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Kept: 3, TokensBefore: 10, TokensAfter: 4}},
		{"X1 retain everything", pointer(-1), nil, "m1@1 leaf@2 deep@4 deeper@6 m11@11", conversation.SessionBegun{Kept: 5, TokensBefore: 10, TokensAfter: 10}},
		{"retain 3", pointer(3), nil, "", conversation.SessionBegun{Messages: 2, Summaries: 3, TokensBefore: 10}},
		{"by option", nil, pointer(0), "leaf@2 deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Kept: 3, TokensBefore: 10, TokensAfter: 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{NewSessionRetainDepth: test.option}})
			shelf(t, e)
			got, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "c", RetainDepth: test.depth})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(conversation.SessionBegun{}, "ConversationID")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if context := contextLine(t, e, "c"); context != test.context {
				t.Errorf("context %q, want %q", context, test.context)
			}
			aside := ""
			if test.want.Messages > 0 {
				aside = "m1:new m11:new"
			}
			if got := asideOf(t, e, "c"); got != aside {
				t.Errorf("set aside %q, want %q", got, aside)
			}
			next := appended(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "next"}, {Text: "again", Key: "k1"}}})
			if next.Added != 1 || next.ConversationID != got.ConversationID || !strings.HasSuffix(contextLine(t, e, "c"), "m12@12") {
				t.Errorf("after it: %+v, %s", next, contextLine(t, e, "c"))
			}
			if hits := recalled(t, e, recall.Query{Text: "message 01", Kinds: []kinds.Kind{kinds.Message}}); len(hits) == 0 {
				t.Error("what was set aside is not recalled")
			}
		})
	}
}

func TestNewSessionRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	shelf(t, e)
	_, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "c", RetainDepth: pointer(-2)})
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "retain_depth is -2; allowed: -1 or more") {
		t.Error(err)
	}
}

func TestResetSession(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say := func(text string) *conversation.Appended {
		return appended(t, e, conversation.AppendRequest{SessionKey: "agent:main", SessionID: "s1", Scope: "user:ines", Messages: []conversation.Message{{Text: text}, {Text: text}}})
	}
	first := say("one")
	leaf := madeSummary(t, e, "agent:main", "leaf", first.IDs[0])
	reset := func(r conversation.ArchiveRequest) *conversation.Ended {
		result, err := e.ResetSession(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	key := conversation.ArchiveRequest{SessionKey: "agent:main"}
	ended := reset(key)
	if ended.ConversationID != first.ConversationID || ended.Messages != 1 || ended.Successor == "" || ended.Fresh {
		t.Errorf("X2: %+v", ended)
	}
	if again := reset(key); !again.Fresh || again.ConversationID != ended.Successor || again.Successor != "" {
		t.Errorf("X2, the second: %+v", again)
	}
	was, err := e.Conversation(t.Context(), first.ConversationID, "")
	if err != nil || was.Active || was.ArchiveCause != string(conversation.ManualReset) || !was.ArchivedAt.Equal(noon) || asideOf(t, e, was.ID) != "m2:reset" || contextLine(t, e, was.ID) != "leaf@1" {
		t.Errorf("%+v, %v: %s, %s", was, err, asideOf(t, e, was.ID), contextLine(t, e, was.ID))
	}
	is, err := e.Conversation(t.Context(), "agent:main", "")
	if err != nil || is.ID != ended.Successor || is.Scope != "user:ines" || is.SessionKey != "agent:main" || is.SessionID != "s1" || is.Messages != 0 || !is.Active {
		t.Errorf("%+v, %v", is, err)
	}
	if next := say("two"); next.ConversationID != ended.Successor {
		t.Errorf("what comes next is in %s", next.ConversationID)
	}
	if s := summaryOf(t, e, leaf); s.ConversationID != first.ConversationID {
		t.Errorf("%+v", s)
	}
	if made := reset(conversation.ArchiveRequest{Conversation: "unheard of"}); !made.Fresh || made.ConversationID == "" {
		t.Errorf("of none: %+v", made)
	}
	if _, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{Conversation: first.ConversationID}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("of an archived one by its id: %v, want ErrInvalid", err)
	}
	late := appended(t, e, conversation.AppendRequest{Conversation: first.ConversationID, Messages: []conversation.Message{{Text: "a late line"}}})
	if late.ConversationID != first.ConversationID {
		t.Errorf("%+v: named by its id, an archived one goes on", late)
	}
}

// TestResetOfWhatIsArchived: the one that is made is as private as the one before it.
func TestResetOfWhatIsArchived(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]conversation.ArchiveRequest{"a name": {Conversation: "diary"}, "a key": {SessionKey: "diary"}} {
		e := enginetest.Open(t, engine.Options{})
		said := conversation.AppendRequest{Conversation: of.Conversation, SessionKey: of.SessionKey, Scope: "user:ines", Messages: []conversation.Message{{Text: "x"}}}
		first := appended(t, e, said)
		if _, err := e.Archive(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		made, err := e.ResetSession(t.Context(), of)
		if err != nil || !made.Fresh || made.ConversationID == first.ConversationID {
			t.Fatalf("%s: %+v, %v", name, made, err)
		}
		if v, err := e.Conversation(t.Context(), made.ConversationID, ""); err != nil || v.Scope != "user:ines" {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if again := appended(t, e, said); again.ConversationID != made.ConversationID {
			t.Errorf("%s: what comes next is in %s", name, again.ConversationID)
		}
		if _, err := e.Archive(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		of.Agent = "scout"
		if other, err := e.ResetSession(t.Context(), of); err != nil || other.ConversationID == made.ConversationID {
			t.Errorf("%s: %+v, %v of an agent that may not use it", name, other, err)
		}
	}
}

func TestEndSession(t *testing.T) {
	alone(t)
	for _, test := range []struct {
		reason    string
		active    bool // the conversation goes on
		successor bool
		cause     conversation.ArchiveCause
	}{
		{"", true, false, ""}, {"new", true, false, ""}, {"unknown", true, false, ""}, {"restart", true, false, ""}, {"shutdown", true, false, ""},
		{"deleted", false, false, conversation.SessionDeleted}, {"idle", false, true, conversation.SessionEnd}, {"reset", false, true, conversation.ManualReset},
	} {
		e := enginetest.Open(t, engine.Options{})
		id := appended(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "x"}}}).ConversationID
		ended, err := e.EndSession(t.Context(), conversation.EndSessionRequest{Conversation: "c", Reason: test.reason})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Conversation(t.Context(), id, "")
		if err != nil || v.Active != test.active || v.ArchiveCause != string(test.cause) || ended.EndIgnored != test.active || (ended.Successor != "") != test.successor {
			t.Errorf("%q: %+v, %+v, %v", test.reason, ended, v, err)
		}
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	clock := &movingClock{noon}
	e := enginetest.Open(t, engine.Options{Now: clock.now})
	first := appended(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{{Text: "x"}}})
	archive := func(r conversation.ArchiveRequest) (*conversation.Ended, error) { return e.Archive(t.Context(), r) }
	if ended, err := archive(conversation.ArchiveRequest{Conversation: "c", Cause: conversation.CronRotation}); err != nil || ended.Messages != 1 || ended.Already {
		t.Errorf("%+v, %v", ended, err)
	}
	clock.advance(1e9)
	if ended, err := archive(conversation.ArchiveRequest{Conversation: "c"}); err != nil || !ended.Already || ended.Messages != 0 {
		t.Errorf("%+v, %v", ended, err)
	}
	v, err := e.Conversation(t.Context(), "c", "")
	if err != nil || v.ArchiveCause != string(conversation.CronRotation) || !v.ArchivedAt.Equal(noon) {
		t.Errorf("%+v, %v: the first cause and time stay", v, err)
	}
	second := appended(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "y"}}})
	if second.ConversationID == first.ConversationID {
		t.Error("the name of an archived conversation goes on in it")
	}
	for _, test := range []struct {
		request conversation.ArchiveRequest
		want    error
	}{
		{conversation.ArchiveRequest{Conversation: "d"}, engine.ErrNotFound}, {conversation.ArchiveRequest{}, engine.ErrInvalid},
		{conversation.ArchiveRequest{Conversation: first.ConversationID, Agent: "scout"}, engine.ErrScopeDenied},
		{conversation.ArchiveRequest{Conversation: "c", Cause: "boredom"}, engine.ErrInvalid},
	} {
		if _, err := archive(test.request); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.want)
		}
	}
}

func TestLifecycleOfWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{IgnoreSessions: []string{"agent:*:cron:**"}, StatelessSessions: []string{"agent:sub:**"}}})
	for key, want := range map[string]string{"agent:main:cron:daily:1": "session excluded", "agent:sub:x": "stateless session"} {
		begun, err := e.NewSession(t.Context(), conversation.NewSessionRequest{SessionKey: key})
		if err != nil || begun.Skipped != want {
			t.Errorf("new %s: %+v, %v", key, begun, err)
		}
		for name, do := range map[string]func() (*conversation.Ended, error){
			"archive": func() (*conversation.Ended, error) {
				return e.Archive(t.Context(), conversation.ArchiveRequest{SessionKey: key})
			},
			"reset": func() (*conversation.Ended, error) {
				return e.ResetSession(t.Context(), conversation.ArchiveRequest{SessionKey: key})
			},
			"end": func() (*conversation.Ended, error) {
				return e.EndSession(t.Context(), conversation.EndSessionRequest{SessionKey: key, Reason: "idle"})
			},
		} {
			if ended, err := do(); err != nil || ended.Skipped != want {
				t.Errorf("%s %s: %+v, %v", name, key, ended, err)
			}
		}
		if appended := appended(t, e, conversation.AppendRequest{SessionKey: key, Messages: []conversation.Message{{Text: "x"}}}); appended.Skipped != want {
			t.Errorf("append %s: %+v", key, appended)
		}
	}
	if all, err := e.Conversations(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v, want none", all, err)
	}
}
