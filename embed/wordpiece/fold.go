package wordpiece

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// What Tokenizer.ascii says of an ASCII byte: one of these, or the folded
// byte itself, with asciiAlone set where it makes a word of its own. NUL makes
// none, so asciiAlone by itself is free to mean drop.
const (
	asciiSpace = ' '
	asciiAlone = 0x80
	asciiDrop  = asciiAlone
)

func asciiClasses(o Options) (classes [128]byte) {
	for c := range byte(128) {
		switch {
		case c == '\t' || c == '\n' || c == '\r' || c == ' ':
			classes[c] = asciiSpace
		case c == '\v' || c == '\f':
			// Spaces to the splitter, controls to the cleaner, which comes first.
			classes[c] = asciiDrop
			if o.KeepControls {
				classes[c] = asciiSpace
			}
		case c < ' ' || c == 0x7f:
			classes[c] = asciiDrop
			if o.KeepControls {
				classes[c] = c
			}
		case c >= 'A' && c <= 'Z' && !o.KeepCase:
			classes[c] = c + 'a' - 'A'
		case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			classes[c] = c
		default:
			classes[c] = asciiAlone | c
		}
	}
	return classes
}

// kind tells whether a rune was an ideograph before it was folded.
type kind bool

const ideograph kind = true

// fold appends what becomes of a rune beyond ASCII: nothing, a space, or the
// runes of its lower-case form without marks.
//
// Folding is done rune by rune. The original orders the marks of the whole
// text canonically before it drops them; marks too young for its tables are
// kept, so their order can differ here, inside words that no vocabulary can
// spell anyway.
func (o *Options) fold(dst []rune, r rune, k *kind) []rune {
	if !o.KeepControls {
		switch {
		case r == 0xfffd || unicode.Is(control, r):
			return dst
		case isSpace(r):
			return append(dst, ' ')
		}
	}
	*k = kind(!o.KeepTogether && isIdeograph(r))
	if o.KeepAccents {
		return o.lower(dst, r)
	}
	if r >= hangul && r < hangul+11172 {
		return appendJamo(dst, r-hangul)
	}
	decomposed := norm.NFD.PropertiesString(string(r)).Decomposition()
	if decomposed == nil {
		if !unicode.Is(mark, r) {
			dst = o.lower(dst, r)
		}
		return dst
	}
	for _, d := range string(decomposed) {
		if !unicode.Is(mark, d) {
			dst = o.lower(dst, d)
		}
	}
	return dst
}

// hangul is the first of the 19 × 21 × 28 syllables that Unicode orders by
// their letters (The Unicode Standard, 3.12).
const hangul = 0xac00

func appendJamo(dst []rune, syllable rune) []rune {
	dst = append(dst, 0x1100+syllable/(21*28), 0x1161+syllable/28%21)
	if tail := syllable % 28; tail != 0 {
		dst = append(dst, 0x11a7+tail)
	}
	return dst
}

func (o *Options) lower(dst []rune, r rune) []rune {
	switch {
	case o.KeepCase:
		return append(dst, r)
	case r == 'İ': // the one rune whose lower case is two
		return append(dst, 'i', '\u0307')
	}
	return append(dst, unicode.ToLower(r))
}

func isSpace(r rune) bool { return r == ' ' || r > 0x7f && unicode.IsSpace(r) }

// isPunct holds for all ASCII that is no letter, digit, space or control, as
// folding can lead there, and for the punctuation of Unicode.
func isPunct(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.Is(punct, r)
}

// isIdeograph holds for the blocks BERT sets apart: CJK ideographs, neither
// kana nor Hangul. The original skips the first 256 of extension E.
func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xf900 && r <= 0xfaff:
		return true
	}
	return r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}
