package index_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// withExtension gives options with the backend fts, or skips the test.
func withExtension(t *testing.T) engine.Options {
	t.Helper()
	return engine.Options{FTS: enginetest.WithFTS(t).FTS, Lexical: setup.FTSBackend}
}

// ready asks as a recall does, after refreshing the index where refresh says so.
func ready(t *testing.T, e *engine.Engine, refresh bool) (ok bool, notice string) {
	t.Helper()
	if refresh {
		if _, err := enginetest.Index(e).RefreshFTS(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	err := enginetest.File(e).Read(t.Context(), "test", func(c *duck.Conn) (err error) {
		ok, notice, err = enginetest.Index(e).FTSReady(t.Context(), c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok, notice
}

func TestFTSReady(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), withExtension(t)
	want := func(e *engine.Engine, refresh, ok bool, says string) {
		t.Helper()
		if got, notice := ready(t, e, refresh); got != ok || !strings.Contains(notice, says) || (notice == "") != (says == "") {
			t.Errorf("ready %t, notice %q: want %t and %q", got, notice, ok, says)
		}
	}
	remember := func(e *engine.Engine, text string) {
		t.Helper()
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	e := enginetest.OpenFile(t, path, engine.Options{FTS: o.FTS})
	want(e, true, false, "") // the backend is postings: nobody asked
	e.Close()
	readOnly := o
	readOnly.ReadOnly = true
	e = enginetest.OpenFile(t, path, o)
	remember(e, "tea") // after this the index that was made above is stale
	want(e, false, false, "while the fts index was made")
	want(e, true, true, "")
	want(e, false, true, "")
	remember(e, "cake")
	e.Close()
	e = enginetest.OpenFile(t, path, readOnly)
	want(e, true, false, "is stale")
	e.Close()
	e = enginetest.OpenFile(t, path, o)
	want(e, true, true, "")
	e.Close()
	e = enginetest.OpenFile(t, path, readOnly)
	want(e, true, true, "")
	e.Close()
	none := filepath.Join(t.TempDir(), "none.db")
	enginetest.OpenFile(t, none, engine.Options{}).Close()
	want(enginetest.OpenFile(t, none, readOnly), true, false, "no fts index")
}

// TestFTSMarkAndRollback: a write that is rolled back leaves the index fresh, and the next one makes it stale.
func TestFTSMarkAndRollback(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, ":memory:", withExtension(t))
	broken := errors.New("broken off")
	for range 2 {
		if ok, notice := ready(t, e, true); !ok {
			t.Fatal(notice)
		}
		err := enginetest.File(e).Write(t.Context(), "test", func(tx *duck.Write) error {
			return errors.Join(enginetest.Index(e).Count(t.Context(), tx, kinds.Memory, 1, 1), broken)
		})
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if ok, notice := ready(t, e, false); !ok {
			t.Errorf("after a rollback: %s", notice)
		}
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "tea"}); err != nil {
			t.Fatal(err)
		}
		if ok, _ := ready(t, e, false); ok {
			t.Error("fresh after a write")
		}
	}
}

// TestFTSPostings: the extension's index has, of every term and kind, exactly what postings have.
func TestFTSPostings(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, ":memory:", withExtension(t))
	ctx := t.Context()
	_, err1 := e.RememberMany(ctx, []memory.RememberRequest{
		{Text: "Green tea, green tea"}, {Text: "black coffee", L1: "- coffee\n- coffee with milk", L2: "Coffee was had with cake."}, {Text: "…"}, {Text: "起重机 HB-412"}})
	appended, err2 := e.Append(ctx, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "Tea or coffee?"}, {Speaker: "Ines", Text: "v1.2.3", Caption: "a cake"}}})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.AddSummaries(ctx, e, "talk", func([]string) enginetest.Made {
		return enginetest.Made{Text: "Ines asked for tea; tea or cake was had", Tokens: 3, Sources: appended.IDs}
	}); err != nil {
		t.Fatal(err)
	}
	if ok, notice := ready(t, e, true); !ok {
		t.Fatal(notice)
	}
	type key struct {
		term, kind string
		doc        int32
	}
	err := enginetest.File(e).Read(ctx, "test", func(c *duck.Conn) error {
		var terms []string
		want, among := map[key]float32{}, map[string]int{}
		rows, err := c.SQL.QueryContext(ctx, "SELECT term, kind::VARCHAR, doc_no, tf FROM postings JOIN terms USING (term_no)")
		if err != nil {
			return err
		}
		for rows.Next() {
			var k key
			var tf float32
			if err := rows.Scan(&k.term, &k.kind, &k.doc, &tf); err != nil {
				return err
			}
			want[k] = tf
			among[k.kind]++
			terms = append(terms, k.term)
		}
		slices.Sort(terms)
		terms = slices.Compact(terms)
		for _, kind := range kinds.All() {
			if among[string(kind)] == 0 {
				t.Errorf("no posting of kind %s: the test shows nothing of it", kind)
			}
		}
		for _, asked := range [][]kinds.Kind{kinds.All(), {kinds.Memory}, {kinds.Message}, {kinds.Summary}, {}} {
			found := 0
			err := eachFTSHit(ctx, c, terms, asked, func(rows *sql.Rows) error {
				var k key
				var tf float32
				if err := rows.Scan(&k.term, &k.kind, &k.doc, &tf); err != nil {
					return err
				}
				if found++; want[k] != tf {
					t.Errorf("%+v: %v, postings have %v", k, tf, want[k])
				}
				return nil
			})
			if err != nil {
				return err
			}
			n := 0
			for _, kind := range asked {
				n += among[string(kind)]
			}
			if found != n {
				t.Errorf("%v: %d postings, want %d", asked, found, n)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eachFTSHit calls scan for every row that a recall takes from the extension's index.
func eachFTSHit(ctx context.Context, c *duck.Conn, terms []string, kinds []kinds.Kind, scan func(*sql.Rows) error) error {
	if err := recall.ClearTables(ctx, c); err != nil {
		return err
	}
	words, shares := make([]int32, len(terms)), make([]float64, len(terms))
	for i := range terms {
		words[i], shares[i] = int32(i), 1
	}
	if err := recall.AskTerms(c, words, terms, shares); err != nil {
		return err
	}
	if err := recall.AskFTS(ctx, c, kinds); err != nil {
		return err
	}
	rows, err := c.SQL.QueryContext(ctx, "SELECT a.term, f.kind::VARCHAR, f.doc_no, f.tf FROM temp.main.fts_hits AS f JOIN temp.main.asked_terms AS a USING (word)")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// TestFTSWhileOthersWrite: recalls that refresh the index at once, beside a writer, see either all of a state or are sent to postings.
func TestFTSWhileOthersWrite(t *testing.T) {
	o := withExtension(t)
	o.Threads = 2
	e := enginetest.OpenFile(t, enginetest.NewFile(t), o)
	ctx, stop := context.WithCancel(t.Context())
	var writers, recalls sync.WaitGroup
	writers.Go(func() {
		for ctx.Err() == nil {
			if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "green tea"}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		recalls.Go(func() {
			for range 8 {
				if _, err := enginetest.Index(e).RefreshFTS(t.Context(), "test"); err != nil {
					t.Error(err)
					return
				}
				err := enginetest.File(e).Read(t.Context(), "test", func(c *duck.Conn) error {
					ok, _, err := enginetest.Index(e).FTSReady(t.Context(), c)
					if err != nil || !ok {
						return err
					}
					var live, indexed float64
					if err := c.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM documents WHERE live").Scan(&live); err != nil {
						return err
					}
					err = eachFTSHit(t.Context(), c, []string{"tea"}, kinds.All(), func(*sql.Rows) error {
						indexed++
						return nil
					})
					if live != indexed {
						t.Errorf("%v documents, %v in the index", live, indexed)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	recalls.Wait()
	stop()
	writers.Wait()
	if ok, notice := ready(t, e, true); !ok {
		t.Error(notice)
	}
}
