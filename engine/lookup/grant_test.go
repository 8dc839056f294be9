package lookup_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text/standin"
)

func granted(t *testing.T, e *engine.Engine, r lookup.GrantRequest) *lookup.Grant {
	t.Helper()
	g, err := e.CreateGrant(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGrantIsOneBudgetOverCalls(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	ids, names := tree(t, e)
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}, TokenCap: 65})
	if g.MaxDepth != 3 || !strings.HasPrefix(g.ID, "grant_") || !g.ExpiresAt.Equal(enginetest.Noon.Add(5*time.Minute)) || g.Consumed != 0 {
		t.Errorf("%+v", g)
	}
	for _, test := range []struct {
		ids            []string
		depth, cap     int
		want           string
		truncated      bool
		consumed, fits int // after the call: tokens used, and nodes of D1's manifest that still fit
	}{
		{[]string{ids["D1"]}, 1, 0, "A B", false, 40, 2},     // within 65
		{[]string{ids["A"]}, 9, 10, "m1", true, 50, 0},       // its own cap
		{[]string{ids["D2"]}, 0, 1 << 30, "D1", true, 60, 0}, // depth 3 by default; A does not fit any more
		{[]string{ids["A"]}, 1, 0, "", true, 60, 0},          // 5 are left
	} {
		x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: test.ids, Depth: test.depth, Messages: true, TokenCap: test.cap, Grant: g.ID, Agent: "nobody"})
		if err != nil {
			t.Fatal(err)
		}
		if got := walked(x, names); got != test.want || x.Truncated != test.truncated {
			t.Errorf("%v: %q %t, want %q %t", test.ids, got, x.Truncated, test.want, test.truncated)
		}
		now, err := e.Grant(g.ID)
		if err != nil || now.Consumed != test.consumed {
			t.Errorf("%v: %+v, %v, want %d consumed", test.ids, now, err, test.consumed)
		}
		d := described(t, e, lookup.DescribeRequest{ID: ids["D1"], Grant: g.ID, TokenCap: 1000})
		fits := 0
		for _, n := range d.Manifest {
			if n.Fits {
				fits++
			}
		}
		if fits != test.fits || d.TokenCap != 65-test.consumed {
			t.Errorf("%v: %d nodes fit into %d, want %d", test.ids, fits, d.TokenCap, test.fits)
		}
	}
	spent := granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}, TokenCap: 20})
	use := lookup.ExpandRequest{IDs: []string{ids["A"]}, Messages: true, Grant: spent.ID}
	if x, err := e.Expand(t.Context(), use); err != nil || x.Tokens != 20 {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := e.Expand(t.Context(), use); !errors.Is(err, engine.ErrGrantSpent) {
		t.Errorf("%v, want ErrGrantSpent", err)
	}
}

