package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// bytesLeft names the files of a folder, and of those below, that have a word anywhere.
func bytesLeft(t testing.TB, folder, word string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) { // the engine checkpoints
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if bytes.Contains(bytes.ToLower(content), []byte(word)) {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tablesWith names the tables in which a row has a word anywhere, whatever compresses it.
func tablesWith(t testing.TB, e *engine.Engine, word string) (names []string) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL") {
		found := enginetest.Rows(t, e, fmt.Sprintf("SELECT 1 FROM %s AS r WHERE contains(lower(r::VARCHAR), '%s') LIMIT 1", row[0], word))
		if len(found) > 0 {
			names = append(names, row[0].(string))
		}
	}
	return names
}

// contentsOf is every row of every table but those that say where words stand, which are numbered anew.
func contentsOf(t testing.TB, e *engine.Engine) map[string][][]any {
	t.Helper()
	all := map[string][][]any{"words": enginetest.Rows(t, e, "SELECT p.doc_no, t.term, p.tf FROM postings AS p JOIN terms AS t USING (term_no) ORDER BY ALL")}
	for _, row := range enginetest.Rows(t, e, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal AND NOT temporary") {
		switch name := row[0].(string); name {
		case "terms", "surfaces", "postings":
		default:
			all[name] = enginetest.Rows(t, e, fmt.Sprintf("SELECT r::VARCHAR FROM %s AS r WHERE r::VARCHAR NOT LIKE '%%''name'': purged%%' ORDER BY ALL", name))
		}
	}
	return all
}

func TestShred(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	steps := map[string]int{}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}, Progress: func(step string, done, _ int) { steps[step] = done }})
	huge := "Hunter2Xyzzy " + strings.Repeat("x", 17<<20)
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_stays", Text: "the gardener waters the roses"})
	for n := range 40 {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("mem_", n), Text: fmt.Sprintf("number %d: my password is Hunter2Xyzzy%d and Hunter2Xyzzy", n, n), L0: "Hunter2Xyzzy", FactKey: "hunter2xyzzy"})
	}
	text := "hunter2xyzzy it was not"
	for n := range 20 {
		if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: fmt.Sprint("mem_", n), Text: &text}); err != nil {
			t.Fatal(err)
		}
	}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "The heron nests in April, high above the reeds of the northern marsh."}, {Text: "hunter2xyzzy one", Speaker: "Hunter2Xyzzy", Raw: []byte("Hunter2Xyzzy")},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Output: huge, Raw: []byte("Hunter2Xyzzy" + strings.Repeat("y", 1<<17))}}},
	}}).IDs
	enginetest.Summarise(t, e, "c", "hunter2xyzzy heron and whatever else there is to tell of these three", ids...)
	kept := bytes.Repeat([]byte("kept content "), 1<<16)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "kept", Raw: kept}}})
	if err := enginetest.Checkpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: fmt.Sprint("mem_", n)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[1:]}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "tables with what was purged", nil, tablesWith(t, e, "hunter2xyzzy"))
	for _, name := range []string{path + ".wal.damaged-20260101T000000", path + ".tmp/duckdb_temp_storage-0.tmp", path + ".files/" + strings.Repeat("0", 64)} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("hunter2xyzzy"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if left := bytesLeft(t, filepath.Dir(path), "hunter2xyzzy"); !slices.Contains(left, "mallard.db") || len(left) < 4 {
		t.Fatalf("before, what was purged is only in %v", left)
	}
	if d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{}); err != nil || !slices.ContainsFunc(d.Findings, func(f upkeep.Finding) bool { return f.Harmless && strings.Contains(f.Remedy, "--shred") }) {
		t.Errorf("doctor says nothing of it: %+v, %v", d, err)
	}
	before, sequence := contentsOf(t, e), enginetest.Rows(t, e, "SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY ALL")
	done, err := e.Shred(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "files with what was purged", nil, bytesLeft(t, filepath.Dir(path), "hunter2xyzzy"))
	if len(done.Removed) != 3 || done.BytesAfter >= done.BytesBefore || steps["megabytes"] == 0 || steps["tables"] == 0 {
		t.Errorf("%+v, steps %v", done, steps)
	}
	enginetest.Equal(t, "rows", before, contentsOf(t, e))
	enginetest.Equal(t, "columns", sequence, enginetest.Rows(t, e, "SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY ALL"))
	if d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{}); err != nil || slices.ContainsFunc(d.Findings, func(f upkeep.Finding) bool { return strings.Contains(f.Remedy, "--shred") }) {
		t.Errorf("doctor afterwards: %+v, %v", d, err)
	}
	for _, row := range enginetest.Rows(t, e, "SELECT DISTINCT column_name FROM pragma_storage_info('memories') WHERE segment_type = 'VARCHAR' AND compression = 'Uncompressed' AND column_name NOT IN ('trust', 'retracted_by')") {
		t.Errorf("a text of the new file is not compressed: %v", row)
	}
	new := enginetest.Remember(t, e, memory.RememberRequest{Text: "the gardener rests"})
	enginetest.Equal(t, "recall", sorted([]string{"mem_stays", new.ID}), sorted(enginetest.RecallIDs(t, e, recall.Query{Text: "what does the gardener do?"})))
	enginetest.Check(t, e)
	enginetest.CloseFile(t, e)
	enginetest.Equal(t, "files", []string{path, path + ".files", path + ".tmp"}, enginetest.FilesIn(t, filepath.Dir(path)))
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, e)
	if notices := e.Notices(); len(notices) > 0 {
		t.Errorf("opening says %v", notices)
	}
}

