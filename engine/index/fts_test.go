package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// manyScripts is words of many scripts, with what a tokenizer may stumble over, the first of them the most frequent.
func manyScripts(rng *rand.Rand) []string {
	words := strings.Fields(`the harbour crane HB-412 v1.2.3 snake_case it's naïve 起重机 港口 かもめ さくら 부산 항구 การเดินเรือ гавань корабль
		λιμάνι πλοίο ميناء سفينة נמל बंदरगाह 🏗 don't ﬁne ẞtraße C++ 42 3.14 a.b.c user@example.org https://example.org/x?y=1 'quoted' "double" 100%`)
	for range 3000 {
		alphabet := []rune([]string{"abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрст", "αβγδεζηθικλμνξοπρ", "あいうえおかきくけこ", "한국어부산항구배"}[rng.IntN(5)])
		word := make([]rune, 2+rng.IntN(7))
		for i := range word {
			word[i] = alphabet[rng.IntN(len(alphabet))]
		}
		words = append(words, string(word))
	}
	return words
}

// TestRawScoresOfFTS: on three thousand texts of one field, and notes, the extension's score times ln 10 is the raw score of recall.
func TestRawScoresOfFTS(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	e := enginetest.Open(t, enginetest.WithFTS(t))
	rng := rand.New(rand.NewPCG(10, 2000))
	words := manyScripts(rng)
	zipf := rand.NewZipf(rng, 1.1, 3, uint64(len(words)-1))
	text := func() string {
		var all []string
		for range 1 + rng.IntN(60) {
			all = append(all, words[zipf.Uint64()])
		}
		return strings.Join(all, " ")
	}
	memories, messages := make([]memory.RememberRequest, 1000), make([]conversation.Message, 1000)
	for i := range memories {
		memories[i].Text, messages[i].Text = text(), text()
	}
	_, err1 := e.RememberMany(t.Context(), memories)
	appended, err2 := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: messages})
	summaries := make([]func([]string) enginetest.Made, len(messages))
	for i := range summaries {
		summaries[i] = func([]string) enginetest.Made {
			return enginetest.Made{Text: text(), Tokens: 1, Sources: appended.IDs[i : i+1]}
		}
	}
	_, err3 := enginetest.AddSummaries(t.Context(), e, "talk", summaries...)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for range 3000 {
		lines = append(lines, text())
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder}); err != nil || s.Notes < 300 {
		t.Fatalf("%+v, %v", s, err)
	}
	x, err := e.CheckLexical(t.Context(), recall.CheckLexicalRequest{Sample: 60})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Agree() || x.Difference > 1e-6 || x.Questions != 240 || x.Documents < 2850 || x.Scores < 50_000 {
		t.Errorf("%+v: want 240 questions that hit nearly all documents, and agreement", x)
	}
	t.Logf("%d scores, greatest difference %.2g", x.Scores, x.Difference)

	weights := recall.MemoryWeights()
	weights.MinScore, weights.HardMinScore, weights.Noise, weights.K1, weights.B = 0, 0, false, 1.2, 0.75
	for _, kind := range kinds.All() {
		compared := 0
		for _, question := range []string{"harbour crane", "起重机", "hb-412 гавань", "v1.2.3", "λιμάνι it's"} {
			result, err := e.Recall(t.Context(), recall.Query{Text: question, Kinds: []kinds.Kind{kind}, Mode: recall.LexicalMode, Weights: &weights, Limit: 1000})
			if err != nil || len(result.Hits) == 0 {
				t.Fatalf("%s: %d hits, %v", question, len(result.Hits), err)
			}
			scores := map[int32]float64{}
			for _, row := range enginetest.Rows(t, e, fmt.Sprintf("SELECT name, raw * ln(10) FROM (SELECT name, fts_main_%[1]s_texts.match_bm25(name, '%[2]s', k := 1.2, b := 0.75) AS raw FROM fts_main_%[1]s_texts.docs) WHERE raw IS NOT NULL",
				kind, strings.ReplaceAll(strings.Join(result.Trace.Terms, " "), "'", "''"))) {
				scores[row[0].(int32)] = row[1].(float64)
			}
			if len(scores) != len(result.Hits) {
				t.Errorf("%s %q: %d hits, the extension has %d", kind, question, len(result.Hits), len(scores))
			}
			for _, h := range result.Hits {
				compared++
				if raw, fts := *h.Signals.Raw, scores[h.Signals.DocNo]; math.Abs(raw-fts) > 1e-6*raw {
					t.Errorf("%s %q: document %d has %v, the extension %v", kind, question, h.Signals.DocNo, raw, fts)
				}
			}
		}
		if compared < 500 {
			t.Errorf("%s: %d scores: the test compares too little", kind, compared)
		}
	}
}

