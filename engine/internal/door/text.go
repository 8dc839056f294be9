package door

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Limits of a query's text. DuckDB's parser takes seconds for a thousand nested brackets, and copies what stands after CASE for each WHEN: of sixteen
// such in each other it makes 84 MB, in a minute.
const (
	maxQueryText  = 200_000 // bytes
	maxBrackets   = 50
	maxCaseCopies = 1 << 20 // bytes of operands, copied
)

// CheckText bounds what the parser will have to do. It reads strings, names and comments as DuckDB does, so that nothing in them counts.
func CheckText(query string) error {
	if len(query) > maxQueryText {
		return fmt.Errorf("%w: sql has %d bytes; allowed: %d", fault.ErrInvalid, len(query), maxQueryText)
	}
	var cases []queryCase
	depth, copied := 0, 0
	for i := 0; i < len(query); {
		rest := query[i:]
		switch c := rest[0]; {
		case strings.IndexByte("([{", c) >= 0:
			if depth++; depth > maxBrackets {
				return fmt.Errorf("%w: sql has brackets in brackets more than %d deep; allowed: %d", fault.ErrInvalid, maxBrackets, maxBrackets)
			}
			i++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
			i++
		case isWordByte(c):
			n := wordLength(rest)
			word := rest[:n]
			if n < len(rest) && rest[n] == '\'' && strings.EqualFold(word, "e") {
				i += n + quoted(rest[n:], true)
				continue
			}
			last := len(cases) - 1
			switch {
			case strings.EqualFold(word, "case"):
				if last >= 0 && cases[last].whens == 0 {
					return fmt.Errorf("%w: sql has a CASE between a CASE and its first WHEN; allowed: a CASE within what follows WHEN, THEN or ELSE", fault.ErrInvalid)
				}
				cases = append(cases, queryCase{start: i + n})
			case strings.EqualFold(word, "when") && last >= 0:
				if cases[last].whens++; cases[last].whens == 1 {
					cases[last].operand = i - cases[last].start
				}
				if copied += cases[last].operand; copied > maxCaseCopies {
					return fmt.Errorf("%w: sql has too long an operand of CASE for so many WHEN; allowed: %d bytes, each WHEN counting the operand again",
						fault.ErrInvalid, maxCaseCopies)
				}
			case strings.EqualFold(word, "end") && last >= 0:
				cases = cases[:last]
			}
			i += n
		default:
			i += max(1, passedOver(rest))
		}
	}
	return nil
}

// queryCase is a CASE that has not ended.
type queryCase struct {
	start, operand int // bytes
	whens          int
}

// passedOver is the length of a string, quoted name or comment that starts here, else of one character.
func passedOver(s string) int {
	switch {
	case s[0] == '\'' || s[0] == '"':
		return quoted(s, false)
	case strings.HasPrefix(s, "--"):
		if end := strings.IndexAny(s, "\r\n"); end >= 0 {
			return end
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		return blockComment(s)
	case s[0] == '$':
		if tag := dollarTag(s); tag != "" {
			if end := strings.Index(s[len(tag):], tag); end >= 0 {
				return end + 2*len(tag)
			}
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// quoted is the length of what stands in quotation marks, a doubled one being no end.
func quoted(s string, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == s[0] && i+1 < len(s) && s[i+1] == s[0]:
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}

// blockComment is the length of a comment, which may have others in it.
func blockComment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(s)
}

// dollarTag is the $tag$ that begins a string, if one does.
func dollarTag(s string) string {
	end := strings.IndexByte(s[1:], '$')
	if end < 0 || end > 0 && (wordLength(s[1:]) != end || s[1] >= '0' && s[1] <= '9') {
		return ""
	}
	return s[:end+2]
}

func wordLength(s string) int {
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	return n
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
