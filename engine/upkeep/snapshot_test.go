package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// bm25 ranks memories in plain SQL, as docs for analysts do it: the macros' words, and the surfaces' terms.
const bm25 = `
	SELECT m.text
	FROM postings AS p
	JOIN documents AS d USING (doc_no)
	JOIN memories AS m ON m.id = d.owner_id
	JOIN kind_stats AS s ON s.kind = p.kind
	JOIN (SELECT term_no, count(*) AS df FROM postings WHERE kind = 'memory' GROUP BY term_no) AS f USING (term_no)
	WHERE p.kind = 'memory' AND term_no IN (SELECT term_no FROM surfaces WHERE surface IN (SELECT unnest(words('black TEA'))))
	GROUP BY m.text
	ORDER BY sum(bm25(idf(s.documents, f.df), p.tf, d.length, s.length / s.documents, 1.2, 0.75)) DESC
	LIMIT 1`

func TestSnapshotIsTheFile(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	o := engine.Options{Embedder: enginetest.Words{}}
	e := enginetest.Open(t, o)
	enginetest.Stock(t, e)
	enginetest.Fill(t, e, 10)
	if err := e.SetWeights(ctx, "own", recall.TranscriptWeights()); err != nil {
		t.Fatal(err)
	}
	out := enginetest.NewFile(t)
	if err := e.Snapshot(ctx, out); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "files", []string{out}, enginetest.FilesIn(t, filepath.Dir(out)))
	want, recalled := enginetest.Indexed(t, e), enginetest.RecallScores(t, e)

	o.ReadOnly = true
	c := enginetest.OpenFile(t, out, o)
	enginetest.Check(t, c)
	enginetest.Equal(t, "content of the copy", want, enginetest.Indexed(t, c))
	enginetest.Equal(t, "recall in the copy", recalled, enginetest.RecallScores(t, c))
	if sets, err := c.WeightSets(ctx); err != nil || sets["own"] != recall.TranscriptWeights() {
		t.Errorf("weights of the copy: %v, %v", sets, err)
	}
	enginetest.CloseFile(t, c)

	for _, options := range []string{"access_mode=read_only", ""} {
		db := enginetest.PlainDuckDB(t, out, options)
		for query, want := range map[string]string{
			bm25: "Ines prefers black tea in the morning",
			"SELECT text FROM report.memories WHERE standing = 'superseded'":                "Bruno moved to Porto",
			"SELECT text FROM report.forgotten":                                             "The café closes at six",
			"SELECT text FROM report.messages WHERE conversation = 'breakfast' AND seq = 2": "Two bags of green tea.",
			"SELECT coverage::VARCHAR FROM report.coverage WHERE kind = 'memory'":           "1.0",
			"SELECT decay_multiplier(0.0, 'core')::DECIMAL(3, 2)::VARCHAR":                  "0.93",
			"SELECT extra->>'from' FROM memories WHERE text LIKE 'Ines%'":                   "stock",
		} {
			var got string
			if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
				t.Errorf("plain DuckDB, %q: %s\n%q, %v: want %q", options, query, got, err, want)
			}
		}
		db.Close()
	}
}

