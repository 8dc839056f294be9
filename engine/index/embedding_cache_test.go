package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// paid is a model that counts the texts it is asked for, and is as slow as a test wants.
type paid struct {
	enginetest.Words
	asked atomic.Int64
	slow  time.Duration // each text
}

func (*paid) Instant() bool { return false }
func (*paid) Remote() bool  { return true }

func (m *paid) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	m.asked.Add(int64(len(texts)))
	time.Sleep(time.Duration(len(texts)) * m.slow)
	return m.Words.EmbedTexts(ctx, texts)
}

// costs fails where do asks for another number of texts.
func (m *paid) costs(t *testing.T, what string, want int64, do func() error) {
	t.Helper()
	before := m.asked.Load()
	if err := do(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if n := m.asked.Load() - before; n != want {
		t.Errorf("%s: the model was asked for %d texts, want %d", what, n, want)
	}
}

// kept counts what the cache has.
func kept(t *testing.T, e *engine.Engine) int64 {
	t.Helper()
	return enginetest.Rows(t, e, "SELECT count(*) FROM embedding_cache")[0][0].(int64)
}

// keeps tells whether the cache has a text of a model.
func keeps(t *testing.T, e *engine.Engine, m *paid, text string) bool {
	t.Helper()
	return enginetest.Rows(t, e, fmt.Sprintf("SELECT count(*) FROM embedding_cache WHERE sha256 = sha256('%s' || chr(10) || '%s')", m.Fingerprint(), text))[0][0] == int64(1)
}

// TestNothingIsAskedTwice: a rebuild, an import of the same text, what was retracted and comes back, and a text that stands in one call twice ask the model once, also after the
// file was closed, and the vectors are the same.
func TestNothingIsAskedTwice(t *testing.T) {
	enginetest.Alone(t)
	path, m := enginetest.NewFile(t), &paid{}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: m})
	long := strings.Repeat("The crane at the quay lifts a crate of tea. ", 40)
	var first *memory.Memory
	m.costs(t, "remember", 2, func() error {
		first = enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines drinks tea"})
		enginetest.Remember(t, e, memory.RememberRequest{Text: "Okan drinks rum"})
		return nil
	})
	enginetest.Remember(t, e, memory.RememberRequest{Text: long})
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: first.ID, Text: enginetest.Pointer("Ines drinks mate")}); err != nil {
		t.Fatal(err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(5)})
	m.costs(t, "the same twice", 1, func() error {
		_, err := e.Import(t.Context(), strings.NewReader(`{"text":"The moon is full","scope":"user:a"}`+"\n"+`{"text":"The moon is full","scope":"user:b"}`), interchange.ImportRequest{})
		return err
	})
	before := enginetest.Indexed(t, e)
	enginetest.CloseFile(t, e)

	e = enginetest.OpenFile(t, path, engine.Options{Embedder: m})
	m.costs(t, "rebuild", 0, func() error {
		_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
		return err
	})
	after := enginetest.Indexed(t, e)
	for _, what := range []string{"vectors", "past vectors"} {
		enginetest.Equal(t, what, before[what], after[what])
	}
	m.costs(t, "the same in another scope", 0, func() error {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "Okan drinks rum", Scope: "user:okan"})
		return err
	})
	m.costs(t, "a text that it had before", 0, func() error {
		_, err := e.Update(t.Context(), memory.UpdateRequest{ID: first.ID, Text: enginetest.Pointer("Ines drinks tea")})
		return err
	})
	m.costs(t, "retract and undo", 0, func() error {
		r, err := e.Retract(t.Context(), lineage.RetractRequest{ID: first.ID, Reason: "test"})
		if err == nil {
			_, err = e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: r.ID})
		}
		return err
	})
	m.costs(t, "something new", 1, func() error {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "The lock is open"})
		return err
	})
	enginetest.Check(t, e)
	s, err := e.Stats(t.Context())
	if c := s.EmbeddingCache; err != nil || c == nil || int64(c.Vectors) != kept(t, e) || c.Hits < 10 || c.Misses != 1 || c.Bytes != int64(c.Vectors)*(4*64+100) {
		t.Errorf("%+v, %v", c, err)
	}
	enginetest.CloseFile(t, e)
}

