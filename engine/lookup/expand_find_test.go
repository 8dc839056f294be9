package lookup_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestExpandQueryFindsWhatTheContextAsks: the question itself is a message of the conversation, as it is in a talk with a model, and fits
// better than anything else.
func TestExpandQueryFindsWhatTheContextAsks(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said, leaves := kept(t, e)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "birds", Messages: []conversation.Message{{Text: "Any fowl?", SaidAt: enginetest.Noon.Add(time.Hour)}}})
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "Any fowl?", Conversation: "birds", TokenCap: math.MaxInt})
	if len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != said[8] || a.Summaries[0] != leaves[1] {
		t.Errorf("%+v, want what the second leaf stands for", a)
	}
	var more []conversation.Message
	for range 60 { // more than are looked at for so few tokens
		more = append(more, conversation.Message{Text: "otter otter otter", SaidAt: enginetest.Noon.Add(2 * time.Hour)})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "birds", Messages: more})
	if a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "birds", TokenCap: 20}); len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != said[2] {
		t.Errorf("%+v, want the message about the otter", a)
	}
}

func TestExpandQueryLooksBelowWhatIsNamed(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	var say []conversation.Message
	for i := range 1200 {
		say = append(say, conversation.Message{Text: "heron heron", SaidAt: enginetest.Noon.Add(time.Duration(i) * time.Minute)})
	}
	say[7].Text = "there was, among much else, perhaps a heron"
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs
	leaves, err := enginetest.AddSummaries(t.Context(), e, "c",
		func([]string) enginetest.Made { return enginetest.Made{Text: "one", Tokens: 1, Sources: said[7:8]} },
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "all others", Tokens: 2, Sources: said[8:1100]}
		})
	if err != nil {
		t.Fatal(err)
	}
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "heron", Conversation: "c", SummaryIDs: leaves[:1]})
	if len(a.Excerpts) != 1 || a.Excerpts[0].Message.ID != said[7] {
		t.Errorf("%d excerpts, want the one message below the first leaf", len(a.Excerpts))
	}
}

func TestExpandQueryOfMoreThanFits(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	kept(t, e)
	for _, prompt := range []string{"otter", "fowl"} { // in a message; in a summary only
		a := answered(t, e, lookup.ExpandQueryRequest{Prompt: prompt, Conversation: "birds", TokenCap: 2})
		if len(a.Excerpts) != 0 || !a.Truncated || a.Answer != "What matches the question is longer than 2 tokens." {
			t.Errorf("%s: %+v, want that it does not fit", prompt, a)
		}
	}
}

// TestExpandQueryLeavesOutNoise: what stands beside an excerpt comes with it, but for polls, records of the host and what was purged.
func TestExpandQueryLeavesOutNoise(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "something else"}, {Text: "a gannet dived"}, {Text: "model changed", SetAside: conversation.AsideEvent},
		{Text: "a secret", SetAside: conversation.AsideNew}, {Text: "a gannet rose", SetAside: conversation.AsideNew}, {Text: "that was all", SetAside: conversation.AsideNew},
	}}).IDs
	if _, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made { return enginetest.Made{Text: "a bird", Tokens: 1, Sources: said[:2]} }); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: said[3:4]}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range answered(t, e, lookup.ExpandQueryRequest{Prompt: "gannet", Conversation: "c"}).Excerpts {
		got = append(got, x.Message.Text)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a gannet dived", "a gannet rose", "something else", "that was all"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExpandQueryWithAGrantOfTwoConversations: the grant's summaries of the other one are no matter.
func TestExpandQueryWithAGrantOfTwoConversations(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said, leaves := kept(t, e)
	ids, _ := tree(t, e)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "third", Messages: []conversation.Message{{Text: "an otter"}}})
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"c", "birds", "third"}, Summaries: []string{ids["D2"], leaves[0]}})
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "birds", Grant: g.ID})
	if len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != said[2] {
		t.Errorf("%+v, want the message about the otter", a)
	}
	if _, err := e.ExpandQuery(t.Context(), lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "third", Grant: g.ID}); !errors.Is(err, engine.ErrGrant) {
		t.Errorf("%v, want ErrGrant: it has no summary of that conversation", err)
	}
}

// sleeper is a model that never answers.
type sleeper struct{}

func (sleeper) Model() string { return "sleeper" }

