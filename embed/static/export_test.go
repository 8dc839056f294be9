package static

import "sync/atomic"

// Words gives all words that Related knows.
func (m *Model) Words() []string {
	var words []string
	for _, id := range m.lexicon().ids {
		words = append(words, m.tokenizer.Vocab()[id])
	}
	return words
}

// Forgetful gives the same model before any word was asked for. An exhaustive
// one takes all sketches for alike, and so compares every word.
func (m *Model) Forgetful(exhaustive bool) *Model {
	l := *m.lexicon()
	l.memo = make([]atomic.Pointer[[]relative], len(l.ids))
	if exhaustive {
		l.sketches = make([]uint64, len(l.sketches))
	}
	other := *m
	other.lexicon = func() *lexicon { return &l }
	return &other
}
