package text

import (
	"strings"

	"github.com/blevesearch/snowballstem"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// memo remembers the words met lately, by their spelling in the text, and owns a stemmer. It changes speed, never results. One
// goroutine has it at a time.
type memo struct {
	language *language
	env      *snowballstem.Env
	words    map[string]entry
	wholes   map[string]entry
}

type entry struct{ surface, term string }

func newMemo(l *language) *memo {
	return &memo{language: l, env: snowballstem.NewEnv(""), words: map[string]entry{}, wholes: map[string]entry{}}
}

const (
	maxKey    = 64      // bytes of a word worth remembering
	maxMemory = 1 << 14 // words remembered
)

// keep remembers an entry. A full map starts over, which is rare and needs no order of use.
func keep(entries map[string]entry, raw string, e entry) {
	if len(raw) > maxKey {
		return
	}
	if len(entries) >= maxMemory {
		clear(entries)
	}
	entries[strings.Clone(raw)] = e
}

// appendWord appends the word s[start:end] unless nothing of it is left when folded.
func (m *memo) appendWord(dst []Token, s string, start, end int) []Token {
	raw := s[start:end]
	e, ok := m.words[raw]
	if !ok {
		e.surface = foldWord(raw)
		e.term = m.stem(e.surface)
		keep(m.words, raw, e)
	}
	if e.surface == "" {
		return dst
	}
	return append(dst, Token{e.surface, e.term, start, end})
}

// stem returns the stem of a folded word; what isn't letters alone is its own stem.
func (m *memo) stem(surface string) string {
	if m.language.stem == nil || !char.AreLetters(surface) {
		return surface
	}
	m.env.SetCurrent(m.language.accented(surface))
	m.language.stem(m.env)
	if term := Fold(m.env.Current()); term != "" {
		return term
	}
	return surface
}
