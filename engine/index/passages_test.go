package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// longText is of several passages, which differ.
func longText(about string) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "Sentence %d is about the %s of berth %d. ", i, about, i*7)
	}
	return strings.TrimSpace(b.String())
}

// passagesOf gives the passages that the file has of the document of an owner, and how many of them have a vector.
func passagesOf(t *testing.T, e *engine.Engine, id string) (all []text.Passage, vectors int) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, `SELECT p.start, p.length, EXISTS (FROM vectors AS v WHERE v.doc_no = p.number)
		FROM passages AS p JOIN documents AS d USING (doc_no) WHERE d.owner_id = '`+id+`' ORDER BY p.start`) {
		start, length := int(row[0].(int32)), int(row[1].(int32))
		if all = append(all, text.Passage{Start: start, End: start + length}); row[2].(bool) {
			vectors++
		}
	}
	return all, vectors
}

// count counts the rows of a table.
func count(t *testing.T, e *engine.Engine, table string) int64 {
	t.Helper()
	return enginetest.Rows(t, e, "SELECT count(*) FROM "+table)[0][0].(int64)
}

// TestPassagesFollowTheText: a long text has the passages that Passages gives, each with a vector, whatever becomes of it; a short one has none.
func TestPassagesFollowTheText(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	has := func(what, id, written string) {
		t.Helper()
		all, vectors := passagesOf(t, e, id)
		if want := text.Passages(written); !slices.Equal(all, want) || vectors != len(want) {
			t.Errorf("%s: passages %v, %d vectors; want %v", what, all, vectors, want)
		}
		enginetest.Check(t, e)
	}
	long := longText("crane")
	short := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue."}).ID
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: long}).ID
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "quay", Messages: []conversation.Message{{Text: "Hello."}, {Text: "  " + long, Caption: "a crane"}}}).IDs
	has("a short memory", short, "")
	has("a long memory", m, long)
	has("a short message", said[0], "")
	has("a long message", said[1], long+" a crane")
	update := func(written string) {
		t.Helper()
		if _, err := e.Update(ctx, memory.UpdateRequest{ID: m, Text: &written}); err != nil {
			t.Fatal(err)
		}
		has("an updated memory", m, written)
	}
	update(longText("harbour office and of the"))
	update("Short now.")
	update(long)
	if _, err := e.Update(ctx, memory.UpdateRequest{ID: m, Tier: enginetest.Pointer(memory.Core)}); err != nil {
		t.Fatal(err)
	}
	has("a memory of another tier", m, long)
	before := enginetest.Rows(t, e, "SELECT * FROM passages ORDER BY number")
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "passages after a rebuild", enginetest.Rows(t, e, "SELECT * FROM passages ORDER BY number"), before)
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	has("a memory with new vectors", m, long)
	if _, err := e.Forget(ctx, memory.ForgetRequest{ID: m}); err != nil {
		t.Fatal(err)
	}
	has("a forgotten memory", m, "")
	if _, err := e.PurgeConversation(ctx, "quay", ""); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if passages, vectors := count(t, e, "passages"), count(t, e, "vectors"); passages != 0 || vectors != 1 {
		t.Errorf("%d passages and %d vectors are left, want the vector of one memory", passages, vectors)
	}
}