// TestNothingIsKept of a model that is as fast as the file, of one of this machine, or where the options say so.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]engine.Options{"instant": {Embedder: enginetest.Words{}, EmbeddingCacheMB: 8}, "of this machine": {Embedder: unhurried{&enginetest.Scripted{}}}, "off": {Embedder: &paid{}, EmbeddingCacheMB: -1}} {
		e := enginetest.Open(t, o)
		enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines drinks tea"})
		if s, err := e.Stats(t.Context()); err != nil || s.EmbeddingCache != nil || kept(t, e) != 0 {
			t.Errorf("%s: %+v, %v", name, s.EmbeddingCache, err)
		}
	}
	e := enginetest.Open(t, engine.Options{Embedder: unhurried{&enginetest.Scripted{}}, EmbeddingCacheMB: 8})
	if enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines drinks tea"}); kept(t, e) != 1 {
		t.Errorf("kept %d of a model of this machine that somebody wants kept", kept(t, e))
	}
	if _, err := engine.Open(t.Context(), ":memory:", engine.Options{EmbeddingCacheMB: -2}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "EmbeddingCacheMB") {
		t.Errorf("%v", err)
	}
}

// TestCacheOfTwoModels: each finds its own, and the first is not asked again when it comes back.
func TestCacheOfTwoModels(t *testing.T) {
	enginetest.Alone(t)
	path, first, second := enginetest.NewFile(t), &paid{}, &paid{Words: enginetest.Words{Name: "second", N: 32}}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: first})
	for i := range 20 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint("crate number ", i)})
	}
	for _, turn := range []struct {
		model *paid
		asked int64
	}{{second, 20}, {first, 0}, {second, 0}} {
		enginetest.CloseFile(t, e)
		e = enginetest.OpenFile(t, path, engine.Options{Embedder: turn.model, ReplaceModel: true})
		turn.model.costs(t, turn.model.Model(), turn.asked, func() error {
			_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
			return err
		})
		enginetest.Check(t, e)
	}
	enginetest.CloseFile(t, e)
}

// TestCacheIsBounded: what is oldest leaves, another model's before that; a rebuild, which comes by all in turn, pushes out nothing of its own.
func TestCacheIsBounded(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	model := &paid{Words: enginetest.Words{N: 4096}}
	const fit = 1 << 20 / (4*4096 + 100)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: model, EmbeddingCacheMB: 1})
	text := func(i int) string { return fmt.Sprint("crate number ", i) }
	for i := range 100 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text(i)})
	}
	n := kept(t, e)
	if n > fit || n < fit*3/4 || keeps(t, e, model, text(0)) || keeps(t, e, model, text(99-fit)) || !keeps(t, e, model, text(99)) || !keeps(t, e, model, text(100-int(n))) {
		t.Errorf("%d are kept, of %d that fit", n, fit)
	}
	room := fit - n // left free by those that left
	model.costs(t, "rebuild", 100-n, func() error {
		_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
		return err
	})
	if after := kept(t, e); after != n+room || !keeps(t, e, model, text(99)) || !keeps(t, e, model, text(100-int(n))) {
		t.Errorf("%d are kept after the rebuild, %d before", after, n)
	}
	enginetest.CloseFile(t, e)
	second := &paid{Words: enginetest.Words{Name: "second", N: 4096}}
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: second, EmbeddingCacheMB: 1, ReplaceModel: true})
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	if rows := enginetest.Rows(t, e, "SELECT fingerprint, count(*) FROM embedding_cache GROUP BY ALL"); len(rows) != 1 || rows[0][0] != second.Fingerprint() || rows[0][1] != int64(fit) {
		t.Errorf("kept are %v, want %d of the second model alone", rows, fit)
	}
	enginetest.Check(t, e)
	enginetest.CloseFile(t, e)
}

