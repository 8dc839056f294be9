package duck_test

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

var updateKept = flag.Bool("update-kept", false, "make the kept file of the newest schema anew")

func TestSchemaFaults(t *testing.T) {
	enginetest.Alone(t)
	newest := len(sqlfiles.Migrations())
	for _, test := range []struct {
		what, statement string
		want            error
		says            string
	}{
		{"an edited migration", "UPDATE migrations SET hash = 'edited' WHERE version = 1", engine.ErrMigrationChanged, "init"},
		{"one migration too many", fmt.Sprintf("INSERT INTO migrations VALUES (%d, 'later', 'hash', now()::TIMESTAMP)", newest+1), engine.ErrSchemaTooNew, "use a newer one"},
		{"a gap", fmt.Sprintf("UPDATE migrations SET version = %d WHERE version = %d", newest+5, newest), engine.ErrCorrupt, strconv.Itoa(newest + 5)},
		{"a setting that is no text", `UPDATE settings SET value = '{"no": "text"}' WHERE name = 'language'`, engine.ErrCorrupt, "language"},
		{"a language of nobody", `UPDATE settings SET value = '"klingon"' WHERE name = 'language'`, engine.ErrCorrupt, "klingon"},
	} {
		path := enginetest.NewFile(t)
		enginetest.CloseFile(t, enginetest.OpenFile(t, path, engine.Options{}))
		enginetest.Tamper(t, path, test.statement)
		for _, readOnly := range []bool{false, true} {
			e, err := engine.Open(t.Context(), path, enginetest.Thrifty(engine.Options{ReadOnly: readOnly}))
			if err == nil {
				e.Close()
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s, read-only %t: %v: want %v and %q", test.what, readOnly, err, test.want, test.says)
			}
		}
	}
}

// TestDefinitionsAreRenewed: a file that another version wrote gets this one's macros and views; a file of this version keeps
// what it has.
func TestDefinitionsAreRenewed(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	spoil := []string{"CREATE OR REPLACE MACRO idf(documents, document_frequency) AS 42", "CREATE OR REPLACE VIEW report.terms AS SELECT 1 AS x"}
	spoiled := func() bool {
		t.Helper()
		e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
		defer enginetest.CloseFile(t, e)
		enginetest.Check(t, e)
		idf, columns := enginetest.Rows(t, e, "SELECT idf(10, 1) > 3")[0][0].(bool), len(enginetest.Rows(t, e, "SELECT * FROM report.terms")[0])
		if idf != (columns == 1) {
			t.Errorf("macros and views are not of one version")
		}
		return idf
	}
	enginetest.Tamper(t, path, spoil...)
	if !spoiled() {
		t.Error("definitions of an unchanged hash were made anew")
	}
	enginetest.Tamper(t, path, `UPDATE settings SET value = '"of another version"' WHERE name = 'definitions'`)
	if spoiled() {
		t.Error("definitions of another hash were kept")
	}
	if r, err := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}}).Recall(t.Context(), recall.Query{Text: "tea"}); err != nil || len(r.Hits) == 0 {
		t.Errorf("recall with new definitions: %+v, %v", r, err)
	}
}

func TestLanguageStaysWithTheFile(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	for _, asked := range []string{"german", "english", ""} {
		e := enginetest.OpenFile(t, path, engine.Options{Language: asked})
		if language, err := e.Language(t.Context()); err != nil || language != "german" {
			t.Errorf("opened with %q: language %q, %v: want german", asked, language, err)
		}
		enginetest.CloseFile(t, e)
	}
}

