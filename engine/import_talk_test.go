package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestImportOfTalksThatTakeTurns: they go in as fast as one after the other, a transaction for a thousand messages of one, each in its order.
func TestImportOfTalksThatTakeTurns(t *testing.T) {
	alone(t)
	const talks, lines = 7, 11_500 // more than waits at once, and one conversation of more than goes into a transaction
	var b strings.Builder
	turns := map[string][]string{}
	for i := range lines {
		name := fmt.Sprint("talk ", i%talks)
		if i%2 == 0 {
			name = "busy"
		}
		text := fmt.Sprint("turn ", i)
		turns[name] = append(turns[name], text)
		fmt.Fprintf(&b, `{"conversation": %q, "text": %q}`+"\n", name, text)
	}
	steps := 0
	e := enginetest.Open(t, engine.Options{Progress: func(string, int, int) { steps++ }})
	messagesImported(t, e, b.String(), engine.ImportRequest{}, engine.Imported{Lines: lines, Created: lines})
	if steps > 2*(talks+1)+lines/1000 {
		t.Errorf("%d transactions", steps)
	}
	for name, want := range turns {
		var got []string
		for from := 1; len(got) < len(want); from = len(got) + 1 {
			page, err := e.Messages(t.Context(), engine.MessagesRequest{Conversation: name, From: from, Limit: 1000})
			if err != nil || len(page) == 0 {
				t.Fatalf("%s from %d: %v, %v", name, from, page, err)
			}
			for _, m := range page {
				got = append(got, m.Text)
			}
		}
		equal(t, name, want, got)
	}
	all, err := e.Conversations(t.Context(), "")
	if err != nil || len(all) != talks+1 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	messagesImported(t, e, b.String(), engine.ImportRequest{}, engine.Imported{Lines: lines, Known: lines})
}
