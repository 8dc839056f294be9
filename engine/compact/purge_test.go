package compact_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestPurgeMessages(t *testing.T) {
	enginetest.Alone(t)
	path := filepath.Join(t.TempDir(), "mallard.db")
	e := enginetest.OpenAt(t, path, engine.Options{Embedder: enginetest.Words{}})
	huge := "secret " + strings.Repeat("x", 17<<20)
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "The heron nests in April, high above the reeds of the northern marsh."},
		{Text: "secret one", Speaker: "secret", Caption: "secret", Key: "k", Raw: []byte("secret")},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Output: huge, Raw: []byte("secret" + strings.Repeat("y", 1<<17))}, {Type: conversation.FileBlock, FileName: "secret.txt", Data: []byte("secret data")}}},
		{Text: "secret three"}, {Text: "secret four"}, {Text: "The bittern booms in May, and the warden counts the nests every week."},
		{Text: "secret five"},
	}}).IDs
	low := enginetest.Summarise(t, e, "c", "secret heron and whatever else there is to tell of these three", ids[0], ids[1], ids[2])
	gone := enginetest.Summarise(t, e, "c", "secret three and four", ids[3], ids[4])
	top := enginetest.Summarise(t, e, "c", "secrets of herons and whatever else there is to tell of all five", low, gone)
	if places := enginetest.TablesWith(t, e, "secret"); len(places) != 5 {
		t.Fatalf("the secret is only in %v", places)
	}
	purged, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: []string{ids[6], ids[1], ids[2], ids[3], ids[4]}})
	if err != nil {
		t.Fatal(err)
	}
	if purged.Messages != 5 || purged.Payloads != 3 || !slices.Equal(purged.Rewritten, []string{low, top}) || !slices.Equal(purged.Removed, []string{gone}) {
		t.Errorf("%+v", purged)
	}
	if places := enginetest.TablesWith(t, e, "secret"); len(places) != 0 {
		t.Errorf("the secret is still in %v", places)
	}
	if entries, err := os.ReadDir(path + ".files"); err != nil || len(entries) != 0 {
		t.Errorf("files: %v, %v", entries, err)
	}
	if got := enginetest.ContextLine(t, e, "c"); got != enginetest.SummaryOf(t, e, top).Text+"@1 m6@6" {
		t.Errorf("context %q", got)
	}
	for _, id := range []string{low, top} {
		if s := enginetest.SummaryOf(t, e, id); !s.Fallback || s.Messages != 1 || s.FirstSeq != 1 || s.LastSeq != 1 || !strings.Contains(s.Text, "heron") && id == low {
			t.Errorf("%+v", s)
		}
	}
	m := enginetest.Messages(t, e, "c")[1]
	want := &conversation.Message{ID: ids[1], ConversationID: m.ConversationID, Seq: 2, Key: "k", Role: "user", SaidAt: enginetest.Noon, RecordedAt: enginetest.Noon, SetAside: conversation.AsidePurged, SetAsideAt: enginetest.Noon}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	hits := enginetest.RecallIDs(t, e, recall.Query{Text: "secret", Kinds: []kinds.Kind{kinds.Message}})
	if slices.Contains(hits, ids[1]) || slices.Contains(hits, ids[6]) {
		t.Errorf("recalled: %v", hits)
	}
	if again, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[1:2]}); err != nil || again.Messages != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if back := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "secret one", Key: "k"}}}); back.Added != 0 {
		t.Errorf("it came back: %+v", back)
	}
	if more := enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: "k", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "secret"}}}); more.Added != 0 {
		t.Errorf("it grew: %+v", more)
	}
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
}

func TestPurgeKeepsWhatOthersReferTo(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	file := []conversation.Block{{Type: conversation.FileBlock, FileName: "a.txt", Data: []byte("shared")}}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Blocks: file}, {Blocks: file}}}).IDs
	for i, payloads := range []int{0, 1} {
		purged, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[i : i+1]})
		if err != nil || purged.Payloads != payloads {
			t.Errorf("%+v, %v, want %d payloads", purged, err, payloads)
		}
	}
}

func TestPurgeRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	here := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{{Text: "x"}}}).IDs
	there := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "d", Messages: []conversation.Message{{Text: "y"}}}).IDs
	for _, test := range []struct {
		request compact.PurgeMessagesRequest
		want    error
	}{
		{compact.PurgeMessagesRequest{Conversation: "c"}, engine.ErrInvalid}, {compact.PurgeMessagesRequest{Conversation: "c", IDs: []string{"\xff"}}, engine.ErrInvalid},
		{compact.PurgeMessagesRequest{Conversation: "c", IDs: []string{here[0], there[0]}}, engine.ErrNotFound},
		{compact.PurgeMessagesRequest{Conversation: "e", IDs: here}, engine.ErrNotFound},
		{compact.PurgeMessagesRequest{Conversation: "c", IDs: here, Agent: "scout"}, engine.ErrScopeDenied},
	} {
		if _, err := e.PurgeMessages(t.Context(), test.request); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.want)
		}
	}
	if got := enginetest.SetAside(t, e, "c") + enginetest.SetAside(t, e, "d"); got != "" {
		t.Errorf("%q is set aside", got)
	}
	if _, err := e.PurgeConversation(t.Context(), "c", "scout"); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("%v, want ErrScopeDenied", err)
	}
}

