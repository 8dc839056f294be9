package remote

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// What is remembered of questions.
const (
	cacheSize = 256
	cacheAge  = 30 * time.Minute
)

// cache remembers the vectors that were asked for last.
type cache struct {
	size int
	age  time.Duration
	now  func() time.Time

	mu           sync.Mutex // innermost; held for no request
	byKey        map[[sha256.Size]byte]*list.Element
	latest       *list.List // of entries, the latest used in front
	hits, misses int64
}

type entry struct {
	key    [sha256.Size]byte
	vector []float32
	until  time.Time
}

func newCache(size int, age time.Duration, now func() time.Time) *cache {
	return &cache{size: size, age: age, now: now, byKey: map[[sha256.Size]byte]*list.Element{}, latest: list.New()}
}

// get gives a copy of a vector that is still remembered.
func (c *cache) get(key [sha256.Size]byte) ([]float32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		if known := e.Value.(*entry); c.now().Before(known.until) {
			c.latest.MoveToFront(e)
			c.hits++
			return slices.Clone(known.vector), true
		}
		c.latest.Remove(e)
		delete(c.byKey, key)
	}
	c.misses++
	return nil, false
}

// put remembers a copy of a vector, in place of the one that was longest not asked for.
func (c *cache) put(key [sha256.Size]byte, vector []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok { // another asked the same meanwhile
		c.latest.Remove(e)
	}
	c.byKey[key] = c.latest.PushFront(&entry{key, slices.Clone(vector), c.now().Add(c.age)})
	if c.latest.Len() > c.size {
		oldest := c.latest.Back()
		c.latest.Remove(oldest)
		delete(c.byKey, oldest.Value.(*entry).key)
	}
}

func (c *cache) stats() Cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Cached{c.latest.Len(), c.hits, c.misses}
}