func TestGrantRefuses(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	ids, _ := tree(t, e)
	other := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "elsewhere"}}}).IDs[0]
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_one", Text: "one"})
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}, Summaries: []string{ids["A"], ids["A"][4:]}})
	g.Summaries[0], g.Conversations[0] = ids["B"], "" // which changes nothing
	expand := func(names ...string) error {
		_, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: names, Messages: true, Grant: g.ID})
		return err
	}
	for _, test := range []struct {
		asked []string
		says  string // "": it is granted
	}{
		{[]string{ids["A"]}, ""},
		{[]string{ids["m1"]}, ""}, // below A
		{[]string{"sum_none"}, ""},
		{[]string{ids["B"]}, "cover " + ids["B"]},
		{[]string{ids["D1"]}, "cover " + ids["D1"]},
		{[]string{ids["m3"]}, "cover " + ids["m3"]},
		{[]string{ids["B"], other}, "conversation of " + other},
	} {
		err := expand(test.asked...)
		if (err == nil) != (test.says == "") || err != nil && (!errors.Is(err, engine.ErrGrant) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%v: %v, want %q", test.asked, err, test.says)
		}
	}
	if _, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: "mem_one", Grant: g.ID}); !errors.Is(err, engine.ErrGrant) {
		t.Errorf("a memory: %v, want ErrGrant", err)
	}
	clock.Advance(5 * time.Minute)
	if err := expand(ids["B"]); !errors.Is(err, engine.ErrGrant) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("%v, want that it expired, first of all", err)
	}
	if err := e.RevokeGrant(g.ID); err != nil {
		t.Error(err)
	}
	if err := expand(ids["B"]); !errors.Is(err, engine.ErrGrant) || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("%v, want that it was revoked, before all else", err)
	}
	clock.Advance(2 * time.Hour)
	granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}})
	if err := e.RevokeGrant(g.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want that it is gone", err)
	}
	for _, test := range []struct {
		request lookup.GrantRequest
		err     error
	}{
		{lookup.GrantRequest{}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"nowhere"}}, engine.ErrNotFound},
		{lookup.GrantRequest{Conversations: []string{"c"}, MaxDepth: 11}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"c"}, MaxDepth: -1}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"c"}, TokenCap: -1}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"c"}, TTL: -time.Second}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"c"}, Summaries: []string{"sum_none"}}, engine.ErrNotFound},
		{lookup.GrantRequest{Conversations: []string{"c"}, Summaries: []string{ids["m1"]}}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"other"}, Summaries: []string{ids["A"]}}, engine.ErrInvalid},
		{lookup.GrantRequest{Conversations: []string{"c"}, Issuer: "\xff"}, engine.ErrInvalid},
	} {
		if _, err := e.CreateGrant(t.Context(), test.request); !errors.Is(err, test.err) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.err)
		}
	}
}

func TestGrantIsNoMoreThanItsIssuerMay(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "own", Scope: "agent:scout", Messages: []conversation.Message{{Text: "a secret"}}}).IDs
	if _, err := e.CreateGrant(t.Context(), lookup.GrantRequest{Issuer: "teo", Conversations: []string{"own"}}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
	g := granted(t, e, lookup.GrantRequest{Issuer: "scout", Conversations: []string{"own"}})
	use := lookup.ExpandRequest{IDs: said, Agent: "teo", Grant: g.ID}
	if x, err := e.Expand(t.Context(), use); err != nil || len(x.Items) != 1 {
		t.Errorf("%+v, %v, want the message", x, err)
	}
	if err := e.SetScopes(t.Context(), scope.Scopes{Access: map[string][]string{"scout": {}}}); err != nil {
		t.Fatal(err)
	}
	if x, err := e.Expand(t.Context(), use); err != nil || !cmp.Equal(x.Unknown, said) {
		t.Errorf("%+v, %v, want nothing: the issuer itself may not read it any more", x, err)
	}
}

func TestGrantCoversFiles(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{LargeFileTokens: 50}})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: strings.Repeat("tides of the north ", 40)}, {Text: strings.Repeat("tides of the south ", 40)}}})
	made, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
		return enginetest.Made{Text: "tides", Tokens: 1, Sources: said.IDs[:1]}
	})
	if err != nil {
		t.Fatal(err)
	}
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}, Summaries: made})
	for i, want := range []error{nil, engine.ErrGrant} {
		files := standin.ParseFileIDs(enginetest.Messages(t, e, "c")[i].Text)
		if len(files) != 1 {
			t.Fatalf("message %d has the files %v", i, files)
		}
		if _, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: files[0], Grant: g.ID}); !errors.Is(err, want) {
			t.Errorf("the file of message %d: %v, want %v", i, err, want)
		}
	}
}

func TestGrantInParallel(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Threads: 2})
	ids, _ := tree(t, e)
	g := granted(t, e, lookup.GrantRequest{Conversations: []string{"c"}, TokenCap: 100})
	var mu sync.Mutex
	var group sync.WaitGroup
	tokens, spent := 0, 0
	for range 12 {
		group.Go(func() {
			x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: []string{ids["A"]}, Messages: true, Grant: g.ID})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, engine.ErrGrantSpent):
				spent++
			case err != nil:
				t.Error(err)
			default:
				tokens += x.Tokens
			}
		})
	}
	group.Wait()
	if tokens != 100 || spent != 7 {
		t.Errorf("%d tokens and %d refused, want 100 and 7", tokens, spent)
	}
}
