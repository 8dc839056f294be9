package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// twins writes the same into two files, of which the second never has more than one model.
type twins struct {
	t *testing.T
	e [2]*engine.Engine
}

// openTwins opens two new files whose ids and times follow from what is written.
func openTwins(t *testing.T, first, second engine.Options) *twins {
	t.Helper()
	w := &twins{t: t}
	for i, o := range []engine.Options{first, second} {
		n := 0
		o.Now = func() time.Time { return enginetest.Noon }
		o.NewID = func(prefix string, _ time.Time) string { n++; return fmt.Sprintf("%s%06d", prefix, n) }
		w.e[i] = enginetest.Open(t, o)
	}
	return w
}

func (w *twins) both(do func(e *engine.Engine) error) {
	w.t.Helper()
	for i, e := range w.e {
		if err := do(e); err != nil {
			w.t.Errorf("file %d: %v", i, err)
		}
	}
}

func (w *twins) remember(id, text string) {
	w.t.Helper()
	w.both(func(e *engine.Engine) error {
		_, err := e.Remember(w.t.Context(), memory.RememberRequest{ID: id, Text: text})
		return err
	})
}

func (w *twins) update(id, text string) {
	w.t.Helper()
	w.both(func(e *engine.Engine) error {
		_, err := e.Update(w.t.Context(), memory.UpdateRequest{ID: id, Text: &text})
		return err
	})
}

func (w *twins) forget(id string) {
	w.t.Helper()
	w.both(func(e *engine.Engine) error {
		_, err := e.Forget(w.t.Context(), memory.ForgetRequest{ID: id})
		return err
	})
}

// fill writes memories, some of them long, one that was edited and one that is forgotten, and talk.
func (w *twins) fill(n int) {
	w.t.Helper()
	w.both(func(e *engine.Engine) error {
		enginetest.FillMany(w.t, e, n)
		enginetest.Append(w.t, e, conversation.AppendRequest{Conversation: "yard", Messages: enginetest.Dialogue("u Which crane is broken?", "a The one at the quay")})
		return nil
	})
	for i := range 7 {
		w.remember(fmt.Sprint("mem_crane_", i), fmt.Sprintf("The crane number %d is at the quay", i))
	}
	w.remember("mem_long", "The yard has a book. "+strings.Repeat("Whoever comes by writes down what the ferry brought. ", 20)+"The pilot drinks coffee.")
	w.update("mem_crane_5", "The crane number 5 was sold to a lighthouse")
	w.forget("mem_crane_6")
}

var twinQuestions = []recall.Query{
	{Text: "which crane is at the quay?"}, {Text: "coffee of the pilot", Mode: recall.VectorMode}, {Text: "storm at the harbour", Limit: 30},
	{Text: "broken crane", Kinds: []kinds.Kind{kinds.Message}},
}

// same holds what both files answer to be the same; model is by which the first goes.
func (w *twins) same(when string) {
	w.t.Helper()
	for _, q := range twinQuestions {
		var answers [2][]string
		for i, e := range w.e {
			r, err := e.Recall(w.t.Context(), q)
			if err != nil {
				w.t.Fatalf("%s: %s: %v", when, q.Text, err)
			}
			for _, h := range r.Hits {
				answers[i] = append(answers[i], fmt.Sprintf("%s %.4f %s", h.ID, h.Score, h.Shown()))
			}
		}
		enginetest.Equal(w.t, when+": "+q.Text, answers[1], answers[0])
		if len(answers[0]) == 0 {
			w.t.Errorf("%s: %s: nothing is found", when, q.Text)
		}
	}
}

func models(t *testing.T, e *engine.Engine) map[string]index.ModelState {
	t.Helper()
	all, err := e.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]index.ModelState{}
	for i, m := range all {
		if byName[m.Model] = m; m.Chosen != (i == 0) {
			t.Errorf("model %d of %d: %+v: want the chosen first, and no other", i, len(all), m)
		}
		counted := enginetest.Rows(t, e, fmt.Sprintf(`SELECT (SELECT count(*) FROM vectors_%[1]d WHERE doc_no IN (SELECT doc_no FROM documents WHERE live)), (SELECT count(*) FROM documents WHERE live),
			(SELECT count(*) FROM vectors_%[1]d WHERE doc_no IN (SELECT number FROM passages)), (SELECT count(*) FROM passages), (SELECT count(*) FROM past_vectors WHERE model = %[1]d)`, m.N))[0]
		enginetest.Equal(t, "coverage of "+m.Model, counted, []any{int64(m.Documents.Has), int64(m.Documents.Wants), int64(m.Passages.Has), int64(m.Passages.Wants), int64(m.Past.Has)})
	}
	return byName
}

