package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// sentence is a stretch of a text that can stand alone: a sentence, an item of a list, a line of code, or a clause of what is too long.
type sentence struct {
	start, end int
	code       bool // inside a fence
	heading    bool
	cut        bool // goes on after end, in the sentence that follows
	continues  bool // what the one before was cut from
}

// sentences appends the sentences of s to dst, in order and without overlap. A line break ends a sentence unless the text goes on in
// lower case. Points in numbers, abbreviations, addresses and paths end nothing. What has more than most bytes is cut into clauses.
func sentences(dst []sentence, s string, most int) []sentence {
	fenced := false
	open := -1   // start of a paragraph being read
	before := "" // its last line
	close := func(end int) {
		if open >= 0 {
			dst = appendParagraph(dst, s, open, end, most)
			open = -1
		}
	}
	for start := 0; start < len(s); {
		end := start + lineLength(s[start:])
		line := s[start:end]
		from := start + len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		trimmed := strings.TrimSpace(line)
		body := markLength(trimmed)
		switch {
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			close(start)
			fenced = !fenced
		case strings.IndexFunc(trimmed, char.StartsWord) < 0:
			close(start)
		case fenced:
			dst = appendCut(dst, s, sentence{start: from, end: from + len(trimmed), code: true}, most)
		case trimmed[0] == '#' && body > 0:
			close(start)
			dst = appendCut(dst, s, sentence{start: from + body, end: from + len(trimmed), heading: true}, most)
		case open >= 0 && body == 0 && continues(before, trimmed):
		default:
			close(start)
			open = from + body
		}
		before = trimmed
		start = end
	}
	close(len(s))
	return dst
}

// lineLength returns the length of the first line of s with its break.
func lineLength(s string) int {
	if at := strings.IndexByte(s, '\n'); at >= 0 {
		return at + 1
	}
	return len(s)
}

// markLength returns the length of the bullet, number, quote or heading mark that a line starts with.
func markLength(line string) int {
	n := 0
	for n < len(line) {
		rest := line[n:]
		switch mark := strings.TrimLeft(rest, "#>"); {
		case len(mark) < len(rest) && strings.HasPrefix(mark, " "):
			n += len(rest) - len(mark) + 1
			continue
		case strings.HasPrefix(rest, "- [ ] "), strings.HasPrefix(rest, "- [x] "):
			return n + 6
		case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "* "), strings.HasPrefix(rest, "+ "):
			return n + 2
		case strings.HasPrefix(rest, "• "), strings.HasPrefix(rest, "– "):
			return n + 4
		}
		if digits := len(rest) - len(strings.TrimLeft(rest, "0123456789")); 0 < digits && digits < 3 && len(rest) > digits+1 &&
			(rest[digits] == '.' || rest[digits] == ')') && rest[digits+1] == ' ' {
			return n + digits + 2
		}
		break
	}
	return n
}

// wrapped is the bytes from which a line may have been broken for its length.
const wrapped = 60

// continues reports whether a line goes on with the sentence of the line before: it starts in lower case, or the line before is long
// and ends with a comma, or the line starts with a number and the one before doesn't, as it would in a log or table.
func continues(before, line string) bool {
	r, _ := utf8.DecodeRuneInString(line)
	if unicode.IsLower(r) {
		return true
	}
	startsNumber := '0' <= line[0] && line[0] <= '9'
	return len(before) >= wrapped && (before[len(before)-1] == ',' || startsNumber && strings.IndexByte("0123456789[{", before[0]) < 0)
}

// appendParagraph appends the sentences of s[start:end].
func appendParagraph(dst []sentence, s string, start, end, most int) []sentence {
	for i := start; i < end; {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:end])
		}
		at := i
		i += n
		if !isTerminator(r) {
			continue
		}
		i = closed(s, i, end)
		if isFullStop(r) || i == end || endsSentence(s, start, at, i, end) {
			dst = appendCut(dst, s, sentence{start: start, end: i}, most)
			start = i
		}
	}
	return appendCut(dst, s, sentence{start: start, end: end}, most)
}

func isTerminator(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r >= utf8.RuneSelf && strings.ContainsRune("…。！？｡؟۔।॥", r)
}

// isFullStop reports terminators that need no space behind them.
func isFullStop(r rune) bool {
	return r == '。' || r == '！' || r == '？' || r == '｡'
}

// closers may stand behind the terminator of a sentence.
const closers = "\"')]}*_`”’»›」』）】"

// lastSign returns the last character of a sentence before its closers.
func lastSign(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, closers))
	return r
}

