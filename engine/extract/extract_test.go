package extract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestExtractKeepsPlace: a conversation is read on from where it was left, in a file that was closed in between, and what is read twice gives nothing twice.
func TestExtractKeepsPlace(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	r := say(t, e, "c", "My name is Ana Souza.", "Nice weather today, is it not?", "My favorite editor is Zed.")
	if r.From != 1 || r.To != 3 || r.Messages != 3 || r.Stored != 2 {
		t.Errorf("%+v", r)
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{})
	if r, err := e.Extract(t.Context(), extract.Request{Conversation: "c"}); err != nil || r.Messages != 0 || len(r.Drafts) != 0 {
		t.Errorf("nothing new: %+v, %v", r, err)
	}
	if r := say(t, e, "c", "My dog is called Rex."); r.From != 4 || r.Stored != 1 {
		t.Errorf("one more: %+v", r)
	}
	r, err := e.Extract(t.Context(), extract.Request{Conversation: "c", From: 1, To: 3})
	if err != nil || r.Known != 2 || len(r.Drafts) != 0 {
		t.Errorf("a range that was read: %+v, %v", r, err)
	}
	// What was forgotten does not come back.
	all, err := e.Drafts(t.Context(), extract.DraftsRequest{Conversation: "c"})
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: all[0].MemoryID}); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Extract(t.Context(), extract.Request{Conversation: "c", From: 4}); err != nil || r.Stored != 0 {
		t.Errorf("after forgetting: %+v, %v", r, err)
	}
}

// TestExtractRow is the memory that a draft becomes, and its draft.
func TestExtractRow(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: static.New(), Extraction: setup.Extraction{Expires: []string{"preference"}}})
	said := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{
		{Role: "assistant", Text: "My name is Botty. I prefer tea."},
		{Speaker: "Ines", Session: "s7", SaidAt: said, Text: "Well! In summer my favorite drink is iced tea because it is cold."},
		{Text: "From now on answer in German today.", SaidAt: said}}}).IDs
	r, err := e.Extract(t.Context(), extract.Request{Conversation: "c"})
	if err != nil || r.Messages != 2 || len(r.Drafts) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	d := r.Drafts[0]
	m := enginetest.Get(t, e, d.MemoryID)
	type kept struct {
		Text, Full, Scope, Source, Session, FactKey, Contexts string
		Category                                              memory.Category
		Layer                                                 memory.Layer
		Importance                                            float64
		At                                                    time.Time
	}
	want := kept{"Ines's favorite drink (summer): iced tea", "Ines says “In summer my favorite drink is iced tea because it is cold.”", "user:ines", "auto-capture", "s7",
		"preferences:ines's favorite drink (summer)", "summer", "preference", "working", 0.8, said}
	got := kept{m.Text, m.Level(memory.Full), m.Scope, m.Source, m.SourceSession, m.FactKey, strings.Join(m.Contexts, " "), m.Category, m.Layer, m.Importance, m.CreatedAt}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	if d.FirstSeq != 2 || !cmp.Equal(d.MessageIDs, ids[1:2]) || d.Start != 6 || d.Language != "en" || d.Rule != "favourite" {
		t.Errorf("draft %+v", d)
	}
	if m := enginetest.Get(t, e, r.Drafts[1].MemoryID); m.TemporalType != "dynamic" || !m.ValidUntil.Equal(said.Add(18*time.Hour)) {
		t.Errorf("what is said of today: %+v", m)
	}
	if result, err := e.Recall(t.Context(), recall.Query{Text: "what does Ines drink in summer?"}); err != nil || len(result.Hits) == 0 || result.Hits[0].ID != m.ID {
		t.Errorf("recall: %+v, %v", result, err)
	}
	listed, err := e.Drafts(t.Context(), extract.DraftsRequest{Memory: m.ID})
	if err != nil || len(listed) != 1 || listed[0].Text != d.Text || listed[0].Conversation != "c" || !cmp.Equal(listed[0].MessageIDs, ids[1:2]) {
		t.Errorf("listed: %+v, %v", listed, err)
	}
}

