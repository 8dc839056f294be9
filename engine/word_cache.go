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
}

func (w *wordCache) forget() { *w = wordCache{} }

// learn makes sure that every word of the documents has its number, and writes those the file did not know.
func (w *wordCache) learn(ctx context.Context, c *connection, docs []*document) error {
	if w.terms == nil || len(w.terms)+len(w.surfaces) > maxWords {
		*w = wordCache{terms: map[string]int32{}, surfaces: map[string]bool{}}
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
	if err := w.learnTerms(ctx, c, terms); err != nil {
		return err
	}
	return w.learnSurfaces(ctx, c, surfaces)
}

func (w *wordCache) learnTerms(ctx context.Context, c *connection, terms map[string]bool) error {
	if len(terms) == 0 {
		return nil
	}
	err := c.each(ctx, "terms_find", func(rows *sql.Rows) error {
		var term string
		var no int32
		if err := rows.Scan(&term, &no); err != nil {
			return err
		}
		w.terms[term] = no
		delete(terms, term)
		return nil
	}, sql.Named("terms", keys(terms)))
	if err != nil || len(terms) == 0 {
		return err
	}
	var next int32
	if _, err := c.one(ctx, "terms_next", []any{&next}); err != nil {
		return err
	}
	rows := make([][]driver.Value, 0, len(terms))
	for term := range terms {
		w.terms[term] = next
		rows = append(rows, []driver.Value{next, term})
		next++
	}
	return c.appendRows("terms", rows)
}

func (w *wordCache) learnSurfaces(ctx context.Context, c *connection, surfaces map[string]string) error {
	if len(surfaces) == 0 {
		return nil
	}
	err := c.each(ctx, "surfaces_find", func(rows *sql.Rows) error {
		var surface string
		var no int32
		if err := rows.Scan(&surface, &no); err != nil {
			return err
		}
		w.surfaces[surface] = true
		delete(surfaces, surface)
		return nil
	}, sql.Named("surfaces", keys(surfaces)))
	if err != nil {
		return err
	}
	rows := make([][]driver.Value, 0, len(surfaces))
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
