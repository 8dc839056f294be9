package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
)

func TestGrepRefuses(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "aaa"}}})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "own", Scope: "agent:scout", Messages: []conversation.Message{{Text: "aaa"}}})
	day := enginetest.Noon
	var words []string
	for i := range 61 {
		words = append(words, fmt.Sprint("q", i))
	}
	for _, test := range []struct {
		request lookup.GrepRequest
		err     error
		says    string
	}{
		{lookup.GrepRequest{Pattern: "a"}, engine.ErrInvalid, "conversation"},
		{lookup.GrepRequest{Pattern: "a", Conversation: "c", AllConversations: true}, engine.ErrInvalid, "conversation"},
		{lookup.GrepRequest{Pattern: "a", Conversation: "nowhere"}, engine.ErrNotFound, "nowhere"},
		{lookup.GrepRequest{Pattern: "a", Conversation: "own", Agent: "teo"}, engine.ErrNotFound, "own"},
		{lookup.GrepRequest{Pattern: "(", Mode: lookup.GrepRegex, Conversation: "c"}, engine.ErrInvalid, "missing closing )"},
		{lookup.GrepRequest{Pattern: "(", Mode: lookup.GrepBoth, Conversation: "c"}, engine.ErrInvalid, "pattern"},
		{lookup.GrepRequest{Pattern: "(?<=a)b", Mode: lookup.GrepRegex, Conversation: "c"}, engine.ErrInvalid, "no look-around"},
		{lookup.GrepRequest{Pattern: `(a)\1`, Mode: lookup.GrepRegex, Conversation: "c"}, engine.ErrInvalid, "no back-references"},
		{lookup.GrepRequest{Pattern: `\pL{1000}`, Mode: lookup.GrepRegex, Conversation: "c"}, engine.ErrInvalid, "fewer repetitions"},
		{lookup.GrepRequest{Pattern: "a", Mode: "glob", Conversation: "c"}, engine.ErrInvalid, "mode"},
		{lookup.GrepRequest{Pattern: "a", Words: "some", Conversation: "c"}, engine.ErrInvalid, "words"},
		{lookup.GrepRequest{Pattern: "a", Order: "oldest", Conversation: "c"}, engine.ErrInvalid, "order"},
		{lookup.GrepRequest{Pattern: "a", Mode: lookup.GrepRegex, Order: lookup.ByRelevance, Conversation: "c"}, engine.ErrInvalid, "order"},
		{lookup.GrepRequest{Pattern: "a", Kinds: []kinds.Kind{"file"}, Conversation: "c"}, engine.ErrInvalid, "kinds"},
		{lookup.GrepRequest{Pattern: "a", Limit: 201, Conversation: "c"}, engine.ErrInvalid, "limit"},
		{lookup.GrepRequest{Pattern: "a", Limit: -1, Conversation: "c"}, engine.ErrInvalid, "limit"},
		{lookup.GrepRequest{Pattern: "a", Deadline: -1, Conversation: "c"}, engine.ErrInvalid, "deadline"},
		{lookup.GrepRequest{Pattern: "a", Since: day, Before: day, Conversation: "c"}, engine.ErrInvalid, "since"}, // SE21
		{lookup.GrepRequest{Pattern: "a", Since: day.Add(1), Before: day, Conversation: "c"}, engine.ErrInvalid, "since"},
		{lookup.GrepRequest{Pattern: "a\xff", Conversation: "c"}, engine.ErrInvalid, "pattern"},
		{lookup.GrepRequest{Pattern: strings.Repeat("a", 10_001), Conversation: "c"}, engine.ErrInvalid, "pattern"},
		{lookup.GrepRequest{Pattern: strings.Join(words, " "), Conversation: "c"}, engine.ErrInvalid, "60"},
		{lookup.GrepRequest{Pattern: strings.Join(words[:60], " "), Conversation: "c"}, nil, ""},
		{lookup.GrepRequest{Pattern: "(a+)+$", Mode: lookup.GrepRegex, Conversation: "c"}, nil, ""}, // SE11
	} {
		_, err := e.Grep(t.Context(), test.request)
		if !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %v about %q", test.request, err, test.err, test.says)
		}
	}
}

