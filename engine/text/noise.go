package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// RecallNoisePattern matches, in Go and in DuckDB's regexp_matches, the rows that recall leaves out.
const RecallNoisePattern = `(?is)^\s*(?:(?:hi|hello|hey|good (?:morning|evening)|greetings)[\s!.,]*|.*\bquery\s*->\s*(?:none|no explicit solution|unknown|not found)\b.*|user asked for\b.*\b(?:none|no explicit solution|unknown|not found)[\s.!]*|no explicit solution[\s.!]*)$`

var recallNoise = regexp.MustCompile(RecallNoisePattern)

// IsRecallNoise reports whether recall should leave a text out.
func IsRecallNoise(s string) bool { return recallNoise.MatchString(s) }

// IsCaptureNoise reports whether a message isn't worth remembering.
func IsCaptureNoise(s string) bool {
	return utf8.RuneCountInString(strings.TrimSpace(s)) < 5 || IsRecallNoise(s)
}
