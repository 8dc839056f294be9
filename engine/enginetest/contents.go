package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/memory"
)

// Sentence is some words, of which some were said before and some were not.
func Sentence(rng *rand.Rand) string {
	s := ""
	for range 3 + rng.IntN(30) {
		s += fmt.Sprintf("word%d ", rng.IntN(5000))
	}
	return s + "."
}

// Stock puts a bit of everything into a file: memories of which one was updated, one forgotten, one superseded and one
// purged, and a conversation. It gives the ids of the first two of the memories.
func Stock(t testing.TB, e *engine.Engine) []string {
	t.Helper()
	ctx := context.Background()
	var ids []string
	for _, text := range []string{
		"Ines prefers green tea in the morning", "The harbour crane HB-412 was repaired in May", "Bruno moved to Porto",
		"The café closes at six", "A note that goes for good",
	} {
		r, err := e.Remember(ctx, memory.RememberRequest{Text: text, L2: text + ", as was said at the meeting.", Extra: map[string]any{"from": "stock"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	changed := "Ines prefers black tea in the morning"
	_, err1 := e.Update(ctx, memory.UpdateRequest{ID: ids[0], Text: &changed})
	_, err2 := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[2], By: memory.RememberRequest{Text: "Bruno moved to Lisbon"}})
	_, err3 := e.Forget(ctx, memory.ForgetRequest{ID: ids[3], Reason: "closed for good"})
	_, err4 := e.Purge(ctx, memory.PurgeRequest{ID: ids[4]})
	_, err5 := e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{
		{Speaker: "Ines", Text: "Is there any tea left?", SaidAt: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)},
		{Role: "assistant", Text: "Two bags of green tea.", Caption: "a tin on a shelf"},
	}})
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids[:2]
}

// Rows gives the answer to a query as rows.
func Rows(t testing.TB, e *engine.Engine, query string) [][]any {
	t.Helper()
	table, err := e.Query(context.Background(), query, 100_000)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return table.Rows
}

// TablesWith names the tables of talk that have a word anywhere.
func TablesWith(t *testing.T, e *engine.Engine, word string) (places []string) {
	t.Helper()
	for table, columns := range map[string]string{"messages": "m.text, m.caption, m.speaker, m.raw::VARCHAR", "parts": "m.text, m.input, m.output, m.raw::VARCHAR, m.file_name",
		"summaries": "m.text", "large_files": "m.name, m.summary", "payloads": "m.content::VARCHAR"} {
		found, err := e.Query(t.Context(), fmt.Sprintf("SELECT count(*) FROM %s AS m WHERE contains(concat_ws(' ', %s), '%s')", table, columns, word), 1)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(found.Rows[0][0]) != "0" {
			places = append(places, table)
		}
	}
	slices.Sort(places)
	return places
}

// Indexed is the index without the numbers of terms, which a rebuild gives anew.
func Indexed(t *testing.T, e *engine.Engine) map[string][][]any {
	t.Helper()
	return map[string][][]any{
		"documents":    Rows(t, e, "SELECT * REPLACE (round(length, 3) AS length) FROM documents WHERE live ORDER BY doc_no"),
		"forgotten":    Rows(t, e, "SELECT * EXCLUDE (length) FROM documents WHERE NOT live ORDER BY doc_no"),
		"postings":     Rows(t, e, "SELECT term, kind, doc_no, round(tf, 3) FROM postings JOIN terms USING (term_no) ORDER BY ALL"),
		"totals":       Rows(t, e, "SELECT kind, documents, round(length, 3) FROM kind_stats ORDER BY kind"),
		"vectors":      Rows(t, e, "SELECT doc_no, v::VARCHAR FROM vectors ORDER BY doc_no"),
		"past":         Rows(t, e, "SELECT * REPLACE (round(length, 3) AS length) FROM past_documents ORDER BY doc_no"),
		"formerly":     Rows(t, e, "SELECT term, doc_no, round(tf, 3) FROM past_postings JOIN terms USING (term_no) ORDER BY ALL"),
		"past vectors": Rows(t, e, "SELECT doc_no, v::VARCHAR FROM past_vectors WHERE model IN (SELECT n FROM models WHERE chosen) ORDER BY doc_no"),
		"memories":     Rows(t, e, "SELECT * EXCLUDE (extra) FROM memories ORDER BY id"),
		"messages":     Rows(t, e, "FROM messages ORDER BY id"),
	}
}

// Fill adds memories and messages of random words.
func Fill(t testing.TB, e *engine.Engine, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	for range n {
		_, err1 := e.Remember(context.Background(), memory.RememberRequest{Text: Sentence(rng)})
		_, err2 := e.Append(context.Background(), conversation.AppendRequest{Conversation: "filled", Messages: []conversation.Message{{Text: Sentence(rng)}}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
}

// FillMany adds memories of random words, all at once.
func FillMany(t *testing.T, e *engine.Engine, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 8))
	all := make([]memory.RememberRequest, n)
	for i := range all {
		all[i].Text = Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// Vocabulary is the words that corpora of random texts are made of.
var Vocabulary = strings.Fields("harbour crane pilot berth fog tide ship dock cargo vessel anchor captain rope signal storm delay radio night lamp winch " +
	"gale ferry roof tin coffee tea ticket HB-412 v1.2.3 release planning meeting running boxes letters Ines Teo morning evening bread")

// Everything is all that a file holds, to see that nothing has changed.
func Everything(t *testing.T, e *engine.Engine) map[string][][]any {
	t.Helper()
	return map[string][][]any{
		"memories":  Rows(t, e, "SELECT COLUMNS(c -> c NOT IN ('support_info', 'contexts', 'sources', 'history', 'extra')) FROM memories ORDER BY id"),
		"messages":  Rows(t, e, "FROM messages ORDER BY id"),
		"documents": Rows(t, e, "FROM documents ORDER BY doc_no"),
		"postings":  Rows(t, e, "FROM postings ORDER BY ALL"),
		"totals":    Rows(t, e, "FROM kind_stats ORDER BY ALL"),
		"vectors":   Rows(t, e, "SELECT doc_no, v::VARCHAR FROM vectors ORDER BY doc_no"),
	}
}