// TestSnapshotKeepsTheLayout: small tables compressed as the schema says, vectors as they are.
func TestSnapshotKeepsTheLayout(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	many := make([]memory.RememberRequest, 3000) // enough for a column to be worth compressing
	for i := range many {
		many[i].Text = fmt.Sprintf("word%d and word%d met at the harbour", i%100, i%7)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	out := enginetest.NewFile(t)
	if err := e.Snapshot(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	path := e.Path()
	enginetest.CloseFile(t, e)
	layout := func(path string) map[string]string {
		t.Helper()
		db := enginetest.PlainDuckDB(t, path, "access_mode=read_only")
		defer db.Close()
		columns := map[string]string{}
		for _, table := range []string{"memories", "documents", "postings", "terms", "surfaces", "vectors_1"} {
			rows, err := db.Query("SELECT column_name || ' ' || segment_type, string_agg(DISTINCT compression, ', ' ORDER BY compression) FROM pragma_storage_info('" + table + "') WHERE segment_type <> 'VALIDITY' GROUP BY ALL")
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var column, compression string
				if err := rows.Scan(&column, &compression); err != nil {
					t.Fatal(err)
				}
				columns[table+"."+column] = compression
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
		return columns
	}
	want, got := layout(path), layout(out)
	enginetest.Equal(t, "layout", want, got)
	for column, compression := range map[string]string{"vectors_1.v FLOAT": "Uncompressed", "postings.term_no INTEGER": "BitPacking", "memories.text VARCHAR": "DICT_FSST"} {
		if got[column] != compression {
			t.Errorf("%s is %q in the copy: want %s; there are %v", column, got[column], compression, got)
		}
	}
}

func TestSnapshotWhileWriting(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	o := engine.Options{Threads: 2, Embedder: enginetest.Words{}}
	e := enginetest.Open(t, o)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := e.Remember(ctx, memory.RememberRequest{ID: fmt.Sprintf("mem_%d_%d", w, n), Text: fmt.Sprintf("number %d of writer %d", n, w)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		before := len(enginetest.Rows(t, e, "SELECT id FROM memories"))
		out := enginetest.NewFile(t)
		if err := e.Snapshot(ctx, out); err != nil {
			t.Fatal(err)
		}
		after := len(enginetest.Rows(t, e, "SELECT id FROM memories"))
		c := enginetest.OpenFile(t, out, o)
		enginetest.Check(t, c)
		if n := len(enginetest.Rows(t, c, "SELECT id FROM memories")); n < before || n > after {
			t.Errorf("%d memories in the copy: want %d to %d", n, before, after)
		}
		enginetest.CloseFile(t, c)
	}
	close(stop)
	writers.Wait()
}

func TestSnapshotRefuses(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Stock(t, e)
	taken := filepath.Join(t.TempDir(), "taken.db")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]error{
		taken: engine.ErrExists, e.Path(): engine.ErrExists, t.TempDir(): engine.ErrExists, "": engine.ErrInvalid, " ": engine.ErrInvalid,
		"a\x00b": engine.ErrInvalid, filepath.Join(t.TempDir(), "none", "x.db"): os.ErrNotExist,
	} {
		if err := e.Snapshot(ctx, out); !errors.Is(err, want) {
			t.Errorf("snapshot to %q: %v: want %v", out, err, want)
		}
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "mine" {
		t.Errorf("the file that was there has %q, %v", b, err)
	}
	odd := filepath.Join(t.TempDir(), `it's; "odd" {version}.db`)
	if err := e.Snapshot(ctx, odd); err != nil {
		t.Errorf("snapshot to %s: %v", odd, err)
	}
	enginetest.Check(t, enginetest.OpenFile(t, odd, engine.Options{ReadOnly: true}))
}

// TestSnapshotCancelled breaks snapshots off at many moments: nothing is left of them, and the engine goes on.
func TestSnapshotCancelled(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.Fill(t, e, 10)
	dir := t.TempDir()
	start := time.Now()
	if err := e.Snapshot(t.Context(), filepath.Join(t.TempDir(), "whole.db")); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	broken := 0
	for i := range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i)/16)
		out := filepath.Join(dir, fmt.Sprintf("%d.db", i))
		err := e.Snapshot(ctx, out)
		cancel()
		if err == nil {
			os.Remove(out)
			continue
		}
		broken++
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("broken off: %v: want context.DeadlineExceeded", err)
		}
	}
	if broken == 0 {
		t.Error("no snapshot was broken off")
	}
	enginetest.Equal(t, "files left", nil, enginetest.FilesIn(t, dir))
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "life goes on"}); err != nil {
		t.Error(err)
	}
	if err := e.Snapshot(t.Context(), filepath.Join(dir, "last.db")); err != nil {
		t.Error(err)
	}
}

// TestSnapshotNames: no name is taken that belongs to a file, whichever way it is written.
func TestSnapshotNames(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Stock(t, e)
	dir := filepath.Dir(path)
	link, folder := filepath.Join(dir, "link.db"), filepath.Join(t.TempDir(), "folder")
	for _, err := range []error{os.Symlink(path, link), os.Symlink(dir, folder), os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling.db"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".wal", ".WAL", ".wal.checkpoint", ".wal.recovery", ".journal", ".synced", ".files", ".tmp", ".wal.damaged-1", ".files/x.db"} {
		os.MkdirAll(path+".files", 0o700)
		for _, base := range []string{path, filepath.Join(folder, "mallard.db"), filepath.Join(dir, "..", filepath.Base(dir), "mallard.db")} {
			if err := e.Snapshot(ctx, base+name); !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrExists) {
				t.Errorf("snapshot to %s: %v", base+name, err)
			}
		}
	}
	for _, name := range []string{link, filepath.Join(folder, "mallard.db"), filepath.Join(dir, "dangling.db")} {
		if err := e.Snapshot(ctx, name); !errors.Is(err, engine.ErrExists) {
			t.Errorf("snapshot to %s: %v", name, err)
		}
	}
	for _, suffix := range []string{".wal", ".journal", ".synced", ".wal.checkpoint"} { // of somebody else
		out := enginetest.NewFile(t)
		if err := os.WriteFile(out+suffix, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := e.Snapshot(ctx, out); !errors.Is(err, engine.ErrExists) {
			t.Errorf("snapshot beside a %s: %v", suffix, err)
		}
		enginetest.Equal(t, "files", []string{out + suffix}, enginetest.FilesIn(t, filepath.Dir(out)))
	}
	kept := enginetest.OpenFile(t, ":memory:", engine.Options{})
	if err := kept.Snapshot(ctx, enginetest.NewFile(t)); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("snapshot of a file in memory: %v", err)
	}
	enginetest.Remember(t, e, memory.RememberRequest{Text: "all is well"})
	enginetest.Check(t, e)
}