// TestFTSIsNeverOld: whatever changes words makes the index stale, whatever does not leaves it, also after reopening.
func TestFTSIsNeverOld(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	e := enginetest.OpenFile(t, path, o)
	if x := enginetest.FTSIndex(t, e); x != nil {
		t.Errorf("index of a new file: %+v", x)
	}
	ids := enginetest.Stock(t, e)
	if !enginetest.Agreeing(t, e) {
		t.Error("the first check did not make the index")
	}
	if x := enginetest.FTSIndex(t, e); x == nil || x.Stale || x.Documents != 6 {
		t.Errorf("index %+v: want the six live documents", x)
	}
	writes := []struct {
		what  string
		index string // what becomes of it: it stays, is stale, or is gone, for it has what was purged
		do    func() error
	}{
		{"nothing", "stays", func() error { return nil }},
		{"remember", "stale", func() error {
			_, err := e.Remember(ctx, memory.RememberRequest{ID: "mem_new", Text: "Okan bakes cake", L1: "- cake on Fridays"})
			return err
		}},
		{"update of equal length", "stale", func() error {
			_, err := e.Update(ctx, memory.UpdateRequest{ID: "mem_new", Text: enginetest.Pointer("Okan bakes bread")})
			return err
		}},
		{"update of no word", "stays", func() error {
			_, err := e.Update(ctx, memory.UpdateRequest{ID: "mem_new", Importance: enginetest.Pointer(0.9)})
			return err
		}},
		{"supersede", "stale", func() error {
			_, err := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[1], By: memory.RememberRequest{Text: "The crane was scrapped"}})
			return err
		}},
		{"forget", "stale", func() error { _, err := e.Forget(ctx, memory.ForgetRequest{ID: ids[0]}); return err }},
		{"purge of what was forgotten", "gone", func() error { _, err := e.Purge(ctx, memory.PurgeRequest{ID: ids[0]}); return err }},
		{"purge", "gone", func() error { _, err := e.Purge(ctx, memory.PurgeRequest{ID: "mem_new"}); return err }},
		{"import", "stale", func() error {
			_, err := e.Import(ctx, strings.NewReader(`{"text": "Tea at four"}`), interchange.ImportRequest{})
			return err
		}},
		{"append", "stale", func() error {
			_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{{Text: "No tea left."}}})
			return err
		}},
		{"weights", "stays", func() error { return e.SetWeights(ctx, "own", recall.MemoryWeights()) }},
		{"refused", "stays", func() error {
			if _, err := e.Remember(ctx, memory.RememberRequest{ID: ids[1], Text: "taken"}); !errors.Is(err, engine.ErrExists) {
				return fmt.Errorf("a taken id: %w", err)
			}
			return nil
		}},
	}
	for _, reopen := range []bool{false, true} {
		if reopen {
			if testing.Short() {
				return
			}
			enginetest.CloseFile(t, e)
			e = enginetest.OpenFile(t, enginetest.NewFile(t), o)
			ids = enginetest.Stock(t, e)
			enginetest.Agreeing(t, e)
		}
		for _, w := range writes {
			if err := w.do(); err != nil {
				t.Fatal(w.what, err)
			}
			if reopen {
				path := e.Path()
				enginetest.CloseFile(t, e)
				e = enginetest.OpenFile(t, path, o)
			}
			if x := enginetest.FTSIndex(t, e); (x == nil) != (w.index == "gone") || x != nil && x.Stale != (w.index == "stale") {
				t.Errorf("%s: index %+v, want that it %s", w.what, x, w.index)
			}
			if built := enginetest.Agreeing(t, e); built != (w.index != "stays") {
				t.Errorf("%s: the index was made: %t", w.what, built)
			}
			enginetest.Check(t, e)
		}
	}
}

// TestRebuildMakesFTS where there is one, and the extension; without, it is stale.
func TestRebuildMakesFTS(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	rebuilt := func(want bool) {
		t.Helper()
		r, err := e.RebuildIndex(t.Context(), index.RebuildRequest{})
		if err != nil || r.FTS != want {
			t.Errorf("rebuilt %+v, %v: want fts %t", r, err, want)
		}
	}
	rebuilt(false)
	enginetest.Agreeing(t, e)
	rebuilt(true)
	if x := enginetest.FTSIndex(t, e); x == nil || x.Stale {
		t.Errorf("index after a rebuild: %+v", x)
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	rebuilt(false)
	if x := enginetest.FTSIndex(t, e); x == nil || !x.Stale {
		t.Errorf("index after a rebuild without the extension: %+v", x)
	}
}

// TestFTSCancelled breaks the making of the index off wherever it reports progress.
func TestFTSCancelled(t *testing.T) {
	cancel, step := func() {}, "" // what to call at which step
	o := enginetest.WithFTS(t)
	o.Progress = func(at string, _, _ int) {
		if at == step {
			cancel()
		}
	}
	e := enginetest.Open(t, o)
	enginetest.Stock(t, e)
	many := make([]memory.RememberRequest, 2200) // more than two batches
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range many {
		many[i].Text = enginetest.Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"no index", "a stale one"} {
		for _, step = range []string{"texts", "fts"} {
			ctx, stop := context.WithCancel(t.Context())
			cancel = stop
			if _, err := e.CheckLexical(ctx, recall.CheckLexicalRequest{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled at %s: %v: want context.Canceled", before, step, err)
			}
			stop()
			enginetest.Check(t, e)
			if x := enginetest.FTSIndex(t, e); before == "no index" && x != nil || before != "no index" && (x == nil || !x.Stale) {
				t.Errorf("%s, cancelled at %s: index %+v", before, step, x)
			}
		}
		step = ""
		if !enginetest.Agreeing(t, e) {
			t.Errorf("%s: the index was not made after all", before)
		}
		enginetest.Fill(t, e, 1)
	}
}

// TestFTSGivesSpaceBack: an index that is made anew takes the place of the old one in the file, not more.
func TestFTSGivesSpaceBack(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, enginetest.WithFTS(t))
	rng := rand.New(rand.NewPCG(5, 5))
	many := make([]memory.RememberRequest, 5000)
	for i := range many {
		many[i].Text = enginetest.Sentence(rng) + enginetest.Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	var used []int64
	for range 5 {
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "one more"}); err != nil {
			t.Fatal(err)
		}
		if !enginetest.Agreeing(t, e) {
			t.Fatal("the index was not made anew")
		}
		used = append(used, enginetest.Rows(t, e, "SELECT used_blocks FROM pragma_database_size() WHERE database_name = current_database()")[0][0].(int64))
	}
	if used[4] > used[1]+2 {
		t.Errorf("blocks of the file that are in use: %v", used)
	}
}

