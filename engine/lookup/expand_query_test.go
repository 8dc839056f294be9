package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// answerer is a model that answers one thing, and remembers what it was asked.
type answerer struct {
	answer string
	err    error
	prompt string
	tokens int
}

func (a *answerer) Model() string { return "answerer" }

func (a *answerer) Complete(_ context.Context, _, prompt string, maxTokens int) (string, error) {
	a.prompt, a.tokens = prompt, maxTokens
	return a.answer, a.err
}

// kept is a conversation "birds" of twenty messages of which one is about an otter and one about a heron; leaves stand for the first eight
// and the next eight, and four are in the context. It gives the ids of the messages and of the leaves.
func kept(t *testing.T, e *engine.Engine) (said, leaves []string) {
	t.Helper()
	var say []conversation.Message
	for i := range 20 {
		m := conversation.Message{Text: fmt.Sprintf("note %d of the day, on the weather by the lake", i+1), SaidAt: enginetest.Noon.Add(time.Duration(i) * time.Minute)}
		switch i {
		case 2:
			m.Text = "The otter sleeps under the old pier"
		case 11:
			m.Role, m.Text = "assistant", "A heron came at seven"
			m.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: m.Text}, {Type: conversation.ToolCallBlock, CallID: "t", Tool: "log", Input: `{"bird":"heron"}`}}
		case 19:
			m.Text = "Where did the otter sleep, again?"
		}
		say = append(say, m)
	}
	said = enginetest.Append(t, e, conversation.AppendRequest{Conversation: "birds", Messages: say}).IDs
	leaves, err := enginetest.AddSummaries(t.Context(), e, "birds",
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "an otter, and weather", Tokens: 5, Sources: said[:8]}
		},
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "fowl of the day", Tokens: 4, Sources: said[8:16]}
		})
	if err != nil {
		t.Fatal(err)
	}
	return said, leaves
}

func answered(t *testing.T, e *engine.Engine, r lookup.ExpandQueryRequest) *lookup.QueryAnswer {
	t.Helper()
	a, err := e.ExpandQuery(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return a
}

func TestExpandQuery(t *testing.T) {
	enginetest.Alone(t)
	for name, embedder := range map[string]setup.Embedder{"words alone": nil, "with vectors": enginetest.Words{}} {
		t.Run(name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Embedder: embedder})
			said, leaves := kept(t, e)
			a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "Where does the otter sleep?", Conversation: "birds", Limit: 20})
			if len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != said[2] || a.Excerpts[0].Summary != leaves[0] || a.Excerpts[0].Score <= 0 || a.Summaries[0] != leaves[0] {
				t.Fatalf("%+v, want the message about the otter first", a)
			}
			tokens := 0
			for _, x := range a.Excerpts {
				tokens += x.Message.Tokens
				if slices.Contains(said[16:], x.Message.ID) {
					t.Errorf("%q is in the context", x.Message.Text)
				}
			}
			if tokens != a.Tokens || a.Tokens > 4000 || a.Truncated || a.Model != "" {
				t.Errorf("%d tokens: %+v", tokens, a)
			}
			if want := "user, 2026-06-15 12:02 UTC: The otter sleeps under the old pier [" + leaves[0] + "]"; !strings.Contains(a.Answer, want) {
				t.Errorf("the answer lacks %q:\n%s", want, a.Answer)
			}
			heron := answered(t, e, lookup.ExpandQueryRequest{Prompt: "When did it come?", Query: "heron", Conversation: "birds", TokenCap: 15})
			if len(heron.Excerpts) == 0 || heron.Excerpts[0].Message.ID != said[11] || len(heron.Excerpts[0].Message.Blocks) != 2 || heron.Tokens > 15 {
				t.Errorf("%+v, want the one about the heron, whole", heron)
			}
			below := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter or heron", SummaryIDs: leaves[1:]})
			for _, x := range below.Excerpts {
				if x.Summary != leaves[1] {
					t.Errorf("%+v is not below %s", x, leaves[1])
				}
			}
			if len(below.Excerpts) == 0 || below.Excerpts[0].Message.ID != said[11] {
				t.Errorf("%+v, want the heron first", below.Excerpts)
			}
		})
	}
}

func TestExpandQueryWithoutCandidates(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{LLM: &answerer{answer: "made up"}})
	kept(t, e)
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "zeppelin", Conversation: "birds"})
	if len(a.Excerpts) != 0 || a.Answer != "Nothing that was summarised or set aside matches the question." || a.Model != "" || a.Route.Way != "direct" {
		t.Errorf("%+v", a)
	}
}

// TestExpandQueryByTheSummary asks for a word that only a summary has.
func TestExpandQueryByTheSummary(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said, leaves := kept(t, e)
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "Any fowl?", Conversation: "birds", TokenCap: 30})
	if len(a.Excerpts) == 0 || a.Excerpts[0].Message.ID != said[8] || !cmp.Equal(a.Summaries, leaves[1:]) || !a.Truncated || a.Tokens > 30 {
		t.Errorf("%+v, want what the second leaf stands for, from its beginning", a)
	}
}

