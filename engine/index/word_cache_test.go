package index_test

import (
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
)

// TestWordsOfALongRun: a writer that has looked words up so often that it reads them all knows those of the file from the new ones.
func TestWordsOfALongRun(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	say := func(e *engine.Engine, word string) {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "the heron " + word, SaidAt: enginetest.Noon}}})
	}
	for i := range 90 {
		say(e, fmt.Sprint("old", i))
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenAt(t, path, engine.Options{})
	for i := range 70 {
		say(e, fmt.Sprint("new", i))
	}
	for i := range 90 {
		say(e, fmt.Sprint("old", i))
	}
	for word, want := range map[string]int{"old3": 2, "old89": 2, "new0": 1, "new69": 1} {
		if hits := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "talk", Pattern: word}).Hits; len(hits) != want {
			t.Errorf("%s: %d hits, want %d", word, len(hits), want)
		}
	}
}
