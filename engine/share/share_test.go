package share_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/share"
)

// open opens a new file that is shared, with a little in it.
func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	o.Threads = 2 // clients ask at once
	e := enginetest.OpenAt(t, filepath.Join(t.TempDir(), "mallard.db"), o, share.Serve)
	ctx := t.Context()
	odd := map[string]any{"big": json.Number("12345678901234567890"), "type": "reflection", "memory": "x", "nested": map[string]any{"a": []any{1.5, nil}}, "run_id": "r", "user_id": 7.0}
	for _, r := range []memory.RememberRequest{
		{Text: "Ines drinks green tea", Scope: "user:ines"},
		{Text: "The crane at berth four is down \x01\u202e\ufffd", Scope: "project:harbor", Extra: odd, Contexts: []string{"at <work> & home\u2028"}},
		{Text: "Scout keeps the keys of the crane", Scope: "agent:scout"},
	} {
		if _, err := e.Remember(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: "standup", Messages: []conversation.Message{{Text: "The crane is down again", Speaker: "Teo"}}}); err != nil {
		t.Fatal(err)
	}
	if ready, err := enginetest.Index(e).AwaitResident(t.Context()); !ready || err != nil { // so that it answers the first question and the last
		t.Fatalf("resident index: %t, %v", ready, err)
	}
	return e
}

