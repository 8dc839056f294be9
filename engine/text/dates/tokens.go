package dates

import (
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// parser reads one text. Its methods try a rule at a token; each looks at a bounded number of tokens, so that the whole is linear.
type parser struct {
	text   string
	tokens []token
	asked  time.Time
	today  time.Time // the day of asked as a midnight in UTC, where every day has one; so are the times of readings
	german bool      // more German than English words of grammar
}

// token is a word, a number or a sign. Signs are unified: any dash is -, any apostrophe '.
type token struct {
	*lexeme
	start, end int
	number     int // -1 if it doesn't begin with one to four digits
	digits     int
	suffix     suffix
	sign       rune // 0 for words and numbers
	spaced     bool // after white space, or first
	capital    bool
	possessive bool
}

// isNumber reports plain digits, at most as many as given.
func (t *token) isNumber(digits int) bool {
	return 0 < t.digits && t.digits <= digits && t.suffix == plainNumber
}

type suffix uint8

const (
	plainNumber suffix = iota
	ordinalNumber
	decadeNumber
	otherSuffix
)

var noLexeme = &lexeme{}

func newParser(s string, asked time.Time) *parser {
	p := &parser{text: s, asked: asked, today: civil(asked)}
	p.tokens = make([]token, 0, len(s)/4+4)
	spaced, balance := true, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			spaced = true
			i += n
			continue
		case r == '_' || char.InWord(r) && !char.IsApostrophe(r):
			i = p.word(i)
		default:
			p.tokens = append(p.tokens, token{lexeme: noLexeme, start: i, end: i + n, number: -1, sign: unifySign(r)})
			i += n
		}
		t := &p.tokens[len(p.tokens)-1]
		t.spaced, spaced = spaced, false
		switch {
		case t.german:
			balance++
		case t.english:
			balance--
		}
	}
	p.german = balance > 0
	return p
}

func unifySign(r rune) rune {
	switch {
	case char.IsApostrophe(r):
		return '\''
	case r == '-', 0x2010 <= r && r <= 0x2015, r == 0x2212:
		return '-'
	}
	return r
}

// longestWord bounds the bytes of a folded word; anything longer is no word of a date.
const longestWord = 24

// word appends the word or number at s[i:] and returns where it ends.
func (p *parser) word(i int) int {
	s, start := p.text, i
	t := token{lexeme: noLexeme, start: i, number: -1}
	first, size := utf8.DecodeRuneInString(s[i:])
	second, _ := utf8.DecodeRuneInString(s[i+size:])
	t.capital = unicode.IsUpper(first) && !unicode.IsUpper(second) // what is all capitals says nothing
	var folded [longestWord + 8]byte
	n := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != '_' && (!char.InWord(r) || char.IsApostrophe(r)) {
			break
		}
		// 2023-05-07T10:00 goes on after its day.
		if (r == 'T' || r == 't') && i-start == 2 && isDigits(s[start:i]) && i+1 < len(s) && isDigits(s[i+1:i+2]) {
			break
		}
		if n <= longestWord {
			if letters, ok := char.FoldEuropean(r); ok {
				n += copy(folded[n:], letters)
			} else {
				n = longestWord + 1
			}
		}
		i += size
	}
	if n <= longestWord {
		t.read(folded[:n])
		if t.number < 0 && t.suffix == plainNumber {
			i = t.clitic(s, folded[:n], i)
		}
	} else {
		t.suffix = otherSuffix
	}
	t.end = i
	p.tokens = append(p.tokens, t)
	return i
}

// read fills in what a folded word means.
func (t *token) read(word []byte) {
	digits := 0
	for digits < len(word) && '0' <= word[digits] && word[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		t.readLetters(word)
		return
	}
	if digits > 4 {
		t.suffix = otherSuffix
		return
	}
	t.digits, t.number = digits, 0
	for _, c := range word[:digits] {
		t.number = 10*t.number + int(c-'0')
	}
	switch string(word[digits:]) {
	case "":
	case "st", "nd", "rd", "th", "te", "ten", "ter", "tes", "sten", "ste":
		t.suffix = ordinalNumber
	case "s", "er", "ern":
		t.suffix = decadeNumber
	default:
		t.number, t.suffix = -1, otherSuffix
	}
}

// readLetters looks a word up, and Q3, H1 and KW19 as two in one: their number follows letters.
func (t *token) readLetters(word []byte) {
	if l := lexicon[string(word)]; l != nil {
		t.lexeme = l
		return
	}
	letters := len(word)
	for letters > 0 && '0' <= word[letters-1] && word[letters-1] <= '9' {
		letters--
	}
	if letters == len(word) || len(word)-letters > 2 {
		return
	}
	number := 0
	for _, c := range word[letters:] {
		number = 10*number + int(c-'0')
	}
	switch prefix := string(word[:letters]); {
	case prefix == "q" && 1 <= number && number <= 4:
		t.lexeme = &quarterWords[number-1]
	case prefix == "h" && 1 <= number && number <= 2:
		t.lexeme = &halfWords[number-1]
	case prefix == "kw" || prefix == "cw":
		t.lexeme, t.number, t.digits, t.suffix = lexicon["kw"], number, len(word)-letters, otherSuffix
	}
}

var (
	quarterWords = [4]lexeme{{numbered: 1, unit: unitQuarter}, {numbered: 2, unit: unitQuarter}, {numbered: 3, unit: unitQuarter},
		{numbered: 4, unit: unitQuarter}}
	halfWords = [2]lexeme{{numbered: 1, unit: unitHalf}, {numbered: 2, unit: unitHalf}}
)

// clitic takes 's and the like into the token whose folded word ends at i, and returns where the token ends.
func (t *token) clitic(s string, word []byte, i int) int {
	if i >= len(s) {
		return i
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if !char.IsApostrophe(r) {
		return i
	}
	end := i + n
	for end < len(s) && char.InASCIIWord(s[end]) {
		end++
	}
	if s[i+n:end] == "s" || s[i+n:end] == "S" {
		t.possessive = true
		if l := lexicon[string(append(word, 's'))]; l != nil && len(l.holidays) > 0 { // valentine's
			t.lexeme = l
		}
		return end
	}
	if end > i+n { // don't, they're
		t.lexeme = noLexeme
		return end
	}
	return i
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