// TestPurgeLeavesNoVector: of what is purged the cache has nothing, of no text that it ever had; of the rest it has all.
func TestPurgeLeavesNoVector(t *testing.T) {
	t.Parallel()
	model := &paid{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	stays := enginetest.Remember(t, e, memory.RememberRequest{Text: "Okan drinks rum"})
	purge := func(what string, do func() error, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !keeps(t, e, model, text) {
				t.Errorf("%s: %q is not kept before", what, text)
			}
		}
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, text := range texts {
			if keeps(t, e, model, text) {
				t.Errorf("%s: %q is kept", what, text)
			}
		}
		if !keeps(t, e, model, "Okan drinks rum") {
			t.Errorf("%s: %s is gone too", what, stays.ID)
		}
		enginetest.Check(t, e)
	}
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines drinks tea"})
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: enginetest.Pointer("Ines drinks mate")}); err != nil {
		t.Fatal(err)
	}
	purge("memory", func() error {
		_, err := e.Purge(t.Context(), memory.PurgeRequest{ID: m.ID})
		return err
	}, "Ines drinks tea", "Ines drinks mate")

	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "My secret"}, {Text: "is none"}}})
	longer := conversation.AddBlocksRequest{Conversation: "talk", MessageID: said.IDs[1], Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "of yours"}}}
	if _, err := e.AddBlocks(t.Context(), longer); err != nil {
		t.Fatal(err)
	}
	before := kept(t, e)
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: said.IDs}); err != nil {
		t.Fatal(err)
	}
	if after := kept(t, e); before != 4 || after != 1 {
		t.Errorf("messages: %d are kept, %d were before; want the memory's alone, and three of two messages and what one was", after, before)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "other", Messages: enginetest.Sayings(3)})
	if _, err := e.PurgeConversation(t.Context(), "other", ""); err != nil {
		t.Fatal(err)
	}
	if after := kept(t, e); after != 1 {
		t.Errorf("conversation: %d are kept", after)
	}
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "The lock is open"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	if !keeps(t, e, model, "The lock is open") {
		t.Error("what is forgotten is not kept, although its past is")
	}
	enginetest.Check(t, e)
}

// TestCacheAfterFailure: a write that is rolled back leaves nothing in the cache and nothing that it would be taken for, nor does a process that is killed.
func TestCacheAfterFailure(t *testing.T) {
	enginetest.Alone(t)
	model := &paid{}
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: model})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "Okan drinks rum"})
	broken := errors.New("broken off")
	enginetest.FailCommit(e, broken)
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "Ines drinks tea"}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if kept(t, e) != 1 {
		t.Errorf("%d are kept", kept(t, e))
	}
	model.costs(t, "once more", 1, func() error {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "Ines drinks tea"})
		return err
	})
	killed := enginetest.KilledCopy(t, e)
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, killed, engine.Options{Embedder: model})
	enginetest.Check(t, e)
	model.costs(t, "after it was killed", 0, func() error {
		_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
		return err
	})
	err := enginetest.File(e).Write(t.Context(), "test", func(tx *duck.Write) error {
		docNo := enginetest.Rows(t, e, "SELECT min(doc_no) FROM memories")[0][0].(int32)
		x := enginetest.Index(e)
		return errors.Join(x.DeleteDocument(t.Context(), tx, kinds.Memory, docNo), x.SweepCache(t.Context(), tx), broken)
	})
	if !errors.Is(err, broken) || kept(t, e) != 2 {
		t.Errorf("%v, %d are kept", err, kept(t, e))
	}
	model.costs(t, "after a purge that was rolled back", 0, func() error {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "Okan drinks rum", Scope: "user:okan"})
		return err
	})
	enginetest.CloseFile(t, e)
}

// TestDamagedCache: what is no vector of the model is not taken for one.
func TestDamagedCache(t *testing.T) {
	enginetest.Alone(t)
	path, model := enginetest.NewFile(t), &paid{}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: model})
	for _, text := range []string{"Ines drinks tea", "Okan drinks rum", "The lock is open", "The moon is full"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text})
	}
	enginetest.CloseFile(t, e)
	enginetest.Tamper(t, path, "UPDATE embedding_cache SET v = [1] WHERE place = 1", "UPDATE embedding_cache SET v = list_transform(v, lambda x: 'nan'::FLOAT) WHERE place = 2",
		"UPDATE embedding_cache SET sha256 = 'tea' WHERE place = 3")
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: model})
	model.costs(t, "rebuild", 3, func() error {
		_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
		return err
	})
	if faults, err := e.Check(t.Context()); err != nil || len(faults) != 5 { // two of the three are there once more now
		t.Errorf("%v, %v", faults, err)
	}
	d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: enginetest.NewFile(t)})
	if err != nil || len(d.Left) > 0 || kept(t, e) != 4 {
		t.Errorf("%+v, %v, %d are kept", d, err, kept(t, e))
	}
	model.costs(t, "rebuild of what is mended", 0, func() error {
		_, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
		return err
	})
}

