package wordpiece

import (
	"unicode"
	"unicode/utf8"
)

// noWord is the word of a token that stands in no text.
const noWord = -1

// Encoding is one text as tokens. The zero value is ready; using one again
// for the next text saves its allocations. Not safe for concurrent use.
type Encoding struct {
	IDs   []int32 // one per token
	Words []int32 // which word each token belongs to, counted from 0; -1 for the start and end tokens
	Types []int32 // 0 for the first text, 1 for the second; filled by EncodePair only
	text  []byte  // the normalised words, one after the other
	ends  []int32 // where each word ends in text
}

// WordCount gives the number of words, those cut off by a limit not counted.
func (e *Encoding) WordCount() int { return len(e.ends) }

// Word gives a word as it was looked up: folded as the options say. The bytes
// are valid until e is used again.
func (e *Encoding) Word(i int32) []byte {
	begin := int32(0)
	if i > 0 {
		begin = e.ends[i-1]
	}
	return e.text[begin:e.ends[i]]
}

// Term gives the first run of letters and digits of a word, in lower case and
// without accents whatever the options say: what a table of word weights
// knows it by. It is empty for punctuation and symbols, and valid until e is
// used again.
func (e *Encoding) Term(i int32) []byte {
	word := e.Word(i)
	if plain(word) {
		return word
	}
	var uncased Options
	var buffer [8]rune
	var term []byte
	var k kind
	for _, r := range string(word) {
		for _, f := range uncased.fold(buffer[:0], r, &k) {
			if unicode.IsLetter(f) || unicode.IsDigit(f) {
				term = utf8.AppendRune(term, f)
			} else if len(term) > 0 {
				return term
			}
		}
	}
	return term
}

// plain holds for a word that is its own term: most are.
func plain(word []byte) bool {
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func (e *Encoding) reset() {
	e.IDs, e.Words, e.Types = e.IDs[:0], e.Words[:0], e.Types[:0]
	e.text, e.ends = e.text[:0], e.ends[:0]
}

func (e *Encoding) add(id, word int32) {
	e.IDs = append(e.IDs, id)
	e.Words = append(e.Words, word)
}

// cut keeps the first n tokens and the words they belong to.
func (e *Encoding) cut(n int) {
	if n >= len(e.IDs) {
		return
	}
	e.IDs, e.Words = e.IDs[:n], e.Words[:n]
	words := int32(0)
	if n > 0 {
		words = e.Words[n-1] + 1 // noWord + 1 is 0
	}
	e.ends = e.ends[:words]
	e.text = e.text[:0]
	if words > 0 {
		e.text = e.text[:e.ends[words-1]]
	}
}

// join appends the tokens and words of another encoding.
func (e *Encoding) join(other *Encoding) {
	words, bytes := int32(len(e.ends)), int32(len(e.text))
	for i, id := range other.IDs {
		e.add(id, other.Words[i]+words)
	}
	e.text = append(e.text, other.text...)
	for _, end := range other.ends {
		e.ends = append(e.ends, end+bytes)
	}
}
