package text

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Tells says how much a turn of talk tells about its speaker, from 0 to 1: the share of three flags that are set. Turns that tell
// something answer questions, and small talk doesn't, so it serves as a prior in ranking.
//
//   - First person: one of the language's first-person pronouns and possessives ("I", "our"). Verb endings don't count.
//   - Time: one of the language's words of time ("yesterday", "last", "week", months, weekdays), or a date in digits with its year
//     (2023-05-07, 7.5.2023, 5/7/2023, 2023年5月).
//   - Name: inside a sentence, a word that starts with a capital and goes on in lower case, weekdays and months among them. What begins
//     a sentence or line, or follows a colon, bracket, dash, hyphen, quotation mark or emoji, doesn't count. Nor does who is spoken to:
//     a name with punctuation behind it, after a comma ("Thanks, Anna!") or as the second word of a sentence whose first is no stop word
//     ("Hey Anna," but not "In Rome,").
//
// Where a flag can't be told, the share is that of the others: names in German, which writes every noun with a capital, and in a text
// without a letter that has case; the first person in the language "none", whose only times are dates in digits. Words are compared in
// lower case with their accents, which often are all that tells them apart (Swedish vår is "our", var is "was").
func (a *Analyzer) Tells(s string) float32 {
	t := teller{analyzer: a, tellList: tellLists()[a.language.name]}
	t.scan(s)
	return t.share()
}

// tell is a set of the things that a word can tell.
type tell uint8

const (
	tellsFirst tell = 1 << iota
	tellsTime
	tellsName
	tellsNothing // in this spelling, whatever else the lists or its capital say
	opensPhrase  // begins one of the phrases of two words
)

// teller reads one text from left to right.
type teller struct {
	analyzer *Analyzer
	tellList
	found tell
	cased bool      // there is a letter that has case
	named *[]string // where the names go; nil: nobody wants them

	words   int    // of the sentence so far; an apostrophe joins what follows to the word before
	first   string // of them
	end     int    // of the last
	between rune   // what stands behind it: comma, quote, hyphen or apostrophe (the latter two without a space), or 0

	// key[:opened] is the last word in lower case and a space, if it opens a phrase; the word being read is put behind.
	key    [2*maxTellWord + 1 + utf8.UTFMax]byte
	opened int
}

// Names gives the names in s as they are written, by the rules of Tells, without words of time. There are none in German, and in scripts without capitals.
func (a *Analyzer) Names(s string) (names []string) {
	t := teller{analyzer: a, tellList: tellLists()[a.language.name], named: &names}
	if t.sought&tellsName != 0 {
		t.scan(s)
	}
	return names
}

// scan reads s, as far as there is something left to find.
func (t *teller) scan(s string) {
	for i := 0; i < len(s) && (t.found != t.sought || t.named != nil); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case char.IsUnspaced(r):
			t.words, t.between, t.opened = t.words+1, 0, 0 // in no list, but what follows begins no sentence
		case char.LowerInWord(r) <= 0:
			t.gap(i, r)
		default:
			n = t.word(s, i, r)
		}
		i += n
	}
}

// gap takes in the rune at i, which is no part of a word.
func (t *teller) gap(i int, r rune) {
	if i > t.end || r != ' ' && r != '-' {
		t.opened = 0
	}
	switch {
	case r == '\n' || r == '\r':
		t.words, t.between = 0, 0
	case unicode.IsSpace(r) || char.IsIgnorable(r):
		if t.between == '-' {
			t.words = 0 // a dash
		}
		if t.between == '-' || t.between == '\'' {
			t.between = 0
		}
	case r == ',' || r == ';':
		t.between = ','
	case r == '"' || r == '“' || r == '”' || r == '„' || r == '«' || r == '»':
		t.between = '"'
	case char.IsApostrophe(r):
		if i == t.end {
			t.between = '\''
		}
	case r == '-' && i == t.end:
		t.between = '-'
	case r == '&' || r == '/' || r == '+' || r == '%' || r == '@':
		t.between = 0
	default:
		t.words, t.between = 0, 0
	}
}