func (sleeper) Complete(ctx context.Context, _, _ string, _ int) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestExpandQueryDoesNotWaitForEver(t *testing.T) {
	e := enginetest.Open(t, engine.Options{LLM: sleeper{}, Conversation: setup.Conversation{SummaryTimeout: setup.Duration(10 * time.Millisecond)}})
	kept(t, e)
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "birds"})
	if !errors.Is(a.ModelErr, context.DeadlineExceeded) || !strings.Contains(a.Answer, "old pier") {
		t.Errorf("%+v, want the excerpts, and that the model took too long", a)
	}
}

// TestExpandQueryInContext: who has not read the context finds what stands there too, best first, and no more than was asked for.
func TestExpandQueryInContext(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said, leaves := kept(t, e)
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "birds", InContext: true, Limit: 2})
	if len(a.Excerpts) != 2 || a.Excerpts[0].Message.ID != said[2] || a.Excerpts[0].Summary != leaves[0] || a.Excerpts[1].Message.ID != said[19] || a.Excerpts[1].Summary != "" {
		t.Fatalf("%+v, want both messages about the otter", a.Excerpts)
	}
	if first, second := strings.Index(a.Answer, "under the old pier ["+leaves[0]+"]"), strings.Index(a.Answer, "again? ["+said[19]+"]"); first < 0 || second < first {
		t.Errorf("the best does not come first:\n%s", a.Answer)
	}
	if a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "note of the weather", Conversation: "birds", InContext: true}); len(a.Excerpts) != 10 || !a.Truncated {
		t.Errorf("%d excerpts, truncated %t, want ten of many", len(a.Excerpts), a.Truncated)
	}
	if a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "zeppelin", Conversation: "birds", InContext: true}); a.Answer != "Nothing that was said matches the question." {
		t.Errorf("%q", a.Answer)
	}
	for _, limit := range []int{-1, 1001} {
		if _, err := e.ExpandQuery(t.Context(), lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "birds", Limit: limit}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// TestExpandQueryOfTheTour asks what the README asks, before and after the conversation is compacted.
func TestExpandQueryOfTheTour(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	for _, compacted := range []bool{false, true} {
		if compacted {
			if _, err := e.Compact(t.Context(), compact.Request{Conversation: "conv_demo_harbor", Budget: 1500}); err != nil {
				t.Fatal(err)
			}
		}
		a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "what was wrong with the tide?", Conversation: "conv_demo_harbor", InContext: true})
		at := slices.IndexFunc(a.Excerpts, func(x lookup.Excerpt) bool {
			return strings.Contains(x.Message.Text, "the certificate of the tide feed")
		})
		if at < 0 || at > 2 || len(a.Excerpts) > 10 || (a.Excerpts[0].Summary != "") != compacted {
			t.Errorf("compacted %t: the answer is number %d of %d: %+v", compacted, at+1, len(a.Excerpts), a)
		}
	}
}

// TestExpandQueryShowsPassages: of a long message the passage that fits is shown and counted, so that it fits where the message would not.
func TestExpandQueryShowsPassages(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: static.New()})
	rain := strings.Repeat("It rained on the quay, and the tide came in at noon. ", 60)
	needle := "The otter sleeps under the old pier."
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "birds", Messages: []conversation.Message{
		{Text: "Good morning."}, {Text: rain + needle + " " + rain, Caption: "a photo of the quay"}, {Text: "See you."}}}).IDs
	r := lookup.ExpandQueryRequest{Prompt: "Where does the otter sleep?", Conversation: "birds", InContext: true, TokenCap: 200}
	a := answered(t, e, r)
	if len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != ids[1] {
		t.Fatalf("%+v, want the long message first", a.Excerpts)
	}
	long := a.Excerpts[0]
	if long.Passage == nil || !strings.Contains(long.Passage.Text, needle) || long.Message.Tokens < 1000 || a.Tokens > 200 || a.Tokens < 50 {
		t.Errorf("passage %+v of %d tokens, %d in all", long.Passage, long.Message.Tokens, a.Tokens)
	}
	if !strings.Contains(a.Answer, needle) || !strings.Contains(a.Answer, "…") || len(a.Answer) > 1500 {
		t.Errorf("%d bytes: %s", len(a.Answer), a.Answer)
	}
}
