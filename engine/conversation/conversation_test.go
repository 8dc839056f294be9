package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestConversationsByKeyAndSession appends a message at a time, and says in which conversation it lands.
func TestConversationsByKeyAndSession(t *testing.T) {
	enginetest.Alone(t)
	for name, steps := range map[string][]struct {
		request conversation.AppendRequest
		lands   int // number of the conversation, in the order they are made
		name    string
	}{
		"a key goes on in another session": {
			{conversation.AppendRequest{SessionKey: "k", SessionID: "s1"}, 1, "k"}, {conversation.AppendRequest{SessionKey: "k", SessionID: "s2"}, 1, "k"}, {conversation.AppendRequest{SessionKey: "k"}, 1, "k"},
			{conversation.AppendRequest{SessionID: "s2"}, 1, "k"}, {conversation.AppendRequest{SessionID: "s1"}, 2, "s1"}, {conversation.AppendRequest{Conversation: "k"}, 1, "k"}},
		"a session gets a key": {
			{conversation.AppendRequest{SessionID: "s"}, 1, "s"}, {conversation.AppendRequest{SessionID: "s", SessionKey: "k"}, 1, "k"}, {conversation.AppendRequest{SessionKey: "k"}, 1, "k"},
			{conversation.AppendRequest{SessionID: "s", SessionKey: "l"}, 2, "l"}},
		"a name is a key": {
			{conversation.AppendRequest{Conversation: "c"}, 1, "c"}, {conversation.AppendRequest{SessionKey: "c"}, 1, "c"}, {conversation.AppendRequest{Conversation: "c", SessionID: "s"}, 1, "c"}, {conversation.AppendRequest{SessionID: "s"}, 1, "c"}},
		"a key and a session of one name are two": {
			{conversation.AppendRequest{SessionID: "x"}, 1, "x"}, {conversation.AppendRequest{SessionKey: "x"}, 2, ""}, {conversation.AppendRequest{SessionKey: "x", SessionID: "y"}, 2, ""}, {conversation.AppendRequest{SessionID: "x"}, 1, "x"}},
		"a session takes a key that is another's name": {
			{conversation.AppendRequest{SessionID: "x"}, 1, "x"}, {conversation.AppendRequest{SessionID: "y"}, 2, "y"}, {conversation.AppendRequest{SessionID: "y", SessionKey: "x"}, 2, "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{})
			made := map[string]int{}
			for i, step := range steps {
				step.request.Messages = []conversation.Message{{Text: fmt.Sprint(i)}}
				id := enginetest.Append(t, e, step.request).ConversationID
				if made[id] == 0 {
					made[id] = len(made) + 1
				}
				v, err := e.Conversation(t.Context(), id, "")
				if err != nil || made[id] != step.lands || step.name != "" && v.Name != step.name {
					t.Errorf("step %d lands in conversation %d, %+v, %v, want %d", i, made[id], v, err, step.lands)
				}
			}
		})
	}
}

func TestArchivedSessionsAreReusedOnlyWithoutAKey(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for key, same := range map[string]bool{"": true, "k": false} {
		r := conversation.AppendRequest{SessionKey: key, SessionID: "s" + key, Messages: []conversation.Message{{Text: "x"}}}
		first := enginetest.Append(t, e, r).ConversationID
		if _, err := e.Archive(t.Context(), conversation.ArchiveRequest{Conversation: first}); err != nil {
			t.Fatal(err)
		}
		if second := enginetest.Append(t, e, r).ConversationID; (second == first) != same {
			t.Errorf("key %q: %s, then %s", key, first, second)
		}
	}
}