func TestGrepRange(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	say := func(r conversation.AppendRequest, text string) {
		t.Helper()
		clock.Advance(time.Minute)
		r.Messages = []conversation.Message{{Text: text + " otter"}}
		enginetest.Append(t, e, r)
	}
	say(conversation.AppendRequest{SessionKey: "k"}, "first")
	first, err := e.Conversation(t.Context(), "k", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := enginetest.TamperOpen(t.Context(), e, "UPDATE conversations SET active = false, archived_at = TIMESTAMP '2026-06-15 12:02:00', archive_cause = 'reset' WHERE id = ?", first.ID); err != nil {
		t.Fatal(err)
	}
	say(conversation.AppendRequest{SessionKey: "k"}, "second")
	say(conversation.AppendRequest{Conversation: "other"}, "elsewhere")
	say(conversation.AppendRequest{Conversation: "own", Scope: "agent:scout"}, "scout's")
	enginetest.Remember(t, e, memory.RememberRequest{Text: "otter, remembered"})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "otter, teo's", Scope: "agent:teo"})
	everything := []kinds.Kind{kinds.Message, kinds.Summary, kinds.Memory}
	for _, test := range []struct {
		request lookup.GrepRequest
		want    string // the other words
	}{
		{lookup.GrepRequest{Conversation: "k"}, "first second"},
		{lookup.GrepRequest{Conversation: first.ID}, "first second"},
		{lookup.GrepRequest{Conversation: "other"}, "elsewhere"},
		{lookup.GrepRequest{AllConversations: true}, "first second elsewhere scout's"},
		{lookup.GrepRequest{AllConversations: true, Agent: "scout"}, "first second elsewhere scout's"},
		{lookup.GrepRequest{AllConversations: true, Agent: "teo"}, "first second elsewhere"},
		{lookup.GrepRequest{Conversation: "other", Kinds: everything}, "elsewhere remembered teo's"},
		{lookup.GrepRequest{Conversation: "other", Kinds: everything, Agent: "teo"}, "elsewhere remembered teo's"},
		{lookup.GrepRequest{AllConversations: true, Kinds: everything, Agent: "scout"}, "first second elsewhere scout's remembered"},
		{lookup.GrepRequest{AllConversations: true, Kinds: everything[2:]}, "remembered teo's"},
	} {
		for _, mode := range lookup.GrepModes() {
			test.request.Pattern, test.request.Mode, test.request.Order = "otter", mode, lookup.ByNewest
			var got []string
			for _, h := range enginetest.Grep(t, e, test.request).Hits {
				got = append([]string{strings.Trim(strings.ReplaceAll(h.Snippet, "otter", ""), " ,")}, got...)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s %+v (-want +got):\n%s", mode, test.request, diff)
			}
		}
	}
}

// TestGrepIsNewestFirst says the newest things first, so that the order of time is not that in which they are stored.
func TestGrepIsNewestFirst(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for i, talk := range []string{"a", "b", "a", "b"} {
		var say []conversation.Message
		for j := range 10 {
			say = append(say, conversation.Message{Text: fmt.Sprint("heron ", i, j), SaidAt: enginetest.Noon.AddDate(0, 0, -i).Add(time.Duration(j) * time.Minute)})
		}
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: talk, Messages: say})
	}
	for _, mode := range lookup.GrepModes() {
		r := lookup.GrepRequest{Pattern: "heron", Mode: mode, Order: lookup.ByNewest, AllConversations: true}
		for _, limit := range []int{1, 7, 15, 200} {
			r.Limit = limit
			hits := enginetest.Grep(t, e, r).Hits
			if len(hits) != min(limit, 40) {
				t.Errorf("%s: %d hits of %d", mode, len(hits), limit)
			}
			for i, h := range hits {
				if want := fmt.Sprint("heron ", i/10, 9-i%10); h.Snippet != want {
					t.Errorf("%s: hit %d is %q, want %q", mode, i, h.Snippet, want)
				}
			}
		}
	}
}

func TestGrepComesToItsEnd(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	messages := 12_000
	switch {
	case testing.Short():
		messages = 5000
	case enginetest.Long("growth"):
		messages = 40_000
	}
	longTalk(t, e, messages, "kingfisher")
	for _, r := range []lookup.GrepRequest{{Pattern: "nothing.*here", Mode: lookup.GrepRegex}, {Pattern: "kingfisher"}} {
		r.Conversation, r.Deadline = "long", time.Microsecond
		enginetest.Index(e).AskFile(true) // the resident index may be done before anybody notices how late it is
		if x, err := e.Grep(t.Context(), r); err != nil || !x.Truncated || !strings.Contains(x.Text(), "time ran out") {
			t.Errorf("%+v, %v, want that the time ran out", x, err)
		}
		enginetest.Index(e).AskFile(false)
		r.Deadline = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan time.Time, 1)
		time.AfterFunc(3*time.Millisecond, func() { cancelled <- time.Now(); cancel() })
		_, err := e.Grep(ctx, r)
		if err != nil && (!errors.Is(err, context.Canceled) || time.Since(<-cancelled) > 2*time.Second) {
			t.Errorf("%v", err)
		}
		x := enginetest.Grep(t, e, r)
		if want := map[lookup.GrepMode]int{"": messages / 1000}[r.Mode]; x.Truncated || len(x.Hits) != want {
			t.Errorf("%s: %d hits, truncated %t; want %d", r.Pattern, len(x.Hits), x.Truncated, want)
		}
	}
}

// TestGrepGoesOn searches more often than the tables of what is asked last.
func TestGrepGoesOn(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Threads: 1})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "one wren"}, {Text: "two wrens"}, {Text: "an owl"}}})
	for i := range 220 {
		pattern, want := "wren", 2
		if i%3 == 1 {
			pattern, want = "owl", 1
		}
		if hits := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: pattern}).Hits; len(hits) != want {
			t.Fatalf("search %d: %d hits, want %d", i, len(hits), want)
		}
	}
}
