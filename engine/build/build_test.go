package build_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// open gives an engine without a model, whose ids are counted.
func open(t testing.TB, o ...engine.Options) *engine.Engine {
	t.Helper()
	options := engine.Options{}
	if len(o) > 0 {
		options = o[0]
	}
	if options.NewID == nil {
		options.NewID = enginetest.CountedIDs()
	}
	return enginetest.Open(t, options)
}

// say appends messages to the conversation c, a minute after each other.
func say(t testing.TB, e *engine.Engine, messages ...conversation.Message) []string {
	t.Helper()
	v, err := e.Conversation(t.Context(), "c", "")
	at := enginetest.Noon
	if err == nil {
		at = at.Add(time.Duration(v.Messages) * time.Minute)
	}
	for i := range messages {
		if messages[i].SaidAt.IsZero() {
			messages[i].SaidAt = at.Add(time.Duration(i) * time.Minute)
		}
	}
	done, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	return done.IDs
}

// talk makes messages of words such as u1 and a1: what they say is the word, and whose it is its letter.
func talk(words string) (all []conversation.Message) {
	for _, word := range strings.Fields(words) {
		role := map[byte]string{'u': "user", 'a': "assistant", 's': "system"}[word[0]]
		all = append(all, conversation.Message{Role: role, Text: word})
	}
	return all
}

func built(t testing.TB, e *engine.Engine, r build.Request) *build.Built {
	t.Helper()
	if r.Conversation == "" {
		r.Conversation = "c"
	}
	b, err := e.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// preset gives a built-in preset, changed.
func preset(t testing.TB, name string, change func(*build.Preset)) *build.Preset {
	t.Helper()
	for _, p := range build.Presets() {
		if p.Name == name {
			change(&p)
			return &p
		}
	}
	t.Fatalf("no preset %s", name)
	return nil
}

// seqs are the messages that are shown, by their seq.
func seqs(b *build.Built) string {
	var all []string
	for _, it := range b.Items {
		if it.Kept && it.Kind == "message" {
			all = append(all, fmt.Sprint(it.Seq))
		}
	}
	return strings.Join(all, " ")
}

// section is the text of a section, "" where it is not shown.
func section(b *build.Built, name string) string {
	for _, s := range b.Sections {
		if s.Name == name {
			return s.Text
		}
	}
	return ""
}

// item finds an item by its section and name.
func item(t testing.TB, b *build.Built, section, name string) build.Item {
	t.Helper()
	for _, it := range b.Items {
		if it.Section == section && it.Name == name {
			return it
		}
	}
	t.Fatalf("no item %s in %s: %+v", name, section, b.Items)
	return build.Item{}
}

// compactRequest has the older part of c summarised.
func compactRequest() compact.Request {
	return compact.Request{Conversation: "c", Budget: 8000, Force: true}
}