func TestConversationsByTheEndingOfTheirID(t *testing.T) {
	t.Parallel()
	bodies, n := []string{"cccccccc22222222", "aaaaaaaa11111111", "bbbbbbbb11111111"}, 0
	e := enginetest.Open(t, engine.Options{NewID: func(prefix string, _ time.Time) string {
		n++
		if prefix == "conv_" {
			body := bodies[0]
			bodies = bodies[1:]
			return prefix + body
		}
		return fmt.Sprint(prefix, n)
	}})
	say := []conversation.Message{{Text: "x"}}
	for _, name := range []string{"aa11111111", "archived", "other"} {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: say})
	}
	if _, err := e.Archive(t.Context(), conversation.ArchiveRequest{Conversation: "aaaaa11111111"}); err != nil {
		t.Fatal(err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "aaaaa11111111", Messages: say}) // what is archived goes on where its id is given
	for ending, want := range map[string]string{"aa11111111": "aa11111111", "aaa11111111": "archived", "222222": "aa11111111", "b11111111": "other"} {
		if v, err := e.Conversation(t.Context(), ending, ""); err != nil || v.Name != want {
			t.Errorf("%s: %+v, %v, want %s", ending, v, err, want)
		}
	}
	if all := enginetest.Messages(t, e, "archived"); len(all) != 2 {
		t.Errorf("%d messages", len(all))
	}
	for ending, want := range map[string]error{"11111": engine.ErrNotFound, "333333": engine.ErrNotFound, "111111": engine.ErrAmbiguous, "AAA11111111": engine.ErrNotFound} {
		if _, err := e.Conversation(t.Context(), ending, ""); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", ending, err, want)
		}
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say := []conversation.Message{{Text: "x"}}
	id := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).ConversationID
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "secret", Scope: "user:ines", Messages: say})
	for i, parent := range []string{"c", id} {
		made := enginetest.Append(t, e, conversation.AppendRequest{Conversation: fmt.Sprint("child", i), Parent: parent, Agent: "scout", Messages: say}).ConversationID
		if v, err := e.Conversation(t.Context(), made, ""); err != nil || v.ParentID != id {
			t.Errorf("parent %s: %+v, %v", parent, v, err)
		}
	}
	for _, parent := range []string{"none", "conv_none", "secret"} {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "orphan", Parent: parent, Agent: "scout", Messages: say})
		if !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "parent") || !strings.Contains(err.Error(), parent) {
			t.Errorf("parent %s: %v, want ErrNotFound", parent, err)
		}
	}
	if _, err := e.Conversation(t.Context(), "orphan", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want that it was not made", err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Parent: "none", Messages: say}) // it is there already
}

func TestGates(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	no := false
	for _, test := range []struct {
		name, pattern, session string
		ignored                bool
	}{
		{"Y1", "agent:*:cron:**", "agent:main:cron:daily:1", true}, {"Y2", "agent:*", "agent:main:x", false}, {"Y2", "agent:*", "agent:main", true},
		{"Y3", "a.b", "axb", false}, {"Y3", "a.b", "a.b", true}, {"Y4", "**:x", "p:q:x", true}, {"an end", "a:*", "a:b:", false}, {"nothing", "a*", "a", true},
	} {
		ignoring := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{IgnoreSessions: []string{"other", test.pattern}}})
		stateless := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{StatelessSessions: []string{test.pattern}}})
		writing := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{StatelessSessions: []string{test.pattern}, SkipStateless: &no}})
		for _, r := range []conversation.AppendRequest{{SessionKey: test.session}, {Conversation: test.session}, {SessionID: test.session}} {
			r.Messages = []conversation.Message{{Text: "x"}}
			if got := enginetest.Append(t, ignoring, r); (got.Skipped == "session excluded") != test.ignored || (got.Added == 0) != test.ignored {
				t.Errorf("%s: %s of %+v: %+v", test.name, test.pattern, r, got)
			}
			if got := enginetest.Append(t, stateless, r); (got.Skipped == "stateless session") != (test.ignored && r.SessionID == "") {
				t.Errorf("%s: stateless %s of %+v: %+v", test.name, test.pattern, r, got)
			}
			if got := enginetest.Append(t, writing, r); got.Added != 1 {
				t.Errorf("%s: stateless sessions are written: %+v", test.name, got)
			}
		}
	}
}

