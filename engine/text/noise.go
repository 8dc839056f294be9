package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

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

// IsCaptureNoise reports whether a message isn't worth remembering: it is shorter than five characters (two with any CJK character,
// where a word has one or two), denies knowledge, asks about remembering, complains about memory, is recall noise, or opens with
// a greeting or session marker as a whole word with at most three words after it. "Hey, I have moved to Lisbon for good" is no noise.
func IsCaptureNoise(s string) bool {
	s = strings.TrimSpace(strings.ReplaceAll(s, "’", "'"))
	shortest := 5
	if hasCJK(s) {
		shortest = 2
	}
	return utf8.RuneCountInString(s) < shortest || aboutMemory.MatchString(s) || isBoilerplate(s) || IsRecallNoise(s)
}

// aboutMemory joins the rules for denials, questions about remembering, evaluation prompts, and complaints about memory.
var aboutMemory = regexp.MustCompile(`(?is)` + strings.Join([]string{
	// denials
	`\bi don'?t have (?:any )?(?:information|data|memory|memories|records?)\b`,
	`\bi'?m not sure about\b`,
	`\bi don'?t (?:recall|remember)\b`,
	`\bit looks like i don'?t\b`,
	`\bi wasn'?t able to find\b`,
	`\bno (?:relevant )?memories found\b`,
	`\bi don'?t have access to\b`,
	// questions about remembering
	`\bdo you (?:remember|recall|know about)\b`,
	`\bcan you (?:remember|recall)\b`,
	`\bdid i (?:tell|mention|say|share)\b`,
	`\bhave i (?:told|mentioned|said)\b`,
	`\bwhat did i (?:tell|say|mention)\b`,
	`[你妳您]还?還?[记記]得`,
	`[记記]不[记記]得`,
	`[还還][记記]得.*[吗嗎么麼?？]`,
	`[你妳您](?:知道|[晓曉]道).*[吗嗎么麼?？]`,
	`我.{0,8}(?:之前|上次|以前).{0,8}[说說提讲講].*[吗嗎呢么麼?？]`,
	// prompts of evaluations
	`\b(?:reply|answer|respond)\b.{0,20}\bonly\b.{0,20}\bnone\b`,
	`\b(?:reply|answer|respond)\b.{0,20}\bonly\b.{0,20}\bexact code\b`,
	// complaints about memory
	`\byou (?:never|don'?t|can'?t) (?:remember|recall|get|understand)\b`,
	`\bwhy (?:do|can'?t|don'?t) you (?:keep )?(?:forget|forgetting|not remember|remember)\b`,
	`\bdid you (?:get|understand) what i (?:said|told you|meant)\b`,
	`^what(?: just)? changed[\s?.!]*$`,
	`\bwhy (?:is|are) (?:my |the )?(?:memory|memories) (?:wrong|missing|broken|not working)\b`,
}, "|"))

// Greetings and session markers stand as whole words. The underscore is no boundary to the pattern, but HEARTBEAT_OK is a heartbeat.
var (
	greeting      = regexp.MustCompile(`(?i)^(?:hi|hello|hey|good (?:morning|evening)|greetings)\b`)
	sessionMarker = regexp.MustCompile(`(?i)^(?:(?:fresh|new) session|heartbeat(?:_\w+)?)\b`)
)

func isBoilerplate(s string) bool {
	return opensShort(s, greeting) || opensShort(s, sessionMarker)
}

// maxSmallTalk is how many words after a greeting still say nothing.
const maxSmallTalk = 3

// opensShort reports whether s opens with a pattern and has at most maxSmallTalk words more.
func opensShort(s string, opening *regexp.Regexp) bool {
	at := opening.FindStringIndex(s)
	return at != nil && !hasCJK(s) && len(strings.Fields(s[at[1]:])) <= maxSmallTalk
}
