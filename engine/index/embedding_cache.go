package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// embeddingCache finds the vectors that a slow model gave before: what is written with a vector of its own is kept with a hash of its text, so that a rebuild, an import of
// the same text, or what comes back into recall does not ask the model again. A vector is kept in the transaction that writes it, and nothing is kept of a text that is
// not stored; reading writes nothing. Questions are not kept: what a model makes of one depends on how rare its words are, which changes with every write. Clients of
// servers remember the last of them by what they send.
type embeddingCache struct {
	most int64 // bytes that it may take; 0: it is off

	mu           sync.Mutex // innermost, held for no call; whoever changes what is below has the writer's lock too, but for reading it the first time
	places       map[textSum]int32
	read         bool  // places has all that the file has
	forgotten    int   // how often it was
	held         bool  // the file had some when it was opened, or has got some since
	bytes        int64 // about those in the file
	next         int32 // place
	hits, misses int64 // of texts, since the file was opened
}

// textSum is what a vector is found by: of the model's fingerprint and the text.
type textSum [sha256.Size]byte

func sumOf(fingerprint, text string) textSum {
	return sha256.Sum256([]byte(fingerprint + "\n" + text))
}

// cacheRow is about what a row takes besides its vector, in bytes.
const cacheRow = 100

// embedded is a vector that is written: the number of the document or passage, and what of.
type embedded struct {
	number int32
	sum    textSum
	vector []float32
}

// slow reports whether a model takes longer to make a vector than it takes to find one.
func slow(m setup.Embedder) bool {
	quick, ok := m.(setup.Instant)
	return m != nil && !(ok && quick.Instant())
}

// keeps reports whether what a model gives is kept: of one of this machine, only where somebody asked for that.
func (ix *Index) keeps(by setup.Embedder) bool {
	asks, ok := by.(setup.Remote)
	return ix.cache.most > 0 && slow(by) && (ix.opts.EmbeddingCacheMB > 0 || ok && asks.Remote())
}

// sums gives what the vectors of texts by a model are found by; nil where none are kept.
func (ix *Index) sums(by setup.Embedder, texts []string) []textSum {
	if !ix.keeps(by) {
		return nil
	}
	all := make([]textSum, len(texts))
	for i, text := range texts {
		all[i] = sumOf(by.Fingerprint(), text)
	}
	return all
}