// TestGateOfAnID: a gate keeps out what names a conversation by its id, or by the session that it is in, and so what goes on in it.
func TestGateOfAnID(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/mallard.db"
	e := enginetest.OpenAt(t, path, engine.Options{})
	first := enginetest.Append(t, e, conversation.AppendRequest{SessionKey: "agent:x", SessionID: "s", Messages: []conversation.Message{{Text: "x"}}})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	const excluded = "session excluded"
	e = enginetest.OpenAt(t, path, engine.Options{Conversation: setup.Conversation{IgnoreSessions: []string{"agent:*"}}})
	for _, r := range []conversation.AppendRequest{{Conversation: first.ConversationID}, {Conversation: first.ConversationID[10:]}, {SessionID: "s"}} {
		r.Messages = []conversation.Message{{Text: "y"}}
		if got := enginetest.Append(t, e, r); got.Skipped != excluded || got.Added != 0 {
			t.Errorf("append to %+v: %+v", r, got)
		}
	}
	blocks := []conversation.Block{{Type: conversation.TextBlock, Text: "more"}}
	if got := enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: first.ConversationID, MessageID: first.IDs[0], Blocks: blocks}); got.Skipped != excluded || got.Added != 0 {
		t.Errorf("add blocks: %+v", got)
	}
	if got, err := e.Compact(t.Context(), compact.Request{Conversation: first.ConversationID, Force: true}); err != nil || got.Reason != excluded {
		t.Errorf("compact: %+v, %v", got, err)
	}
	if got, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: first.ConversationID}); err != nil || got.Skipped != excluded {
		t.Errorf("new session: %+v, %v", got, err)
	}
	for _, end := range []func(context.Context, conversation.ArchiveRequest) (*conversation.Ended, error){e.Archive, e.ResetSession} {
		if got, err := end(t.Context(), conversation.ArchiveRequest{Conversation: first.ConversationID}); err != nil || got.Skipped != excluded {
			t.Errorf("end: %+v, %v", got, err)
		}
	}
	if v, err := e.Conversation(t.Context(), first.ConversationID, ""); err != nil || !v.Active || v.Messages != 1 || enginetest.ContextLine(t, e, v.ID) != "m1@1" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestConversationOptionsRefuse(t *testing.T) {
	for want, o := range map[string]setup.Conversation{
		"estimator": {Estimator: "bytes"}, "timezone": {Timezone: "Mars/Olympus"}, "context_threshold": {ContextThreshold: 1.5}, "leaf_min_fanout": {LeafMinFanout: 1},
		"large_file_token_threshold": {LargeFileTokens: -1}, "new_session_retain_depth": {NewSessionRetainDepth: enginetest.Pointer(-2)}, "summary_timeout": {SummaryTimeout: -1},
		"ignore_session_patterns": {IgnoreSessions: []string{"\xff"}}, "fallback_max_tokens": {FallbackMaxTokens: 10},
	} {
		_, err := engine.Open(t.Context(), ":memory:", engine.Options{Conversation: o})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want+" is") {
			t.Errorf("%v, want it to name %s", err, want)
		}
	}
}

// TestAppendAfterItWasArchived: a batch whose messages were known under the name of a conversation that is archived is new in the next one.
func TestAppendAfterItWasArchived(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{LargeFileTokens: 50}})
	var say []conversation.Message
	for i := range 8 {
		say = append(say, conversation.Message{Key: fmt.Sprint(i), Text: strings.Repeat(fmt.Sprint("turn ", i, " "), 40)})
	}
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say[:6]})
	if _, err := e.Archive(t.Context(), conversation.ArchiveRequest{Conversation: "c"}); err != nil {
		t.Fatal(err)
	}
	second := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say})
	if second.ConversationID == first.ConversationID || second.Added != 8 {
		t.Errorf("%+v", second)
	}
	if files, contents := enginetest.LargeFiles(t, e, second.ConversationID); len(files) != 8 || contents[7] != say[7].Text {
		t.Errorf("%d large files", len(files))
	}
}

