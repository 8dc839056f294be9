package salvage_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/salvage"
)

// reading starts the test binary as the process that reads a damaged file.
func reading(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "-")
	cmd.Env = append(os.Environ(), enginetest.ChildRole+"=read-damaged")
	return cmd
}

// saved makes a new file of a damaged one, of which nothing may change, and gives its path.
func saved(t testing.TB, files map[string][]byte) (*salvage.Recovered, string, error) {
	t.Helper()
	path, out := enginetest.Placed(t, files), enginetest.NewFile(t)
	found, err := engine.Recover(t.Context(), salvage.Request{From: path, To: out, Reader: reading, Options: enginetest.Thrifty(engine.Options{Embedder: enginetest.Words{}})})
	for _, ending := range []string{"", ".wal", ".synced", ".journal"} {
		before, there := files[ending]
		after, err := os.ReadFile(path + ending)
		if there != (err == nil) || !bytes.Equal(before, after) {
			t.Errorf("the damaged file's %q was changed", ending)
		}
	}
	if beside, err := filepath.Glob(out + "?*"); err != nil || len(beside) > 0 {
		t.Errorf("beside the new file: %v, %v", beside, err)
	}
	if err != nil && !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("recover: %v: want ErrCorrupt", err)
	}
	if _, there := os.Stat(out); (err == nil) != (there == nil) {
		t.Errorf("the new file: %v, and the error %v", there, err)
	}
	return found, out, err
}

// rowsIn are what a file has of everything that is not made anew, and the vectors.
func rowsIn(t testing.TB, path string) map[string][][]any {
	t.Helper()
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	defer enginetest.CloseFile(t, e)
	enginetest.Check(t, e)
	all := map[string][][]any{}
	for _, table := range []string{"memories", "messages", "conversations", "context_items", "memory_relations", "parts"} {
		all[table] = enginetest.Rows(t, e, "SELECT * FROM "+table+" ORDER BY ALL")
	}
	all["found"] = enginetest.Rows(t, e, "SELECT owner_id, live, length, (SELECT count(*) FROM postings AS p WHERE p.doc_no = d.doc_no), "+
		"(SELECT count(*) FROM vectors AS v WHERE v.doc_no = d.doc_no) FROM documents AS d WHERE owner_id IN (SELECT id FROM memories UNION SELECT id FROM messages) ORDER BY ALL")
	return all
}

func tableIn(r *salvage.Recovered, name string) salvage.RecoveredTable {
	i := slices.IndexFunc(r.Tables, func(t salvage.RecoveredTable) bool { return t.Table == name })
	if i < 0 {
		return salvage.RecoveredTable{}
	}
	return r.Tables[i]
}

// TestRecoverWhatIsWhole: of a file that is not damaged everything is there, whether it was closed or not, with its index.
func TestRecoverWhatIsWhole(t *testing.T) {
	enginetest.Alone(t)
	for what, files := range map[string]map[string][]byte{"closed": {"": enginetest.ClosedFile(t)}, "killed": enginetest.KilledFiles(t)} {
		before := rowsIn(t, enginetest.Placed(t, files))
		found, out, err := saved(t, files)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !found.Whole() || len(found.Steps)+len(found.Blocks)+len(found.Repairs) > 0 {
			t.Errorf("%s: %+v", what, found)
		}
		if diff := cmp.Diff(before, rowsIn(t, out)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", what, diff)
		}
		e := enginetest.OpenFile(t, out, engine.Options{Embedder: enginetest.Words{}})
		if n := enginetest.Remember(t, e, memory.RememberRequest{Text: "written afterwards"}); n.ID == "" {
			t.Errorf("%s: nothing can be written", what)
		}
		enginetest.Check(t, e)
		enginetest.CloseFile(t, e)
	}
}

// TestRecoverHeaders: a header that is not whole costs nothing.
func TestRecoverHeaders(t *testing.T) {
	enginetest.Alone(t)
	content := enginetest.ClosedFile(t)
	before := rowsIn(t, enginetest.Placed(t, map[string][]byte{"": content}))
	for _, at := range [][]int{{2}, {9}, {4096}, {8192}, {5000}, {9000}, {4096, 8192}, {0, 4096, 8192}} {
		damaged := slices.Clone(content)
		for _, at := range at {
			damaged[at] ^= 32
		}
		path := enginetest.Placed(t, map[string][]byte{"": damaged})
		if _, err := engine.Open(t.Context(), path, engine.Options{}); !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), "memctl recover FILE OUT") {
			t.Errorf("flipped at %v: open says %v", at, err)
		}
		found, out, err := saved(t, map[string][]byte{"": damaged})
		if err != nil {
			t.Errorf("flipped at %v: %v", at, err)
			continue
		}
		if diff := cmp.Diff(before, rowsIn(t, out)); diff != "" || !found.Whole() || len(found.Steps) == 0 {
			t.Errorf("flipped at %v: %+v (-before +after):\n%s", at, found, diff)
		}
	}
}