func sorted(all []string) []string { slices.Sort(all); return all }

// TestShredKilled kills a process again and again that writes, purges and shreds, and wants back whatever it was told was done.
func TestShredKilled(t *testing.T) {
	enginetest.Alone(t)
	kills := 5
	if enginetest.Long("kills") {
		kills = 40
	}
	path := enginetest.NewFile(t)
	done, shreds := -1, 0
	for range kills {
		c := enginetest.Spawn(t, "shred", path, fmt.Sprint(done+1))
		timer := time.AfterFunc(time.Duration(300+rand.Int64N(1000))*time.Millisecond, func() { c.Cmd.Process.Kill() })
		for {
			r, ok := c.Next(t)
			if !ok {
				break
			}
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			if r.Done != nil && r.Done.Op == "shred" {
				shreds++
			} else if r.Done != nil {
				fmt.Sscan(r.Done.ID, &done)
			}
		}
		timer.Stop()
		c.Kill()
		e := enginetest.OpenFile(t, path, engine.Options{})
		enginetest.Check(t, e)
		got := enginetest.Rows(t, e, "SELECT count(*), count(*) FILTER (text LIKE 'stays%') FROM memories WHERE id LIKE 'mem_stays_%'")
		if n := got[0][0].(int64); n < int64(done+1) || n > int64(done+2) || got[0][1] != n {
			t.Fatalf("%v memories, want %d, or one more", got, done+1)
		}
		done = int(got[0][0].(int64)) - 1
		if _, err := os.Stat(path + ".shred"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what a killed shred left is there after opening: %v", err)
		}
		enginetest.CloseFile(t, e)
	}
	t.Logf("%d memories, %d shreds after %d kills", done+1, shreds, kills)
}