// TestSnapshotRace: of many that want one name at the same moment, one gets it, and it is whole.
func TestSnapshotRace(t *testing.T) {
	t.Parallel()
	out := enginetest.NewFile(t)
	made := make(chan string, 8)
	var group sync.WaitGroup
	for n := range cap(made) {
		e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{})
		name := fmt.Sprintf("number %d", n)
		enginetest.Remember(t, e, memory.RememberRequest{Text: name})
		group.Go(func() {
			switch err := e.Snapshot(t.Context(), out); {
			case err == nil:
				made <- name
			case !errors.Is(err, engine.ErrExists):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(made) != 1 {
		t.Fatalf("%d snapshots were made under one name", len(made))
	}
	enginetest.Equal(t, "files", []string{out}, enginetest.FilesIn(t, filepath.Dir(out)))
	c := enginetest.OpenFile(t, out, engine.Options{})
	enginetest.Check(t, c)
	enginetest.Equal(t, "content", any(<-made), enginetest.Rows(t, c, "SELECT text FROM memories")[0][0])
}

// TestSnapshotUnfinished: what a process leaves that is killed while it copies opens as nothing, however much of it was copied.
func TestSnapshotUnfinished(t *testing.T) {
	t.Parallel()
	path, out := enginetest.NewFile(t), enginetest.NewFile(t)
	c := enginetest.Spawn(t, "snapshot", path, out)
	c.Ready(t) // it stopped before the last piece
	c.Kill()
	left := enginetest.FilesIn(t, filepath.Dir(out))
	if len(left) != 1 || left[0] == out {
		t.Fatalf("files after a kill: %v", left)
	}
	if _, err := engine.Open(t.Context(), left[0], engine.Options{}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("what a killed snapshot left: %v", err)
	}
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Check(t, e)
	if err := e.Snapshot(t.Context(), out); err != nil {
		t.Errorf("another snapshot of that name: %v", err)
	}
}

// snapshotHalf is a child that stops before a snapshot is done.
func snapshotHalf(path string) error {
	o := engine.Options{Progress: func(step string, done, total int) {
		if step == "megabytes" && done == total-1 {
			enginetest.Tell(enginetest.Report{Ready: true})
			select {}
		}
	}}
	e, err := engine.Open(context.Background(), path, o)
	if err != nil {
		return err
	}
	for n := range 50 {
		if _, err := e.Remember(context.Background(), memory.RememberRequest{Text: fmt.Sprintf("number %d", n)}); err != nil {
			return err
		}
	}
	return e.Snapshot(context.Background(), os.Args[2])
}

// heldUp is a writer whose first Write begins, and ends when it is let go.
type heldUp struct{ begun, letGo chan struct{} }

func (h heldUp) Write(p []byte) (int, error) {
	select {
	case <-h.letGo:
	case h.begun <- struct{}{}:
		<-h.letGo
	}
	return len(p), nil
}

// TestSnapshotBehindReaders: while somebody reads the state before the last write, a snapshot waits, as long as its caller does.
func TestSnapshotBehindReaders(t *testing.T) {
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Threads: 2})
	ids := enginetest.Stock(t, e)
	reader := heldUp{make(chan struct{}), make(chan struct{})}
	read := make(chan error, 1)
	go func() {
		_, err := e.Export(t.Context(), reader, memory.ExportRequest{})
		read <- err
	}()
	<-reader.begun
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: ids[0]}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "copy.db")
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := e.Snapshot(impatient, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("behind a reader: %v, want that of the context", err)
	}
	close(reader.letGo)
	if err := <-read; err != nil {
		t.Error(err)
	}
	if err := e.Snapshot(t.Context(), name); err != nil {
		t.Error(err)
	}
	enginetest.Equal(t, "files beside it", []string{name}, enginetest.FilesIn(t, filepath.Dir(name)))
	enginetest.Check(t, enginetest.OpenFile(t, name, engine.Options{ReadOnly: true}))
}