// TestRecoverLogs damages the log of a file that was not closed: what lies before the damage is there, what lies behind is named.
func TestRecoverLogs(t *testing.T) {
	enginetest.Alone(t)
	files := enginetest.KilledFiles(t)
	before := rowsIn(t, enginetest.Placed(t, files))
	log := files[".wal"]
	other := enginetest.KilledFiles(t)[".wal"]
	last, err := duckfile.ScanLog(bytes.NewReader(log[:len(log)-1]), int64(len(log)-1))
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := slices.Clone(log)
		b[at] ^= 8
		return b
	}
	for _, test := range []struct {
		what  string
		log   []byte
		whole bool
	}{
		{"its header flipped", flip(4), true},
		{"its ID flipped", flip(12), true},
		{"its last transaction flipped", flip(len(log) - 40), false},
		{"flipped in the midst", flip(len(log) * 7 / 8), false},
		{"cut", log[:len(log)-100], false},
		{"cut before its last transaction", log[:last.End], false},
		{"blank at its end", append(slices.Clone(log[:len(log)-600]), make([]byte, 600)...), false},
		{"followed by what was never acknowledged", append(slices.Clone(log), 1, 2, 3), true},
		{"of another file", other, false},
		{"gone", nil, false},
	} {
		damaged := map[string][]byte{"": files[""], ".synced": files[".synced"]}
		if test.log != nil {
			damaged[".wal"] = test.log
		}
		found, out, err := saved(t, damaged)
		if err != nil {
			if test.whole || !(test.what == "gone" || test.what == "of another file") { // all there is lay in the log
				t.Errorf("%s: %v", test.what, err)
			}
			continue
		}
		if found.Whole() != test.whole || len(found.Steps) == 0 {
			t.Errorf("%s: %+v", test.what, found)
		}
		after := rowsIn(t, out)
		if test.whole {
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s (-before +after):\n%s", test.what, diff)
			}
			continue
		}
		missing := 0
		for _, table := range []string{"memories", "messages", "conversations"} {
			for _, row := range before[table] {
				if slices.ContainsFunc(after[table], func(r []any) bool { return r[0] == row[0] }) {
					continue
				}
				missing++
				if found.Log.Lost > 0 && !strings.HasPrefix(test.what, "cut") && !strings.HasPrefix(test.what, "blank") && !slices.Contains(found.Log.LostIDs, row[0].(string)) {
					t.Errorf("%s: %v is lost, and not named in %+v", test.what, row[0], found.Log)
				}
			}
		}
		if len(after["memories"]) == 0 {
			t.Errorf("%s: no memory is there", test.what)
		}
	}
}

// TestRecoverTwoModels: of a file whose vectors were being made anew, those that are in use come over, and the others are forgotten. Where the model of
// these can't be told, they are made anew.
func TestRecoverTwoModels(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.FillMany(t, e, 1200)
	enginetest.CloseFile(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{N: 16}, ReplaceModel: true, Progress: func(step string, _, _ int) {
		if step == "vectors" {
			cancel()
		}
	}})
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); err == nil {
		t.Fatal("the rebuild was not broken off")
	}
	enginetest.CloseFile(t, e)
	half := enginetest.BytesOf(t, path)
	before := rowsIn(t, path)
	_, out, err := saved(t, map[string][]byte{"": half})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, rowsIn(t, out)); diff != "" {
		t.Errorf("with both (-before +after):\n%s", diff)
	}
	e = enginetest.OpenFile(t, out, engine.Options{Embedder: enginetest.Words{}})
	if added, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: enginetest.Words{N: 16}}); err != nil || added.Next || added.N != 2 || !added.Whole() {
		t.Errorf("the other model, added again: %+v, %v: want it beside, to take nobody's place", added, err)
	}
	enginetest.CloseFile(t, e)
	enginetest.Tamper(t, path, "UPDATE models SET dims = 63 WHERE n = 1")
	found, out, err := saved(t, map[string][]byte{"": enginetest.BytesOf(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Steps) == 0 {
		t.Errorf("nothing is said of a model that can't be: %+v", found)
	}
	if diff := cmp.Diff(before, rowsIn(t, out)); diff != "" {
		t.Errorf("without the model (-before +after):\n%s", diff)
	}
}

// TestRecoverContents: what lies in the folder beside the damaged file lies beside the new one, and stays where it was.
func TestRecoverContents(t *testing.T) {
	enginetest.Alone(t)
	path, out := enginetest.NewFile(t), enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	raw := bytes.Repeat([]byte("x"), 17<<20)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "long", Raw: raw}, {Text: "short"}}})
	enginetest.CloseFile(t, e)
	found, err := engine.Recover(t.Context(), salvage.Request{From: path, To: out, Reader: reading})
	if err != nil || !found.Whole() {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, folder := range []string{path + ".files", out + ".files"} {
		names, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || len(names) != 1 || !bytes.Equal(enginetest.BytesOf(t, names[0]), raw) {
			t.Errorf("in %s: %v, %v", folder, names, err)
		}
	}
	enginetest.Check(t, enginetest.OpenFile(t, out, engine.Options{}))
}

