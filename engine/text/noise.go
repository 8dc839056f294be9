package text

import "regexp"

// recallNoise is the rule for noise among rows already kept. It matches a text that is nothing but a greeting, and the artefacts of
// diagnosing recall: "query -> none", "user asked for … not found", a bare "no explicit solution". A memory that merely says one of
// these words is left alone.
var recallNoise = regexp.MustCompile(`(?is)^\s*(?:` +
	`(?:hi|hello|hey|good (?:morning|evening)|greetings)(?: there)?[\s.!,]*` +
	`|(?:.*\W)?query\s*(?:->|→)\s*(?:none|no explicit solution|unknown|not found)(?:\W.*)?` +
	`|user asked for\W.*\W(?:none|no explicit solution|unknown|not found)[\s.!]*` +
	`|(?:[^.!?]{0,80}:\s*)?no explicit solution(?: found)?[\s.!]*` +
	`)$`)

// IsRecallNoise reports whether recall should leave out a row with this text.
func IsRecallNoise(s string) bool {
	return recallNoise.MatchString(s)
}
