package extract_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/memory"
)

// outcome is what is wanted of a draft.
type outcome struct {
	Text            string
	Verdict, Action extract.Verdict
}

func outcomes(drafts []extract.Draft) (all []outcome) {
	for _, d := range drafts {
		all = append(all, outcome{d.Text, d.Verdict, d.Action})
	}
	return all
}

// say appends what users say, a day apart in sessions of their own, and extracts from it.
func say(t *testing.T, e *engine.Engine, name string, texts ...string) *extract.Report {
	t.Helper()
	for _, text := range texts {
		existing, _ := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: name, Limit: 1000})
		n := len(existing)
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{
			{Text: text, Session: fmt.Sprint("s", n), SaidAt: time.Date(2026, 1, 1+n, 9, 0, 0, 0, time.UTC)}}})
	}
	r, err := e.Extract(t.Context(), extract.Request{Conversation: name})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// appendOne appends what a user says.
func appendOne(t *testing.T, e *engine.Engine, text string) {
	t.Helper()
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: text}}})
}

// texts are the memories that are true now.
func texts(t *testing.T, e *engine.Engine) (all []string) {
	t.Helper()
	memories, err := e.List(t.Context(), memory.ListRequest{Standing: "current", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range memories {
		all = append([]string{m.Text}, all...)
	}
	return all
}

// TestVerdicts drives each verdict that rules reach, with vectors and without. What is said first is in the file already when the rest comes, and in
// another run of each case it is not.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		first, then []string
		want        []outcome // of then
		left        []string
	}{
		{name: "create", then: []string{"My favorite editor is Zed."}, want: []outcome{{"favorite editor: Zed", "create", "create"}}, left: []string{"favorite editor: Zed"}},
		{name: "supersede by its fact key", first: []string{"My favorite editor is Vim."}, then: []string{"Actually, my favorite editor is Zed."},
			want: []outcome{{"favorite editor: Zed", "supersede", "supersede"}}, left: []string{"favorite editor: Zed"}},
		{name: "support", first: []string{"My favorite editor is Zed."}, then: []string{"As I said, my favorite editor is Zed."},
			want: []outcome{{"favorite editor: Zed", "support", "support"}}, left: []string{"favorite editor: Zed"}},
		{name: "a contact that changes", first: []string{"My email is a@example.org."}, then: []string{"My new email is b@example.org."},
			want: []outcome{{"email: b@example.org", "supersede", "supersede"}}, left: []string{"email: b@example.org"}},
		{name: "merge into a profile", first: []string{"I live in Lisbon."}, then: []string{"I just moved to Porto."},
			want: []outcome{{"home: Porto", "merge", "supersede"}}, left: []string{"home: Porto"}},
		{name: "an event that is known", first: []string{"We decided to use DuckDB for analytics."}, then: []string{"We decided to use DuckDB for analytics."},
			want: []outcome{{"We decided to use DuckDB for analytics.", "skip", "skip"}}, left: []string{"We decided to use DuckDB for analytics."}},
		{name: "another event", first: []string{"We decided to use DuckDB for analytics."}, then: []string{"We decided to hire two people."},
			want: []outcome{{"We decided to hire two people.", "create", "create"}}, left: []string{"We decided to use DuckDB for analytics.", "We decided to hire two people."}},
		{name: "contradict in general", first: []string{"I like olives on pizza."}, then: []string{"I don't like olives on pizza."},
			want: []outcome{{"I don't like olives on pizza.", "contradict", "supersede"}}, left: []string{"I don't like olives on pizza."}},
		{name: "no longer", first: []string{"I love strong coffee."}, then: []string{"I no longer love strong coffee."},
			want: []outcome{{"I no longer love strong coffee.", "supersede", "supersede"}}, left: []string{"I no longer love strong coffee."}},
		{name: "contradict in a context", first: []string{"I love strong coffee."}, then: []string{"I don't like strong coffee in the evening."},
			want: []outcome{{"I don't like strong coffee in the evening.", "contradict", "contradict"}},
			left: []string{"I love strong coffee.", "I don't like strong coffee in the evening."}},
		{name: "contextualize", first: []string{"My favorite drink is tea."}, then: []string{"In the evening my favorite drink is wine."},
			want: []outcome{{"favorite drink (evening): wine", "contextualize", "contextualize"}}, left: []string{"favorite drink: tea", "favorite drink (evening): wine"}},
		{name: "it names what was before", first: []string{"I use Chrome as my main browser."}, then: []string{"I've switched from Chrome to Firefox."},
			want: []outcome{{"I've switched from Chrome to Firefox.", "supersede", "supersede"}}, left: []string{"I've switched from Chrome to Firefox."}},
		{name: "another thing of the same maker", first: []string{"我很喜欢麦当劳的板烧鸡腿堡。"}, then: []string{"我很喜欢麦当劳的麦辣鸡翅。"},
			want: []outcome{{"我很喜欢麦当劳的麦辣鸡翅。", "create", "create"}}, left: []string{"我很喜欢麦当劳的板烧鸡腿堡。", "我很喜欢麦当劳的麦辣鸡翅。"}},
		{name: "less than is known", first: []string{"I love hiking in the Alps with my old friends."}, then: []string{"I love hiking in the Alps with friends."},
			want: []outcome{{"I love hiking in the Alps with friends.", "skip", "skip"}}, left: []string{"I love hiking in the Alps with my old friends."}},
		{name: "more than is known", first: []string{"I love hiking in the Alps with friends."}, then: []string{"I love hiking in the Alps with old friends."},
			want: []outcome{{"I love hiking in the Alps with old friends.", "supersede", "supersede"}}, left: []string{"I love hiking in the Alps with old friends."}},
		{name: "merge that takes a model", first: []string{"I always review the whole diff carefully before I merge it."}, then: []string{"I always review the whole diff carefully before we merge it twice."},
			want: []outcome{{"I always review the whole diff carefully before we merge it twice.", "merge", "create"}},
			left: []string{"I always review the whole diff carefully before I merge it.", "I always review the whole diff carefully before we merge it twice."}},
		{name: "not the opposite", first: []string{"I love the ocean at night, honestly."}, then: []string{"I hate not being on the court."},
			want: []outcome{{"I hate not being on the court.", "create", "create"}}, left: []string{"I love the ocean at night, honestly.", "I hate not being on the court."}},
		{name: "German", first: []string{"Ich wohne in Köln."}, then: []string{"Ich bin vor kurzem nach Berlin gezogen."},
			want: []outcome{{"home: Berlin", "merge", "supersede"}}, left: []string{"home: Berlin"}},
		{name: "Chinese", first: []string{"我的手机号是13800138000。"}, then: []string{"我的新手机号是13900139000。"},
			want: []outcome{{"phone: 13900139000", "supersede", "supersede"}}, left: []string{"phone: 13900139000"}},
	} {
		for _, vectors := range []bool{true, false} {
			for _, apart := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/vectors=%t/apart=%t", c.name, vectors, apart), func(t *testing.T) {
					t.Parallel()
					o := engine.Options{}
					if vectors {
						o.Embedder = static.New()
					}
					e := enginetest.Open(t, o)
					var r *extract.Report
					if apart && len(c.first) > 0 {
						say(t, e, "c", c.first...)
						r = say(t, e, "c", c.then...)
					} else {
						r = say(t, e, "c", append(append([]string{}, c.first...), c.then...)...)
						r.Drafts = r.Drafts[len(c.first):]
					}
					if diff := cmp.Diff(c.want, outcomes(r.Drafts)); diff != "" {
						t.Errorf("(-want +got):\n%s\n%+v", diff, r.Drafts)
					}
					if diff := cmp.Diff(c.left, texts(t, e)); diff != "" {
						t.Errorf("left (-want +got):\n%s", diff)
					}
					again, err := e.Extract(t.Context(), extract.Request{Conversation: "c", From: 1})
					if err != nil || len(again.Drafts) != 0 || again.Known != len(c.first)+len(c.then) {
						t.Errorf("once more: %+v, %v", again, err)
					}
				})
			}
		}
	}
}

// TestSpeakers: what one person says neither confirms nor ends what another says.
func TestSpeakers(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: static.New()})
	for _, m := range []conversation.Message{{Speaker: "John", Text: "I love strong coffee."}, {Speaker: "Mary", Text: "I don't like strong coffee."}, {Speaker: "Mary", Text: "My favorite editor is Zed."},
		{Speaker: "John", Text: "My favorite editor is Vim."}, {Speaker: "John", Text: "I no longer love strong coffee."}} {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{m}})
	}
	r, err := e.Extract(t.Context(), extract.Request{Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	want := []outcome{{"John says “I love strong coffee.”", "create", "create"}, {"Mary says “I don't like strong coffee.”", "create", "create"}, {"Mary's favorite editor: Zed", "create", "create"},
		{"John's favorite editor: Vim", "create", "create"}, {"John says “I no longer love strong coffee.”", "supersede", "supersede"}}
	if diff := cmp.Diff(want, outcomes(r.Drafts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
