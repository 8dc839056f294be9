package wordpiece

import (
	"strings"
	"unicode/utf8"
)

// scan appends the tokens of text until there are limit in e (0: no limit).
// Specials are found in the raw text, the leftmost and longest first; what is
// between them is normalised and split.
func (t *Tokenizer) scan(e *Encoding, text string, limit int) {
	full := func() bool { return limit > 0 && len(e.IDs) >= limit }
	for text != "" && !full() {
		at, found := t.nextSpecial(text)
		t.split(e, text[:at], limit)
		if full() || found.text == "" {
			break
		}
		e.text = append(e.text, found.text...)
		e.add(found.id, int32(len(e.ends)))
		e.ends = append(e.ends, int32(len(e.text)))
		text = text[at+len(found.text):]
	}
	if full() {
		e.cut(limit)
	}
}

// nextSpecial gives the place of the first special, or the end of the text.
func (t *Tokenizer) nextSpecial(text string) (int, special) {
	for at := 0; ; at++ {
		next := strings.IndexAny(text[at:], t.starts)
		if next < 0 {
			return len(text), special{}
		}
		at += next
		var best special
		for _, s := range t.specials {
			if len(s.text) > len(best.text) && strings.HasPrefix(text[at:], s.text) {
				best = s
			}
		}
		if best.text != "" {
			return at, best
		}
	}
}

// split normalises text rune by rune and hands each word to spell.
func (t *Tokenizer) split(e *Encoding, text string, limit int) {
	begin := len(e.text)
	end := func() bool {
		if len(e.text) > begin {
			t.spell(e, e.text[begin:])
			begin = len(e.text)
		}
		return limit > 0 && len(e.IDs) >= limit
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch class := t.ascii[c]; {
			case class == asciiDrop:
			case class == asciiSpace:
				if end() {
					return
				}
			case class >= asciiAlone:
				end()
				e.text = append(e.text, class&^asciiAlone)
				if end() {
					return
				}
			default:
				e.text = append(e.text, class)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if r == utf8.RuneError && size == 1 {
			continue
		}
		var kind kind
		var folded [8]rune
		for _, f := range t.options.fold(folded[:0], r, &kind) {
			switch {
			case isSpace(f):
				end()
			case kind == ideograph || isPunct(f):
				end()
				e.text = utf8.AppendRune(e.text, f)
				end()
			default:
				e.text = utf8.AppendRune(e.text, f)
			}
		}
		if limit > 0 && len(e.IDs) >= limit {
			return
		}
	}
	end()
}

// spell cuts a word greedily into the longest pieces of the vocabulary, or
// makes it unknown as a whole when that can't be done.
func (t *Tokenizer) spell(e *Encoding, word []byte) {
	number := int32(len(e.ends))
	e.ends = append(e.ends, int32(len(e.text)))
	mark := len(e.IDs)
	if len(word) > t.options.MaxWord && utf8.RuneCount(word) > t.options.MaxWord {
		e.add(t.unknown, number)
		return
	}
	for pieces := t.heads; len(word) > 0; pieces = t.tails {
		n := min(len(word), t.longest)
		for ; n > 0; n-- {
			if n < len(word) && !utf8.RuneStart(word[n]) {
				continue
			}
			if id, ok := pieces[string(word[:n])]; ok {
				e.add(id, number)
				break
			}
		}
		if n == 0 {
			e.IDs, e.Words = e.IDs[:mark], e.Words[:mark]
			e.add(t.unknown, number)
			return
		}
		word = word[n:]
	}
}