// TestConcurrentWritersAndTheCache: many who write the same texts at once, while others are purged and the index is made anew, leave each text once.
func TestConcurrentWritersAndTheCache(t *testing.T) {
	t.Parallel()
	model := &paid{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 12 {
				m, err := e.Remember(t.Context(), memory.RememberRequest{Text: fmt.Sprint("crate number ", i%6), Scope: fmt.Sprint("user:", w, "-", i)})
				if err == nil && i%5 == w {
					_, err = e.Purge(t.Context(), memory.PurgeRequest{ID: m.ID})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 3 {
			if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	enginetest.Check(t, e)
	if n := kept(t, e); n > 6 {
		t.Errorf("%d are kept of 6 texts", n)
	}
}

// BenchmarkRebuildOfASlowModel makes the vectors of 1,000 memories anew with a model of 2 ms a text.
func BenchmarkRebuildOfASlowModel(b *testing.B) {
	for name, mb := range map[string]int{"kept": 0, "asked": -1} {
		b.Run(name, func(b *testing.B) {
			e := enginetest.Open(b, engine.Options{Embedder: &paid{Words: enginetest.Words{N: 384}, slow: 2 * time.Millisecond}, EmbeddingCacheMB: mb, EmbedDeadline: time.Minute})
			var lines strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&lines, "{\"text\":\"crate number %d stands at the quay\"}\n", i)
			}
			if _, err := e.Import(b.Context(), strings.NewReader(lines.String()), interchange.ImportRequest{}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := e.RebuildIndex(b.Context(), index.RebuildRequest{Vectors: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRememberWithASlowModel writes one memory with a model of 2 ms a text: one whose text is new, and one that is known.
func BenchmarkRememberWithASlowModel(b *testing.B) {
	for _, bench := range []struct {
		name string
		mb   int
		text func(i int) string
	}{
		{"off", -1, func(i int) string { return fmt.Sprint("crate number ", i) }},
		{"new", 0, func(i int) string { return fmt.Sprint("crate number ", i) }},
		{"known", 0, func(int) string { return "crate number 0" }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e := enginetest.Open(b, engine.Options{Embedder: &paid{Words: enginetest.Words{N: 384}, slow: 2 * time.Millisecond}, EmbeddingCacheMB: bench.mb})
			n := 0
			for b.Loop() {
				n++
				if _, err := e.Remember(b.Context(), memory.RememberRequest{Text: bench.text(n), Scope: fmt.Sprint("user:", n)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestASlowModelIsAskedLittleAtATime: so that Progress moves, and a rebuild that is broken off has kept nearly all that it asked for.
func TestASlowModelIsAskedLittleAtATime(t *testing.T) {
	t.Parallel()
	model, steps := &enginetest.Scripted{}, []string{}
	slow := unhurried{model}
	e := enginetest.Open(t, engine.Options{Embedder: slow, EmbeddingCacheMB: -1, Progress: func(step string, done, total int) {
		if step == "vectors" {
			steps = append(steps, fmt.Sprint(done, " of ", total))
		}
	}})
	model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") }
	enginetest.FillMany(t, e, 600)
	asked := []int{}
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		if asked = append(asked, len(texts)); len(asked) == 3 {
			return nil, errors.New("broken off")
		}
		return model.Words.EmbedTexts(ctx, texts)
	}
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err == nil {
		t.Error("a model that failed went unnoticed")
	}
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(asked, steps), "[256 256 88 88] [256 of 600 512 of 600 88 of 88]"; got != want {
		t.Errorf("asked for, and told: %s; want %s", got, want)
	}
}

// unhurried is a scripted model that is not instant.
type unhurried struct{ *enginetest.Scripted }

func (unhurried) Instant() bool { return false }