func dial(t *testing.T, e *engine.Engine, c share.Caller) *share.Reader {
	t.Helper()
	r, err := share.Dial(t.Context(), e.Path(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// bothWays asks an engine, and the same one through its socket, and wants the same answer or error.
func bothWays[Q, A any](t *testing.T, v share.Verb[Q, A], e *engine.Engine, far *share.Reader, q Q) {
	t.Helper()
	near, nearErr := v.Do(t.Context(), share.Of(e), q)
	away, awayErr := v.Do(t.Context(), far, q)
	if fmt.Sprint(nearErr) != fmt.Sprint(awayErr) {
		t.Errorf("%+v: errors differ: %v; through the holder %v", q, nearErr, awayErr)
	}
	for _, kind := range []error{engine.ErrInvalid, engine.ErrNotFound, engine.ErrAmbiguous, engine.ErrExists, engine.ErrNoEmbedder} {
		if errors.Is(nearErr, kind) != errors.Is(awayErr, kind) {
			t.Errorf("%+v: %v is %v: through the holder it is not", q, nearErr, kind)
		}
	}
	if nearErr != nil {
		return
	}
	a, b := asJSON(t, near), asJSON(t, away)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%+v (- engine, + holder):\n%s", q, diff)
	}
}

// asJSON is an answer without what a clock told.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	if r, ok := v.(*recall.Result); ok {
		r.Trace.Duration = 0
		for i := range r.Trace.Stages {
			r.Trace.Stages[i].Duration = 0
		}
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBothWays: every verb that reads gives the same through the holder, errors too.
func TestBothWays(t *testing.T) {
	words := enginetest.Words{}
	e := open(t, engine.Options{Embedder: words})
	far := dial(t, e, share.Caller{Model: words.Model(), Fingerprint: words.Fingerprint()})
	all, err := e.List(t.Context(), memory.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 6, 16, 1, 2, 3, 456000, time.UTC)
	for _, q := range []recall.Query{
		{Text: "crane"}, {Text: "crane", Explain: true, AsOf: at}, {Text: "crane", Kinds: []kinds.Kind{kinds.Message}, Lift: recall.LiftToSession},
		{Text: "crane", Scopes: []string{}}, {Text: "crane", Agent: "scout", WhyNot: all[0].ID}, {Text: ""}, {Text: "crane", Limit: -1},
		{Text: "crane", Mode: recall.LexicalMode}, {Text: "crane", Mode: "nosuch"}, {Text: "hi", Adaptive: true}, {Text: "crane", WeightSet: "nosuch"},
	} {
		bothWays(t, share.Recall, e, far, q)
	}
	for _, q := range []memory.ListRequest{{}, {Agent: "scout"}, {Scopes: []string{"nosuch"}}, {Limit: -1}, {Until: at}, {Standing: "x"}, {Categories: []memory.Category{}}} {
		bothWays(t, share.List, e, far, q)
	}
	for _, m := range all {
		bothWays(t, share.Get, e, far, memory.GetRequest{ID: m.ID})
		bothWays(t, share.Get, e, far, memory.GetRequest{ID: m.ID, Agent: "scout"})
	}
	bothWays(t, share.Get, e, far, memory.GetRequest{ID: "nosuch"})
	for _, q := range []lookup.GrepRequest{{Pattern: "crane", AllConversations: true}, {Pattern: "cr[a-z]+", Mode: lookup.GrepRegex, Conversation: "standup"},
		{Pattern: "crane", Conversation: "nosuch"}, {Pattern: "("}} {
		bothWays(t, share.Grep, e, far, q)
	}
	least := 0.2
	for _, q := range []lookup.SearchRequest{{Text: "crane"}, {Text: "crane", Match: lookup.SemanticMatch, MinScore: &least}, {Text: "cra", Match: lookup.ExactMatch}, {Match: lookup.RecentMatch, Said: lookup.Said{Roles: []string{"user"}}},
		{Text: "crane", Kinds: []kinds.Kind{kinds.Memory}, Said: lookup.Said{Agent: "scout"}}, {Text: "crane", Said: lookup.Said{Conversation: "standup", LastDays: 1}}, {Text: ""}, {Text: "x", Match: "nosuch"}} {
		bothWays(t, share.Search, e, far, q)
	}
	for _, q := range []lookup.GapsRequest{{}, {Least: time.Second}, {Said: lookup.Said{Conversation: "nosuch"}}, {Limit: -1}} {
		bothWays(t, share.Gaps, e, far, q)
	}
	for _, q := range []lookup.TallyRequest{{By: "role"}, {By: "day", Said: lookup.Said{Since: at}}, {By: "nosuch"}} {
		bothWays(t, share.Tally, e, far, q)
	}
	bothWays(t, share.Stats, e, far, share.None{})
	bothWays(t, share.Scopes, e, far, share.None{})
	bothWays(t, share.UnusedScopes, e, far, []string{"user:ines", "user:nobody"})
	bothWays(t, share.Snapshot, e, far, "")
	bothWays(t, share.Snapshot, e, far, e.Path())
}

// TestSnapshot: the holder makes it, and another opens it.
func TestSnapshot(t *testing.T) {
	e := open(t, engine.Options{})
	out := filepath.Join(t.TempDir(), "copy.db")
	if _, err := share.Snapshot.Do(t.Context(), dial(t, e, share.Caller{}), out); err != nil {
		t.Fatal(err)
	}
	if _, err := share.Snapshot.Do(t.Context(), dial(t, e, share.Caller{}), "copy.db"); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), `"copy.db"`) {
		t.Errorf("a name within a folder: %v", err)
	}
	c := enginetest.OpenAt(t, out, engine.Options{})
	if all, err := c.List(t.Context(), memory.ListRequest{}); err != nil || len(all) != 3 {
		t.Errorf("the copy has %d memories, %v", len(all), err)
	}
}

