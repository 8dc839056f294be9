package index_test

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

func TestUnusableVectors(t *testing.T) {
	ctx := t.Context()
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	ids := enginetest.Stock(t, e)
	before := enginetest.Everything(t, e)
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
		model.Texts = func(_ context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i := range vectors {
				vectors[i] = filled(64, 0.125)
			}
			vectors[len(vectors)-1] = test.v
			return vectors, nil
		}
		model.Query = func(context.Context, string) ([]float32, error) { return test.v, nil }
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
		enginetest.Equal(t, test.what+": the file", before, enginetest.Everything(t, e))
	}
	model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, nil }
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "third"}); !errors.Is(err, engine.ErrBadVector) || !strings.Contains(err.Error(), "0 vectors for 1 texts") {
		t.Errorf("no vectors: %v", err)
	}
	enginetest.Equal(t, "no vectors: the file", before, enginetest.Everything(t, e))
}

func TestVectorsAreNormalised(t *testing.T) {
	enginetest.Alone(t)
	model := &enginetest.Scripted{}
	scaled := func(v []float32, by float32) []float32 {
		for i := range v {
			v[i] *= by
		}
		return v
	}
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := model.Words.EmbedTexts(ctx, texts)
		for i, v := range vectors {
			scaled(v, []float32{1e-18, 0.5, 3, 1e18}[i%4])
		}
		return vectors, err
	}
	model.Query = func(ctx context.Context, text string) ([]float32, error) {
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
	enginetest.Alone(t)
	ctx := t.Context()
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	down := errors.New("model is down")
	model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, down }
	model.Query = func(context.Context, string) ([]float32, error) { return nil, down }
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
		enginetest.Equal(t, "coverage", []upkeep.Coverage{{Kind: kinds.Memory, Documents: 2, Vectors: memories}, {Kind: kinds.Message, Documents: 1, Vectors: messages}}, s.Coverage)
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
	enginetest.Check(t, e)
	coverage(0, 0)
	model.Texts, model.Query = nil, nil
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
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	ids := enginetest.Stock(t, e)
	before := enginetest.Everything(t, e)
	model.Texts = func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
	model.Query = func(ctx context.Context, _ string) ([]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
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
	enginetest.Equal(t, "the file", before, enginetest.Everything(t, e))
}

// TestNoLockWhileAModelThinks: verbs whose model thinks hold nobody up, be it writer, reader or rebuild; and they finish when
// the model does.
func TestNoLockWhileAModelThinks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: model})
	ids := enginetest.Stock(t, e)
	think, thinking := make(chan struct{}), make(chan struct{}, 10)
	slow := func(text string) {
		if strings.Contains(text, "slow") {
			thinking <- struct{}{}
			<-think
		}
	}
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		slow(strings.Join(texts, " "))
		return model.Words.EmbedTexts(ctx, texts)
	}
	model.Query = func(ctx context.Context, text string) ([]float32, error) {
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
	enginetest.Check(t, e)
	close(think)
	group.Wait()
	got := enginetest.Rows(t, e, "SELECT text FROM (SELECT text, retired_at FROM memories UNION ALL BY NAME SELECT text FROM messages) WHERE contains(text, 'slow') ORDER BY text")
	enginetest.Equal(t, "what the slow ones wrote", [][]any{{"slow and newer"}, {"slow memory"}, {"slow talk"}, {"slow update"}}, got)
}

// TestModelsThatTakeTooLong: whatever embeds waits as long as the options say, and stores what has no vector by then without.
func TestModelsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model, EmbedDeadline: time.Millisecond})
	remember := func(text string) (memory.Remembered, error) {
		return e.Remember(t.Context(), memory.RememberRequest{Text: text})
	}
	model.Texts = func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() }
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
		if got := enginetest.Rows(t, e, "SELECT count(*) FROM vectors"); got[0][0] != want {
			t.Errorf("%v vectors, want %d", got, want)
		}
		enginetest.Check(t, e)
	}
	vectors(0)
	stall := model.Texts
	model.Texts = nil
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	vectors(3)
	model.Texts = stall
	if m, err := e.Update(t.Context(), memory.UpdateRequest{ID: newer.ID, Text: enginetest.Pointer("a ferry")}); err != nil || m.Text != "a ferry" || !errors.Is(m.VectorErr, context.DeadlineExceeded) {
		t.Fatalf("update: %+v, %v", m, err)
	}
	vectors(2)
}
