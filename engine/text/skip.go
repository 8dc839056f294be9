package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// SkipRecall reports whether a prompt is not worth a recall. Wrappers that a host puts before the prompt (untrusted metadata, a
// [cron:…] mark, a time stamp) are taken off first. The first rule that applies decides:
//
//  1. It speaks of remembering or of the past ("last time", "yesterday", "my address", 上次): recall.
//  2. Shorter than 5 characters: skip. A CJK question is let through, since 他是谁？ is a whole one.
//  3. A greeting with at most three words after it and no question mark, a slash command, a shell command, only yes, no, thanks and
//     the like, only "go ahead" and the like, only emoji, a HEARTBEAT, a [System message, a ping: skip.
//  4. With a positive minLength: skip what is shorter and has no question mark; recall all else.
//  5. Shorter than 15 characters, 6 with any CJK letter, without a question mark: skip. All else: recall.
//
// A shell-like first word (git, find, make, test, …) is a command only if the text looks like one: it doesn't end in a question
// mark, and it is that word alone, or has shell syntax (an option, a pipe, a redirection, a variable, ./ or ~/), or has no English
// function word and either names a path or file, or is at most three words of which the second is a usual subcommand.
// So "find my notes on X" is recalled and "git status" is not.
func SkipRecall(prompt string, minLength int) bool {
	p := strings.TrimSpace(char.Clean(prompt))
	p = strings.TrimSpace(hostWrapper.ReplaceAllString(p, ""))
	if mentionsPast.MatchString(p) {
		return false
	}
	length, wide := utf8.RuneCountInString(p), hasCJK(p)
	question := strings.ContainsAny(p, "?？")
	if length < 5 && !(question && wide) {
		return true
	}
	if !question && opensShort(p, greeting) || saysNothing.MatchString(p) || isShellCommand(p) || isEmojiOnly(p) {
		return true
	}
	shortest := minLength
	if shortest <= 0 {
		shortest = 15
		if wide {
			shortest = 6
		}
	}
	return length < shortest && !question
}

// hostWrapper matches what hosts put before a prompt: blocks of metadata, up to the end of their fence or the next blank line, and
// marks of time and origin.
var hostWrapper = regexp.MustCompile("(?is)^(?:" + strings.Join([]string{
	"(?:conversation info|sender) \\(untrusted metadata\\):?\\s*```.*?```\\s*",
	"(?:conversation info|sender) \\(untrusted metadata\\):?.*?(?:\\n\\s*\\n)",
	`\[cron:[^\]]*\]\s*`,
	`\[[a-z]{3} \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^\]]*\]\s*`,
}, "|") + ")+")

var mentionsPast = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(?:remember|recall|forgot|memory|memories|last time|before|previously|earlier|yesterday|ago)\b`,
	`\bmy (?:name|email|phone|address|birthday|preferences?)\b`,
	`\bwhat did (?:i|we)\b`,
	`\bdid i (?:tell|say|mention)\b`,
	`你[记記]得|之前|上次|以前|[还還][记記]得|提到[过過]|[说說][过過]`,
	`\b(?:erinner\pL*|vergessen|letztes mal|letzte woche|vorhin|vorher|gestern|wei(?:ß|ss)t du noch)`,
	`\bmeine? (?:name|e-?mail|telefonnummer|adresse|geburtstag)\b`,
	`\bwas (?:habe|hatte) (?:ich|wir)|\bwas haben wir\b`,
}, "|"))

var saysNothing = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`^/`,
	`^\[system`,
	`heartbeat`,
	`^(?:yes|yep|yeah|no|nope|ok|okay|sure|fine|thanks|thank you|thx|got it|great|perfect|cool|nice|good|agreed|understood|👍|👌|✅)\s*[.!]*$`,
	`^(?:go ahead|continue|proceed|do it|start|begin|next|carry on|go on)\s*[.!]*$`,
	`^(?:继续|繼續|好的?|可以|行|没问题|沒問題|开始|開始|下一步|是的?|谢谢|謝謝)\s*[.!。！]*$`,
	`^(?:ping|pong|test|debug)\s*[.!?]*$`,
}, "|"))

var (
	shellWord   = regexp.MustCompile(`^(?:run|build|test|ls|cd|git|npm|pip|docker|curl|cat|grep|find|make|sudo)$`)
	shellSyntax = regexp.MustCompile(`(?:^|\s)(?:--?[a-zA-Z]|\./|~/|\.\.?(?:\s|$)|\$[A-Za-z({])|[|>]|&&|\*\.`)
	filePath    = regexp.MustCompile(`\w/\w|(?:^|\s)/\w|\w\.[a-z]{1,5}(?:\s|$)|\w=\w`)
	subcommand  = regexp.MustCompile(`^(?:add|all|branch|build|checkout|ci|clean|clone|commit|compose|deploy|diff|down|exec|fetch|images|init|` +
		`install|lint|list|log|logs|merge|ps|publish|pull|push|rebase|reset|restart|rm|run|show|start|stash|status|stop|switch|tag|test|tests|` +
		`uninstall|up|update|upgrade)$`)
	functionWord = regexp.MustCompile(`(?i)^(?:a|an|the|my|our|your|his|her|their|this|that|it|me|us|i|we|you|is|are|was|were|do|does|did|` +
		`about|for|from|of|on|in|with|what|when|where|who|why|how|which|and|or|to|any|some|all|sure)$`)
)

func isShellCommand(p string) bool {
	words := strings.Fields(p)
	if len(words) == 0 || !shellWord.MatchString(strings.ToLower(words[0])) || strings.HasSuffix(p, "?") || strings.HasSuffix(p, "？") {
		return false
	}
	if len(words) == 1 || shellSyntax.MatchString(p) {
		return true
	}
	for i, w := range words[1:] {
		isSubcommand := i == 0 && subcommand.MatchString(w)
		if !isSubcommand && functionWord.MatchString(w) {
			return false
		}
	}
	return filePath.MatchString(p) || len(words) <= 3 && subcommand.MatchString(words[1])
}

// isEmojiOnly reports a text of emoji and spaces. It asks for pictographs: by the broader Emoji property even digits would do.
func isEmojiOnly(p string) bool {
	found := false
	for _, r := range p {
		switch {
		case isPictograph(r), 0x1F1E6 <= r && r <= 0x1F1FF: // regional indicators make flags
			found = true
		case unicode.IsSpace(r), char.IsIgnorable(r), 0x1F3FB <= r && r <= 0x1F3FF, 0xE0020 <= r && r <= 0xE007F: // skin tones, tags
		default:
			return false
		}
	}
	return found
}

var greeting = regexp.MustCompile(`(?i)^(?:hi|hello|hey|good (?:morning|evening)|greetings)\b`)

// maxSmallTalk is how many words after a greeting still say nothing.
const maxSmallTalk = 3

// opensShort reports whether s opens with a pattern and has at most maxSmallTalk words more.
func opensShort(s string, opening *regexp.Regexp) bool {
	at := opening.FindStringIndex(s)
	return at != nil && !hasCJK(s) && len(strings.Fields(s[at[1]:])) <= maxSmallTalk
}
