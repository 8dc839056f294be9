package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
)

// maxWords bounds the cache: past it, all is forgotten and learned again as needed.
const maxWords = 500_000

// wordCache knows the numbers of terms and how they are written, as far as they were met. The writer's lock owns it.
type wordCache struct {
	terms    map[string]int32
	surfaces map[string]bool
	next     int32 // the number of the next new term
	lookups  int   // of words in the file
	complete bool  // it has all words of the file: others are new
}

// maxLookups is how often words are looked up before all of the file are read, so that a process that writes little does not wait for that.
const maxLookups = 64

func (w *wordCache) forget() { *w = wordCache{} }

// learn makes sure that every word of the documents has its number, and writes those the file did not know.
func (w *wordCache) learn(ctx context.Context, c *connection, docs []*document) error {
	if w.terms == nil || len(w.terms)+len(w.surfaces) > maxWords {
		*w = wordCache{terms: map[string]int32{}, surfaces: map[string]bool{}}
		if _, err := c.one(ctx, "terms_next", []any{&w.next}); err != nil {
			return err
		}
		w.complete = w.next == 1 // the file has none
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
	if !w.complete {
		if err := w.lookUp(ctx, c, keys(terms), keys(surfaces)); err != nil {
			return err
		}
		maps.DeleteFunc(terms, func(term string, _ bool) bool { return w.terms[term] != 0 })
		maps.DeleteFunc(surfaces, func(surface, _ string) bool { return w.surfaces[surface] })
	}
	return w.add(c, terms, surfaces)
}

// lookUp finds those words that the file knows; after many times it reads all that the file has, unless these are too many.
func (w *wordCache) lookUp(ctx context.Context, c *connection, terms, surfaces []string) error {
	query, args := "words_find", []any{sql.Named("terms", terms), sql.Named("surfaces", surfaces)}
	if w.lookups++; w.lookups == maxLookups {
		var words int
		if _, err := c.one(ctx, "words_count", []any{&words}); err != nil {
			return err
		}
		if words <= maxWords {
			query, args, w.complete = "words_all", nil, true
		}
	}
	return c.each(ctx, query, func(rows *sql.Rows) error {
		var word string
		var no int32
		var isTerm bool
		err := rows.Scan(&word, &no, &isTerm)
		if isTerm {
			w.terms[word] = no
		} else {
			w.surfaces[word] = true
		}
		return err
	}, args...)
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