// TestAgent: who asks for an agent is bound to what that one may read, whatever a request says.
func TestAgent(t *testing.T) {
	e := open(t, engine.Options{})
	far := dial(t, e, share.Caller{Agent: "scout"})
	for _, agent := range []string{"", "scout", "system", "other"} {
		all, err := share.List.Do(t.Context(), far, memory.ListRequest{Agent: agent})
		if err != nil || len(all) != 1 || all[0].Scope != "agent:scout" {
			t.Errorf("list of %q: %v, %v", agent, all, err)
		}
		found, err := share.Recall.Do(t.Context(), far, recall.Query{Text: "crane", Agent: agent})
		if err != nil || len(found.Hits) != 1 || found.Hits[0].Scope != "agent:scout" {
			t.Errorf("recall of %q: %v, %v", agent, found, err)
		}
	}
	foreign, err := e.List(t.Context(), memory.ListRequest{Scopes: []string{"user:ines"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := share.Get.Do(t.Context(), far, memory.GetRequest{ID: foreign[0].ID}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("get of another's memory: %v", err)
	}
	out := filepath.Join(t.TempDir(), "copy.db")
	if _, err := share.Snapshot.Do(t.Context(), far, out); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("snapshot: %v", err)
	}
	if _, err := share.Stats.Do(t.Context(), far, share.None{}); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("stats: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a copy")
	}
}

// TestModel: a question is embedded as the caller would, or there is an error; never quietly otherwise.
func TestModel(t *testing.T) {
	words := enginetest.Words{}
	e := open(t, engine.Options{Embedder: words})
	ask := func(c share.Caller, mode recall.Mode) (recall.Mode, error) {
		r, err := share.Recall.Do(t.Context(), dial(t, e, c), recall.Query{Text: "crane", Mode: mode})
		if err != nil {
			return "", err
		}
		return r.Mode, nil
	}
	for _, c := range []struct {
		caller share.Caller
		mode   recall.Mode
		want   recall.Mode
		err    error
	}{
		{share.Caller{Fingerprint: words.Fingerprint()}, "", recall.Hybrid, nil},
		{share.Caller{Fingerprint: "another"}, "", "", engine.ErrModelMismatch},
		{share.Caller{}, "", recall.LexicalMode, nil},
		{share.Caller{}, recall.VectorMode, "", engine.ErrNoEmbedder},
		{share.Caller{Lexical: setup.FTSBackend}, "", "", engine.ErrInvalid},
	} {
		if mode, err := ask(c.caller, c.mode); mode != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v, mode %q: %q, %v; want %q, %v", c.caller, c.mode, mode, err, c.want, c.err)
		}
	}
}

// TestManyClients: many read at once while the holder writes, and each sees whole states.
func TestManyClients(t *testing.T) {
	e := open(t, engine.Options{})
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			r, err := share.Dial(t.Context(), e.Path(), share.Caller{})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			least := 3
			for range 15 {
				all, err := share.List.Do(t.Context(), r, memory.ListRequest{Limit: 1000})
				if err != nil || len(all) < least {
					t.Errorf("client %d: %d memories after %d, %v", n, len(all), least, err)
					return
				}
				least = len(all)
				if found, err := share.Recall.Do(t.Context(), r, recall.Query{Text: "tea"}); err != nil || len(found.Hits) == 0 {
					t.Errorf("client %d: recall: %v", n, err)
				}
			}
		})
	}
	for n := range 40 {
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: fmt.Sprintf("Container %d stands in the yard", n)}); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	all, err := share.List.Do(t.Context(), dial(t, e, share.Caller{}), memory.ListRequest{Limit: 1000})
	if err != nil || len(all) != 43 {
		t.Errorf("at the end %d memories, %v", len(all), err)
	}
}

// thinking is a model that thinks about a question until it is told to stop.
type thinking struct {
	enginetest.Words
	begun, ended chan struct{}
}

func (m thinking) EmbedQuery(ctx context.Context, _ string, _ func(string) float64) ([]float32, error) {
	m.begun <- struct{}{}
	<-ctx.Done()
	m.ended <- struct{}{}
	return nil, ctx.Err()
}

// ask begins a recall, in which the model thinks.
func ask(ctx context.Context, t *testing.T, e *engine.Engine, m thinking) (r *share.Reader, failed <-chan error) {
	t.Helper()
	r = dial(t, e, share.Caller{Fingerprint: m.Fingerprint()})
	c := make(chan error, 1)
	go func() {
		_, err := share.Recall.Do(ctx, r, recall.Query{Text: "crane"})
		c <- err
	}()
	await(t, m.begun)
	return r, c
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing happens")
	}
	return v
}

// TestClientGoes: what a client asked for ends when it goes away or gives up.
func TestClientGoes(t *testing.T) {
	m := thinking{begun: make(chan struct{}), ended: make(chan struct{}, 9)}
	e := open(t, engine.Options{Embedder: m})
	r, failed := ask(t.Context(), t, e, m)
	r.Close()
	await(t, m.ended)
	if err := await(t, failed); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("the one that hung up has %v", err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	_, failed = ask(ctx, t, e, m)
	giveUp()
	await(t, m.ended)
	if err := await(t, failed); !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up has %v", err)
	}
	if _, err := share.List.Do(t.Context(), dial(t, e, share.Caller{}), memory.ListRequest{}); err != nil {
		t.Error(err)
	}
}

