package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// crashOptions make everything that is stored follow from what was done.
func crashOptions(when string, progress func()) engine.Options {
	n := map[string]int{}
	newID := func(prefix string, _ time.Time) string {
		n[prefix]++
		return fmt.Sprintf("%s%s_%d", prefix, when, n[prefix])
	}
	return engine.Options{Now: func() time.Time { return enginetest.Noon }, NewID: newID, LLM: enginetest.Summing(5, 4), Embedder: enginetest.Words{}, Threads: 1,
		Progress:     func(string, int, int) { progress() },
		Conversation: enginetest.Small(2, 50, enginetest.Fanouts(2, 8)), Rolling: setup.Rolling{MinMessages: 1}}
}

// crashFile has a conversation of nine messages; of the first six a summary of two leaves was made. In another one a heartbeat was answered, and there
// is what an event and a branch left; of two memories that superseded others, one is retracted with the message that it came from.
func crashFile(t *testing.T, path string) {
	t.Helper()
	e := enginetest.OpenFile(t, path, crashOptions("before", func() {}))
	for n := range 9 {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Key: fmt.Sprint("key ", n+1), Text: strings.Repeat("talk", 20), SaidAt: enginetest.Noon}}})
		if err != nil {
			t.Fatal(err)
		}
		if n < 6 {
			continue
		}
		if _, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Mode: compact.Leaf, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "yard", Cursor: &conversation.Cursor{Path: "/yard", Host: "h"}, Messages: append(enginetest.Dialogue("u "+enginetest.HeartbeatPoll, "a HEARTBEAT_OK"),
		conversation.Message{Text: "begun", SetAside: conversation.AsideEvent, Raw: large}, conversation.Message{Key: "left", Text: "no", SetAside: conversation.AsideOffBranch})})
	dock := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "dock", Messages: enginetest.Dialogue("u the crane is broken", "a so it is")}).IDs
	for n, from := range []string{"msg_before_2", dock[0]} {
		old := enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("mem_old_", n), Text: fmt.Sprint("crane ", n, " works")})
		_, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: old.ID, By: memory.RememberRequest{ID: fmt.Sprint("mem_new_", n), Text: "no crane works", Sources: []string{from}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Retract(t.Context(), lineage.RetractRequest{ID: dock[0], Reason: "it works"}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
}

// talkState is what the file says of its conversations, with their index.
func talkState(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{"FROM context_items ORDER BY ALL", "SELECT * EXCLUDE (doc_no) FROM summaries ORDER BY id", "FROM summary_sources ORDER BY ALL",
		"SELECT * EXCLUDE (doc_no) FROM messages ORDER BY id", "SELECT * FROM parts ORDER BY ALL", "SELECT * FROM compactions ORDER BY ALL",
		"SELECT * FROM kind_stats ORDER BY ALL", "SELECT * FROM conversations ORDER BY id", "SELECT * FROM cursors ORDER BY ALL", "SELECT * FROM large_files ORDER BY ALL",
		"SELECT sha256, bytes FROM payloads ORDER BY ALL", "SELECT * FROM compaction_debts ORDER BY ALL", "FROM checkpoints ORDER BY id", "FROM flush_state ORDER BY ALL", "FROM summarizer_state ORDER BY ALL", "SELECT count(*) FROM vectors",
		"SELECT n, chosen FROM models ORDER BY n", "SELECT * EXCLUDE (doc_no) FROM memories ORDER BY id", "FROM memory_relations ORDER BY ALL", "FROM memory_sources ORDER BY ALL",
		"FROM retractions ORDER BY id", "SELECT * FROM retraction_effects ORDER BY retraction_id, ordinal", "SELECT owner_id, live FROM documents ORDER BY ALL"} {
		fmt.Fprintln(&all, query)
		for _, row := range enginetest.Rows(t, e, query) {
			fmt.Fprintln(&all, row...)
		}
	}
	return all.String()
}

// killedDeed does one of the deeds, and kills its own process before the statement whose number it is given; if there are fewer, it says
// that it is ready.
func killedDeed(path string) error {
	last, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	ctx := context.Background()
	e, err := engine.Open(ctx, path, crashOptions("after", func() {}))
	if err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	n := 0
	enginetest.BeforeStatements(e, func() {
		if n++; n == last {
			self.Kill()
			select {}
		}
	})
	for _, deed := range slices.Concat(deeds, historyDeeds, modelDeeds) {
		if deed.name == os.Args[2] {
			if err := deed.do(ctx, e); err != nil {
				return err
			}
		}
	}
	enginetest.Tell(enginetest.Report{Ready: true})
	return self.Kill() // nothing is closed in an orderly way
}

// TestKilledBetweenStatements: whatever of a conversation is changed, and before whichever statement it is killed who does it, what is left is the state
// before or the state after, of compactions that after one of the passes. Unless the test is long nobody is killed: what lies in the folder is copied before
// each statement, and looked at where it is not what the last one left; the whole file is proved where another state is met, in the end, and every other time.
func TestKilledBetweenStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every statement")
	}
	original := enginetest.NewFile(t)
	crashFile(t, original)
	for _, deed := range deeds {
		t.Run(deed.name, func(t *testing.T) {
			t.Parallel()
			sweep(t, original, deed, talkState)
		})
	}
}

