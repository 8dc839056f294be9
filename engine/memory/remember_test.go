package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/scope"
)

func TestRememberManyReportsEachRequest(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for _, r := range []memory.RememberRequest{{Text: "taken", ID: "mem_taken"}, {Text: "gone", ID: "mem_gone"}} {
		enginetest.Remember(t, e, r)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_gone"}); err != nil {
		t.Fatal(err)
	}
	requests := []struct {
		request memory.RememberRequest
		want    error
	}{
		{memory.RememberRequest{Text: "first"}, nil},
		{memory.RememberRequest{Text: " "}, engine.ErrInvalid},
		{memory.RememberRequest{Text: "bad tier", Tier: "hot"}, engine.ErrInvalid},
		{memory.RememberRequest{Text: "own id", ID: "mem_mine"}, nil},
		{memory.RememberRequest{Text: "own id again", ID: "mem_mine"}, engine.ErrExists},
		{memory.RememberRequest{Text: "id of another", ID: "mem_taken"}, engine.ErrExists},
		{memory.RememberRequest{Text: "id of a forgotten one", ID: "mem_gone"}, engine.ErrExists},
		{memory.RememberRequest{Text: "bad scope", Scope: "harbour"}, engine.ErrBadScope},
		{memory.RememberRequest{Text: "denied scope", Scope: "user:ines", Agent: "scout"}, engine.ErrScopeDenied},
		{memory.RememberRequest{Text: "last"}, nil},
	}
	var asked []memory.RememberRequest
	for _, r := range requests {
		asked = append(asked, r.request)
	}
	results, err := e.RememberMany(t.Context(), asked)
	if err != nil || len(results) != len(requests) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		want := requests[i]
		if !errors.Is(r.Err, want.want) || r.Created != (want.want == nil) || r.VectorErr != nil {
			t.Errorf("%q: %+v, want error %v", want.request.Text, r, want.want)
			continue
		}
		if want.want == nil {
			if got := enginetest.Get(t, e, r.ID).Text; got != want.request.Text {
				t.Errorf("%q has the id of %q", want.request.Text, got)
			}
		} else if _, err := e.Remember(t.Context(), want.request); !errors.Is(err, want.want) {
			t.Errorf("%q alone: %v, want %v", want.request.Text, err, want.want)
		}
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Memories != 4 || s.Standings["forgotten"] != 1 {
		t.Errorf("%+v, %v, want four memories and one forgotten", s, err)
	}
	if results, err := e.RememberMany(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("no requests: %v, %v", results, err)
	}
}

func TestRememberManyTransactions(t *testing.T) {
	enginetest.Alone(t)
	var told []string
	e := enginetest.Open(t, engine.Options{Progress: func(step string, done, total int) { told = append(told, fmt.Sprint(step, " ", done, "/", total)) }})
	requests := make([]memory.RememberRequest, 4001) // more than go into one transaction
	for i := range requests {
		requests[i] = memory.RememberRequest{Text: fmt.Sprint("memory ", i), Key: fmt.Sprint("key ", i%4000)}
	}
	results, err := e.RememberMany(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if last := results[4000]; last.Created || last.ID != results[0].ID {
		t.Errorf("a key of the transaction before: %+v, want the id %s", last, results[0].ID)
	}
	if len(told) < 2 || told[len(told)-1] != "memories 4001/4001" {
		t.Errorf("progress: %s", told)
	}
}

func TestKeyAndUnique(t *testing.T) {
	enginetest.Alone(t)
	tests := []struct {
		name           string
		first, second  memory.RememberRequest
		created, ended bool // by the second; ended: the first is forgotten in between
	}{
		{"same key", memory.RememberRequest{Text: "a", Key: "k"}, memory.RememberRequest{Text: "b", Key: "k"}, false, false},
		{"same key, other scope", memory.RememberRequest{Text: "a", Key: "k"}, memory.RememberRequest{Text: "a", Key: "k", Scope: "user:ines"}, true, false},
		{"same key, first forgotten", memory.RememberRequest{Text: "a", Key: "k"}, memory.RememberRequest{Text: "b", Key: "k"}, true, true},
		{"same key, id taken", memory.RememberRequest{Text: "a", Key: "k", ID: "mem_own"}, memory.RememberRequest{Text: "b", Key: "k", ID: "mem_own"}, false, false},
		{"other key, same text", memory.RememberRequest{Text: "a", Key: "k"}, memory.RememberRequest{Text: "a", Key: "l"}, true, false},
		{"unique", memory.RememberRequest{Text: "a"}, memory.RememberRequest{Text: "a", Unique: true}, false, false},
		{"unique, other text", memory.RememberRequest{Text: "a"}, memory.RememberRequest{Text: "A", Unique: true}, true, false},
		{"unique, other scope", memory.RememberRequest{Text: "a"}, memory.RememberRequest{Text: "a", Scope: "user:ines", Unique: true}, true, false},
		{"unique, first forgotten", memory.RememberRequest{Text: "a"}, memory.RememberRequest{Text: "a", Unique: true}, true, true},
		{"unique only in the first", memory.RememberRequest{Text: "a", Unique: true}, memory.RememberRequest{Text: "a"}, true, false},
	}
	e := enginetest.Open(t, engine.Options{})
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first, second := apart(test.first, i), apart(test.second, i)
			old := enginetest.Remember(t, e, first)
			if test.ended {
				if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: old.ID}); err != nil {
					t.Fatal(err)
				}
			}
			result, err := e.Remember(t.Context(), second)
			if err != nil || result.Created != test.created || (result.ID == old.ID) == test.created {
				t.Errorf("the second: %+v, %v, the first is %s", result, err, old.ID)
			}
			if now := enginetest.Get(t, e, old.ID); now.Text != first.Text {
				t.Errorf("the first now says %q", now.Text)
			}
			if test.ended {
				return
			}
			first, second = apart(test.first, -i-1), apart(test.second, -i-1)
			both, err := e.RememberMany(t.Context(), []memory.RememberRequest{first, second})
			if err != nil || !both[0].Created || both[1].Created != test.created || (both[1].ID == both[0].ID) == test.created {
				t.Errorf("in one batch: %+v, %v", both, err)
			}
		})
	}
}

