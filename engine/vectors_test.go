package engine_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// scripted is a model whose answers a test chooses; without a script it answers as Words does. A test may set the scripts while
// nothing else uses the engine.
type scripted struct {
	enginetest.Words
	texts func(ctx context.Context, texts []string) ([][]float32, error)
	query func(ctx context.Context, text string) ([]float32, error)
}

func (s *scripted) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	if s.texts != nil {
		return s.texts(ctx, texts)
	}
	return s.Words.EmbedTexts(ctx, texts)
}

func (s *scripted) EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error) {
	if s.query != nil {
		return s.query(ctx, text)
	}
	return s.Words.EmbedQuery(ctx, text, weight)
}

// everything is all that a file holds, to see that nothing has changed.
func everything(t *testing.T, e *engine.Engine) map[string][][]any {
	t.Helper()
	return map[string][][]any{
		"memories":  rowsOf(t, e, "SELECT COLUMNS(c -> c NOT IN ('support_info', 'contexts', 'sources', 'history', 'extra')) FROM memories ORDER BY id"),
		"messages":  rowsOf(t, e, "FROM messages ORDER BY id"),
		"documents": rowsOf(t, e, "FROM documents ORDER BY doc_no"),
		"postings":  rowsOf(t, e, "FROM postings ORDER BY ALL"),
		"totals":    rowsOf(t, e, "FROM kind_stats ORDER BY ALL"),
		"vectors":   rowsOf(t, e, "SELECT doc_no, v::VARCHAR FROM vectors ORDER BY doc_no"),
	}
}

func TestUnusableVectors(t *testing.T) {
	ctx := t.Context()
	model := &scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	ids := stock(t, e)
	before := everything(t, e)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	filled := func(n int, x float32) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = x
		}
		return v
	}
	with := func(at int, x float32) []float32 {
		v := filled(64, 0.125)
		v[at] = x
		return v
	}
	for _, test := range []struct {
		what string
		v    []float32
		says []string
	}{
		{"too short", filled(63, 1), []string{"63", "64"}},
		{"too long", filled(65, 1), []string{"65", "64"}},
		{"none", nil, []string{"0 dimensions", "64"}},
		{"not a number", with(7, nan), []string{"value 7", "NaN"}},
		{"infinite", with(63, inf), []string{"value 63", "-Inf"}},
		{"zero", filled(64, 0), []string{"all 64 values are 0"}},
	} {
		model.texts = func(_ context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i := range vectors {
				vectors[i] = filled(64, 0.125)
			}
			vectors[len(vectors)-1] = test.v
			return vectors, nil
		}
		model.query = func(context.Context, string) ([]float32, error) { return test.v, nil }
		text := "other words"
		_, remember := e.RememberMany(ctx, []memory.RememberRequest{{Text: "first"}, {Text: "second"}})
		_, update := e.Update(ctx, memory.UpdateRequest{ID: ids[0], Text: &text})
		_, supersede := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[0], By: memory.RememberRequest{Text: "newer"}})
		_, add := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{{Text: "one"}, {Text: "two"}}})
		_, ask := e.Recall(ctx, recall.Query{Text: "tea"})
		for verb, err := range map[string]error{"RememberMany": remember, "Update": update, "Supersede": supersede, "Append": add, "Recall": ask} {
			if !errors.Is(err, engine.ErrBadVector) {
				t.Errorf("%s, %s: %v: want ErrBadVector", test.what, verb, err)
				continue
			}
			for _, part := range append(test.says, "words") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s, %s: %q is not in: %v", test.what, verb, part, err)
				}
			}
		}
		equal(t, test.what+": the file", before, everything(t, e))
	}
	model.texts = func(context.Context, []string) ([][]float32, error) { return nil, nil }
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "third"}); !errors.Is(err, engine.ErrBadVector) || !strings.Contains(err.Error(), "0 vectors for 1 texts") {
		t.Errorf("no vectors: %v", err)
	}
	equal(t, "no vectors: the file", before, everything(t, e))
}

