package upkeep_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// twoModels is a file with the vectors of two models, passages and a past.
func twoModels(t *testing.T) (path string) {
	t.Helper()
	path = enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_long", Text: strings.Repeat("The yard has a book, and whoever comes by writes in it. ", 30)})
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: "mem_long", Text: enginetest.Pointer(strings.Repeat("The book is full, and nobody writes any more. ", 30))}); err != nil {
		t.Fatal(err)
	}
	added, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: enginetest.Words{Name: "beside", N: 8}})
	if err != nil || !added.Whole() || added.Passages.Has == 0 || added.Past.Has < 2 {
		t.Fatalf("%+v, %v: want all vectors, of passages and the past too", added, err)
	}
	enginetest.CloseFile(t, e)
	return path
}

// TestCheckModelsBeside: what is wrong with the vectors of a model that recall does not go by is found, and Doctor takes it out; AddModel makes what is missing then.
func TestCheckModelsBeside(t *testing.T) {
	enginetest.Alone(t)
	path := twoModels(t)
	enginetest.Tamper(t, path, "INSERT INTO vectors_2 VALUES (900000, [1, 0, 0, 0, 0, 0, 0, 0]::FLOAT[8])", "UPDATE vectors_2 SET v = [2, 0, 0, 0, 0, 0, 0, 0]::FLOAT[8] WHERE doc_no = (SELECT min(doc_no) FROM documents WHERE live)")
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	faults, err := e.Check(t.Context())
	if err != nil || len(faults) != 2 || faults[0].String() != "vector of no live document: 900000" || faults[1].Fault != "vector that is not of unit length" {
		t.Errorf("found %v, %v: want both", faults, err)
	}
	if _, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: enginetest.NewFile(t)}); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	models, err := e.Models(t.Context())
	if err != nil || !models[0].Whole() || models[1].Documents.Wants-models[1].Documents.Has != 1 {
		t.Errorf("%+v, %v: want one vector of the second model gone", models, err)
	}
	if added, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: enginetest.Words{Name: "beside", N: 8}}); err != nil || added.Vectors != 1 || !added.Whole() {
		t.Errorf("made %+v, %v: want the one", added, err)
	}
	enginetest.CloseFile(t, e)
}

// TestModelsAreCopied: a snapshot has the vectors of every model, and so has a file that is written anew.
func TestModelsAreCopied(t *testing.T) {
	enginetest.Alone(t)
	path, copied := twoModels(t), enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Shred(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, err := e.Models(t.Context())
	if err != nil || len(want) != 2 || !want[1].Whole() {
		t.Fatalf("after it was written anew: %+v, %v", want, err)
	}
	if _, err := e.UseModel(t.Context(), index.UseModelRequest{Model: "beside"}); err != nil {
		t.Error(err)
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, copied, engine.Options{Embedder: enginetest.Words{}})
	got, err := e.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "models of the snapshot", want, got)
	enginetest.Check(t, e)
	enginetest.CloseFile(t, e)
}
