package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/setup"
)

const clean = `{"summary": "The cranes stood still.", "topics": ["cranes", " ", "gale"], "decisions": ["to wait"], "questions": []}`

func say(t *testing.T, e *engine.Engine, users int) []string {
	t.Helper()
	r := conversation.AppendRequest{Conversation: "talk"}
	for n := range users {
		r.Messages = append(r.Messages, conversation.Message{Role: "user", Text: fmt.Sprintf("question %d about the cranes", n), SaidAt: enginetest.Noon},
			conversation.Message{Role: "assistant", Text: fmt.Sprintf("answer %d", n), SaidAt: enginetest.Noon})
	}
	return enginetest.Append(t, e, r).IDs
}

func maybe(t *testing.T, e *engine.Engine, live int) *checkpoint.Made {
	t.Helper()
	m, err := e.MaybeCheckpoint(t.Context(), checkpoint.Request{Conversation: "talk", Budget: 200_000, Live: live})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestGoClawPromise3: checkpoints at a quarter, half and three quarters of the budget, each once, also after the file is opened again; a compaction begins anew.
func TestGoClawPromise3(t *testing.T) {
	enginetest.Alone(t)
	path, none := enginetest.NewFile(t), 0
	o := engine.Options{LLM: enginetest.Answers(clean), Rolling: setup.Rolling{CheckpointTurns: &none, MinMessages: 4}}
	e := enginetest.OpenFile(t, path, o)
	for _, step := range []struct {
		live int
		why  string
	}{{49_999, ""}, {50_000, "25 % of the budget"}, {99_999, ""}, {110_000, "50 % of the budget"}, {149_999, ""}, {150_000, "75 % of the budget"}, {199_000, ""}} {
		say(t, e, 2)
		m := maybe(t, e, step.live)
		if made := m.Checkpoint != nil; made != (step.why != "") || made && m.Reason != step.why {
			t.Errorf("at %d: %+v", step.live, m)
		}
		enginetest.CloseFile(t, e)
		e = enginetest.OpenFile(t, path, o)
	}
	if _, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Policy: compact.Rolling, Force: true}); err != nil {
		t.Fatal(err)
	}
	say(t, e, 1)
	if m := maybe(t, e, 60_000); m.Checkpoint == nil || m.Checkpoint.Cycle != 1 {
		t.Errorf("after a compaction: %+v", m)
	}
	enginetest.CloseFile(t, e)
}

// TestGoClawPromise4: a checkpoint after ten messages of the user; what a host polled, and results of tools, are none.
func TestGoClawPromise4(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean)})
	say(t, e, 9)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Role: "user", Text: enginetest.HeartbeatPoll, SetAside: conversation.AsideHeartbeat},
		{Role: "user", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "c", Output: "seen"}}}}})
	if m := maybe(t, e, 10_000); m.Checkpoint != nil {
		t.Errorf("after nine: %+v", m)
	}
	say(t, e, 1)
	m := maybe(t, e, 10_000)
	if m.Checkpoint == nil || m.Reason != "10 messages of the user" || m.Checkpoint.UsersAt != 10 || m.Checkpoint.UpTo != 22 || m.Checkpoint.MessagesAt != 22 || m.Checkpoint.TokensAt != 10_000 {
		t.Errorf("after ten: %+v %+v", m, m.Checkpoint)
	}
	say(t, e, 9)
	if m := maybe(t, e, 10_000); m.Checkpoint != nil {
		t.Errorf("nine more: %+v", m)
	}
	say(t, e, 1)
	if m := maybe(t, e, 10_000); m.Checkpoint == nil {
		t.Errorf("ten more: %+v", m)
	}
}

// TestGoClawPromise5: none below 5,000 tokens, however much was said.
func TestGoClawPromise5(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean)})
	say(t, e, 50)
	if m := maybe(t, e, 4999); m.Checkpoint != nil || m.Reason != "none is due" {
		t.Errorf("%+v", m)
	}
	if m := maybe(t, e, 0); m.Checkpoint != nil {
		t.Errorf("of what is stored: %+v", m)
	}
	if m := maybe(t, e, 5000); m.Checkpoint == nil {
		t.Errorf("%+v", m)
	}
}