func TestVectorsAreNormalised(t *testing.T) {
	alone(t)
	model := &scripted{}
	scaled := func(v []float32, by float32) []float32 {
		for i := range v {
			v[i] *= by
		}
		return v
	}
	model.texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := model.Words.EmbedTexts(ctx, texts)
		for i, v := range vectors {
			scaled(v, []float32{1e-18, 0.5, 3, 1e18}[i%4])
		}
		return vectors, err
	}
	model.query = func(ctx context.Context, text string) ([]float32, error) {
		v, err := model.Words.EmbedQuery(ctx, text, nil)
		return scaled(v, 1e15), err
	}
	e := enginetest.Open(t, engine.Options{Embedder: model}) // Check wants vectors of unit length
	texts := []string{"one green bottle", "two red cups", "three blue plates", "four black knives"}
	var requests []memory.RememberRequest
	for _, text := range texts {
		requests = append(requests, memory.RememberRequest{Text: text})
	}
	if _, err := e.RememberMany(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		r, err := e.Recall(t.Context(), recall.Query{Text: text, Mode: recall.VectorMode})
		if err != nil || len(r.Hits) == 0 || r.Hits[0].Text != text || math.Abs(*r.Hits[0].Signals.Cosine-1) > 1e-5 {
			t.Errorf("recall of %q: %+v, %v: want it first, with cosine 1", text, r.Hits, err)
		}
	}
}

// TestModelThatIsDown: nothing is lost, and what is missing shows and can be completed.
func TestModelThatIsDown(t *testing.T) {
	alone(t)
	ctx := t.Context()
	model := &scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	down := errors.New("model is down")
	model.texts = func(context.Context, []string) ([][]float32, error) { return nil, down }
	model.query = func(context.Context, string) ([]float32, error) { return nil, down }
	r, err := e.Remember(ctx, memory.RememberRequest{Text: "The lighthouse keeper retired"})
	if err != nil || !r.Created || !errors.Is(r.VectorErr, down) {
		t.Fatalf("remembered %+v, %v: want it stored with VectorErr", r, err)
	}
	a, err := e.Append(ctx, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "The lighthouse is dark"}}})
	if err != nil || a.Added != 1 || !errors.Is(a.VectorErr, down) {
		t.Fatalf("appended %+v, %v: want it stored with VectorErr", a, err)
	}
	i, err := e.Import(ctx, strings.NewReader(`{"text":"The lighthouse was sold"}`), interchange.ImportRequest{})
	if err != nil || i.Created != 1 || !strings.Contains(i.VectorErr, down.Error()) {
		t.Fatalf("imported %+v, %v: want it stored with VectorErr", i, err)
	}
	coverage := func(memories, messages int) {
		t.Helper()
		s, err := e.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "coverage", []upkeep.Coverage{{Kind: kinds.Memory, Documents: 2, Vectors: memories}, {Kind: kinds.Message, Documents: 1, Vectors: messages}}, s.Coverage)
	}
	coverage(0, 0)
	found, err := e.Recall(ctx, recall.Query{Text: "who retired from the lighthouse"})
	if err != nil || len(found.Hits) == 0 || found.Mode != recall.LexicalMode || len(found.Notices) == 0 {
		t.Errorf("recall: %+v, %v: want words alone, and a notice", found, err)
	}
	if _, err := e.Recall(ctx, recall.Query{Text: "lighthouse", Mode: recall.Hybrid}); !errors.Is(err, down) {
		t.Errorf("hybrid recall by name: %v: want the model's error", err)
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); !errors.Is(err, down) {
		t.Errorf("rebuild with the model down: %v", err)
	}
	intact(t, e)
	coverage(0, 0)
	model.texts, model.query = nil, nil
	built, err := e.RebuildIndex(ctx, index.RebuildRequest{})
	if err != nil || built.Vectors != 3 {
		t.Errorf("rebuilt %+v, %v: want three vectors", built, err)
	}
	coverage(2, 1)
	for _, mode := range []recall.Mode{recall.LexicalMode, recall.Hybrid, recall.VectorMode, recall.LexicalMode, recall.VectorMode} {
		found, err := e.Recall(ctx, recall.Query{Text: "The lighthouse keeper retired", Mode: mode})
		if err != nil || len(found.Hits) == 0 || found.Hits[0].ID != r.ID || found.Mode != mode {
			t.Errorf("%s recall: %+v, %v: want %s first", mode, found.Hits, err, r.ID)
		}
	}
}

// TestModelThatHangs: a caller who gives up gets its own error, and nothing is written.
func TestModelThatHangs(t *testing.T) {
	model := &scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	ids := stock(t, e)
	before := everything(t, e)
	model.texts = func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
	model.query = func(ctx context.Context, _ string) ([]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
	text := "never written"
	for verb, call := range map[string]func(context.Context) error{
		"Remember": func(ctx context.Context) error {
			_, err := e.Remember(ctx, memory.RememberRequest{Text: text})
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := e.Update(ctx, memory.UpdateRequest{ID: ids[0], Text: &text})
			return err
		},
		"Append": func(ctx context.Context) error {
			_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{{Text: text}}})
			return err
		},
		"Recall": func(ctx context.Context) error {
			_, err := e.Recall(ctx, recall.Query{Text: text})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s with a model that hangs: %v: want context.DeadlineExceeded", verb, err)
		}
		cancel()
	}
	equal(t, "the file", before, everything(t, e))
}

