package recall

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/text"
)

// snippetWidth is how much of a neighbour is shown, in code points.
const snippetWidth = 100

// readQuestion counts the words of the question in the documents asked.
func (x *explanation) readQuestion(ctx context.Context) error {
	return x.c.Each(ctx, "explain_question", func(rows *sql.Rows) error {
		var n int
		var w QuestionWord
		var share sql.NullFloat64 // NULL: no documents
		if err := rows.Scan(&n, &w.Documents, &w.Of, &share); err != nil {
			return err
		}
		w.Word, w.Term, w.Share = x.question.sources[n], x.question.terms[n], min(max(share.Float64, 0), 1)
		w.Rarity = rarityOf(w.Documents, w.Share)
		x.result.Words = append(x.result.Words, w)
		return nil
	})
}

// rarityOf names a share of the greatest rarity. Of a thousand documents rare is up to 21 of them, uncommon up to 101, common up to
// 218.
func rarityOf(documents int, share float64) string {
	switch {
	case documents == 0:
		return "nowhere"
	case share >= 0.5:
		return "rare"
	case share >= 0.3:
		return "uncommon"
	case share >= commonest:
		return "common"
	}
	return "everywhere"
}

// readNeighbours reads what stands around the documents, and among it the question that one may answer.
func (x *explanation) readNeighbours(ctx context.Context) error {
	type beside struct {
		of int32
		Neighbour
	}
	var all []beside
	var docNos []int32
	err := x.c.Each(ctx, "explain_neighbours", func(rows *sql.Rows) error {
		var b beside
		err := rows.Scan(&b.of, &b.Step, &b.Share, &b.docNo, &b.Cosine, &b.Raw)
		all, docNos = append(all, b), append(docNos, b.docNo)
		return err
	})
	if err != nil || len(all) == 0 {
		return err
	}
	if err := x.load(ctx, docNos); err != nil {
		return err
	}
	terms := map[string]bool{}
	for _, term := range x.question.terms {
		terms[term] = true
	}
	for _, b := range all {
		n, made := b.Neighbour, x.made[b.of]
		h := x.shown[n.docNo]
		n.ID, n.Speaker, n.Snippet = h.ID, cmp.Or(h.Speaker, h.Role), text.Snippet(h.Text, terms, x.recaller.index.Analyzer, snippetWidth)
		if n.Share > 0 {
			made.Neighbours = append(made.Neighbours, n)
		}
		if n.Step == -1 && x.subject[b.of].ReplyScore != nil {
			made.Reply = &n
		}
	}
	return nil
}

// readWords reads what each word of the question is worth in each document.
func (x *explanation) readWords(ctx context.Context) error {
	return x.c.Each(ctx, "explain_words", func(rows *sql.Rows) error {
		var docNo int32
		var n int
		var through string
		var w HitWord
		if err := rows.Scan(&docNo, &n, &w.Frequency, &w.Near, duck.TextOf(&through), &w.Points); err != nil {
			return err
		}
		made := x.made[docNo]
		w.QuestionWord = x.result.Words[n]
		w.Through = x.written(strings.Fields(through), docNo, made)
		made.Words = append(made.Words, w)
		return nil
	})
}

// written gives terms as the document or its neighbours write them, first seen first.
func (x *explanation) written(terms []string, docNo int32, made *Explanation) (words []string) {
	texts := []string{x.shown[docNo].Text}
	for _, n := range made.Neighbours {
		texts = append(texts, x.shown[n.docNo].Text)
	}
	for _, token := range x.recaller.index.Analyzer.Tokens(strings.Join(texts, "\n")) {
		if i := slices.Index(terms, token.Term); i >= 0 {
			words, terms = append(words, token.Surface), slices.Delete(terms, i, i+1)
		}
	}
	return append(words, terms...)
}