// shredForEver is a child that remembers, purges and shreds until it is killed.
func shredForEver(path string) error {
	ctx, n := context.Background(), 0
	fmt.Sscan(os.Args[2], &n)
	e, err := engine.Open(ctx, path, enginetest.Thrifty(engine.Options{}))
	if err != nil {
		return err
	}
	for ; ; n++ {
		_, err := e.Remember(ctx, memory.RememberRequest{ID: fmt.Sprint("mem_stays_", n), Text: fmt.Sprint("stays ", n)})
		if err != nil {
			return err
		}
		enginetest.Tell(enginetest.Report{Done: &enginetest.Write{Op: "remember", ID: fmt.Sprint(n)}})
		goes, err := e.Remember(ctx, memory.RememberRequest{Text: fmt.Sprint("goes ", n)})
		if err == nil {
			_, err = e.Purge(ctx, memory.PurgeRequest{ID: goes.ID})
		}
		if err == nil {
			_, err = e.Shred(ctx)
		}
		if err != nil {
			return err
		}
		enginetest.Tell(enginetest.Report{Done: &enginetest.Write{Op: "shred"}})
	}
}

// TestShredWhileUsed shreds while others read, write and check.
func TestShredWhileUsed(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenAt(t, enginetest.NewFile(t), engine.Options{Threads: 2, Embedder: enginetest.Words{}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var all sync.WaitGroup
	var written [3]int
	for w := range written {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := e.Remember(context.WithoutCancel(ctx), memory.RememberRequest{Text: fmt.Sprintf("writer %d said %d", w, written[w])}); err != nil {
					t.Error(err)
					return
				}
				written[w]++
			}
		})
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := e.Recall(context.WithoutCancel(ctx), recall.Query{Text: "what did writer 1 say?"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			if _, err := e.Check(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
			if err := e.Snapshot(context.WithoutCancel(ctx), enginetest.NewFile(t)); err != nil {
				t.Error(err)
			}
		}
	})
	shreds := 0
	for ; ctx.Err() == nil; shreds++ {
		if _, err := e.Shred(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	s, err := e.Stats(t.Context())
	if err != nil || s.Memories != written[0]+written[1]+written[2] {
		t.Errorf("%v: %d memories after %v", err, s.Memories, written)
	}
	t.Logf("%d shreds, %v memories", shreds, written)
}

func TestShredRefuses(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "here"})
	if err := os.Link(path, path+".other"); err != nil {
		t.Skip(err)
	}
	if _, err := e.Shred(t.Context()); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "hard links") {
		t.Errorf("a file with two names: %v", err)
	}
	os.Remove(path + ".other")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Shred(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if slices.Contains(enginetest.FilesIn(t, filepath.Dir(path)), path+".shred") {
		t.Error("what a cancelled shred had begun is left")
	}
	enginetest.CloseFile(t, e)
	if _, err := e.Shred(t.Context()); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true}).Shred(t.Context()); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if _, err := enginetest.OpenFile(t, ":memory:", engine.Options{}).Shred(t.Context()); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("in memory: %v", err)
	}
}

// TestShredMakesFTS has an index of the text extension in the file: a purge takes it away, Shred makes it anew.
func TestShredMakesFTS(t *testing.T) {
	enginetest.Alone(t)
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	e := enginetest.OpenFile(t, path, o)
	enginetest.Remember(t, e, memory.RememberRequest{Text: "the gardener waters the roses"})
	secret := enginetest.Remember(t, e, memory.RememberRequest{Text: "my password is Hunter2Xyzzy"})
	enginetest.Agreeing(t, e)
	if got := tablesWith(t, e, "hunter2xyzzy"); !slices.Contains(got, "fts_main_memory_texts.dict") {
		t.Fatalf("before: %v", got)
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: secret.ID}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "tables with what was purged", nil, tablesWith(t, e, "hunter2xyzzy"))
	enginetest.Agreeing(t, e)
	if _, err := e.Shred(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := enginetest.FTSIndex(t, e); x == nil || x.Stale || x.Documents != 1 {
		t.Errorf("afterwards: %+v", x)
	}
	enginetest.Agreeing(t, e)
	enginetest.Check(t, e)
	enginetest.CloseFile(t, e)
	enginetest.Equal(t, "files with what was purged", nil, bytesLeft(t, filepath.Dir(path), "hunter2xyzzy"))
	e = enginetest.OpenFile(t, path, engine.Options{})
	if _, err := e.Shred(t.Context()); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
}