// TestRecoverCancelled stops it in each of its steps; nothing is left then.
func TestRecoverCancelled(t *testing.T) {
	enginetest.Alone(t)
	path, out := enginetest.Placed(t, map[string][]byte{"": enginetest.ClosedFile(t)}), enginetest.NewFile(t)
	for _, step := range []string{"megabytes", "blocks", "tables", "words"} {
		ctx, cancel := context.WithCancel(t.Context())
		told := false
		o := engine.Options{Progress: func(s string, _, _ int) {
			if s == step {
				told = true
				cancel()
			}
		}}
		if _, err := engine.Recover(ctx, salvage.Request{From: path, To: out, Reader: reading, Options: o}); !errors.Is(err, context.Canceled) || !told {
			t.Errorf("cancelled among %s: %v", step, err)
		}
		if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
			t.Errorf("cancelled among %s: left %v, %v", step, left, err)
		}
	}
}

// TestRecoverRefuses what it can't do, and leaves nothing then.
func TestRecoverRefuses(t *testing.T) {
	enginetest.Alone(t)
	content := enginetest.ClosedFile(t)
	path, out := enginetest.Placed(t, map[string][]byte{"": content}), enginetest.NewFile(t)
	busy := enginetest.Placed(t, map[string][]byte{"": content})
	enginetest.Spawn(t, "hold", busy).Ready(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("I am no database. ", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(t.TempDir(), "theirs.db")
	enginetest.Tamper(t, theirs, "CREATE TABLE customers (id INTEGER)")
	for _, test := range []struct {
		what     string
		ctx      context.Context
		from, to string
		reader   func(context.Context) *exec.Cmd
		want     error
	}{
		{"no name", t.Context(), path, " ", reading, engine.ErrInvalid},
		{"nothing to read", t.Context(), path + "-none", out, reading, engine.ErrNotFound},
		{"a folder", t.Context(), t.TempDir(), out, reading, engine.ErrInvalid},
		{"itself", t.Context(), path, path, reading, engine.ErrExists},
		{"its own log", t.Context(), path, path + ".wal", reading, engine.ErrInvalid},
		{"a folder that is not there", t.Context(), path, filepath.Join(t.TempDir(), "none", "x.db"), reading, os.ErrNotExist},
		{"a file that is open", t.Context(), busy, out, reading, engine.ErrLocked},
		{"text", t.Context(), text, out, reading, engine.ErrCorrupt},
		{"somebody else's file", t.Context(), theirs, out, reading, engine.ErrCorrupt},
		{"cancelled", cancelled, path, out, reading, context.Canceled},
	} {
		if _, err := engine.Recover(test.ctx, salvage.Request{From: test.from, To: test.to, Reader: test.reader}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v: want %v", test.what, err, test.want)
		}
	}
	_, err := engine.Recover(t.Context(), salvage.Request{From: path, To: out, Reader: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "true") }})
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a reader that is none: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if found, err := engine.Recover(t.Context(), salvage.Request{From: path, To: out}); err != nil || !found.Whole() {
		t.Errorf("in this process: %+v, %v", found, err)
	}
	enginetest.Check(t, enginetest.OpenFile(t, out, engine.Options{}))
}

