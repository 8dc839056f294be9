package memory

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/vec"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// mergeable is a memory as it is looked at for others that say the same.
type mergeable struct {
	docNo      int32
	id         string
	group      int // of its scope and category
	said       string
	folded     string
	importance float64
	created    time.Time
	sketched   int // where its sketch is; -1: it has none
}

const (
	mostPairs   = 10_000 // whose cosines are asked at once
	sampled     = 2000   // vectors that the middle is taken of
	mostApart   = 90     // bits that the sketches of two vectors differ in whose cosine may be 0.88
	leastShared = 0.5    // of the words of two memories that are merged
)

// cluster is memories that say the same, the most important first. The others are alike to that one.
type cluster []string

// duplicates finds memories that say the same, within a scope and a category: those of the same words, and those whose vectors have a cosine of similarity or more with the most
// important one, where they share half of the words, and all names and numbers. They were made before a time.
func (ms *Store) duplicates(ctx context.Context, c *duck.Conn, similarity float64, before time.Time) (found []cluster, err error) {
	all, sketches, err := ms.mergeables(ctx, c, before)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *mergeable) int {
		return cmp.Or(cmp.Compare(b.importance, a.importance), b.created.Compare(a.created), cmp.Compare(b.docNo, a.docNo))
	})
	type slot struct {
		group  int
		folded string
	}
	first, same := map[slot]int{}, map[int][]int{}
	var spread []int // those that no one before says in the same words, and that have a vector
	for i, m := range all {
		of := slot{m.group, m.folded}
		if seed, known := first[of]; known {
			same[seed] = append(same[seed], i)
			continue
		}
		if first[of] = i; m.sketched >= 0 {
			spread = append(spread, i)
		}
	}
	near, err := ms.nearPairs(ctx, c, all, spread, sketches, similarity)
	if err != nil {
		return nil, err
	}
	taken := make([]bool, len(all))
	for i, m := range all {
		if taken[i] || len(same[i])+len(near[i]) == 0 {
			continue
		}
		of := cluster{m.id}
		take := func(j int) {
			if !taken[j] {
				taken[j], of = true, append(of, all[j].id)
			}
		}
		taken[i] = true
		for _, j := range same[i] {
			take(j)
		}
		for _, j := range near[i] {
			if !taken[j] {
				take(j)
				for _, k := range same[j] {
					take(k)
				}
			}
		}
		if len(of) > 1 {
			found = append(found, of)
		}
	}
	return found, ctx.Err()
}

