package index

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/text"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Passage is a stretch of the text that is embedded of a long document, in bytes.
type Passage struct {
	Start, Length int32
	Vector        []float32 // nil: none
}

// Divide gives a document the passages of what is embedded of it, without vectors.
func (d *Document) Divide(embedded string) {
	d.Passages, d.sums = nil, nil
	for _, p := range text.Passages(embedded) {
		d.Passages = append(d.Passages, Passage{Start: int32(p.Start), Length: int32(p.End - p.Start)})
	}
}

// EmbedDocuments gives documents their passages, and them and their passages the vectors, where there is a model to make them; texts are what is embedded.
// The error is that of the model, and where it is an *Unusable it tells of the documents alone: a passage may go without. The same holds for locks.
func (ix *Index) EmbedDocuments(ctx context.Context, docs []*Document, texts []string) error {
	all := slices.Clone(texts)
	for i, d := range docs {
		d.Divide(texts[i])
		for _, p := range d.Passages {
			all = append(all, texts[i][p.Start:p.Start+p.Length])
		}
	}
	vectors, sums, of, err := ix.embed(ctx, all)
	var bad *Unusable
	if errors.As(err, &bad) {
		for i := range bad.Of {
			if i >= len(docs) {
				delete(bad.Of, i)
			}
		}
		if len(bad.Of) == 0 {
			err = nil
		}
	}
	if vectors == nil {
		return err
	}
	next := len(docs)
	for i, d := range docs {
		d.Vector, d.of = vectors[i], of
		if sums != nil {
			d.sums = append([]textSum{sums[i]}, sums[next:next+len(d.Passages)]...)
		}
		for j := range d.Passages {
			d.Passages[j].Vector = vectors[next]
			next++
		}
	}
	return err
}

// sum is what the vector of the document, 0, or of a passage, from 1, is found by in the cache; zero where it is not to be.
func (d *Document) sum(n int) textSum {
	if n < len(d.sums) {
		return d.sums[n]
	}
	return textSum{}
}

// insertPassages writes the passages of live documents, and gives their vectors.
func (ix *Index) insertPassages(ctx context.Context, tx *duck.Write, docs []*Document) (vectors made, err error) {
	n, vectors := 0, made{}
	for _, d := range docs {
		if !d.Retired {
			n += len(d.Passages)
		}
	}
	if n == 0 {
		return vectors, nil
	}
	numbers, err := ix.NextDocNos(ctx, tx.Conn, n)
	if err != nil {
		return nil, err
	}
	rows := make([][]driver.Value, 0, n)
	for _, d := range docs {
		if d.Retired {
			continue
		}
		for i, p := range d.Passages {
			number := numbers[len(rows)]
			rows = append(rows, []driver.Value{number, d.No, p.Start, p.Length})
			vectors.add(d, i+1, number, p.Vector)
		}
	}
	return vectors, tx.AppendRows("passages", rows)
}

// deleteVectors takes out the vectors of documents, and their passages with those of them.
func (ix *Index) deleteVectors(ctx context.Context, tx *duck.Write, docNos []int32) error {
	numbers := slices.Clone(docNos)
	err := tx.Each(ctx, "passages_of", func(rows *sql.Rows) error {
		var number int32
		err := rows.Scan(&number)
		numbers = append(numbers, number)
		return err
	}, sql.Named("doc_nos", docNos))
	if err != nil {
		return err
	}
	if len(numbers) > len(docNos) {
		if _, err := tx.Exec(ctx, "passages_delete", sql.Named("doc_nos", docNos)); err != nil {
			return err
		}
	}
	list := make([]string, len(numbers))
	for i, number := range numbers {
		list[i] = strconv.Itoa(int(number))
	}
	return ix.inVectors(ctx, tx, "vectors_delete", "{numbers}", strings.Join(list, ", "))
}

// inVectors runs a statement for the vectors of each of the file's models.
func (ix *Index) inVectors(ctx context.Context, tx *duck.Write, query string, replaced ...string) error {
	for _, m := range ix.All() {
		if err := tx.ExecDDL(ctx, sqlfiles.Query(query), append([]string{"{table}", m.Table()}, replaced...)...); err != nil {
			return err
		}
	}
	return nil
}

// UndividedSetting is in a file that was written before there were passages, until its index is made anew.
const UndividedSetting = "undivided"