// TestModelsSideBySide: while a second model's vectors are made, and after, recall is that of the first; then that of the second, as if the file had had it from
// the start; and that of the first again.
func TestModelsSideBySide(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	first, second := enginetest.Words{}, &enginetest.Scripted{Words: enginetest.Words{Name: "second", N: 32}}
	w := openTwins(t, engine.Options{Embedder: first}, engine.Options{Embedder: first})
	later := openTwins(t, engine.Options{Embedder: enginetest.Words{Name: "second", N: 32}}, engine.Options{Embedder: enginetest.Words{Name: "second", N: 32}})
	w.fill(1005)
	later.fill(1005)
	e := w.e[0]
	batches := 0
	second.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		batches++
		if batches <= 3 {
			for _, both := range []*twins{w, later} {
				both.remember(fmt.Sprint("mem_meanwhile_", batches), fmt.Sprintf("The gale number %d came meanwhile", batches))
				both.update(fmt.Sprint("mem_crane_", batches), fmt.Sprintf("The crane number %d was changed meanwhile", batches))
			}
			if batches == 1 {
				w.forget("mem_crane_4")
				later.forget("mem_crane_4")
			}
			w.same(fmt.Sprint("batch ", batches))
			models(t, e)
		}
		return second.Words.EmbedTexts(ctx, texts)
	}
	added, err := e.AddModel(ctx, index.AddModelRequest{Embedder: second})
	if err != nil || !added.Whole() || added.Chosen || added.Passages.Has == 0 || added.Past.Has == 0 || added.Vectors < added.Documents.Has || batches < 4 {
		t.Fatalf("added %+v in %d batches, %v: want everything", added, batches, err)
	}
	enginetest.Check(t, e)
	w.same("added")
	if again, err := e.AddModel(ctx, index.AddModelRequest{Embedder: second}); err != nil || again.Vectors+again.PastVectors > 0 {
		t.Errorf("added again %+v, %v: want nothing to do", again, err)
	}
	if used, err := e.UseModel(ctx, index.UseModelRequest{Model: "second"}); err != nil || !used.Chosen || !used.Whole() {
		t.Fatalf("used %+v, %v", used, err)
	}
	enginetest.Check(t, e)
	asSecond := &twins{t, [2]*engine.Engine{e, later.e[0]}}
	asSecond.same("used")
	if ready, err := enginetest.Index(e).AwaitResident(ctx); err != nil || !ready {
		t.Fatal("no resident index", err)
	}
	asSecond.same("used, by the resident index")
	if at := e.Embedder(); at == nil || at.Model() != "second" {
		t.Errorf("%v embeds; want the second", at)
	}

	// What is written now has vectors of the second alone.
	asSecond.remember("mem_after", "The tide took the rope")
	state := models(t, e)["words"]
	if state.Whole() || state.Documents.Wants-state.Documents.Has != 1 {
		t.Errorf("the first model's %+v: want one document without a vector", state)
	}
	_, err = e.UseModel(ctx, index.UseModelRequest{Model: "words"})
	if !errors.Is(err, engine.ErrMissingVectors) || !strings.Contains(err.Error(), "1 of ") || !strings.Contains(err.Error(), "Engine.AddModel") {
		t.Errorf("used with a vector missing: %v", err)
	}
	asSecond.same("refused")
	if used, err := e.UseModel(ctx, index.UseModelRequest{Model: "1", AllowMissing: true}); err != nil || used.Whole() {
		t.Errorf("used all the same: %+v, %v", used, err)
	}
	if made, err := e.EmbedMissing(ctx); err != nil || made != (index.Embedded{Vectors: 1}) {
		t.Errorf("made %+v, %v: want the one", made, err)
	}
	if _, err := w.e[1].Remember(ctx, memory.RememberRequest{ID: "mem_after", Text: "The tide took the rope"}); err != nil {
		t.Fatal(err)
	}
	w.same("back")
	enginetest.Check(t, e)

	if _, err := e.DropModel(ctx, index.DropModelRequest{Model: "words"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("dropped the chosen one: %v", err)
	}
	if dropped, err := e.DropModel(ctx, index.DropModelRequest{Model: "second"}); err != nil || dropped.N != 2 {
		t.Errorf("dropped %+v, %v", dropped, err)
	}
	w.same("dropped")
	for _, gone := range []string{"FROM duckdb_tables() WHERE table_name = 'vectors_2'", "FROM past_vectors WHERE model = 2", "FROM models WHERE n = 2"} {
		if rows := enginetest.Rows(t, e, gone); len(rows) > 0 {
			t.Errorf("%s: %v", gone, rows)
		}
	}
	for _, call := range []func() error{
		func() error { _, err := e.UseModel(ctx, index.UseModelRequest{Model: "second"}); return err },
		func() error { _, err := e.DropModel(ctx, index.DropModelRequest{Model: "second"}); return err },
	} {
		if err := call(); !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "the file has words (1)") {
			t.Errorf("a model that is not there: %v", err)
		}
	}
}