// sweep does a deed, and is killed before each of its statements.
func sweep(t *testing.T, original string, deed deed, state func(*testing.T, *engine.Engine) string) {
	t.Helper()
	states := statesOf(t, original, deed.do, state)
	kill := copiedBetween(t, original, deed.do)
	if enginetest.Long("kills") {
		kill = killedBefore(t, original, deed.name)
	}
	seen, met, looked := 0, 1, 0
	for n := 1; ; n++ {
		path, finished := kill(n)
		if path == "" { // as before the last statement
			continue
		}
		e := enginetest.OpenFile(t, path, crashOptions("later", func() {}))
		got := state(t, e)
		at := slices.Index(states, got)
		if looked++; looked%2 == 0 || at != seen || finished || enginetest.Long("kills") {
			enginetest.Check(t, e)
		}
		enginetest.CloseFile(t, e)
		if at < seen || finished && at != len(states)-1 {
			enginetest.Equal(t, fmt.Sprintf("state after a kill before statement %d is number %d; number %d", n, at, seen), states[seen], got)
			t.FailNow()
		}
		if at > seen {
			met++
		}
		if seen = at; finished {
			break
		}
	}
	if met != len(states) {
		t.Errorf("of %d states only %d were left by a kill", len(states), met)
	}
}

// killedBefore gives what kills a process before a statement of a deed and tells which file is left, and whether the deed was done before.
func killedBefore(t *testing.T, original, deed string) func(n int) (path string, finished bool) {
	return func(n int) (string, bool) {
		path := enginetest.CopyFile(t, original)
		c := enginetest.Spawn(t, "deed", path, deed, strconv.Itoa(n))
		r, finished := c.Next(t)
		if r.Err != "" {
			t.Fatal(r.Err)
		}
		c.Cmd.Wait()
		return path, finished
	}
}

// copiedBetween does a deed once, and gives the same of copies that were made before each of its statements, and after the last. There is none where nothing
// has changed since the statement before.
func copiedBetween(t *testing.T, original string, do func(context.Context, *engine.Engine) error) func(n int) (path string, finished bool) {
	t.Helper()
	path := enginetest.CopyFile(t, original)
	e := enginetest.OpenFile(t, path, crashOptions("after", func() {}))
	var copies []map[string][]byte // nil: as the one before
	var last map[string][]byte
	look := func() {
		now := map[string][]byte{}
		for _, name := range enginetest.FilesIn(t, filepath.Dir(path)) {
			now[strings.TrimPrefix(name, path)] = enginetest.BytesOf(t, name)
		}
		if maps.EqualFunc(last, now, bytes.Equal) {
			now = nil
		} else {
			last = now
		}
		copies = append(copies, now)
	}
	enginetest.BeforeStatements(e, look)
	if err := do(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	enginetest.BeforeStatements(e, nil)
	last = nil // the last is wanted in any case
	look()
	enginetest.CloseFile(t, e)
	return func(n int) (string, bool) {
		finished := n == len(copies)
		if copies[n-1] == nil {
			return "", finished
		}
		return enginetest.Placed(t, copies[n-1]), finished
	}
}

// statesOf lists what the file is before the deed, after every step that it tells of, and in the end.
func statesOf(t *testing.T, original string, do func(context.Context, *engine.Engine) error, state func(*testing.T, *engine.Engine) string) (states []string) {
	t.Helper()
	var e *engine.Engine
	note := func() {
		if s := state(t, e); len(states) == 0 || states[len(states)-1] != s {
			states = append(states, s)
		}
	}
	e = enginetest.OpenFile(t, enginetest.CopyFile(t, original), crashOptions("after", func() { note() }))
	note()
	if err := do(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	note()
	if len(states) < 2 {
		t.Fatal("nothing was changed")
	}
	enginetest.CloseFile(t, e)
	return states
}