// word takes in the word at s[i:], which begins with r, and returns its length.
func (t *teller) word(s string, i int, r rune) int {
	upper := char.IsUpper(r)
	end, told := t.read(s, i, upper)
	if '0' <= r && r <= '9' && startsDate(s[i:]) {
		told |= tellsTime
	}
	if t.between != '\'' || t.words == 0 {
		t.words++
		if t.words == 1 {
			t.first = s[i:end]
		}
	}
	if upper && t.words > 1 && told&tellsNothing == 0 && t.isName(s[i+utf8.RuneLen(r):end]) {
		if told&tellsTime != 0 || !t.isAddressed(s[end:]) {
			if t.named != nil && told&tellsTime == 0 {
				*t.named = append(*t.named, s[i:end])
			}
			told |= tellsName
		}
	}
	t.cased = t.cased || upper || char.IsLower(r)
	t.found |= told & t.sought
	t.end, t.between = end, 0
	return end - i
}

// read returns the end of the word at s[i:] and what the lists say of it. The exact spelling of a word with a capital goes first.
func (t *teller) read(s string, i int, upper bool) (end int, told tell) {
	n, marked := t.opened, false
	for end = i; end < len(s); {
		r, size := rune(s[end]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[end:])
		}
		lower := char.LowerInWord(r)
		if lower == 0 {
			break
		}
		end += size
		marked = marked || 0x300 <= r && r < 0x370
		switch {
		case lower == char.Invisible || n > len(t.key)-utf8.UTFMax:
		case lower < utf8.RuneSelf:
			t.key[n] = byte(lower)
			n++
		default:
			n += utf8.EncodeRune(t.key[n:], lower)
		}
	}
	key := t.key[:n]
	if marked {
		key = append(key[:t.opened], norm.NFC.String(string(key[t.opened:]))...)
	}
	told = t.look(key)
	if upper {
		if exact, ok := t.listed[s[i:end]]; ok {
			told = told&opensPhrase | exact
		}
	}
	opened := 0
	if told&opensPhrase != 0 {
		opened = copy(t.key[:], key[t.opened:])
		t.key[opened] = ' '
		opened++
	}
	t.opened = opened
	return end, told
}

// look returns what the lists say of the phrase in key, or of its last word if that phrase isn't listed.
func (t *teller) look(key []byte) tell {
	word := key[t.opened:]
	if len(word) > maxTellWord {
		return 0
	}
	told := t.listed[string(word)]
	if t.opened > 0 {
		if phrase, ok := t.listed[string(key)]; ok {
			told = told&opensPhrase | phrase
		}
	}
	return told
}

// isName reports whether a word inside a sentence that begins with a capital and goes on with rest is a name.
func (t *teller) isName(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return char.IsLower(r) && t.between != '-' && t.between != '"'
}

// isAddressed reports whether a name stands where people are spoken to, given what comes after.
func (t *teller) isAddressed(after string) bool {
	apart := t.between == ',' || t.words == 2 && !t.analyzer.IsStop(foldWord(t.first))
	return apart && closes(after)
}

// share returns the flags found as a share of those that could be.
func (t *teller) share() float32 {
	sought := t.sought
	if !t.cased {
		sought &^= tellsName
	}
	return float32(bits.OnesCount8(uint8(t.found))) / float32(bits.OnesCount8(uint8(sought)))
}

// closes reports whether a word is followed by punctuation, a sign, or nothing at all.
func closes(after string) bool {
	rest := strings.TrimLeft(after, " \t\u00A0\u202F")
	if rest == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	joined := r == '-' && len(rest) == len(after)
	return !joined && !char.StartsWord(r) && !char.IsApostrophe(r) && r != '&' && r != '/'
}

// startsDate reports a date in digits that has its year: year, month and day or day and month and year between equal signs, or a number
// before a Chinese, Japanese or Korean sign for year, month or day.
func startsDate(s string) bool {
	first, at := digits(s)
	if at == len(s) {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(s[at:]); r >= utf8.RuneSelf {
		return at <= 4 && strings.ContainsRune("年月日号號년월일", r)
	}
	sign := s[at]
	if sign != '-' && sign != '/' && sign != '.' {
		return false
	}
	second, n := digits(s[at+1:])
	end := at + 1 + n
	if end == len(s) || s[end] != sign {
		return false
	}
	third, n2 := digits(s[end+1:])
	day := func(number, length int) bool { return length <= 2 && 1 <= number && number <= 31 }
	year := func(number, length int) bool { return length == 4 && 1000 <= number }
	return day(second, n) && (year(first, at) && day(third, n2) || day(first, at) && year(third, n2))
}

// digits reads up to nine digits and returns their value and number.
func digits(s string) (value, n int) {
	for n < len(s) && n < 9 && '0' <= s[n] && s[n] <= '9' {
		value = 10*value + int(s[n]-'0')
		n++
	}
	return value, n
}
