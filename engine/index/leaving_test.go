package index_test

import (
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// wordsIn is all words of the index, each with its term.
func wordsIn(t testing.TB, e *engine.Engine) [][]any {
	t.Helper()
	return enginetest.Rows(t, e, "SELECT term, surface FROM terms FULL JOIN surfaces USING (term_no) ORDER BY ALL")
}

// TestPurgeTakesWords purges one thing after the other, and wants the vocabulary each time as it is when the index is made anew.
func TestPurgeTakesWords(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for n := range 30 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprintf("the gardener waters bed %d", n)})
	}
	secret := enginetest.Remember(t, e, memory.RememberRequest{Text: "my password is Hunter2Xyzzy, said the gardeners while watering", L1: "Zürichstraße"})
	forgotten := enginetest.Remember(t, e, memory.RememberRequest{Text: "a forgotten Plugh"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: forgotten.ID}); err != nil {
		t.Fatal(err)
	}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "The heron nests in April, high above the reeds of the northern marsh."},
		{Text: "Frobozz is the key", Speaker: "Gnusto", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Output: "rezrov opened it"}}},
		{Text: "The warden counts the nests every week."},
	}}).IDs
	enginetest.Summarise(t, e, "c", "Frobozz, blorb and the heron", ids[0], ids[1])
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "d", Messages: []conversation.Message{{Text: "izyuk alone"}}})
	for _, step := range []struct {
		name, word string
		do         func() error
	}{
		{"a forgotten one", "plugh", func() error {
			_, err := e.Purge(t.Context(), memory.PurgeRequest{ID: forgotten.ID})
			return err
		}},
		{"a memory", "hunter2xyzzy", func() error {
			_, err := e.Purge(t.Context(), memory.PurgeRequest{ID: secret.ID})
			return err
		}},
		{"a message", "blorb", func() error {
			_, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[1:2]})
			return err
		}},
		{"a conversation", "izyuk", func() error {
			_, err := e.PurgeConversation(t.Context(), "d", "")
			return err
		}},
	} {
		known := fmt.Sprintf("SELECT surface FROM surfaces WHERE surface = '%s'", step.word)
		if len(enginetest.Rows(t, e, known)) != 1 {
			t.Fatalf("%s: %s is not in the index before", step.name, step.word)
		}
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		got := wordsIn(t, e)
		if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
			t.Fatal(err)
		}
		enginetest.Equal(t, "words after purging "+step.name, wordsIn(t, e), got)
	}
	again := enginetest.Remember(t, e, memory.RememberRequest{Text: "Hunter2Xyzzy is back"})
	enginetest.Equal(t, "recall of a word that had gone", []string{again.ID}, enginetest.RecallIDs(t, e, recall.Query{Text: "hunter2xyzzy", Mode: recall.LexicalMode}))
}

// TestPurgeTakesWordsOfManyDocuments has the ways of writing that stay in the last of many documents.
func TestPurgeTakesWordsOfManyDocuments(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	secret := enginetest.Remember(t, e, memory.RememberRequest{Text: "gardening gardened gardens garden"})
	requests := make([]memory.RememberRequest, 2500)
	for n := range requests {
		requests[n].Text = fmt.Sprintf("a garden of %d", n)
	}
	requests[len(requests)-1].Text = "gardening at last"
	if _, err := e.RememberMany(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: secret.ID}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "ways of writing", [][]any{{"garden"}, {"gardening"}}, enginetest.Rows(t, e, "SELECT surface FROM surfaces WHERE surface LIKE 'garden%' ORDER BY ALL"))
}