// TestGoClawPromise6: while a model thinks about a checkpoint the talk goes on, and no second one is begun; another model answers where the first fails, and where none
// does nothing is stored.
func TestGoClawPromise6(t *testing.T) {
	thinking, on := make(chan struct{}), make(chan struct{})
	second := &enginetest.LLM{Name: "second", Answer: func(context.Context, string, string, int) (string, error) {
		close(thinking)
		<-on
		return clean, nil
	}}
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(enginetest.ErrDown), Fallbacks: []setup.LLM{second}, Threads: 2})
	say(t, e, 3)
	done := make(chan *checkpoint.Made)
	go func() {
		m, err := e.Checkpoint(context.Background(), checkpoint.Request{Conversation: "talk"})
		if err != nil {
			t.Error(err)
		}
		done <- m
	}()
	<-thinking
	say(t, e, 1)
	if m, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); err != nil || m.Checkpoint != nil || m.Reason != "one is being made" {
		t.Errorf("%+v, %v", m, err)
	}
	close(on)
	if m := <-done; m.Checkpoint == nil || m.Checkpoint.UpTo != 6 || m.Checkpoint.By != "second" || m.Calls != 2 {
		t.Errorf("%+v", m)
	}
	failing := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(enginetest.ErrDown)})
	say(t, failing, 3)
	if m, err := failing.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); !errors.Is(err, enginetest.ErrDown) || m.Checkpoint != nil || len(enginetest.Rows(t, failing, "FROM checkpoints")) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	late := enginetest.Open(t, engine.Options{Rolling: setup.Rolling{CheckpointDeadline: setup.Duration(20 * time.Millisecond)}, LLM: &enginetest.LLM{
		Answer: func(ctx context.Context, _, _ string, _ int) (string, error) { <-ctx.Done(); return "", ctx.Err() }}})
	say(t, late, 3)
	if _, err := late.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestGoClawPromise7: what a checkpoint has, from a model and without one.
func TestGoClawPromise7(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean)})
	say(t, e, 3)
	m, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: "talk"})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	k := all[0]
	want := &checkpoint.Checkpoint{ID: m.Checkpoint.ID, ConversationID: m.Checkpoint.ConversationID, UpTo: 6, TokensAt: k.TokensAt, UsersAt: 3, MessagesAt: 6, Summary: "The cranes stood still.",
		Topics: []string{"cranes", "gale"}, Decisions: []string{"to wait"}, Questions: []string{}, By: "scripted", CreatedAt: enginetest.Noon}
	if diff := cmp.Diff(want, k); diff != "" || k.TokensAt == 0 || !strings.HasPrefix(k.ID, "ckpt_") {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := e.GetCheckpoint(t.Context(), k.ID[len(k.ID)-8:], ""); err != nil || got.ID != k.ID {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"short", "ckpt_none00"} {
		if _, err := e.GetCheckpoint(t.Context(), id, ""); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	again, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"})
	if err != nil || again.Checkpoint != nil || again.Reason != "nothing was said since the last one" {
		t.Errorf("%+v, %v", again, err)
	}
	alone := enginetest.Open(t, engine.Options{})
	say(t, alone, 30)
	m, err = alone.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"})
	if err != nil || m.Checkpoint.By != "extractive" || !strings.Contains(m.Checkpoint.Summary, "cranes") || len(m.Checkpoint.Topics)+len(m.Checkpoint.Decisions)+len(m.Checkpoint.Questions) != 0 {
		t.Errorf("without a model: %+v, %v", m.Checkpoint, err)
	}
}

// TestGoClawPromise9: checkpoints can be switched off, but not for who asks for one.
func TestGoClawPromise9(t *testing.T) {
	off := false
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean), Rolling: setup.Rolling{Checkpoints: &off}})
	say(t, e, 20)
	if m := maybe(t, e, 190_000); m.Checkpoint != nil || m.Reason != "checkpoints are off" {
		t.Errorf("%+v", m)
	}
	if m, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); err != nil || m.Checkpoint == nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestGoClawPromise21: prompts to write things down, each once between two compactions, of both kinds, and noted only when they were given.
func TestGoClawPromise21(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	o := engine.Options{LLM: enginetest.Answers("gist"), Now: func() time.Time { return enginetest.Noon }, Conversation: setup.Conversation{Timezone: "Pacific/Auckland"},
		Rolling: setup.Rolling{MinMessages: 2, FlushThresholds: []string{"75 user", "50 system", "90 user Now, on YYYY-MM-DD!"}}}
	e := enginetest.OpenFile(t, path, o)
	say(t, e, 4)
	prompt := func(live int) *checkpoint.Prompt {
		t.Helper()
		p, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "talk", Budget: 1000, Live: live})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ack := func(p *checkpoint.Prompt) bool {
		t.Helper()
		changed, err := e.AckFlush(t.Context(), checkpoint.AckRequest{Conversation: "talk", Cycle: p.Cycle, Percent: p.Percent})
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	if p := prompt(499); p != nil {
		t.Errorf("%+v", p)
	}
	p := prompt(500)
	if p == nil || p.Percent != 50 || p.As != "system" || !strings.Contains(p.Text, "memory/2026-06-16.md") || strings.Contains(p.Text, "YYYY") {
		t.Fatalf("%+v, want the day that it is there", p)
	}
	if again := prompt(510); again == nil || again.Percent != 50 {
		t.Errorf("it comes until it was given: %+v", again)
	}
	if !ack(p) || ack(p) {
		t.Error("a prompt is given once")
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, o)
	if p := prompt(510); p != nil {
		t.Errorf("it was given: %+v", p)
	}
	if p = prompt(920); p == nil || p.Percent != 90 || p.As != "user" || p.Text != "Now, on 2026-06-16!" {
		t.Fatalf("%+v", p)
	}
	ack(p)
	if p := prompt(920); p != nil {
		t.Errorf("the one that was jumped over counts as given: %+v", p)
	}
	prompt(250)
	if p := prompt(500); p != nil {
		t.Errorf("a quarter is not below a quarter: %+v", p)
	}
	prompt(249)
	stale := prompt(500)
	if stale == nil {
		t.Fatal("below a quarter all may come again")
	}
	ack(stale)
	if _, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Policy: compact.Rolling, Force: true}); err != nil {
		t.Fatal(err)
	}
	if p = prompt(500); p == nil || p.Cycle != 1 {
		t.Errorf("a compaction begins anew: %+v", p)
	}
	if ack(stale) {
		t.Error("a prompt of before the compaction is no more of use")
	}
	enginetest.CloseFile(t, e)
}

