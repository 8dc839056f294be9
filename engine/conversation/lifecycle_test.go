package conversation_test

import (
	"errors"
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

func TestNewSession(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name    string
		depth   *int
		option  *int
		context string
		want    conversation.SessionBegun
	}{
		{"X1 by default", nil, nil, "deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 2, Kept: 1, TokensBefore: 10, TokensAfter: 2}},
		{"X1 retain 2", enginetest.Pointer(2), nil, "deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 2, Kept: 1, TokensBefore: 10, TokensAfter: 2}},
		{"X1 retain 1", enginetest.Pointer(1), nil, "deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Summaries: 1, Kept: 2, TokensBefore: 10, TokensAfter: 3}},
		{"X1 retain 0", enginetest.Pointer(0), nil, "leaf@2 deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Kept: 3, TokensBefore: 10, TokensAfter: 4}},
		{"X1 retain everything", enginetest.Pointer(-1), nil, "m1@1 leaf@2 deep@4 deeper@6 m11@11", conversation.SessionBegun{Kept: 5, TokensBefore: 10, TokensAfter: 10}},
		{"retain 3", enginetest.Pointer(3), nil, "", conversation.SessionBegun{Messages: 2, Summaries: 3, TokensBefore: 10}},
		{"by option", nil, enginetest.Pointer(0), "leaf@2 deep@4 deeper@6", conversation.SessionBegun{Messages: 2, Kept: 3, TokensBefore: 10, TokensAfter: 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{NewSessionRetainDepth: test.option}})
			enginetest.Shelf(t, e)
			got, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "c", RetainDepth: test.depth})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(conversation.SessionBegun{}, "ConversationID")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if context := enginetest.ContextLine(t, e, "c"); context != test.context {
				t.Errorf("context %q, want %q", context, test.context)
			}
			aside := ""
			if test.want.Messages > 0 {
				aside = "m1:new m11:new"
			}
			if got := enginetest.SetAside(t, e, "c"); got != aside {
				t.Errorf("set aside %q, want %q", got, aside)
			}
			next := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "next"}, {Text: "again", Key: "k1"}}})
			if next.Added != 1 || next.ConversationID != got.ConversationID || !strings.HasSuffix(enginetest.ContextLine(t, e, "c"), "m12@12") {
				t.Errorf("after it: %+v, %s", next, enginetest.ContextLine(t, e, "c"))
			}
			if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "message 01", Kinds: []kinds.Kind{kinds.Message}}); len(hits) == 0 {
				t.Error("what was set aside is not recalled")
			}
		})
	}
}

func TestNewSessionRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Shelf(t, e)
	_, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "c", RetainDepth: enginetest.Pointer(-2)})
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "retain_depth is -2; allowed: -1 or more") {
		t.Error(err)
	}
}

func TestResetSession(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say := func(text string) *conversation.Appended {
		return enginetest.Append(t, e, conversation.AppendRequest{SessionKey: "agent:main", SessionID: "s1", Scope: "user:ines", Messages: []conversation.Message{{Text: text}, {Text: text}}})
	}
	first := say("one")
	leaf := enginetest.Summarise(t, e, "agent:main", "leaf", first.IDs[0])
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
	if err != nil || was.Active || was.ArchiveCause != string(conversation.ManualReset) || !was.ArchivedAt.Equal(enginetest.Noon) || enginetest.SetAside(t, e, was.ID) != "m2:reset" || enginetest.ContextLine(t, e, was.ID) != "leaf@1" {
		t.Errorf("%+v, %v: %s, %s", was, err, enginetest.SetAside(t, e, was.ID), enginetest.ContextLine(t, e, was.ID))
	}
	is, err := e.Conversation(t.Context(), "agent:main", "")
	if err != nil || is.ID != ended.Successor || is.Scope != "user:ines" || is.SessionKey != "agent:main" || is.SessionID != "s1" || is.Messages != 0 || !is.Active {
		t.Errorf("%+v, %v", is, err)
	}
	if next := say("two"); next.ConversationID != ended.Successor {
		t.Errorf("what comes next is in %s", next.ConversationID)
	}
	if s := enginetest.SummaryOf(t, e, leaf); s.ConversationID != first.ConversationID {
		t.Errorf("%+v", s)
	}
	if made := reset(conversation.ArchiveRequest{Conversation: "unheard of"}); !made.Fresh || made.ConversationID == "" {
		t.Errorf("of none: %+v", made)
	}
	if _, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{Conversation: first.ConversationID}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("of an archived one by its id: %v, want ErrInvalid", err)
	}
	late := enginetest.Append(t, e, conversation.AppendRequest{Conversation: first.ConversationID, Messages: []conversation.Message{{Text: "a late line"}}})
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
		first := enginetest.Append(t, e, said)
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
		if again := enginetest.Append(t, e, said); again.ConversationID != made.ConversationID {
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
	enginetest.Alone(t)
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
		id := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "x"}}}).ConversationID
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
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{{Text: "x"}}})
	archive := func(r conversation.ArchiveRequest) (*conversation.Ended, error) { return e.Archive(t.Context(), r) }
	if ended, err := archive(conversation.ArchiveRequest{Conversation: "c", Cause: conversation.CronRotation}); err != nil || ended.Messages != 1 || ended.Already {
		t.Errorf("%+v, %v", ended, err)
	}
	clock.Advance(1e9)
	if ended, err := archive(conversation.ArchiveRequest{Conversation: "c"}); err != nil || !ended.Already || ended.Messages != 0 {
		t.Errorf("%+v, %v", ended, err)
	}
	v, err := e.Conversation(t.Context(), "c", "")
	if err != nil || v.ArchiveCause != string(conversation.CronRotation) || !v.ArchivedAt.Equal(enginetest.Noon) {
		t.Errorf("%+v, %v: the first cause and time stay", v, err)
	}
	second := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "y"}}})
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
		if appended := enginetest.Append(t, e, conversation.AppendRequest{SessionKey: key, Messages: []conversation.Message{{Text: "x"}}}); appended.Skipped != want {
			t.Errorf("append %s: %+v", key, appended)
		}
	}
	if all, err := e.Conversations(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v, want none", all, err)
	}
}