func TestPurgeConversation(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Shelf(t, e)
	child := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "child", Parent: "c", Messages: []conversation.Message{{Text: "stays", Raw: []byte(strings.Repeat("z", 1<<17))}},
		Cursor: &conversation.Cursor{Path: "/t", Host: "h", Bytes: 9}})
	for name, want := range map[string]compact.Purged{"c": {Messages: 11, Tokens: 33}, "child": {Messages: 1, Tokens: 2, Payloads: 1}} {
		purged, err := e.PurgeConversation(t.Context(), name, "")
		if diff := cmp.Diff(&want, purged); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if _, err := e.Conversation(t.Context(), name, ""); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	cursors, err := e.Cursors(t.Context())
	if err != nil || len(cursors) != 1 || cursors[0].ConversationID != "" || cursors[0].Bytes != 9 {
		t.Errorf("%+v, %v", cursors, err)
	}
	if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "message leaf stays", Kinds: kinds.All()}); len(hits) != 0 {
		t.Errorf("recalled: %v", hits)
	}
	if again := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "child", Messages: []conversation.Message{{Text: "new"}}}); again.ConversationID == child.ConversationID || again.Added != 1 {
		t.Errorf("%+v", again)
	}
}

func TestPruneSetAside(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	for _, name := range []string{"c", "d"} {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Scope: map[string]string{"d": "user:ines"}[name], Messages: []conversation.Message{
			{Text: "branch", SetAside: conversation.AsideOffBranch}, {Text: "event", SetAside: conversation.AsideEvent, Raw: []byte("raw")}, {Text: "new", SetAside: conversation.AsideNew}, {Text: "here"}}})
		clock.Advance(time.Hour)
	}
	for _, test := range []struct {
		request compact.PruneSetAsideRequest
		want    compact.Pruned
	}{
		{compact.PruneSetAsideRequest{DryRun: true}, compact.Pruned{Conversations: 2, Messages: 4, Tokens: 8, Bytes: 28, DryRun: true}},
		{compact.PruneSetAsideRequest{DryRun: true, Agent: "scout"}, compact.Pruned{Conversations: 1, Messages: 2, Tokens: 4, Bytes: 14, DryRun: true}},
		{compact.PruneSetAsideRequest{DryRun: true, OlderThan: 2 * time.Hour}, compact.Pruned{Conversations: 1, Messages: 2, Tokens: 4, Bytes: 14, DryRun: true}},
		{compact.PruneSetAsideRequest{DryRun: true, OlderThan: 3 * time.Hour}, compact.Pruned{DryRun: true}},
		{compact.PruneSetAsideRequest{Conversation: "d", Reasons: []conversation.SetAside{conversation.AsideNew}}, compact.Pruned{Conversations: 1, Messages: 1, Tokens: 1, Bytes: 3}},
		{compact.PruneSetAsideRequest{OlderThan: 2 * time.Hour}, compact.Pruned{Conversations: 1, Messages: 2, Tokens: 4, Bytes: 14}},
		{compact.PruneSetAsideRequest{OlderThan: 2 * time.Hour}, compact.Pruned{}},
	} {
		got, err := e.PruneSetAside(t.Context(), test.request)
		if diff := cmp.Diff(&test.want, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", test.request, err, diff)
		}
	}
	if c, d := enginetest.SetAside(t, e, "c"), enginetest.SetAside(t, e, "d"); c != "m1:purged m2:purged m3:new" || d != "m1:off_branch m2:event m3:purged" {
		t.Errorf("%q, %q", c, d)
	}
	for _, r := range []compact.PruneSetAsideRequest{{Reasons: []conversation.SetAside{conversation.AsidePurged}}, {Reasons: []conversation.SetAside{"old"}}, {OlderThan: -1}} {
		if _, err := e.PruneSetAside(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", r, err)
		}
	}
}

// TestPruneLooksAgain: a message that comes back into the context after it was found to be old is not purged, nor counted.
func TestPruneLooksAgain(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	e = enginetest.Open(t, engine.Options{Progress: func(what string, _, _ int) {
		if what == "conversations" {
			if moved, err := e.SetBranch(t.Context(), conversation.BranchRequest{Conversation: "c", Found: []string{"back"}}); err != nil || moved != 1 {
				t.Errorf("%d, %v", moved, err)
			}
		}
	}})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "gone", SetAside: conversation.AsideOffBranch},
		{Text: "back", Key: "back", SetAside: conversation.AsideOffBranch}}})
	pruned, err := e.PruneSetAside(t.Context(), compact.PruneSetAsideRequest{})
	if diff := cmp.Diff(&compact.Pruned{Conversations: 1, Messages: 1, Tokens: 1, Bytes: 4}, pruned); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := enginetest.SetAside(t, e, "c") + " " + enginetest.ContextLine(t, e, "c"); got != "m1:purged m2@2" {
		t.Errorf("%q", got)
	}
}