// remembered gives the vectors of texts that are kept, all of one model; nil for the others.
func (ix *Index) remembered(ctx context.Context, dims int, sums []textSum) ([][]float32, error) {
	c := &ix.cache
	if err := ix.readCache(ctx); err != nil {
		return nil, err
	}
	places, sought := []string{}, map[textSum]int32{}
	c.mu.Lock()
	for _, sum := range sums {
		if place, ok := c.places[sum]; ok && sought[sum] == 0 {
			sought[sum] = place
			places = append(places, strconv.Itoa(int(place)))
		}
	}
	c.mu.Unlock()
	found := map[textSum][]float32{}
	if len(places) > 0 {
		err := ix.file.Read(ctx, "embed", func(conn *duck.Conn) error {
			text := strings.ReplaceAll(sqlfiles.Query("embedding_cache_get"), "{places}", strings.Join(places, ", "))
			return conn.EachValue(ctx, text, func(row []driver.Value) error {
				l := values{row: row}
				place, sum := l.int32(), l.sum()
				if sought[sum] != place { // another has its place since
					return nil
				}
				v := make([]float32, dims)
				if l.vector(v); l.err == nil {
					found[sum], _ = Unit(v, len(v)) // what is damaged is made anew
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	all := make([][]float32, len(sums))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, sum := range sums {
		if all[i] = found[sum]; all[i] != nil {
			c.hits++
			continue
		}
		c.misses++
		if place, ok := sought[sum]; ok && c.places[sum] == place { // it left meanwhile
			delete(c.places, sum)
		}
	}
	return all, nil
}

// readCache reads what the file keeps, without the vectors, unless that is known.
func (ix *Index) readCache(ctx context.Context) error {
	c := &ix.cache
	c.mu.Lock()
	known, forgotten := c.read, c.forgotten
	c.mu.Unlock()
	if known {
		return nil
	}
	var fresh embeddingCache
	err := ix.file.Read(ctx, "embed", func(conn *duck.Conn) error { return fresh.load(ctx, conn) })
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read && c.forgotten == forgotten { // else a write knows better
		c.adopt(&fresh)
	}
	return nil
}

// load reads the keys of a file.
func (c *embeddingCache) load(ctx context.Context, conn *duck.Conn) error {
	c.places, c.next = map[textSum]int32{}, 1
	return conn.EachValue(ctx, sqlfiles.Query("embedding_cache_keys"), func(row []driver.Value) error {
		l := values{row: row}
		place, sum, dims := l.int32(), l.sum(), l.int32()
		if l.err == nil {
			c.places[sum] = place
			c.bytes += int64(dims)*4 + cacheRow
			c.next = max(c.next, place+1)
		}
		return l.err
	})
}

// adopt goes on with what was read. The caller holds mu.
func (c *embeddingCache) adopt(fresh *embeddingCache) {
	c.places, c.bytes, c.next, c.read = fresh.places, fresh.bytes, fresh.next, true
	c.forgotten++
}

// ForgetCache is for who changes the table of the cache in a write of its own.
func (ix *Index) ForgetCache() { ix.cache.forget() }

// forget is for when the file may have other rows than are known. The caller has the writer's lock.
func (c *embeddingCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places, c.read = nil, false
	c.forgotten++
}

// remember keeps vectors of a model that are written in this transaction. Where there is no room the oldest leave; with spare only those of other models do, and
// what is too much is not kept: a rebuild, which comes by everything in turn, would otherwise push out just what it will ask for next.
func (ix *Index) remember(ctx context.Context, tx *duck.Write, fingerprint string, all []embedded, spare bool) error {
	c := &ix.cache
	if c.most == 0 || len(all) == 0 {
		return nil
	}
	if err := ix.readCacheIn(ctx, tx); err != nil {
		return err
	}
	size := int64(4*len(all[0].vector) + cacheRow)
	c.mu.Lock()
	fresh, seen := all[:0:0], map[textSum]bool{}
	for _, e := range all {
		if _, known := c.places[e.sum]; !known && !seen[e.sum] && e.sum != (textSum{}) {
			seen[e.sum] = true
			fresh = append(fresh, e)
		}
	}
	fresh = fresh[:min(int64(len(fresh)), c.most/size)]
	wanted := int64(len(fresh))*size + c.bytes - c.most
	c.mu.Unlock()
	if wanted > 0 {
		_, err := tx.Exec(ctx, "embedding_cache_leave", sql.Named("row", cacheRow), sql.Named("fingerprint", fingerprint), sql.Named("bytes", max(wanted, c.most/8)), sql.Named("oldest", !spare))
		if err != nil {
			return err
		}
		c.forget()
		if err := ix.readCacheIn(ctx, tx); err != nil {
			return err
		}
		fresh = fresh[:min(int64(len(fresh)), max(0, c.most-c.bytes)/size)]
	}
	rows := make([][]driver.Value, len(fresh))
	c.mu.Lock()
	for i, e := range fresh {
		rows[i] = []driver.Value{c.next, hex.EncodeToString(e.sum[:]), fingerprint, e.number, int32(len(e.vector)), e.vector}
		c.places[e.sum] = c.next
		c.bytes += size
		c.next++
	}
	c.held = c.held || len(rows) > 0
	c.mu.Unlock()
	return tx.AppendRows("embedding_cache", rows)
}

// readCacheIn is readCache within a write.
func (ix *Index) readCacheIn(ctx context.Context, tx *duck.Write) error {
	c := &ix.cache
	c.mu.Lock()
	known := c.read
	c.mu.Unlock()
	if known {
		return nil
	}
	var fresh embeddingCache
	if err := fresh.load(ctx, tx.Conn); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopt(&fresh)
	return nil
}

// disown notes that documents and passages lose their vectors, as what they say may change: SweepCache takes out what is nobody's.
func (ix *Index) disown(ctx context.Context, tx *duck.Write, numbers string) error {
	if !ix.cache.held {
		return nil
	}
	return tx.ExecDDL(ctx, sqlfiles.Query("embedding_cache_disown"), "{numbers}", numbers)
}

// SweepCache takes out what no vector of the file is any more, live or of the past: what was purged, and with it whatever else left. It also holds where this
// engine keeps nothing, for another may have.
func (ix *Index) SweepCache(ctx context.Context, tx *duck.Write) error {
	var kept, bytes int64
	if _, err := tx.One(ctx, "embedding_cache_count", []any{&kept, &bytes}, sql.Named("row", cacheRow)); err != nil || kept == 0 {
		return err
	}
	return tx.Each(ctx, "embedding_cache_sweep", func(rows *sql.Rows) error {
		var sum string
		var dims int32
		err := rows.Scan(&sum, &dims)
		if err == nil {
			ix.cache.lose(sum, dims)
		}
		return err
	})
}

// lose notes that a vector leaves. The caller has the writer's lock.
func (c *embeddingCache) lose(sum string, dims int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var of textSum
	if _, err := hex.Decode(of[:], []byte(fmt.Sprintf("%.64s", sum))); err == nil && c.read {
		delete(c.places, of)
		c.bytes -= int64(dims)*4 + cacheRow
	}
}

// CacheState is what is kept of what a model said.
type CacheState struct {
	Vectors int   `json:"vectors"`
	Bytes   int64 `json:"bytes"` // about those in the file
	// Hits are texts of which the model was not asked again since the file was opened, Misses those of which it was.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
}

// keepsAny reports whether anything is kept of what a model says that was brought.
func (ix *Index) keepsAny() bool {
	ix.models.RLock()
	defer ix.models.RUnlock()
	for _, by := range ix.brought {
		if ix.keeps(by) {
			return true
		}
	}
	return false
}

// CacheState tells what is kept; nil where there is nothing and nothing would be.
func (ix *Index) CacheState(ctx context.Context, conn *duck.Conn) (*CacheState, error) {
	s := &CacheState{}
	if _, err := conn.One(ctx, "embedding_cache_count", []any{&s.Vectors, &s.Bytes}, sql.Named("row", cacheRow)); err != nil {
		return nil, err
	}
	if s.Vectors == 0 && !ix.keepsAny() {
		return nil, nil
	}
	ix.cache.mu.Lock()
	defer ix.cache.mu.Unlock()
	s.Hits, s.Misses = ix.cache.hits, ix.cache.misses
	return s, nil
}