// closed returns the end of the terminators, quotes and brackets at s[i:end].
func closed(s string, i, end int) int {
	for i < end {
		r, n := utf8.DecodeRuneInString(s[i:end])
		if !isTerminator(r) && !strings.ContainsRune(closers, r) {
			break
		}
		i += n
	}
	return i
}

// endsSentence reports whether the terminator at s[at:i], in a sentence that began at start, ends it.
func endsSentence(s string, start, at, i, end int) bool {
	next, _ := utf8.DecodeRuneInString(s[i:end])
	if !unicode.IsSpace(next) {
		return false
	}
	after := strings.TrimLeftFunc(s[i:end], unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(after)
	lower := unicode.IsLower(first)
	if s[at] != '.' {
		quoted := i > at+1 && !isTerminator(rune(s[i-1]))
		return !lower || (s[at] == '!' || s[at] == '?') && !quoted
	}
	if strings.HasPrefix(s[at:], "..") {
		return !lower
	}
	word := s[start:at]
	if space := strings.LastIndexFunc(word, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("([\"“„«", r) }); space >= 0 {
		_, n := utf8.DecodeRuneInString(word[space:])
		word = word[space+n:]
	}
	switch letters := utf8.RuneCountInString(word); {
	case word == "":
		return true
	case strings.Trim(word, "0123456789") == "":
		return letters > 2 || !lower && !startsMonth(after)
	case letters == 1:
		return word == "I" && !lower
	case strings.Contains(word, "."):
		return !isInitials(word)
	case lower:
		return letters > 1 && !isAbbreviation(word) && word != "etc"
	}
	return !isAbbreviation(word)
}

// isInitials reports abbreviations with points inside, such as e.g, z.B, p.m and U.S
func isInitials(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(part) > 2 || !char.AreLetters(strings.ToLower(part)) {
			return false
		}
	}
	return true
}

// isAbbreviation reports words of English, German, French and Spanish that a point behind them belongs to, whatever comes next.
func isAbbreviation(word string) bool {
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "no", "nr", "fig", "eq", "sec", "vol", "pp", "ed", "al", "approx", "ca", "cf",
		"dept", "est", "gen", "gov", "inc", "ltd", "rev", "sgt", "capt", "hr", "fr", "bzw", "evtl", "ggf", "inkl", "usw", "vgl", "zzgl", "str",
		"tel", "abs", "art", "mme", "mlle", "sra", "sta", "jan", "feb", "apr", "aug", "sept", "oct", "nov", "dec", "okt", "dez":
		return true
	}
	return false
}

// startsMonth reports a text that starts with the German name of a month, since a day with a point stands before it.
func startsMonth(s string) bool {
	for _, month := range [...]string{"Jan", "Feb", "März", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"} {
		if strings.HasPrefix(s, month) {
			return true
		}
	}
	return false
}

// appendCut appends a sentence without the space around it, in clauses if it has more than most bytes.
func appendCut(dst []sentence, s string, x sentence, most int) []sentence {
	x.start += len(s[x.start:x.end]) - len(strings.TrimLeftFunc(s[x.start:x.end], unicode.IsSpace))
	x.end = x.start + len(strings.TrimRightFunc(s[x.start:x.end], unicode.IsSpace))
	for x.end-x.start > most {
		part := x
		part.end = x.start + clauseEnd(s[x.start:x.end], most)
		part.cut = true
		dst = append(dst, part)
		x.continues = true
		x.start = part.end + len(s[part.end:x.end]) - len(strings.TrimLeftFunc(s[part.end:x.end], unicode.IsSpace))
	}
	if x.start < x.end {
		dst = append(dst, x)
	}
	return dst
}

// clauseEnd returns where to cut s so that at most most bytes stay: behind the last comma or the like in the second half, else behind
// the last word, else behind the last character.
func clauseEnd(s string, most int) int {
	clause, word, character := 0, 0, 0
	previous := rune(' ')
	for i, r := range s {
		if i > most {
			break
		}
		if i > 0 {
			character = i
			if unicode.IsSpace(r) {
				word = i
				if strings.ContainsRune(",;:–—", previous) {
					clause = i
				}
			} else if strings.ContainsRune("、，；：", previous) {
				clause = i
			}
		}
		previous = r
	}
	switch {
	case clause > most/2:
		return clause
	case word > 0:
		return word
	case character > 0:
		return character
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// Sentence is a stretch of a text that can stand alone, by its bytes.
type Sentence struct {
	Start, End int
	Code       bool // inside a fence
	Heading    bool
}

// Sentences gives the sentences of a text as summaries have them, those that are too long in clauses of at most most bytes.
func Sentences(s string, most int) []Sentence {
	var all []Sentence
	for _, x := range sentences(nil, s, most) {
		all = append(all, Sentence{x.start, x.end, x.code, x.heading})
	}
	return all
}
