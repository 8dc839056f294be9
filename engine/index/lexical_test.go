package index_test

import (
	"errors"
	"math"
	"os"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestCheckLexicalFindsFaults spoils the extension's index, each line in one way.
func TestCheckLexicalFindsFaults(t *testing.T) {
	t.Parallel()
	whole, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	e := enginetest.OpenFile(t, whole, o)
	enginetest.Stock(t, e)
	enginetest.Fill(t, e, 5)
	enginetest.Agreeing(t, e)
	enginetest.CloseFile(t, e)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what, statement      string
		differing, reordered bool
	}{
		{"a document that is lost", "DELETE FROM fts_main_memory_texts.terms WHERE docid = (SELECT docid FROM fts_main_memory_texts.docs ORDER BY name LIMIT 1)", true, true},
		{"a wrong average length", "UPDATE fts_main_message_texts.stats SET avgdl = avgdl * 1.01", true, false},
		{"a term that is counted twice", "INSERT INTO fts_main_memory_texts.terms FROM fts_main_memory_texts.terms WHERE docid = (SELECT max(docid) FROM fts_main_memory_texts.docs)", true, false},
		{"a difference too small to matter", "UPDATE fts_main_message_texts.stats SET avgdl = avgdl * (1 + 1e-8)", false, false},
	} {
		path := enginetest.NewFile(t)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		enginetest.Tamper(t, path, test.statement)
		e := enginetest.OpenFile(t, path, o)
		x, err := e.CheckLexical(t.Context(), recall.CheckLexicalRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if x.Built || len(x.Differing) > 0 != test.differing || x.Agree() == test.differing || test.reordered && len(x.Reordered) == 0 {
			t.Errorf("%s: %+v", test.what, x)
		}
		for _, d := range x.Differing {
			if d.ID == "" || d.Question == "" || math.Abs(d.Postings-d.FTS) < 1e-7 {
				t.Errorf("%s: %+v says too little", test.what, d)
			}
		}
		enginetest.CloseFile(t, e)
	}
}

func TestCheckLexicalQuestions(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), enginetest.WithFTS(t))
	ask := func(r recall.CheckLexicalRequest) *recall.LexicalCheck {
		t.Helper()
		x, err := e.CheckLexical(t.Context(), r)
		if err != nil || !x.Agree() {
			t.Fatalf("%+v, %v", x, err)
		}
		return x
	}
	if x := ask(recall.CheckLexicalRequest{}); x.Questions != 0 || !x.Built {
		t.Errorf("an empty file: %+v", x)
	}
	enginetest.Stock(t, e)
	// Four kinds are asked: the tea stands in a memory and in both messages.
	if x := ask(recall.CheckLexicalRequest{Questions: []string{"Which tea?", "nothing of that kind", ""}}); x.Questions != 12 || x.Scores != 3 || x.Documents != 3 {
		t.Errorf("questions of the caller: %+v", x)
	}
	if x := ask(recall.CheckLexicalRequest{Questions: []string{}}); x.Questions != 0 {
		t.Errorf("no questions: %+v", x)
	}
	if x := ask(recall.CheckLexicalRequest{Sample: 1}); x.Questions != 2 || x.Scores < 2 {
		t.Errorf("a question of each kind: %+v", x)
	}
	for _, r := range []recall.CheckLexicalRequest{{Sample: -1}, {Sample: 1001}, {Questions: []string{"\xff"}}} {
		if _, err := e.CheckLexical(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v: want ErrInvalid", r, err)
		}
	}
}