// mergeables reads what may be merged, with the sketches of vectors.
func (ms *Store) mergeables(ctx context.Context, c *duck.Conn, before time.Time) (all []*mergeable, sketches []vec.Sketch, err error) {
	var sample [][]float32
	err = c.EachValue(ctx, strings.ReplaceAll(sqlfiles.Query("memory_vectors_sampled"), "{limit}", fmt.Sprint(sampled)), func(row []driver.Value) error {
		v, err := vector(row[0])
		sample = append(sample, v)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	sketcher := vec.NewSketcher(sample)
	groups := map[[2]string]int{}
	err = c.EachValue(ctx, sqlfiles.Query("memory_mergeable"), func(row []driver.Value) error {
		m := &mergeable{sketched: -1}
		var scope, category string
		for i, dest := range []any{&m.docNo, &m.id, &scope, &category, &m.said, &m.importance} {
			if err := value(row[i], dest); err != nil {
				return err
			}
		}
		var at int64
		if err := value(row[6], &at); err != nil {
			return err
		}
		if m.created = time.UnixMicro(at).UTC(); !m.created.Before(before) {
			return nil
		}
		of := [2]string{scope, category}
		if _, known := groups[of]; !known {
			groups[of] = len(groups)
		}
		m.group, m.folded = groups[of], fold(m.said)
		if row[7] != nil {
			v, err := vector(row[7])
			if err != nil {
				return err
			}
			m.sketched, sketches = len(sketches), append(sketches, sketcher.Sketch(v))
		}
		all = append(all, m)
		return ctx.Err()
	})
	return all, sketches, err
}

// nearPairs gives for each memory, by its place, later ones that are alike.
func (ms *Store) nearPairs(ctx context.Context, c *duck.Conn, all []*mergeable, spread []int, sketches []vec.Sketch, similarity float64) (map[int][]int, error) {
	compared, groups := make([]vec.Sketch, len(spread)), make([]int, len(spread))
	for n, i := range spread {
		compared[n], groups[n] = sketches[all[i].sketched], all[i].group
	}
	terms := map[int]map[string]bool{}
	termsOf := func(i int) map[string]bool {
		if terms[i] == nil {
			terms[i] = ms.terms(all[i].said)
		}
		return terms[i]
	}
	var pairs [][2]int
	vec.Near(compared, groups, mostApart, func(a, b int) {
		i, j := spread[a], spread[b]
		if ms.sayAlike(all[i].said, all[j].said, termsOf(i), termsOf(j)) {
			pairs = append(pairs, [2]int{i, j})
		}
	})
	near := map[int][]int{}
	for part := range slices.Chunk(pairs, mostPairs) {
		a, b := make([]int32, len(part)), make([]int32, len(part))
		for n, p := range part {
			a[n], b[n] = all[p[0]].docNo, all[p[1]].docNo
		}
		err := c.Each(ctx, "memory_cosines", func(rows *sql.Rows) error {
			var n int
			if err := rows.Scan(&n); err != nil {
				return err
			}
			near[part[n][0]] = append(near[part[n][0]], part[n][1])
			return nil
		}, sql.Named("a", a), sql.Named("b", b), sql.Named("least", similarity))
		if err != nil {
			return nil, err
		}
	}
	for _, others := range near {
		slices.Sort(others)
	}
	return near, nil
}

func (ms *Store) terms(said string) map[string]bool {
	terms := map[string]bool{}
	for _, token := range ms.index.Analyzer.Tokens(said) {
		if !ms.index.Analyzer.IsStop(token.Surface) {
			terms[token.Term] = true
		}
	}
	return terms
}

var (
	// telling are the words that tell two statements apart however alike they are: names and numbers.
	telling = regexp.MustCompile(`\p{Lu}[\pL\pN_.-]*|[\pL_.-]*\pN[\pL\pN_.:/-]*`)
	denying = regexp.MustCompile(`(?i)\b(?:not|no|never|nothing|without|nicht|keine?[nrms]?|nie|niemals|ohne)\b|\b\pL+n't\b|不|没|無|无`)
)

// sayAlike reports whether nothing in the words of two statements says that they differ: half are the same, all names and numbers are, and so is whether they deny.
func (ms *Store) sayAlike(a, b string, termsA, termsB map[string]bool) bool {
	both := 0
	for term := range termsA {
		if termsB[term] {
			both++
		}
	}
	if 2*float64(both) < leastShared*float64(len(termsA)+len(termsB)) || denying.MatchString(a) != denying.MatchString(b) {
		return false
	}
	for _, of := range []struct {
		said   string
		others map[string]bool
	}{{a, termsB}, {b, termsA}} {
		for _, word := range telling.FindAllString(of.said, -1) {
			for term := range ms.terms(word) {
				if !of.others[term] {
					return false
				}
			}
		}
	}
	return true
}

// value takes a value of a row that came without database/sql.
func value(v driver.Value, dest any) error {
	ok := false
	switch dest := dest.(type) {
	case *int32:
		*dest, ok = v.(int32)
	case *int64:
		*dest, ok = v.(int64)
	case *float64:
		*dest, ok = v.(float64)
	case *string:
		*dest, ok = v.(string)
	}
	if !ok {
		return fmt.Errorf("a %T is no %T", v, dest)
	}
	return nil
}

func vector(v driver.Value) ([]float32, error) {
	list, _ := v.([]any)
	all := make([]float32, len(list))
	for i, x := range list {
		f, ok := x.(float32)
		if !ok {
			return nil, fmt.Errorf("a vector of %T", x)
		}
		all[i] = f
	}
	return all, nil
}