// TestFlushVariants: with catch-up the lower ones follow, one that repeats comes again, and bad requests are refused.
func TestFlushVariants(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Rolling: setup.Rolling{FlushCatchUp: true, FlushThresholds: []string{"50 system", "75 user", "90 system repeat Again."}}})
	say(t, e, 1)
	var came []int
	for range 4 {
		p, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "talk", Budget: 1000, Live: 800})
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			came = append(came, 0)
			continue
		}
		came = append(came, p.Percent)
		if _, err := e.AckFlush(t.Context(), checkpoint.AckRequest{Conversation: "talk", Percent: p.Percent}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{75, 50, 0, 0}, came); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		p, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "talk", Budget: 1000, Live: 950})
		if err != nil || p == nil || p.Text != "Again." {
			t.Fatalf("%+v, %v", p, err)
		}
		if _, err := e.AckFlush(t.Context(), checkpoint.AckRequest{Conversation: "talk", Percent: 90}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "talk"}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := e.AckFlush(t.Context(), checkpoint.AckRequest{Conversation: "talk", Percent: 60}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "nobody", Budget: 1}); !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
}

// TestPurgeTakesCheckpointsAlong: what has read a purged message goes, what has not stays; with a conversation all go.
func TestPurgeTakesCheckpointsAlong(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean)})
	say(t, e, 2)
	if _, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	later := say(t, e, 1)
	if _, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: later[:1]}); err != nil {
		t.Fatal(err)
	}
	all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: "talk"})
	if err != nil || len(all) != 1 || all[0].UpTo != 4 {
		t.Errorf("%+v, %v", all, err)
	}
	p, err := e.FlushPrompt(t.Context(), checkpoint.Request{Conversation: "talk", Budget: 100, Live: 80})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AckFlush(t.Context(), checkpoint.AckRequest{Conversation: "talk", Percent: p.Percent}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PurgeConversation(t.Context(), "talk", ""); err != nil {
		t.Fatal(err)
	}
	if rows := enginetest.Rows(t, e, "SELECT id FROM checkpoints UNION ALL SELECT conversation_id FROM flush_state"); len(rows) != 0 {
		t.Errorf("left: %v", rows)
	}
}

// TestRetractedMessages: while a message is retracted, what has read it is not shown; after an undo it is again.
func TestRetractedMessages(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(clean)})
	ids := say(t, e, 3)
	if _, err := e.Checkpoint(t.Context(), checkpoint.Request{Conversation: "talk"}); err != nil {
		t.Fatal(err)
	}
	listed := func() int {
		all, err := e.Checkpoints(t.Context(), checkpoint.ListRequest{Conversation: "talk"})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	r, err := e.Retract(t.Context(), lineage.RetractRequest{ID: ids[0], Reason: "untrue"})
	if err != nil {
		t.Fatal(err)
	}
	if n := listed(); n != 0 {
		t.Errorf("%d are shown", n)
	}
	if _, err := e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: r.ID}); err != nil {
		t.Fatal(err)
	}
	if n := listed(); n != 1 {
		t.Errorf("%d are shown after the undo", n)
	}
}

// TestAdopt: a host's own checkpoint is stored once, at the message that it names.
func TestAdopt(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Key: "a", Text: "one"}, {Key: "b", Text: "two"}}})
	r := checkpoint.AdoptRequest{Conversation: "talk", Key: "host:1", After: "a", Summary: "so far", TokensAt: 50_000, MessagesAt: 84, Topics: []string{"t"}}
	k, adopted, err := e.AdoptCheckpoint(t.Context(), r)
	if err != nil || !adopted || k.UpTo != 1 || k.TokensAt != 50_000 || k.MessagesAt != 84 || k.By != "host" || k.UsersAt != 1 {
		t.Errorf("%+v, %t, %v", k, adopted, err)
	}
	if again, adopted, err := e.AdoptCheckpoint(t.Context(), r); err != nil || adopted || again.ID != k.ID {
		t.Errorf("%+v, %t, %v", again, adopted, err)
	}
	for _, bad := range []checkpoint.AdoptRequest{{Conversation: "talk", Summary: " "}, {Conversation: "talk", Summary: "s", TokensAt: -1}} {
		if _, _, err := e.AdoptCheckpoint(t.Context(), bad); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
