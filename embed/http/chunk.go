package remote

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is done for one text that is too long.
const (
	mostCuts   = 3   // so often a piece is cut again
	mostPieces = 64  // so many pieces of a text have a say in its vector, from its beginning
	mostLines  = 50  // of one piece, if it is not too short then
	shortest   = 100 // characters: what is shorter isn't halved
)

// chunking is how a text is cut, in characters: pieces of at most max, each beginning overlap before the end of the one before, and none
// shorter than min but for the last.
type chunking struct{ max, overlap, min int }

// chunkingFor is the rule for a model that takes about limit characters of Latin text; a character of CJK counts for two and a half.
func chunkingFor(limit int, cjk bool) chunking {
	div := 1.0
	if cjk {
		div = 2.5
	}
	share := func(tenThousandths int) int { return int(float64(limit*tenThousandths) / (div * 10_000)) }
	return chunking{max: max(200, share(7000)), overlap: share(500), min: max(100, share(1000))}
}

// manyCJK reports whether more than 30 % of characters are Chinese, Japanese or Korean.
func manyCJK(text []rune) bool {
	n := 0
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n*10 > len(text)*3
}

// chunks cuts a text into at most most pieces. Each is longer than its overlap with the next, so there is an end.
func chunks(whole string, limit, most int) (pieces []string) {
	text := []rune(whole)
	rule := chunkingFor(limit, manyCJK(text))
	for at := 0; at < len(text) && len(pieces) < most; {
		end := len(text)
		if end-at > rule.max {
			end = at + cut(text[at:at+rule.max], rule.min)
		}
		if piece := strings.TrimSpace(string(text[at:end])); piece != "" {
			pieces = append(pieces, piece)
		}
		if end == len(text) {
			break
		}
		at = end - rule.overlap
	}
	return pieces
}

// cut finds where a piece ends that begins with text and has at least so many characters: behind a sentence, else a line, else a word, else with text itself.
func cut(text []rune, least int) int {
	lines := 0
	for i, r := range text {
		if r == '\n' {
			if lines++; lines == mostLines {
				text = text[:max(i+1, min(least, len(text)))]
				break
			}
		}
	}
	for _, ends := range []func(i int) bool{
		func(i int) bool {
			return strings.ContainsRune("。！？", text[i]) || strings.ContainsRune(".!?", text[i]) && (i+1 == len(text) || unicode.IsSpace(text[i+1]))
		},
		func(i int) bool { return text[i] == '\n' },
		func(i int) bool { return unicode.IsSpace(text[i]) },
	} {
		for i := len(text) - 1; i >= least; i-- {
			if ends(i) {
				return i + 1
			}
		}
	}
	return len(text)
}

// divide gives what is embedded in place of a text that is too long and was cut depth times: its pieces, or, where these would be all but itself, its first half.
// nil: nothing more is tried.
func (c *Client) divide(text string, depth int) []string {
	if depth == mostCuts {
		return nil
	}
	pieces, length := chunks(text, c.config.MaxChars, mostPieces), utf8.RuneCountInString(text)
	if len(pieces) != 1 || utf8.RuneCountInString(pieces[0])*10 <= length*9 {
		return pieces
	}
	half := strings.TrimSpace(string([]rune(text)[:length/2]))
	if utf8.RuneCountInString(half) < shortest {
		return nil
	}
	return []string{half}
}
