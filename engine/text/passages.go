package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Passage is a stretch of a text, in bytes.
type Passage struct{ Start, End int }

// How long passages are, in quarters of a token as the weighted estimator counts: about seventy English words at most, which every embedding model
// reads to the end. What is no longer than longText has none; of a text that would have more than mostPassages they are longer.
const (
	longPassage  = 400
	longText     = 600
	mostPassages = 256
)

// Passages takes a long text apart into stretches that say something by themselves; nil where it is short enough to be one. They cover the text in
// order, without a gap or an overlap, each with the white space behind it, and none is cut inside of a character.
//
//   - Blocks are kept whole where they fit: a paragraph, a list with all its items, a fence with its code.
//   - What is too long is cut at the strongest break it has: between blocks, then lines, then sentences, then words, then characters.
//   - A heading, and what ends with a colon, goes with what follows.
//   - Each is filled up before the next begins. A small rest goes with the last, which may then be longer by a quarter.
func Passages(s string) []Passage {
	size := quartersOf(s)
	if size <= longText {
		return nil
	}
	most := max(longPassage, 2*size/mostPassages+1) // two neighbours are longer than one may be
	var all []piece
	for _, p := range led(pieces(nil, s, Passage{0, len(s)}, 0, most), most) {
		if last := len(all) - 1; last >= 0 && all[last].size+p.size <= most {
			all[last].End, all[last].size = p.End, all[last].size+p.size
		} else {
			all = append(all, p)
		}
	}
	if last := len(all) - 1; last > 0 && all[last].size < most/4 {
		all[last-1].End = all[last].End
		all = all[:last]
	}
	passages := make([]Passage, len(all))
	for i, p := range all {
		passages[i] = p.Passage
	}
	return passages
}

// piece is what passages are made of.
type piece struct {
	Passage
	size  int  // in quarters of a token
	leads bool // to what follows
}

// quartersOf is the length of a text in quarters of a token.
func quartersOf(s string) (quarters int) {
	for i := 0; i < len(s); {
		n := asciiPrefix(s[i:])
		quarters += n
		for i += n; i < len(s) && s[i] >= utf8.RuneSelf; i += n {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			quarters += Estimator{weighted: true}.quarters(r)
		}
	}
	return quarters
}

// cuts give the length of the first piece of a text, by the strongest break and by weaker ones.
var cuts = [...]func(string) int{blockLength, lineLength, sentenceLength, wordLength, characterLength}

// pieces appends what a stretch of s is made of, each as large as it may be.
func pieces(dst []piece, s string, of Passage, level, most int) []piece {
	for start := of.Start; start < of.End; {
		end := start + cuts[level](s[start:of.End])
		size := quartersOf(s[start:end])
		if size <= most || level == len(cuts)-1 {
			dst = append(dst, piece{Passage{start, end}, size, leads(s[start:end])})
		} else {
			dst = pieces(dst, s, Passage{start, end}, level+1, most)
		}
		start = end
	}
	return dst
}

// led puts pieces that lead together with what follows them, where both fit.
func led(all []piece, most int) []piece {
	at := len(all)
	for i := len(all) - 1; i >= 0; i-- {
		p := all[i]
		if at < len(all) && p.leads && p.size+all[at].size <= most {
			p.End, p.size = all[at].End, p.size+all[at].size
			at++
		}
		at--
		all[at] = p
	}
	return all[at:]
}

// leads reports whether a piece says what comes next: a heading, or what ends with a colon.
func leads(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") || strings.HasPrefix(s, "#") && !strings.Contains(s, "\n")
}

// lineLength is that of the first line, with its break.
func lineLength(s string) int {
	if at := strings.IndexByte(s, '\n'); at >= 0 {
		return at + 1
	}
	return len(s)
}

// blockLength is that of the first block: what stands before an empty line or a fence, a fence with its code, or a list, in which lines may be empty.
func blockLength(s string) int {
	var list, ended bool
	for at := 0; at < len(s); {
		end := at + lineLength(s[at:])
		line := strings.TrimRightFunc(s[at:end], unicode.IsSpace)
		fence := fenceMark(line)
		switch {
		case at == 0 && fence != "":
			return fenceLength(s, fence)
		case line == "":
			ended = at > 0
		case at == 0:
			list = isItem(line)
		case fence != "", ended && !(list && (isItem(line) || line[0] == ' ' || line[0] == '\t')):
			return at
		default:
			list, ended = list || isItem(line), false
		}
		at = end
	}
	return len(s)
}

// fenceMark is what a line opens or closes a fence with, or empty.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " \t")
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}

// fenceLength is that of a fence at the beginning of s, to the end of s where it is not closed, with empty lines after it.
func fenceLength(s, mark string) int {
	closed := false
	for at := lineLength(s); at < len(s); at += lineLength(s[at:]) {
		line := s[at : at+lineLength(s[at:])]
		if closed && strings.TrimSpace(line) != "" {
			return at
		}
		closed = closed || fenceMark(line) == mark
	}
	return len(s)
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	rest := strings.TrimLeft(line, "0123456789")
	digits := len(line) - len(rest)
	return 0 < digits && digits < 4 && len(rest) > 1 && (rest[0] == '.' || rest[0] == ')') && rest[1] == ' '
}

// sentenceLength is that of the first sentence with the white space after it. What goes on in lower case has not ended.
func sentenceLength(s string) int {
	ended := false // all since the sign that ended it are quotes and brackets
	for at, r := range s {
		switch {
		case ended && unicode.IsSpace(r):
			end := at + spaceLength(s[at:])
			if next, _ := utf8.DecodeRuneInString(s[end:]); !unicode.IsLower(next) {
				return end
			}
			ended = false
		case strings.ContainsRune("。！？", r):
			end := at + utf8.RuneLen(r)
			return end + spaceLength(s[end:])
		case strings.ContainsRune(".!?…", r):
			ended = true
		default:
			ended = ended && strings.ContainsRune(`"')]}*_»”’`, r)
		}
	}
	return len(s)
}

// spaceLength is that of the white space at the beginning.
func spaceLength(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) }

// wordLength is that of the first word with the white space around it.
func wordLength(s string) int {
	word := strings.TrimLeftFunc(s, unicode.IsSpace)
	if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
		return len(s) - len(word) + end + spaceLength(word[end:])
	}
	return len(s)
}

// mostMarks is how many marks a character is let keep.
const mostMarks = 16

// characterLength is that of the first character with its marks.
func characterLength(s string) int {
	runes := 0
	for at, r := range s {
		if runes > mostMarks || runes > 0 && !unicode.IsMark(r) {
			return at
		}
		runes++
	}
	return len(s)
}
