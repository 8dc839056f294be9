package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// goclaw is a session as GoClaw wrote it in OpenClaw's format: plain strings, several calls in one message, a compaction, a checkpoint, what nobody knows, and a last
// line that is half written.
var goclaw = []string{
	`{"type":"session","version":3,"id":"s-goclaw","timestamp":"2026-02-02T10:00:00.000Z","cwd":"/w/yard"}`,
	`{"type":"message","id":"ffff0001","parentId":null,"timestamp":"2026-02-02T10:00:01.000Z","message":{"role":"user","content":"which cranes stand still?"}}`,
	`{"type":"message","id":"eeee0002","parentId":"ffff0001","timestamp":"2026-02-02T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"b"}}],"usage":{"input":10,"output":5,"cacheRead":3,"cacheWrite":0,"totalTokens":18,"cost":{"total":0.2}}}}`,
	`{"type":"message","id":"dddd0003","parentId":"eeee0002","timestamp":"2026-02-02T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":"crane 4"}}`,
	`{"type":"message","id":"cccc0004","parentId":"dddd0003","timestamp":"2026-02-02T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":"crane 7"}}`,
	`{"type":"compaction","id":"1772237645628_000001","parentId":"cccc0004","timestamp":"2026-02-02T10:00:03.000Z","summary":"cranes were counted","firstKeptEntryId":"cccc0004","tokensBefore":100000,"fromCheckpoint":true}`,
	`{"type":"message","id":"bbbb0005","parentId":"1772237645628_000001","timestamp":"2026-02-02T10:00:04.000Z","message":{"role":"assistant","content":"Two of them."}}`,
	`{"type":"checkpoint","id":"1772237645000_000007","parentId":"bbbb0005","timestamp":"2026-02-02T10:00:05.000Z","checkpoint":{"summary":"cranes","tokensAtCheckpoint":50000,"messageCountAtCheckpoint":84,"topics":["cranes"],"openQuestions":["why?"],"keyDecisions":["wait"]}}`,
	`{"type":"something_new","id":"aaaa0006","parentId":"1772237645000_000007","timestamp":"2026-02-02T10:00:06.000Z","data":1}`,
}

func checkpointsOf(t *testing.T, e *engine.Engine, talk string) []*checkpoint.Checkpoint {
	t.Helper()
	all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: talk})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGoClawPromise19Checkpoint: a session of the other host is read in the order of its file, with its compaction and its checkpoint, nothing of it twice.
func TestGoClawPromise19Checkpoint(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "s-goclaw.jsonl")
	half := `{"type":"message","id":"99990007","parentId":"aaaa0006","timestamp":"2026-02-02T10:00:07.000Z","mess`
	content := strings.Join(goclaw, "\n") + "\n" + half
	add(t, path, content)
	r := imported(t, e, path)
	if f := r.Files[0]; f.Checkpoints != 1 || f.Summaries != 1 || f.Pending != int64(len(half)) || len(f.Skipped) != 0 {
		t.Errorf("%+v", f)
	}
	const talk = "openclaw:s-goclaw"
	all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: talk})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	k := all[0]
	want := &checkpoint.Checkpoint{ID: k.ID, ConversationID: k.ConversationID, Key: talk + ":1772237645000_000007", UpTo: k.UpTo, TokensAt: 50_000, UsersAt: 1, MessagesAt: 84, Cycle: 1,
		Summary: "cranes", Topics: []string{"cranes"}, Decisions: []string{"wait"}, Questions: []string{"why?"}, By: "openclaw", CreatedAt: time.Date(2026, 2, 2, 10, 0, 5, 0, time.UTC)}
	if diff := cmp.Diff(want, k); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var said []string
	for _, m := range enginetest.Messages(t, e, talk) {
		if m.SetAside == "" {
			said = append(said, m.Text)
		}
		if m.Seq == k.UpTo && m.Text != "Two of them." {
			t.Errorf("the checkpoint has read up to %q", m.Text)
		}
		if strings.HasPrefix(m.Text, "I look") {
			if diff := cmp.Diff(&conversation.Usage{Input: 10, Output: 5, CacheRead: 3, Total: 18}, m.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if calls := slices.DeleteFunc(m.Blocks, func(b conversation.Block) bool { return b.Type != conversation.ToolCallBlock }); len(calls) != 2 {
				t.Errorf("%d calls", len(calls))
			}
		}
	}
	if len(said) < 3 || said[0] != "which cranes stand still?" || said[len(said)-1] != "Two of them." {
		t.Errorf("said: %q", said)
	}
	// The compaction's first message that stays is found by its place, although its id sorts before those that go; both results are of the calls that the summary has.
	if got := enginetest.ContextTokens(t, e, talk); !strings.HasPrefix(got, "L(") {
		t.Errorf("context %s", got)
	}
	before := dump(t, e)
	add(t, path, `age":{"role":"user","content":"thanks"}}`+"\n")
	if f := imported(t, e, path).Files[0]; f.Messages != 1 || f.Checkpoints != 0 {
		t.Errorf("the rest of the line: %+v", f)
	}
	if again := imported(t, e, path).Files[0]; !again.Unchanged {
		t.Errorf("%+v", again)
	}
	other := filepath.Join(t.TempDir(), "copy.jsonl") // the same lines under another name are the same messages
	add(t, other, read(t, path))
	if f := imported(t, e, other).Files[0]; f.Messages != 0 || f.Checkpoints != 0 || f.Summaries != 0 {
		t.Errorf("a copy: %+v", f)
	}
	if !strings.Contains(dump(t, e), "thanks") || strings.Contains(before, "thanks") {
		t.Error("the last line is missing, or came too early")
	}
}

// TestGoClawPromise20Checkpoint: a session is followed live; of a half line nothing is stored, of the rest one message; a checkpoint that comes is the newest; and nothing is
// ever written to the other host's file.
func TestGoClawPromise20Checkpoint(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "s-goclaw.jsonl")
	add(t, path, strings.Join(goclaw[:2], "\n")+"\n")
	w := watch(t, e, path)
	w.until("openclaw:s-goclaw", 2)
	line := goclaw[2]
	add(t, path, line[:100])
	time.Sleep(60 * time.Millisecond)
	if n := len(enginetest.Messages(t, e, "openclaw:s-goclaw")); n != 2 {
		t.Errorf("%d messages with half of a line", n)
	}
	add(t, path, line[100:]+"\n"+strings.Join(goclaw[3:], "\n")+"\n")
	w.until("openclaw:s-goclaw", len(goclaw))
	deadline := time.Now().Add(10 * time.Second)
	for len(checkpointsOf(t, e, "openclaw:s-goclaw")) == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	w.stop()
	if all := checkpointsOf(t, e, "openclaw:s-goclaw"); len(all) != 1 || all[0].Summary != "cranes" {
		t.Errorf("%+v", all)
	}
	n := 0
	for _, m := range enginetest.Messages(t, e, "openclaw:s-goclaw") {
		if strings.HasPrefix(m.Text, "I look") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d messages of one line", n)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != strings.Join(goclaw, "\n")+"\n" {
		t.Errorf("the other host's file was changed, or is gone: %v", err)
	}
}