func TestExpandQueryAsksTheModel(t *testing.T) {
	model := &answerer{answer: " Under the old pier. \n"}
	e := enginetest.Open(t, engine.Options{LLM: model})
	_, leaves := kept(t, e)
	ask := lookup.ExpandQueryRequest{Prompt: "Where does the otter sleep?", Conversation: "birds", MaxTokens: 99}
	a := answered(t, e, ask)
	if a.Answer != "Under the old pier." || a.Model != "answerer" || a.ModelErr != nil || model.tokens != 99 {
		t.Errorf("%+v, %d tokens", a, model.tokens)
	}
	for _, part := range []string{"Where does the otter sleep?", "The otter sleeps under the old pier", leaves[0]} {
		if !strings.Contains(model.prompt, part) {
			t.Errorf("the prompt lacks %q:\n%s", part, model.prompt)
		}
	}
	model.answer = "  "
	if a := answered(t, e, ask); a.ModelErr == nil || a.Model != "" || !strings.Contains(a.Answer, "old pier") {
		t.Errorf("an empty answer: %+v, want the excerpts, and why", a)
	}
	model.err = errors.New("it is asleep")
	if a := answered(t, e, ask); a.ModelErr == nil || !strings.Contains(a.ModelErr.Error(), "it is asleep") || !strings.Contains(a.Answer, "old pier") {
		t.Errorf("a failure: %+v, want the excerpts, and why", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.ExpandQuery(ctx, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestExpandQueryWithAGrant(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said, leaves := kept(t, e)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "an otter elsewhere"}}})
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"birds"}, Summaries: leaves[:1], TokenCap: 12})
	a := answered(t, e, lookup.ExpandQueryRequest{Prompt: "otter, or heron, or weather", Conversation: "birds", Grant: g.ID, Agent: "nobody"})
	var got []string
	for _, x := range a.Excerpts {
		got = append(got, x.Message.ID)
	}
	now, err := e.Grant(g.ID)
	if diff := cmp.Diff([]string{said[2]}, got); err != nil || diff != "" || !a.Truncated || now.Consumed != a.Tokens || a.Tokens == 0 {
		t.Errorf("%+v, %+v, %v (-want +got):\n%s", a, now, err, diff)
	}
	for _, test := range []struct {
		request lookup.ExpandQueryRequest
		err     error
	}{
		{lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "other"}, engine.ErrGrant},
		{lookup.ExpandQueryRequest{Prompt: "otter", SummaryIDs: leaves[1:]}, engine.ErrGrant},
		{lookup.ExpandQueryRequest{Prompt: "otter", Conversation: "nowhere"}, engine.ErrNotFound},
	} {
		test.request.Grant = g.ID
		if _, err := e.ExpandQuery(t.Context(), test.request); !errors.Is(err, test.err) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.err)
		}
	}
}

func TestExpandQueryRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said, _ := kept(t, e)
	for _, test := range []struct {
		request lookup.ExpandQueryRequest
		err     error
		says    string
	}{
		{lookup.ExpandQueryRequest{Conversation: "birds"}, engine.ErrInvalid, "prompt"},
		{lookup.ExpandQueryRequest{Prompt: strings.Repeat("x", 100_001), Conversation: "birds"}, engine.ErrInvalid, "prompt"},
		{lookup.ExpandQueryRequest{Prompt: strings.Repeat("x", 100_001), Query: "x", Conversation: "birds"}, engine.ErrInvalid, "prompt"},
		{lookup.ExpandQueryRequest{Prompt: "x", Query: strings.Repeat("x", 100_001), Conversation: "birds"}, engine.ErrInvalid, "query"},
		{lookup.ExpandQueryRequest{Prompt: "x"}, engine.ErrInvalid, "conversation"},
		{lookup.ExpandQueryRequest{Prompt: "x", Conversation: "birds", TokenCap: -1}, engine.ErrInvalid, "token_cap"},
		{lookup.ExpandQueryRequest{Prompt: "x", Conversation: "birds", MaxTokens: -1}, engine.ErrInvalid, "max_tokens"},
		{lookup.ExpandQueryRequest{Prompt: "\xff", Conversation: "birds"}, engine.ErrInvalid, "prompt"},
		{lookup.ExpandQueryRequest{Prompt: "x", Conversation: "birds", SummaryIDs: said[:1]}, engine.ErrInvalid, "summary_ids"},
		{lookup.ExpandQueryRequest{Prompt: "x", SummaryIDs: []string{"sum_none"}}, engine.ErrNotFound, "sum_none"},
		{lookup.ExpandQueryRequest{Prompt: "x", Conversation: "nowhere"}, engine.ErrNotFound, "nowhere"},
	} {
		_, err := e.ExpandQuery(t.Context(), test.request)
		if !errors.Is(err, test.err) || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%+v: %v, want %v about %s", test.request, err, test.err, test.says)
		}
	}
}
