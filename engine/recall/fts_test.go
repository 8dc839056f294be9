package recall_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestFTSPostings: the extension's index has, of every term and kind, exactly what postings have.
func TestFTSPostings(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, ":memory:", enginetest.ByFTS(t))
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
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte("Tea is in the tin, coffee in the jar."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SyncNotes(ctx, note.SyncRequest{Folder: folder}); err != nil {
		t.Fatal(err)
	}
	if ok, notice := enginetest.FTSReady(t, e, true); !ok {
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
		for _, asked := range [][]kinds.Kind{kinds.All(), {kinds.Memory}, {kinds.Message}, {kinds.Summary}, {kinds.Note}, {}} {
			found := 0
			err := recall.EachFTSHit(ctx, c, terms, asked, func(rows *sql.Rows) error {
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

// TestFTSWhileOthersWrite: recalls that refresh the index at once, beside a writer, see either all of a state or are sent to postings.
func TestFTSWhileOthersWrite(t *testing.T) {
	o := enginetest.ByFTS(t)
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
					err = recall.EachFTSHit(t.Context(), c, []string{"tea"}, kinds.All(), func(*sql.Rows) error {
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
	if ok, notice := enginetest.FTSReady(t, e, true); !ok {
		t.Error(notice)
	}
}
