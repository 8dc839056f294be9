package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/memory"
)

const (
	vocabularySize = 60_000
	scopeCount     = 16
	fewestWords    = 20 // of a memory
	mostWords      = 70
	questionWords  = 10 // about half of them function words
)

// functionWords are the most frequent words of the corpus, as they are of English, so that stop words do in it what they do there.
var functionWords = strings.Fields(`the of and to a in is it you that he was for on are with as his they be at have this from or
	had by but not what all were we when your can said there use an`)

// corpus makes memories that are shaped like real text: words by Zipf's law, 20 to 70 to a memory or as many as wanted, spread over sixteen scopes
// and a year. Memory i of a seed is always the same, whoever asks. It is safe for concurrent use.
type corpus struct {
	seed  uint64
	long  int      // how many words each memory has; 0: 20 to 70
	words []string // most frequent first
	start time.Time
}

func newCorpus(seed uint64) *corpus {
	c := &corpus{seed: seed, words: make([]string, vocabularySize), start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	copy(c.words, functionWords)
	for i := len(functionWords); i < vocabularySize; i++ {
		c.words[i] = pronounceable(i)
	}
	return c
}

// pronounceable gives a word for a number, another one for each: two syllables up to 4,900, one more for every factor of 70.
func pronounceable(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for syllable := 0; n > 0 || syllable < 2; syllable++ {
		b.WriteByte(consonants[n%len(consonants)])
		n /= len(consonants)
		b.WriteByte(vowels[n%len(vowels)])
		n /= len(vowels)
	}
	b.WriteByte('k') // no English ending for the stemmer to take off
	return b.String()
}

// random gives the source of memory or question i.
func (c *corpus) random(i int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(i))) }

// text is the words of memory i.
func (c *corpus) text(i int) string {
	r := c.random(i)
	zipf := rand.NewZipf(r, 1.07, 2.7, vocabularySize-1)
	length := fewestWords + r.IntN(mostWords-fewestWords+1)
	if c.long > 0 {
		length = c.long
	}
	words := make([]string, length)
	for j := range words {
		words[j] = c.words[zipf.Uint64()]
	}
	return strings.Join(words, " ")
}

func (c *corpus) scope(i int) string { return fmt.Sprintf("custom:bench-%02d", i%scopeCount) }

// memory is memory i as a request. An hour-long grid over a year keeps the decay of ages in play.
func (c *corpus) memory(i int) memory.RememberRequest {
	categories := memory.Categories()
	return memory.RememberRequest{
		Text: c.text(i), Scope: c.scope(i), Category: categories[i/scopeCount%len(categories)],
		CreatedAt: c.start.Add(time.Duration(i%8760) * time.Hour),
	}
}

// memories is memories from to to, the latter not included.
func (c *corpus) memories(from, to int) []memory.RememberRequest {
	all := make([]memory.RememberRequest, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, c.memory(i))
	}
	return all
}

// question i asks about one of the first n memories, in ten words of it as they follow each other.
func (c *corpus) question(i, n int) (text, scope string) {
	about := c.random(-1 - i).IntN(n)
	words := strings.Fields(c.text(about))
	from := c.random(-1 - i).IntN(len(words) - questionWords + 1)
	return strings.Join(words[from:from+questionWords], " "), c.scope(about)
}

// miss i is a question of words that no memory has.
func (c *corpus) miss(i int) string {
	words := make([]string, 5)
	for j := range words {
		words[j] = pronounceable(1_000_000_000 + 5*i + j)
	}
	return strings.Join(words, " ")
}