// TestEstimatorOfAConversation: a conversation keeps the estimator that it began with.
func TestEstimatorOfAConversation(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/mallard.db"
	var tokens []int
	for _, estimator := range []string{"weighted", "chars4"} {
		e := enginetest.OpenAt(t, path, engine.Options{Conversation: setup.Conversation{Estimator: estimator}})
		for _, name := range []string{"c", estimator} {
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{{Text: "日本語日本語"}}})
		}
		enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageID: enginetest.Messages(t, e, "c")[0].ID, Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "日本"}}})
		all := append(enginetest.Messages(t, e, "c"), enginetest.Messages(t, e, estimator)...)
		for _, m := range all[len(all)-2:] {
			tokens = append(tokens, m.Tokens)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{13, 9, 9, 2}, tokens); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAppendsAtOnce(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: enginetest.Words{}, Conversation: setup.Conversation{LargeFileTokens: 100}})
	const writers, each = 6, 12
	var wait sync.WaitGroup
	for w := range writers {
		for _, talk := range []string{"shared", fmt.Sprint("own", w)} {
			wait.Go(func() {
				for i := range each {
					say := []conversation.Message{{Text: fmt.Sprint("said by ", w), Key: fmt.Sprint(w, ":", i)}, {Role: "tool", Text: strings.Repeat(fmt.Sprint("large ", i, " "), 60), Key: fmt.Sprint("t", i)}}
					if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: talk, Messages: say}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	for talk, want := range map[string]int{"shared": writers*each + each, "own0": 2 * each, "own5": 2 * each} {
		all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: talk, Limit: 1000})
		if err != nil || len(all) != want || all[want-1].Seq != want {
			t.Errorf("%s has %d messages, want %d; %v", talk, len(all), want, err)
		}
	}
	if files, _ := enginetest.LargeFiles(t, e, "shared"); len(files) != each {
		t.Errorf("%d large files, want one for each key", len(files))
	}
}

// TestScopeOfASessionKey: a new conversation is the own one of the agent that its key names, where nobody says otherwise and the agent may have it; one that is there stays where it is.
func TestScopeOfASessionKey(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	if err := e.SetScopes(t.Context(), scope.Scopes{Access: map[string][]string{"shared": {"global"}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		r    conversation.AppendRequest
		want string
	}{
		{conversation.AppendRequest{SessionKey: "agent:main:1", SessionID: "s1"}, "agent:main"}, {conversation.AppendRequest{Conversation: "agent:main:2"}, "agent:main"},
		{conversation.AppendRequest{SessionID: "agent:main:3"}, "global"}, {conversation.AppendRequest{SessionKey: "agent:system:1"}, "global"}, {conversation.AppendRequest{SessionKey: "user:1"}, "global"},
		{conversation.AppendRequest{SessionKey: "agent:shared:1"}, "global"}, {conversation.AppendRequest{SessionKey: "agent:main:4", Scope: "user:ines"}, "user:ines"},
		{conversation.AppendRequest{SessionKey: "agent:main:5", Agent: "scout"}, "agent:scout"},
	} {
		test.r.Messages = []conversation.Message{{Text: "x"}}
		for range 2 {
			id := enginetest.Append(t, e, test.r).ConversationID
			if v, err := e.Conversation(t.Context(), id, ""); err != nil || v.Scope != test.want {
				t.Errorf("%+v: %+v, %v; want scope %s", test.r, v, err, test.want)
			}
		}
	}
	if _, err := e.Append(t.Context(), conversation.AppendRequest{SessionKey: "agent:system:9", Agent: "system", Messages: []conversation.Message{{Text: "x"}}}); !errors.Is(err, engine.ErrBadScope) {
		t.Errorf("a reserved agent: %v", err)
	}
}
