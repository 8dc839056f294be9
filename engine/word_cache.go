package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// maxWords bounds the cache: past it, all is forgotten and learned again as needed.
const maxWords = 500_000

// wordCache knows the numbers of terms and how they are written, as far as they were met. The writer's lock owns it.
type wordCache struct {
	terms    map[string]int32
	surfaces map[string]bool
	next     int32 // the number of the next new term
}

func (w *wordCache) forget() { *w = wordCache{} }

// learn makes sure that every word of the documents has its number, and writes those the file did not know.
func (w *wordCache) learn(ctx context.Context, c *connection, docs []*document) error {
	if w.terms == nil || len(w.terms)+len(w.surfaces) > maxWords {
		*w = wordCache{terms: map[string]int32{}, surfaces: map[string]bool{}}
		if _, err := c.one(ctx, "terms_next", []any{&w.next}); err != nil {
			return err
		}
	}
	terms, surfaces := map[string]bool{}, map[string]string{}
	for _, d := range docs {
		if d.retired {
			continue
		}
		for term := range d.words.frequency {
			if w.terms[term] == 0 {
				terms[term] = true
			}
		}
		for surface, term := range d.words.surfaces {
			if !w.surfaces[surface] {
				surfaces[surface] = term
			}
		}
	}
	if len(terms)+len(surfaces) == 0 {
		return nil
	}
	err := c.each(ctx, "words_find", func(rows *sql.Rows) error {
		var word string
		var no int32
		var isTerm bool
		if err := rows.Scan(&word, &no, &isTerm); err != nil {
			return err
		}
		if isTerm {
			w.terms[word] = no
			delete(terms, word)
		} else {
			w.surfaces[word] = true
			delete(surfaces, word)
		}
		return nil
	}, sql.Named("terms", keys(terms)), sql.Named("surfaces", keys(surfaces)))
	if err != nil {
		return err
	}
	return w.add(c, terms, surfaces)
}

// add writes words that the file does not know.
func (w *wordCache) add(c *connection, terms map[string]bool, surfaces map[string]string) error {
	var rows [][]driver.Value
	for term := range terms {
		w.terms[term] = w.next
		rows = append(rows, []driver.Value{w.next, term})
		w.next++
	}
	if err := c.appendRows("terms", rows); err != nil {
		return err
	}
	rows = rows[:0]
	for surface, term := range surfaces {
		w.surfaces[surface] = true
		rows = append(rows, []driver.Value{surface, w.terms[term]})
	}
	return c.appendRows("surfaces", rows)
}

func keys[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	return all
}