// apart makes a request of the n-th case, so that cases share one file.
func apart(r memory.RememberRequest, n int) memory.RememberRequest {
	r.Text = fmt.Sprint(r.Text, n)
	if r.Key != "" {
		r.Key = fmt.Sprint(r.Key, n)
	}
	if r.ID != "" {
		r.ID = fmt.Sprint(r.ID, n)
	}
	return r
}

func TestUniqueTextThatWasSuperseded(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	old := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is broken"})
	clock.Advance(time.Hour)
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: old.ID, By: memory.RememberRequest{Text: "The crane works"}}); err != nil {
		t.Fatal(err)
	}
	again, err := e.Remember(t.Context(), memory.RememberRequest{Text: "The crane is broken", Unique: true})
	if err != nil || !again.Created {
		t.Errorf("broken again: %+v, %v, want a new memory", again, err)
	}
}

func TestOwnIDs(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for id, want := range map[string]error{
		"abc": nil, "0af": nil, "6f9619ff-8b86-d011-b42d-00cf4fc964ff": nil, "corpus:" + strings.Repeat("a", 48): nil, "a.b_c:d-e": nil,
		strings.Repeat("a", 128): nil,
		strings.Repeat("a", 129): engine.ErrInvalid, "ab": engine.ErrInvalid, "-abc": engine.ErrInvalid, "_abc": engine.ErrInvalid, "a b c": engine.ErrInvalid,
		"äbc": engine.ErrInvalid, "abc\n": engine.ErrInvalid, "a/bc": engine.ErrInvalid,
	} {
		r, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", ID: id})
		if !errors.Is(err, want) || err == nil && r.ID != id {
			t.Errorf("%q: %+v, %v, want %v", id, r, err, want)
		}
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: "abc"}); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", ID: "abc"}); err != nil || !r.Created {
		t.Errorf("an id that was purged: %+v, %v, want it free again", r, err)
	}
}

func TestScopeOfANewMemory(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	err := e.SetScopes(t.Context(), scope.Scopes{Default: "project:harbor", Access: map[string][]string{"teo": {"project:harbor"}, "mute": {}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		agent, scope, want string
		err                error
	}{
		{"", "", "project:harbor", nil},
		{"", "user:ines", "user:ines", nil},
		{"scout", "", "agent:scout", nil},
		{" scout ", "", "agent:scout", nil},
		{"scout", "global", "global", nil},
		{"scout", "reflection:agent:scout", "reflection:agent:scout", nil},
		{"scout", "agent:teo", "", engine.ErrScopeDenied},
		{"teo", "", "project:harbor", nil},
		{"teo", "agent:teo", "", engine.ErrScopeDenied},
		{"mute", "", "", engine.ErrScopeDenied},
		{"system", "", "", engine.ErrBadScope},
		{"system", "user:ines", "user:ines", nil},
	} {
		r, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Agent: test.agent, Scope: test.scope})
		if !errors.Is(err, test.err) {
			t.Errorf("agent %q, scope %q: %v, want %v", test.agent, test.scope, err, test.err)
		} else if err == nil && enginetest.Get(t, e, r.ID).Scope != test.want {
			t.Errorf("agent %q, scope %q: went to %s, want %s", test.agent, test.scope, enginetest.Get(t, e, r.ID).Scope, test.want)
		}
	}
}

// TestLongTexts: a memory's texts are bounded, a change of something else is not, and messages are kept whatever their length.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	long := strings.Repeat("anchor ", 1<<20/7+1)
	e := enginetest.OpenFile(t, path, engine.Options{})
	for _, r := range []memory.RememberRequest{{Text: long}, {Text: "x", L2: long}} {
		if _, err := e.Remember(t.Context(), r); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "has 1048579 bytes; allowed: 1048576") {
			t.Errorf("%v: want its length and the limit", err)
		}
	}
	fits := enginetest.Remember(t, e, memory.RememberRequest{ID: "fits", Text: long[:1<<20]})
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: fits.ID, Text: &long}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("update: %v", err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: long}}})
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{MaxText: 10})
	core := memory.Core
	if m, err := e.Update(t.Context(), memory.UpdateRequest{ID: fits.ID, Tier: &core}); err != nil || m.Tier != core || len(m.Text) != 1<<20 {
		t.Errorf("what is longer than a new limit can't be changed: %v", err)
	}
	if got := enginetest.Messages(t, e, "talk"); len(got) != 1 {
		t.Errorf("%d messages", len(got))
	}
	enginetest.Check(t, e)
}