// TestExtractText: a text that is of no conversation, as a dry run first.
func TestExtractText(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	request := extract.Request{Text: "My favorite editor is Vim. Actually, my favorite editor is Zed. I live in Lisbon.", DryRun: true}
	dry, err := e.Extract(t.Context(), request)
	if err != nil || len(texts(t, e)) != 0 {
		t.Fatalf("%+v, %v", dry, err)
	}
	request.DryRun = false
	r, err := e.Extract(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outcomes(r.Drafts), outcomes(dry.Drafts)); diff != "" {
		t.Errorf("the dry run differs:\n%s", diff)
	}
	want := []outcome{{"favorite editor: Vim", "create", "create"}, {"favorite editor: Zed", "supersede", "supersede"}, {"home: Lisbon", "create", "create"}}
	if diff := cmp.Diff(want, outcomes(r.Drafts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	old := enginetest.Get(t, e, r.Drafts[0].MemoryID)
	if old.SupersededBy != r.Drafts[1].MemoryID || old.InvalidatedAt.IsZero() {
		t.Errorf("superseded within one write: %+v", old)
	}
	again, err := e.Extract(t.Context(), extract.Request{Text: "I live in Lisbon."})
	if err != nil || again.Stored != 0 || again.Drafts[0].Verdict != "skip" {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestExtractRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say(t, e, "c", "Hello there, how are you?")
	for _, c := range []struct {
		request extract.Request
		want    error
	}{
		{extract.Request{}, engine.ErrInvalid},
		{extract.Request{Conversation: "c", Text: "x"}, engine.ErrInvalid},
		{extract.Request{Text: "x", From: 1}, engine.ErrInvalid},
		{extract.Request{Conversation: "c", From: 3, To: 2}, engine.ErrInvalid},
		{extract.Request{Conversation: "c", From: -1}, engine.ErrInvalid},
		{extract.Request{Conversation: "none"}, engine.ErrNotFound},
		{extract.Request{Text: "x", Scope: "nowhere!"}, engine.ErrBadScope},
		{extract.Request{Text: "x", Scope: "agent:b", Agent: "a"}, engine.ErrScopeDenied},
		{extract.Request{Text: "\xff"}, engine.ErrInvalid},
	} {
		if _, err := e.Extract(t.Context(), c.request); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.request, err, c.want)
		}
	}
	for _, r := range []extract.DraftsRequest{{Limit: -1}, {Offset: -1}, {Verdicts: []extract.Verdict{"maybe"}}} {
		if _, err := e.Drafts(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if all, err := e.Drafts(t.Context(), extract.DraftsRequest{Verdicts: []extract.Verdict{}}); err != nil || len(all) != 0 {
		t.Errorf("no verdict matches %+v, %v", all, err)
	}
}

// TestPurgesTakeDraftsAlong: no word of what is purged is left in a table of extraction, and what was purged is not drawn again.
func TestPurgesTakeDraftsAlong(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	r := say(t, e, "c", "My favorite editor is Hunterzed.", "My dog is called Swordfish.", "My dog is called Swordfish.")
	left := func(word string) (n int64) {
		return enginetest.Rows(t, e, fmt.Sprintf("SELECT count(*) FROM drafts AS d WHERE contains(lower(d::VARCHAR), '%s')", word))[0][0].(int64)
	}
	if left("hunterzed") != 1 || left("swordfish") != 2 || r.Drafts[2].Verdict != "support" {
		t.Fatalf("before: %d, %d, %+v", left("hunterzed"), left("swordfish"), r.Drafts)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: r.Drafts[0].MessageIDs}); err != nil {
		t.Fatal(err)
	}
	if left("hunterzed") != 0 {
		t.Error("a draft keeps what a purged message said")
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: r.Drafts[1].MemoryID}); err != nil {
		t.Fatal(err)
	}
	if left("swordfish") != 0 || left(r.Drafts[1].MemoryID) != 0 {
		t.Error("drafts keep what a purged memory said, or its name")
	}
	if again, err := e.Extract(t.Context(), extract.Request{Conversation: "c", From: 1}); err != nil || again.Stored != 0 {
		t.Errorf("drawn again: %+v, %v", again, err)
	}
	if _, err := e.PurgeConversation(t.Context(), "c", ""); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"drafts", "extraction_cursors", "admissions"} {
		if n := enginetest.Rows(t, e, "SELECT count(*) FROM "+table)[0][0]; n != int64(0) {
			t.Errorf("%s has %v rows of a purged conversation", table, n)
		}
	}
}

// TestExtractBesides: extractions of one conversation at once draw everything once; who comes too late is told.
func TestExtractBesides(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	var messages []conversation.Message
	for n := range 60 {
		messages = append(messages, conversation.Message{Text: fmt.Sprintf("My favorite number%c is %d.", 'a'+n%26, n)})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: messages})
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := e.Extract(context.Background(), extract.Request{Conversation: "c"})
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil && !errors.Is(err, engine.ErrConflict) {
			t.Error(err)
		}
	}
	if n := enginetest.Rows(t, e, "SELECT count(*), count(DISTINCT (first_seq, span_start)) FROM drafts")[0]; n[0] != int64(60) || n[1] != int64(60) {
		t.Errorf("%v drafts, want 60 of 60 places", n)
	}
}

func BenchmarkExtract(b *testing.B) {
	e := enginetest.Open(b, engine.Options{Embedder: static.New()})
	turns := []string{"Hey! Good to see you! How have you been?", "I just moved to Lisbon%d, and I prefer tea number %d over coffee.", "That is great, did the kids enjoy it as well?",
		"We decided to use plan %d in the end.", "Nothing much happened here, it rained all day and the boat stayed in the harbor.", "See you on Saturday then, take care of yourself."}
	n := 0
	for b.Loop() {
		name := fmt.Sprint("c", n)
		var messages []conversation.Message
		for i := range 120 {
			messages = append(messages, conversation.Message{Text: strings.ReplaceAll(turns[i%len(turns)], "%d", fmt.Sprint(n+i))})
		}
		b.StopTimer()
		if _, err := e.Append(b.Context(), conversation.AppendRequest{Conversation: name, Messages: messages}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := e.Extract(b.Context(), extract.Request{Conversation: name}); err != nil {
			b.Fatal(err)
		}
		n += 120
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}