// TestModelOfTheFile: vectors of two models never mix; the way out is to make all of them anew.
func TestModelOfTheFile(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	first, second := enginetest.Words{Name: "first", N: 32}, enginetest.Words{Name: "second", N: 48}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: first})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	_, err := engine.Open(ctx, path, engine.Options{Embedder: second})
	if !errors.Is(err, engine.ErrModelMismatch) {
		t.Fatalf("another model: %v", err)
	}
	for _, part := range []string{"first", "32", "second", "48", "Engine.AddModel"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: second, ReplaceModel: true})
	r, err := e.Remember(ctx, memory.RememberRequest{Text: "written in between"})
	if err != nil || r.VectorErr != nil {
		t.Fatal(r, err)
	}
	if res, err := e.Recall(ctx, recall.Query{Text: "tea"}); err != nil || res.Mode != recall.LexicalMode || len(res.Hits) == 0 {
		t.Errorf("recall before the vectors are made anew: %+v, %v: want a lexical one with hits", res, err)
	}
	if _, err := e.Recall(ctx, recall.Query{Text: "tea", Mode: recall.VectorMode}); !errors.Is(err, engine.ErrNoEmbedder) {
		t.Errorf("recall by vectors before they are made anew: %v", err)
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); err != nil { // without Vectors the model stays
		t.Fatal(err)
	}
	if s, err := e.Stats(ctx); err != nil || s.Model != "first" {
		t.Errorf("model %+v, %v: want first until vectors are asked for", s, err)
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	complete := func(e *engine.Engine) {
		t.Helper()
		enginetest.Check(t, e)
		s, err := e.Stats(ctx)
		if err != nil || s.Model != "second" || s.Dims != 48 {
			t.Fatalf("stats %+v, %v: want the second model", s, err)
		}
		for _, c := range s.Coverage {
			if c.Vectors != c.Documents || c.Documents == 0 {
				t.Errorf("coverage %+v: want all", c)
			}
		}
		if res, err := e.Recall(ctx, recall.Query{Text: "written in between", Mode: recall.VectorMode}); err != nil || len(res.Hits) == 0 || res.Hits[0].ID != r.ID {
			t.Errorf("recall by the new vectors: %+v, %v", res.Hits, err)
		}
	}
	complete(e)
	enginetest.CloseFile(t, e)
	complete(enginetest.OpenFile(t, path, engine.Options{Embedder: second}))
}

// TestKeptFiles: today's program opens, proves and recalls from a file of every schema there ever was. -update-kept makes the
// one of the newest schema; the others can't be made any more, so they stay.
func TestKeptFiles(t *testing.T) {
	o := engine.Options{Embedder: enginetest.Words{}, Threads: 1}
	newest := fmt.Sprintf("testdata/schema_%d.db.gz", len(sqlfiles.Migrations()))
	if *updateKept {
		keep(t, newest, o)
	}
	names, err := filepath.Glob("testdata/schema_*.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(sqlfiles.Migrations()) {
		t.Fatalf("%d kept files for %d schemas; go test ./engine/internal/duck -run TestKeptFiles -update-kept makes that of the newest", len(names), len(sqlfiles.Migrations()))
	}
	for _, name := range names {
		path := enginetest.NewFile(t)
		enginetest.Unpack(t, name, path)
		e := enginetest.OpenFile(t, path, o)
		enginetest.Check(t, e)
		for kind, want := range map[kinds.Kind]string{kinds.Memory: "Ines prefers black tea in the morning", kinds.Message: "Is there any tea left?"} {
			r, err := e.Recall(t.Context(), recall.Query{Text: "Ines black tea left", Kinds: []kinds.Kind{kind}})
			if err != nil || r.Mode != recall.Hybrid || len(r.Hits) == 0 || r.Hits[0].Text != want {
				t.Errorf("%s: %s %+v, %v: want %q first", name, kind, r, err, want)
			}
		}
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "new in an old file"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		enginetest.Check(t, e)
		enginetest.CloseFile(t, e)
	}
}

// keep makes a kept file.
func keep(t *testing.T, name string, o engine.Options) {
	t.Helper()
	path := enginetest.NewFile(t)
	o.Now = func() time.Time { return time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC) }
	o.Conversation = setup.Conversation{FreshTailCount: 2, LeafChunkTokens: 20, LeafTargetTokens: 10}
	count := 0
	o.NewID = func(prefix string, _ time.Time) string { count++; return fmt.Sprintf("%skept%04d", prefix, count) }
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "quay", SessionID: "s1", Messages: []conversation.Message{
		{Text: "How deep is the water at berth four?"},
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "I measure."}, {Type: conversation.ToolCallBlock, CallID: "c1", Tool: "sounding", Input: `{"berth":4}`}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "c1", Tool: "sounding", Output: "12.5 m", Raw: []byte("12.5 m\xff")}}},
		{Role: "assistant", Text: "Twelve and a half metres at low water."}, {Text: "HEARTBEAT", SetAside: conversation.AsideEvent},
		{Text: "And at berth five, beside the new crane?"}, {Role: "assistant", Text: "Eleven metres there, and mud below that. " + strings.Repeat("The dredger works there until the evening tide. ", 30)},
	}, Cursor: &conversation.Cursor{Path: "/quay.jsonl", Host: "plain", FileID: "1", FirstLine: "x", Bytes: 1, Lines: 1}})
	if _, err := e.Compact(t.Context(), compact.Request{Conversation: "quay", Force: true}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := w.Write(b)
	if err := errors.Join(err1, w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
}