// TestNoLockWhileAModelThinks: verbs whose model thinks hold nobody up, be it writer, reader or rebuild; and they finish when
// the model does.
func TestNoLockWhileAModelThinks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	model := &scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	ids := stock(t, e)
	think, thinking := make(chan struct{}), make(chan struct{}, 10)
	slow := func(text string) {
		if strings.Contains(text, "slow") {
			thinking <- struct{}{}
			<-think
		}
	}
	model.texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		slow(strings.Join(texts, " "))
		return model.Words.EmbedTexts(ctx, texts)
	}
	model.query = func(ctx context.Context, text string) ([]float32, error) {
		slow(text)
		return model.Words.EmbedQuery(ctx, text, nil)
	}
	text := "slow update"
	var group sync.WaitGroup
	for verb, call := range map[string]func() error{
		"Remember": func() error {
			_, err := e.Remember(ctx, memory.RememberRequest{Text: "slow memory"})
			return err
		},
		"Update": func() error { _, err := e.Update(ctx, memory.UpdateRequest{ID: ids[0], Text: &text}); return err },
		"Supersede": func() error {
			_, err := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[1], By: memory.RememberRequest{Text: "slow and newer"}})
			return err
		},
		"Append": func() error {
			_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{{Text: "slow talk"}}})
			return err
		},
		"Recall": func() error { _, err := e.Recall(ctx, recall.Query{Text: "slow question"}); return err },
	} {
		group.Go(func() {
			if err := call(); err != nil {
				t.Errorf("%s, slowly: %v", verb, err)
			}
		})
	}
	for range 5 {
		<-thinking
	}
	for i := range 3 { // while all five think
		if _, err := e.Remember(ctx, memory.RememberRequest{Text: "quick memory"}); err != nil {
			t.Fatal(i, err)
		}
		if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "quick talk"}}}); err != nil {
			t.Fatal(i, err)
		}
		if r, err := e.Recall(ctx, recall.Query{Text: "quick"}); err != nil || len(r.Hits) == 0 {
			t.Fatal(i, r, err)
		}
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	intact(t, e)
	close(think)
	group.Wait()
	got := rowsOf(t, e, "SELECT text FROM (SELECT text, retired_at FROM memories UNION ALL BY NAME SELECT text FROM messages) WHERE contains(text, 'slow') ORDER BY text")
	equal(t, "what the slow ones wrote", [][]any{{"slow and newer"}, {"slow memory"}, {"slow talk"}, {"slow update"}}, got)
}

// TestModelsThatTakeTooLong: whatever embeds waits as long as the options say, and stores what has no vector by then without.
func TestModelsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	model := &scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model, EmbedDeadline: time.Millisecond})
	remember := func(text string) (memory.Remembered, error) {
		return e.Remember(t.Context(), memory.RememberRequest{Text: text})
	}
	model.texts = func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
	first, err := remember("a boat")
	if err != nil || !errors.Is(first.VectorErr, context.DeadlineExceeded) {
		t.Fatalf("remember: %+v, %v", first, err)
	}
	newer, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: first.ID, By: memory.RememberRequest{Text: "a ship"}})
	if err != nil || !errors.Is(newer.VectorErr, context.DeadlineExceeded) {
		t.Fatalf("supersede: %+v, %v", newer, err)
	}
	if r, err := e.Import(t.Context(), strings.NewReader(`{"text":"a raft"}`), interchange.ImportRequest{}); err != nil || r.Created != 1 || r.VectorErr == "" {
		t.Fatalf("import: %+v, %v", r, err)
	}
	vectors := func(want int64) {
		t.Helper()
		if got := rowsOf(t, e, "SELECT count(*) FROM vectors"); got[0][0] != want {
			t.Errorf("%v vectors, want %d", got, want)
		}
		intact(t, e)
	}
	vectors(0)
	stall := model.texts
	model.texts = nil
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	vectors(3)
	model.texts = stall
	if m, err := e.Update(t.Context(), memory.UpdateRequest{ID: newer.ID, Text: pointer("a ferry")}); err != nil || m.Text != "a ferry" || !errors.Is(m.VectorErr, context.DeadlineExceeded) {
		t.Fatalf("update: %+v, %v", m, err)
	}
	vectors(2)
}