// TestRecoverTornCheckpoint makes files as a loss of power in a checkpoint leaves them, without the journal that would undo it: blocks are half
// written, and the headers those before. Everything is there, for the log has it, and what was overwritten nothing needed.
func TestRecoverTornCheckpoint(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	for _, text := range []string{"The mast was stepped at noon", "Nobody saw the pilot boat leave"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text})
	}
	old := map[string][]byte{"": enginetest.BytesOf(t, path), ".wal": enginetest.BytesOf(t, path+".wal"), ".synced": enginetest.BytesOf(t, path+".synced")}
	enginetest.CloseFile(t, e)
	written := enginetest.BytesOf(t, path)
	before := rowsIn(t, enginetest.Placed(t, old))
	refused := 0
	for _, share := range []int{enginetest.BlockBytes / 4, enginetest.BlockBytes / 2, 4096} {
		torn := map[string][]byte{"": slices.Clone(old[""]), ".wal": old[".wal"], ".synced": old[".synced"]}
		for at := enginetest.BlocksFrom; at+enginetest.BlockBytes <= min(len(old[""]), len(written)); at += enginetest.BlockBytes {
			copy(torn[""][at:at+share], written[at:])
		}
		if e, err := engine.Open(t.Context(), enginetest.Placed(t, torn), engine.Options{}); err == nil {
			e.Close()
		} else {
			refused++
		}
		found, out, err := saved(t, torn)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, rowsIn(t, out)); diff != "" || !found.Whole() {
			t.Errorf("the first %d bytes of each block written: %+v (-before +after):\n%s", share, found, diff)
		}
	}
	if refused == 0 {
		t.Error("every torn file opened: nothing is tried")
	}
}

// TestRecoverPart blanks blocks of a larger file in turn: what was in other groups of rows is there, and what is not is counted and, where its id can be
// read, named.
func TestRecoverPart(t *testing.T) {
	enginetest.Alone(t)
	if !enginetest.Long("recover") {
		t.Skip("takes a minute: MALLARD_LONG=recover")
	}
	const memories = 40_000
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	var lines strings.Builder
	for n := range memories {
		fmt.Fprintf(&lines, "{\"id\": \"mem_%06d\", \"text\": \"Note %d of the harbour, %x\"}\n", n, n, sha256.Sum256([]byte{byte(n), byte(n >> 8)}))
	}
	if _, err := e.Import(t.Context(), strings.NewReader(lines.String()), interchange.ImportRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	content := enginetest.BytesOf(t, path)
	blocks := blocksOf(t, path, "memories", "text")
	if len(blocks) < 4 {
		t.Fatalf("the texts lie in blocks %v", blocks)
	}
	at := enginetest.BlocksFrom + blocks[1]*enginetest.BlockBytes
	clear(content[at : at+enginetest.BlockBytes])
	found, out, err := saved(t, map[string][]byte{"": content})
	if err != nil {
		t.Fatal(err)
	}
	r := tableIn(found, "memories")
	if r.Rows+r.Lost != memories || r.Rows < memories/2 || r.Lost+r.Doubtful == 0 || found.Whole() {
		t.Errorf("of %d memories: %+v", memories, r)
	}
	for _, id := range append(r.LostIDs, r.DoubtfulIDs...) {
		if !strings.HasPrefix(id, "mem_0") {
			t.Errorf("lost or doubtful: %q", id)
		}
	}
	if len(r.LostIDs)+len(r.DoubtfulIDs) == 0 {
		t.Error("none of them is named, although the ids lie elsewhere")
	}
	e = enginetest.OpenFile(t, out, engine.Options{ReadOnly: true})
	enginetest.Check(t, e)
	if right := enginetest.Rows(t, e, "SELECT count(*) FROM memories WHERE starts_with(text, 'Note ' || substr(id, 5)::INTEGER || ' of the harbour')"); right[0][0].(int64) < memories/2 {
		t.Errorf("%v of the memories say what they did", right)
	}
}

// blocksOf gives the blocks that a column lies in.
func blocksOf(t testing.TB, path, table, column string) (blocks []int) {
	t.Helper()
	rows, err := enginetest.PlainDuckDB(t, path, "access_mode=read_only").Query(
		"SELECT DISTINCT block_id FROM pragma_storage_info('"+table+"') WHERE column_name = ? AND segment_type = 'VARCHAR' AND block_id >= 0 ORDER BY block_id", column)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var block int
		if err := rows.Scan(&block); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, block)
	}
	return blocks
}