// TestClose: it ends what others ask for, and takes the socket away.
func TestClose(t *testing.T) {
	m := thinking{begun: make(chan struct{}), ended: make(chan struct{}, 9)}
	e := open(t, engine.Options{Embedder: m})
	idle := dial(t, e, share.Caller{})
	_, failed := ask(t.Context(), t, e, m)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := await(t, failed); err == nil {
		t.Error("a request that was under way has an answer")
	}
	if _, err := share.Stats.Do(t.Context(), idle, share.None{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a client without a request: %v", err)
	}
	if _, err := os.Lstat(e.Path() + ".sock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
	if _, err := share.Dial(t.Context(), e.Path(), share.Caller{}); !errors.Is(err, share.ErrNotShared) {
		t.Errorf("a client that comes later: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestStaleSocket: one that nobody listens to is as none, and the next that holds the file takes its name.
func TestStaleSocket(t *testing.T) {
	e := open(t, engine.Options{})
	path := e.Path()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + ".sock"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := share.Dial(t.Context(), path, share.Caller{}); !errors.Is(err, share.ErrNotShared) {
		t.Errorf("a socket that was left: %v", err)
	}
	e = enginetest.OpenAt(t, path, engine.Options{}, share.Serve)
	if all, err := share.List.Do(t.Context(), dial(t, e, share.Caller{}), memory.ListRequest{}); err != nil || len(all) != 3 {
		t.Errorf("%d memories, %v", len(all), err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.sock")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestStoppedHolder: one that takes connections and says nothing has the file, and keeps nobody for long.
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mallard.db")
	l, err := net.Listen("unix", path+".sock")
	if err := errors.Join(err, os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := share.Dial(t.Context(), path, share.Caller{}); !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), path+".sock") {
		t.Errorf("it is silent: %v", err)
	}
}

// TestNoSocket: a file of that name is somebody's, and stays.
func TestNoSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mallard.db")
	if err := os.WriteFile(path+".sock", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Open(t.Context(), path, engine.Options{}, share.Serve); !errors.Is(err, engine.ErrExists) || !strings.Contains(err.Error(), path+".sock") {
		t.Errorf("open: %v", err)
	}
	if b, err := os.ReadFile(path + ".sock"); err != nil || string(b) != "mine" {
		t.Errorf("the file is %q, %v", b, err)
	}
	enginetest.OpenAt(t, path, engine.Options{}) // nothing holds it
}

// TestNothingToShare: in memory there is nothing for others, and what is only read they open themselves.
func TestNothingToShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mallard.db")
	e := enginetest.OpenAt(t, path, engine.Options{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	enginetest.OpenAt(t, path, engine.Options{ReadOnly: true}, share.Serve)
	in, err := engine.Open(t.Context(), ":memory:", engine.Options{}, share.Serve)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := share.Dial(t.Context(), path, share.Caller{}); !errors.Is(err, share.ErrNotShared) {
		t.Errorf("what is only read: %v", err)
	}
}

// TestOwnerOnly: the socket is its owner's, and another user is told so.
func TestOwnerOnly(t *testing.T) {
	if path := os.Getenv("SHARE_TEST_DIAL"); path != "" { // the other user
		_, err := share.Dial(t.Context(), path, share.Caller{})
		if !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), "own user only") {
			t.Errorf("another user: %v", err)
		}
		return
	}
	e := open(t, engine.Options{})
	info, err := os.Lstat(e.Path() + ".sock")
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket has mode %s", info.Mode())
	}
	anotherUser(t, e.Path())
}

// TestLongNames: neither folders nor the file's own name need to fit a socket's address.
func TestLongNames(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("f", 200), strings.Repeat("g", 100))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, strings.Repeat("n", 200)+".db")
	e, err := engine.Open(t.Context(), path, engine.Options{}, share.Serve)
	if err != nil && strings.Contains(err.Error(), "allowed: ") && addressesAreShort {
		t.Skipf("this system has short addresses only: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		r, err := share.Dial(t.Context(), name, share.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := share.Stats.Do(t.Context(), r, share.None{}); err != nil {
			t.Error(err)
		}
	}
}
