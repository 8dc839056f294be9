package conversation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestPruneHeartbeats(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name  string
		lines []string
		aside string
	}{
		{"W4 a heartbeat", []string{"u old", "a fine", "u " + enginetest.HeartbeatPoll, "a HEARTBEAT_OK"}, "m3:heartbeat m4:heartbeat"},
		{"W5 with a remark", []string{"u " + enginetest.HeartbeatPoll, "a HEARTBEAT_OK all good"}, ""},
		{"in any case, with space", []string{"u see heartbeat.MD", "a \n heartbeat_ok\t\n"}, "m1:heartbeat m2:heartbeat"},
		{"with tools in between", []string{"u check in", "a call /w/HEARTBEAT.md", "t nothing to do", "a HEARTBEAT_OK"}, "m1:heartbeat m2:heartbeat m3:heartbeat m4:heartbeat"},
		{"of another file", []string{"u check in", "a call /w/TODO.md", "a HEARTBEAT_OK"}, ""},
		{"the file only in the turn before", []string{"u " + enginetest.HeartbeatPoll, "a I see to it", "u thanks", "a HEARTBEAT_OK"}, ""},
		{"nobody asked", []string{"a HEARTBEAT.md", "a HEARTBEAT_OK"}, ""},
		{"a user says so", []string{"u HEARTBEAT.md", "u HEARTBEAT_OK"}, ""},
		{"two of them", []string{"u " + enginetest.HeartbeatPoll, "a HEARTBEAT_OK", "u Hello", "a Hi", "u " + enginetest.HeartbeatPoll, "a HEARTBEAT_OK"}, "m1:heartbeat m2:heartbeat m5:heartbeat m6:heartbeat"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
			ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: enginetest.Dialogue(test.lines...)}).IDs
			if got := enginetest.SetAside(t, e, "c"); got != "" {
				t.Fatalf("without the option %q is set aside", got)
			}
			pruned, err := e.PruneHeartbeats(t.Context(), conversation.PruneHeartbeatsRequest{Conversation: "c"})
			if got := enginetest.SetAside(t, e, "c"); err != nil || got != test.aside || len(pruned) != len(strings.Fields(test.aside)) {
				t.Errorf("%v, %v: %q, want %q", pruned, err, got, test.aside)
			}
			if again, err := e.PruneHeartbeats(t.Context(), conversation.PruneHeartbeatsRequest{Conversation: "c"}); err != nil || len(again) != 0 {
				t.Errorf("again: %v, %v", again, err)
			}
			hits := enginetest.RecallIDs(t, e, recall.Query{Text: "HEARTBEAT.md heartbeat_ok", Kinds: []kinds.Kind{kinds.Message}})
			for i, id := range ids {
				if slices.Contains(hits, id) == slices.Contains(pruned, id) {
					t.Errorf("message %d: recalled as if it were not set aside so: %v", i+1, hits)
				}
			}
			next := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: enginetest.Dialogue("u next")})
			if all := enginetest.Messages(t, e, "c"); all[len(all)-1].Seq != len(test.lines)+1 || all[len(all)-1].ID != next.IDs[0] {
				t.Errorf("the next message is %d", all[len(all)-1].Seq)
			}
			if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestHeartbeatsAreSetAsideAsTheyCome(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{PruneHeartbeats: true}})
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: enginetest.Dialogue("u Hello", "a Hi", "u "+enginetest.HeartbeatPoll)})
	second := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: enginetest.Dialogue("a HEARTBEAT_OK")})
	if want := []string{first.IDs[2], second.IDs[0]}; first.Heartbeats != nil || !slices.Equal(second.Heartbeats, want) {
		t.Errorf("%v, then %v, want %v", first.Heartbeats, second.Heartbeats, want)
	}
	if got := enginetest.ContextLine(t, e, "c"); got != "m1@1 m2@2" {
		t.Errorf("context %q", got)
	}
	thinks := conversation.Message{Role: "assistant", Key: "a", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "Nothing."}}}
	third := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: append(enginetest.Dialogue("u "+enginetest.HeartbeatPoll), thinks)})
	says := enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: "a", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "HEARTBEAT_OK"}}})
	if got := enginetest.ContextLine(t, e, "c"); third.Heartbeats != nil || !slices.Equal(says.Heartbeats, third.IDs) || got != "m1@1 m2@2" {
		t.Errorf("an acknowledgement in a later line: %v, then %v, context %q", third.Heartbeats, says.Heartbeats, got)
	}
}

func TestHeartbeatsUnderASummaryStay(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: enginetest.Dialogue("u "+enginetest.HeartbeatPoll, "a call x", "a HEARTBEAT_OK")}).IDs
	enginetest.Summarise(t, e, "c", "polled", ids[:2]...)
	pruned, err := e.PruneHeartbeats(t.Context(), conversation.PruneHeartbeatsRequest{Conversation: "c"})
	if got := enginetest.ContextLine(t, e, "c"); err != nil || !slices.Equal(pruned, ids[2:]) || got != "polled@1" {
		t.Errorf("%v, %v, context %q", pruned, err, got)
	}
	if _, err := e.PruneHeartbeats(t.Context(), conversation.PruneHeartbeatsRequest{Conversation: "none"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}