// TestPassagesWithoutAModel: passages are there without vectors, which come with the model.
func TestPassagesWithoutAModel(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	model := &enginetest.Scripted{Words: enginetest.Words{}}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: model})
	model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") }
	long := longText("crane")
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: long}).ID
	want := text.Passages(long)
	if all, vectors := passagesOf(t, e, m); !slices.Equal(all, want) || vectors != 0 {
		t.Errorf("while the model is down: %v, %d vectors", all, vectors)
	}
	model.Texts = nil
	r, err := e.RebuildIndex(t.Context(), index.RebuildRequest{})
	if err != nil || r.Vectors != 1+len(want) {
		t.Fatalf("%+v, %v: want %d vectors", r, err, 1+len(want))
	}
	if _, vectors := passagesOf(t, e, m); vectors != len(want) {
		t.Errorf("%d vectors of passages, want %d", vectors, len(want))
	}
	enginetest.Check(t, e)
	again := enginetest.Remember(t, e, memory.RememberRequest{Text: long}).ID
	vectorsOf := func(id string) [][]any {
		return enginetest.Rows(t, e, `SELECT p.start, v.v::VARCHAR FROM passages AS p JOIN documents AS d USING (doc_no) JOIN vectors AS v ON v.doc_no = p.number
			WHERE d.owner_id = '`+id+`' ORDER BY p.start`)
	}
	enginetest.Equal(t, "vectors that came later", vectorsOf(m), vectorsOf(again))
}

// TestRebuildCutsAnew: passages that are not what the text has are made anew, with their vectors, and nothing of the old ones is left.
func TestRebuildCutsAnew(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	e := enginetest.OpenFile(t, path, o)
	long := longText("crane")
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: long}).ID
	enginetest.CloseFile(t, e)
	enginetest.Tamper(t, path, "UPDATE passages SET length = length + 1 WHERE start = 0")
	e = enginetest.OpenFile(t, path, o)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	want := text.Passages(long)
	if all, vectors := passagesOf(t, e, m); !slices.Equal(all, want) || vectors != len(want) || count(t, e, "vectors") != int64(1+len(want)) {
		t.Errorf("passages %v, %d vectors of %d; want %v", all, vectors, count(t, e, "vectors"), want)
	}
	enginetest.Check(t, e)
}

// TestPassageThatTheModelRefuses: a passage of which the model gives no usable vector goes without; the text is stored, and the others have theirs.
func TestPassageThatTheModelRefuses(t *testing.T) {
	t.Parallel()
	model := &enginetest.Scripted{Words: enginetest.Words{}}
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := model.Words.EmbedTexts(ctx, texts)
		if len(texts) > 2 {
			clear(vectors[2])
		}
		return vectors, err
	}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	long := longText("crane")
	r, err := e.Remember(t.Context(), memory.RememberRequest{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	if all, vectors := passagesOf(t, e, r.ID); r.VectorErr != nil || vectors != len(all)-1 || len(all) != len(text.Passages(long)) {
		t.Errorf("%v: %d of %d passages have a vector", r.VectorErr, vectors, len(all))
	}
	enginetest.Check(t, e)
}

// TestFileFromBeforePassages: a file of the schema before says how many long documents have no passages, and a rebuild makes them.
func TestFileFromBeforePassages(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	enginetest.Unpack(t, "../internal/duck/testdata/schema_5.db.gz", path)
	long := longText("tea")
	enginetest.Tamper(t, path, "UPDATE memories SET text = '"+long+"', l2_content = NULL WHERE text LIKE 'Ines prefers%'",
		fmt.Sprintf("UPDATE documents SET characters = %d FROM memories AS m WHERE m.doc_no = documents.doc_no AND m.text LIKE 'Sentence%%'", len(long)))
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	undivided := func(want int) {
		t.Helper()
		s, err := e.Stats(t.Context())
		if err != nil || s.Undivided != want || (s.Passages == 0) != (want > 0) {
			t.Errorf("%d long documents without passages, %d passages, %v; want %d", s.Undivided, s.Passages, err, want)
		}
		d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{})
		found := slices.ContainsFunc(d.Findings, func(f upkeep.Finding) bool {
			return strings.HasPrefix(f.Fault, "long documents without passages") && f.Harmless && f.Repairable
		})
		if err != nil || found != (want > 0) {
			t.Errorf("doctor: %+v, %v", d.Findings, err)
		}
	}
	undivided(1)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	undivided(0)
	if rows := enginetest.Rows(t, e, "FROM settings WHERE name = '"+index.UndividedSetting+"'"); len(rows) > 0 {
		t.Errorf("the file still says %v", rows)
	}
	enginetest.Check(t, e)
}
