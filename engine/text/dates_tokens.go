package text

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// dateParser reads one text. Its methods try a rule at a token; each looks at a bounded number of tokens, so that the whole is linear.
type dateParser struct {
	text   string
	tokens []dateToken
	asked  time.Time
	today  time.Time // the day of asked as a midnight in UTC, where every day has one; so are the times of readings
	german bool      // more German than English words of grammar
}

// dateToken is a word, a number or a sign. Signs are unified: any dash is -, any apostrophe '.
type dateToken struct {
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
func (t *dateToken) isNumber(digits int) bool {
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

func newDateParser(s string, asked time.Time) *dateParser {
	p := &dateParser{text: s, asked: asked, today: civil(asked)}
	p.tokens = make([]dateToken, 0, len(s)/4+4)
	spaced, balance := true, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			spaced = true
			i += n
			continue
		case r == '_' || isWordRune(r) && !isApostrophe(r):
			i = p.word(i)
		default:
			p.tokens = append(p.tokens, dateToken{lexeme: noLexeme, start: i, end: i + n, number: -1, sign: unifySign(r)})
			i += n
		}
		token := &p.tokens[len(p.tokens)-1]
		token.spaced, spaced = spaced, false
		switch {
		case token.german:
			balance++
		case token.english:
			balance--
		}
	}
	p.german = balance > 0
	return p
}

func unifySign(r rune) rune {
	switch {
	case isApostrophe(r):
		return '\''
	case r == '-', 0x2010 <= r && r <= 0x2015, r == 0x2212:
		return '-'
	}
	return r
}

// longestDateWord bounds the bytes of a folded word; anything longer is no word of a date.
const longestDateWord = 24

// word appends the word or number at s[i:] and returns where it ends.
func (p *dateParser) word(i int) int {
	s, start := p.text, i
	token := dateToken{lexeme: noLexeme, start: i, number: -1}
	first, size := utf8.DecodeRuneInString(s[i:])
	second, _ := utf8.DecodeRuneInString(s[i+size:])
	token.capital = unicode.IsUpper(first) && !unicode.IsUpper(second) // what is all capitals says nothing
	var folded [longestDateWord + 8]byte
	n := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != '_' && (!isWordRune(r) || isApostrophe(r)) {
			break
		}
		// 2023-05-07T10:00 goes on after its day.
		if (r == 'T' || r == 't') && i-start == 2 && isDigits(s[start:i]) && i+1 < len(s) && isDigits(s[i+1:i+2]) {
			break
		}
		if n <= longestDateWord {
			if r < europeanEnd {
				n += copy(folded[n:], european[r])
			} else {
				n = longestDateWord + 1
			}
		}
		i += size
	}
	if n <= longestDateWord {
		token.read(folded[:n])
		if token.number < 0 && token.suffix == plainNumber {
			i = token.clitic(s, folded[:n], i)
		}
	} else {
		token.suffix = otherSuffix
	}
	token.end = i
	p.tokens = append(p.tokens, token)
	return i
}

// read fills in what a folded word means.
func (t *dateToken) read(word []byte) {
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
func (t *dateToken) readLetters(word []byte) {
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
func (t *dateToken) clitic(s string, word []byte, i int) int {
	if i >= len(s) {
		return i
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if !isApostrophe(r) {
		return i
	}
	end := i + n
	for end < len(s) && isASCIIWord(s[end]) {
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
