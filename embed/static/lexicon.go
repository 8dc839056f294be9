package static

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

const (
	minLetters = 3
	minCosine  = 0.3
	maxRelated = 16
	shortlist  = 500 // words whose cosines are computed: finds 98 to 99 in 100 of the true 16
)

// lexicon is what Related searches: the tokens that are whole words. A word's
// place is its index in ids. All but the memo never changes.
type lexicon struct {
	ids      []int32  // of tokens, rising
	squares  []int32  // squared length of each row, in steps
	sketches []uint64 // stride for each word: signs of its mixed row
	stride   int
	memo     []atomic.Pointer[[]relative] // by place; nil: not asked for yet
}

// relative is a related word, as a token.
type relative struct {
	id     int32
	cosine float32
}

func (m *Model) newLexicon() *lexicon {
	size := 1 << bits.Len(uint(m.dims-1)) // dims, up to a power of two
	l := &lexicon{stride: (size + 63) / 64}
	steps := make([]int32, size)
	for id, token := range m.tokenizer.Vocab() {
		if !lettered(token) || strings.HasPrefix(token, m.tokenizer.Options().Prefix) {
			continue
		}
		m.copySteps(steps[:m.dims], int32(id))
		square := m.dot(steps[:m.dims], int32(id))
		if square == 0 {
			continue
		}
		l.ids = append(l.ids, int32(id))
		l.squares = append(l.squares, square)
		clear(steps[m.dims:])
		mix(steps)
		l.sketches = appendSigns(l.sketches, steps)
	}
	l.memo = make([]atomic.Pointer[[]relative], len(l.ids))
	return l
}

func lettered(token string) bool {
	return len(token) >= minLetters && strings.Trim(token, "abcdefghijklmnopqrstuvwxyz") == ""
}

// mix adds and subtracts halves, then quarters, then eighths: the first steps
// of a Walsh-Hadamard transform. The first principal components carry most of
// a vector; mixed with later ones their signs all say about as much.
func mix(values []int32) {
	for half := len(values) / 2; half > 0 && half >= len(values)/8; half /= 2 {
		for from := 0; from < len(values); from += 2 * half {
			a, b := values[from:from+half], values[from+half:from+2*half]
			for i := range a {
				a[i], b[i] = a[i]+b[i], a[i]-b[i]
			}
		}
	}
}

// appendSigns appends a bit per value, set for a negative one.
func appendSigns(sketches []uint64, values []int32) []uint64 {
	for len(values) > 0 {
		n := min(64, len(values))
		var word uint64
		for i, v := range values[:n] {
			word |= uint64(uint32(v)>>31) << i
		}
		sketches, values = append(sketches, word), values[n:]
	}
	return sketches
}

// Related gives words that mean nearly the same as word, nearest first, and
// the cosines of their vectors with its own: at most 16, all over 0.3. It knows
// the words that are a token of three or more letters a to z, and gives only
// such; any other has none, also one with a capital. Of words with one English
// stem it gives the nearest, and none with the stem of word itself.
//
// Cosines are computed for the 500 words with the most similar sketches
// (Charikar 2002, "Similarity estimation techniques from rounding
// algorithms"): one or two in a hundred of the nearest escape. A word takes
// under 0.3 ms the first time and under 1 µs again, as its list is kept, in
// 160 bytes; the first word of all takes 15 ms more.
func (m *Model) Related(word string) (words []string, cosines []float32) {
	l := m.lexicon()
	id, known := m.tokenizer.ID(word)
	place, whole := slices.BinarySearch(l.ids, id)
	if !known || !whole {
		return nil, nil
	}
	list := l.memo[place].Load()
	if list == nil {
		found := m.relatives(l, place)
		list = &found
		l.memo[place].Store(list) // another goroutine may have stored the same
	}
	words, cosines = make([]string, len(*list)), make([]float32, len(*list))
	for i, r := range *list {
		words[i], cosines[i] = m.tokenizer.Vocab()[r.id], r.cosine
	}
	return words, cosines
}

// relatives looks for the words nearest to the one at place.
func (m *Model) relatives(l *lexicon, place int) []relative {
	query, square := make([]int32, m.dims), float64(l.squares[place])
	m.copySteps(query, l.ids[place])
	var found []relative
	for _, other := range l.shortlist(place) {
		cosine := float64(m.dot(query, l.ids[other])) / math.Sqrt(square*float64(l.squares[other]))
		if cosine > minCosine {
			found = append(found, relative{l.ids[other], float32(cosine)})
		}
	}
	slices.SortFunc(found, func(a, b relative) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.id, b.id))
	})
	vocab := m.tokenizer.Vocab()
	kept := make([]relative, 0, maxRelated)
	stems := []string{stem(vocab[l.ids[place]])} // so that no word is related to itself
	for _, r := range found {
		if len(kept) == maxRelated {
			break
		}
		if s := stem(vocab[r.id]); !slices.Contains(stems, s) {
			stems = append(stems, s)
			kept = append(kept, r)
		}
	}
	return kept
}

// shortlist gives the places of the words whose sketches differ least from
// that of place, in order of place; of equally different ones all or none.
func (l *lexicon) shortlist(place int) []int32 {
	sketch := l.sketches[place*l.stride:][:l.stride]
	distances := make([]uint16, len(l.ids))
	counts := make([]int, 64*l.stride+1)
	for other := range distances {
		distance := 0
		for i, s := range l.sketches[other*l.stride:][:len(sketch)] {
			distance += bits.OnesCount64(s ^ sketch[i])
		}
		distances[other] = uint16(distance)
		counts[distance]++
	}
	reach, within := 0, counts[0]
	for within < min(shortlist, len(distances)) {
		reach++
		within += counts[reach]
	}
	places := make([]int32, 0, within)
	for other, distance := range distances {
		if int(distance) <= reach {
			places = append(places, int32(other))
		}
	}
	return places
}

// copySteps copies a row as whole numbers, without its scale.
func (m *Model) copySteps(to []int32, id int32) {
	row := m.rows[int(id)*m.dims:][:len(to)]
	for j := range to {
		to[j] = int32(int8(row[j]))
	}
}

// dot gives the inner product with another row, in steps squared: less than
// 2^31 for the longest of rows. Four sums at a time, as each waits for its last.
func (m *Model) dot(steps []int32, id int32) int32 {
	row := m.rows[int(id)*m.dims:][:len(steps)]
	var a, b, c, d int32
	for len(steps) >= 4 && len(row) >= 4 {
		a += steps[0] * int32(int8(row[0]))
		b += steps[1] * int32(int8(row[1]))
		c += steps[2] * int32(int8(row[2]))
		d += steps[3] * int32(int8(row[3]))
		steps, row = steps[4:], row[4:]
	}
	for j, v := range steps {
		a += v * int32(int8(row[j]))
	}
	return a + b + c + d
}

func stem(word string) string {
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