// TestFTSReadOnly: what can't be written is used while it is fresh.
func TestFTSReadOnly(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	readOnly := o
	readOnly.ReadOnly = true
	for i, want := range []error{engine.ErrReadOnly, nil, engine.ErrReadOnly} { // no index, a fresh one, a stale one
		e := enginetest.OpenFile(t, path, o)
		if enginetest.Fill(t, e, 3); i == 1 {
			enginetest.Agreeing(t, e)
		}
		enginetest.CloseFile(t, e)
		e = enginetest.OpenFile(t, path, readOnly)
		if _, err := e.CheckLexical(t.Context(), recall.CheckLexicalRequest{}); !errors.Is(err, want) {
			t.Errorf("file %d: %v: want %v", i, err, want)
		}
		enginetest.Check(t, e)
		enginetest.CloseFile(t, e)
	}
}

// TestFTSWithoutExtension: a file that has the index is one like any other where the extension is not loaded, and its snapshot has it too.
func TestFTSWithoutExtension(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	inside := func() [][]any {
		return enginetest.Rows(t, e, "SELECT table_name FROM duckdb_tables() WHERE schema_name IN ('main', 'report') AND NOT temporary ORDER BY ALL")
	}
	before, want := inside(), enginetest.RecallScores(t, e)
	enginetest.Agreeing(t, e)
	enginetest.Equal(t, "tables of ours", before, inside())
	const match = "SELECT count(fts_main_memory_texts.match_bm25(name, 'tea')) FROM fts_main_memory_texts.docs"
	if n := enginetest.Rows(t, e, match)[0][0]; n == int64(0) {
		t.Error("an analyst finds no tea")
	}
	copied := enginetest.NewFile(t)
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	for _, file := range []string{path, copied} {
		db := enginetest.PlainDuckDB(t, file, "access_mode=read_only")
		var n int
		if err := db.QueryRow("SELECT count(*) FROM report.memories").Scan(&n); err != nil || n == 0 {
			t.Errorf("plain DuckDB: %d memories, %v", n, err)
		}
		db.Close()
		for _, readOnly := range []bool{true, false} {
			e = enginetest.OpenFile(t, file, engine.Options{ReadOnly: readOnly, Embedder: enginetest.Words{}})
			enginetest.Check(t, e)
			enginetest.Equal(t, "recall", want, enginetest.RecallScores(t, e))
			if x := enginetest.FTSIndex(t, e); x == nil || x.Stale {
				t.Errorf("index %+v", x)
			}
			if _, err := e.Query(t.Context(), match, 0); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("match_bm25: %v: want it refused", err)
			}
			if _, err := e.CheckLexical(t.Context(), recall.CheckLexicalRequest{}); !errors.Is(err, engine.ErrNoFTS) {
				t.Errorf("check: %v: want ErrNoFTS", err)
			}
			enginetest.CloseFile(t, e)
		}
	}
	e = enginetest.OpenFile(t, copied, o)
	if enginetest.Agreeing(t, e) {
		t.Error("the copy's index was made again")
	}
}

func TestFTSThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	garbage := enginetest.NewFile(t)
	if err := os.WriteFile(garbage, []byte("no extension"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		options engine.Options
		want    error
		says    string
	}{
		{engine.Options{FTS: "no such.duckdb_extension"}, engine.ErrNoFTS, "no such"},
		{engine.Options{FTS: garbage, Lexical: setup.FTSBackend}, engine.ErrNoFTS, garbage},
		{engine.Options{FTS: "it's\x00"}, engine.ErrInvalid, "FTS"},
		{engine.Options{Lexical: "grep"}, engine.ErrInvalid, "postings, fts"},
	} {
		e, err := engine.Open(t.Context(), enginetest.NewFile(t), test.options)
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v: want %v and %q", test.options, err, test.want, test.says)
		}
	}
}