// elsewhere is Words with other directions, in as many dimensions: who takes its vectors for those of Words finds something else.
type elsewhere struct{ enginetest.Words }

func (m elsewhere) turned(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = w + "q"
	}
	return strings.Join(words, " ")
}

func (m elsewhere) Fingerprint() string { return "elsewhere/" + m.Words.Fingerprint() }

func (m elsewhere) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	turned := make([]string, len(texts))
	for i, text := range texts {
		turned[i] = m.turned(text)
	}
	return m.Words.EmbedTexts(ctx, turned)
}

func (m elsewhere) EmbedQuery(ctx context.Context, text string, _ func(string) float64) ([]float32, error) {
	return m.Words.EmbedQuery(ctx, m.turned(text), nil)
}

// TestSwitchedWhileAModelThinks: a question that was embedded with the former model is embedded anew, and a vector that it made of a text goes to its own table. The
// dimensions are the same, so that nothing else would tell.
func TestSwitchedWhileAModelThinks(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	first, second := &enginetest.Scripted{Words: enginetest.Words{N: 16}}, elsewhere{enginetest.Words{Name: "second", N: 16}}
	e := enginetest.Open(t, engine.Options{Embedder: first})
	enginetest.FillMany(t, e, 300)
	if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: second}); err != nil {
		t.Fatal(err)
	}
	use := func(name string) {
		t.Helper()
		if _, err := e.UseModel(ctx, index.UseModelRequest{Model: name, AllowMissing: true}); err != nil {
			t.Fatal(err)
		}
	}
	scores := func() (all []string) {
		t.Helper()
		r, err := e.Recall(ctx, recall.Query{Text: "a storm at the harbour", Mode: recall.VectorMode})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			all = append(all, fmt.Sprintf("%s %.4f", h.ID, h.Score))
		}
		return all
	}
	for _, resident := range []bool{false, true} {
		enginetest.Index(e).AskFile(!resident)
		use("second")
		want := scores()
		use("words")
		if resident {
			if ready, err := enginetest.Index(e).AwaitResident(ctx); err != nil || !ready {
				t.Fatal("no resident index", err)
			}
		}
		former := scores()
		first.Query = func(ctx context.Context, text string) ([]float32, error) {
			use("second")
			if resident {
				if ready, err := enginetest.Index(e).AwaitResident(ctx); err != nil || !ready {
					t.Error("no resident index", err)
				}
			}
			return first.Words.EmbedQuery(ctx, text, nil)
		}
		got := scores()
		first.Query = nil
		enginetest.Equal(t, fmt.Sprintf("answer after the switch, resident %v", resident), want, got)
		if fmt.Sprint(want) == fmt.Sprint(former) {
			t.Error("both models answer the same: nothing is told apart")
		}
		use("words")
	}
	enginetest.Index(e).AskFile(false)
	first.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		use("second")
		return first.Words.EmbedTexts(ctx, texts)
	}
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_between", Text: "The lamp at the berth"})
	first.Texts = nil
	enginetest.Check(t, e)
	state := models(t, e)
	if !state["words"].Whole() || state["second"].Documents.Wants-state["second"].Documents.Has != 1 {
		t.Errorf("%+v: want the vector with the model that made it", state)
	}
	if made, err := e.EmbedMissing(ctx); err != nil || made.Vectors != 1 {
		t.Errorf("made %+v, %v: want the one of the second model", made, err)
	}
	if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "The lamp at the berth", Mode: recall.VectorMode}); len(hits) == 0 || hits[0] != "mem_between" {
		t.Errorf("%v: want what was written meanwhile first", hits)
	}

	// A model that is dropped while it thinks leaves nothing.
	third := &enginetest.Scripted{Words: enginetest.Words{Name: "third", N: 16}}
	third.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		if _, err := e.DropModel(ctx, index.DropModelRequest{Model: "third"}); err != nil {
			t.Error(err)
		}
		if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Words{Name: "fourth", N: 8}}); err != nil { // under the same number
			t.Error(err)
		}
		return third.Words.EmbedTexts(ctx, texts)
	}
	if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: third}); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "third (16 dimensions) was dropped") {
		t.Errorf("a model that was dropped: %v", err)
	}
	enginetest.Check(t, e)
}

