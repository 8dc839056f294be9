package index

import (
	"context"
	"crypto/md5"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"maps"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// maxWords bounds the cache: past it, all is forgotten and learned again as needed.
const maxWords = 1_000_000

// wordHash is what words are found by: word_hash in SQL.
type wordHash uint64

func hashOf(word string) wordHash {
	sum := md5.Sum([]byte(word))
	return wordHash(binary.LittleEndian.Uint64(sum[8:]))
}

// WordHash is what a term is found by.
func WordHash(term string) uint64 { return uint64(hashOf(term)) }

// wordCache knows the numbers of terms and how they are written, as far as they were met. The writer's lock owns it.
type wordCache struct {
	terms    map[wordHash]int32
	surfaces map[wordHash]bool
	met      map[string]wordHash // of words met lately: nearly all of a text are, and finding one takes a third of making it
	next     int32               // the number of the next new term
	lookups  int                 // of words in the file
	complete bool                // it has all words of the file: others are new
}

// maxLookups is how often words are looked up before all of the file are read, so that a process that writes little does not wait for that.
const maxLookups = 64

// maxMet bounds the words whose hashes are kept.
const maxMet = 50_000

func (w *wordCache) Forget() { *w = wordCache{} }

// hash is hashOf.
func (w *wordCache) hash(word string) wordHash {
	h, ok := w.met[word]
	if !ok {
		if h = hashOf(word); len(w.met) >= maxMet {
			clear(w.met)
		}
		if w.met == nil {
			w.met = map[string]wordHash{}
		}
		w.met[strings.Clone(word)] = h // it may be a piece of a long text
	}
	return h
}

// learn makes sure that every word of the documents has its number, and writes those the file did not know.
func (w *wordCache) learn(ctx context.Context, tx *duck.Write, docs []*Document) error {
	if w.terms == nil || len(w.terms)+len(w.surfaces) > maxWords {
		*w = wordCache{terms: map[wordHash]int32{}, surfaces: map[wordHash]bool{}}
		if _, err := tx.One(ctx, "terms_next", []any{&w.next}); err != nil {
			return err
		}
		w.complete = w.next == 1 // the file has none
	}
	terms, surfaces := map[wordHash]string{}, map[wordHash]surface{}
	for _, d := range docs {
		if d.Retired {
			continue
		}
		for term := range d.Words.Frequency {
			if h := w.hash(term); w.terms[h] == 0 {
				terms[h] = term
			}
		}
		for written, term := range d.Words.Surfaces {
			if h := w.hash(written); !w.surfaces[h] {
				surfaces[h] = surface{written, w.hash(term)}
			}
		}
	}
	if len(terms)+len(surfaces) == 0 {
		return nil
	}
	if !w.complete {
		if err := w.lookUp(ctx, tx.Conn, hashes(terms), hashes(surfaces)); err != nil {
			return err
		}
		maps.DeleteFunc(terms, func(h wordHash, _ string) bool { return w.terms[h] != 0 })
		maps.DeleteFunc(surfaces, func(h wordHash, _ surface) bool { return w.surfaces[h] })
	}
	return w.add(tx, terms, surfaces)
}

// surface is a word as it is written, and the term it is indexed under.
type surface struct {
	written string
	term    wordHash
}

// lookUp finds those words that the file knows; after many times it reads all that the file has, unless these are too many.
func (w *wordCache) lookUp(ctx context.Context, c *duck.Conn, terms, surfaces string) error {
	query, args := "words_find", []any{sql.Named("terms", terms), sql.Named("surfaces", surfaces)}
	if w.lookups++; w.lookups == maxLookups {
		var words int
		if _, err := c.One(ctx, "words_count", []any{&words}); err != nil {
			return err
		}
		if words <= maxWords {
			query, args, w.complete = "words_all", nil, true
		}
	}
	return c.EachIn(ctx, "", query, func(rows *sql.Rows) error { // planned anew: within one transaction the words may become many times as many
		var h wordHash
		var no int32
		var isTerm bool
		err := rows.Scan(&h, &no, &isTerm)
		if isTerm {
			w.terms[h] = no
		} else {
			w.surfaces[h] = true
		}
		return err
	}, args...)
}

// add writes words that the file does not know.
func (w *wordCache) add(tx *duck.Write, terms map[wordHash]string, surfaces map[wordHash]surface) error {
	var rows [][]driver.Value
	for h, term := range terms {
		w.terms[h] = w.next
		rows = append(rows, []driver.Value{w.next, term, uint64(h)})
		w.next++
	}
	if err := tx.AppendRows("terms", rows); err != nil {
		return err
	}
	rows = rows[:0]
	for h, s := range surfaces {
		w.surfaces[h] = true
		rows = append(rows, []driver.Value{s.written, w.terms[s.term], uint64(h)})
	}
	return tx.AppendRows("surfaces", rows)
}

// hashes lists what words are found by, as the text of a list.
func hashes[V any](m map[wordHash]V) string {
	const digits = 20
	list := append(make([]byte, 0, 2+len(m)*(digits+1)), '[')
	for h := range m {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(h), 10)
	}
	return string(append(list, ']'))
}