// TestModelsRefused: what can't be a further model, and files that are opened with one that is not theirs, say how to go on.
func TestModelsRefused(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	for _, call := range []func() error{
		func() error { _, err := e.AddModel(ctx, index.AddModelRequest{}); return err },
		func() error { _, err := e.EmbedMissing(ctx); return err },
	} {
		if err := call(); !errors.Is(err, engine.ErrNoEmbedder) {
			t.Errorf("without a model: %v", err)
		}
	}
	if _, err := e.UseModel(ctx, index.UseModelRequest{Model: "words"}); !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "the file has none") {
		t.Errorf("used, where there is none: %v", err)
	}
	enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is red"})
	if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Plotted{N: 16385}}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "1 to 16384") {
		t.Errorf("too many dimensions: %v", err)
	}
	first, err := e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Words{}})
	if err != nil || !first.Chosen || first.Vectors != 1 || e.Embedder() != setup.Embedder(enginetest.Words{}) {
		t.Errorf("the first model: %+v, %v: want it chosen", first, err)
	}
	enginetest.CloseFile(t, e)
	open := func(by engine.Options) error {
		t.Helper()
		e, err := engine.Open(ctx, path, by)
		if err == nil {
			err = e.Close()
		}
		return err
	}
	for what, test := range map[string]struct {
		by   engine.Options
		says string
	}{
		"a model that the file does not have": {engine.Options{Embedder: enginetest.Words{Name: "second"}}, "call Engine.AddModel and then Engine.UseModel"},
		"other dimensions":                    {engine.Options{Embedder: renamed{enginetest.Words{N: 8}, enginetest.Words{}.Fingerprint()}}, "words has vectors of 64 dimensions in the file, and makes some of 8 now"},
	} {
		if err := open(test.by); !errors.Is(err, engine.ErrModelMismatch) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	for _, name := range []string{"second", "second"} { // the name twice, of other dimensions
		if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Words{Name: name, N: 8 + len(models(t, e))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.UseModel(ctx, index.UseModelRequest{Model: "second"}); !errors.Is(err, engine.ErrAmbiguous) || !strings.Contains(err.Error(), "second (2), second (3)") {
		t.Errorf("a name that two have: %v", err)
	}
	if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: renamed{enginetest.Words{N: 7}, "second/9"}}); !errors.Is(err, engine.ErrModelMismatch) {
		t.Errorf("a model of other dimensions than the file knows: %v", err)
	}
	enginetest.CloseFile(t, e)
	if err := open(engine.Options{Embedder: enginetest.Words{Name: "second", N: 9}}); !errors.Is(err, engine.ErrModelMismatch) || !strings.Contains(err.Error(), "call Engine.UseModel with the latter") {
		t.Errorf("a model that the file has beside: %v", err)
	}
}

// renamed is a model under another fingerprint.
type renamed struct {
	enginetest.Words
	fingerprint string
}

func (r renamed) Fingerprint() string { return r.fingerprint }
