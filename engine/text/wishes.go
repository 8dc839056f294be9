package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Wishes reports whether a text states a wish that is to last: how its writer wants to be answered, or what they prefer. Such a turn answers questions that
// share no word with it. Read are English and German, whatever the language of the file:
//
//   - what is to be done always or never, at the beginning of a sentence: "Always cite your sources", "Please don't use tables", "Bitte immer mit Quelle";
//   - what is to happen when one asks for something: "When I ask for code, …", "Wenn ich nach Preisen frage, …";
//   - from when on: "from now on", "going forward", "ab jetzt", "künftig";
//   - what one prefers: "I usually prefer", "my preference", "I'd like you to", "ich bevorzuge", "mir ist … lieber";
//   - what is to be kept in mind: "remember that", "keep in mind", "merk dir", "denk daran".
//
// What is asked is no wish: a sentence that ends with a question mark does not count.
func Wishes(s string) bool {
	for sentence := range sentences(s) {
		if !strings.HasSuffix(sentence, "?") && lasting.match(sentence) {
			return true
		}
	}
	return false
}

// AsksForHelp reports whether a text asks for something to be done or said for its writer, as what they wish may settle how: "Can you …", "help me",
// "How should I …", "What would you recommend", "I want to …", "Kannst du …", "Was soll ich …".
func AsksForHelp(s string) bool {
	for sentence := range sentences(s) {
		if help.match(sentence) {
			return true
		}
	}
	return false
}

// sentences gives the sentences and lines of a text, with the mark that ends them.
func sentences(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for from := 0; from < len(s); {
			n := strings.IndexAny(s[from:], ".!?\n\r")
			to := len(s)
			if n >= 0 {
				to = from + n + 1
			}
			if sentence := strings.TrimSpace(s[from:to]); sentence != "" && !yield(sentence) {
				return
			}
			from = to
		}
	}
}

// phrases are patterns by the words of which a sentence has to have one, so that few sentences are held against a pattern. Each is compiled when the first
// sentence has such a word: to compile all took a third of what a process of the command line needs to begin.
type phrases map[string][]func() *regexp.Regexp

func (p phrases) match(sentence string) bool {
	sentence = strings.ToLower(sentence)
	for word := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, pattern := range p[word] {
			if pattern().MatchString(sentence) {
				return true
			}
		}
	}
	return false
}

// newPhrases makes phrases of pairs: the words, and the pattern. \b is made one that knows letters beyond ASCII, which RE2's does not.
func newPhrases(pairs ...[2]string) phrases {
	p := phrases{}
	for _, pair := range pairs {
		pattern, open := strings.CutPrefix(pair[1], `\b`)
		pattern, shut := strings.CutSuffix(pattern, `\b`)
		if open {
			pattern = `(?:^|[^\pL\pN])(?:` + pattern + `)`
		}
		if shut {
			pattern += `(?:[^\pL\pN]|$)`
		}
		compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
		for _, word := range strings.Fields(pair[0]) {
			p[word] = append(p[word], compiled)
		}
	}
	return p
}

var lasting = newPhrases(
	[2]string{"always never don not avoid", `^[-*•\s]*(?:and |also,? |but )?(?:please,? )?(?:always|never|don['’]t|do not|avoid) \pL`},
	[2]string{"ask say request mention inquire want", `\b(?:when|whenever|if|every time|each time|any ?time) i (?:ask|say|request|mention|inquire|want)\b`},
	[2]string{"now", `\bfrom now on\b`},
	[2]string{"forward", `\bgoing forward\b`},
	[2]string{"prefer favor favour rather", `\bi(?:['’]d| would)? (?:(?:always|really|usually|generally|strongly|definitely|much|actually|also) )?(?:prefer|favou?r|rather)\b`},
	[2]string{"preference", `\bmy preference\b`},
	[2]string{"like want", `\bi(?:['’]d| would) like you to\b|\bi (?:like|want) (?:my|answers|responses|you to)\b`},
	[2]string{"remember", `\bremember (?:that|to)\b`},
	[2]string{"mind", `\bkeep in mind\b`},

	[2]string{"immer nie niemals stets", `^[-*•\s]*(?:und |aber )?(?:bitte,? )?(?:\pL+ )?(?:bitte )?(?:immer|nie|niemals|stets) \pL`},
	[2]string{"wenn sobald", `\b(?:wenn|sobald) ich (?:\pL+ ){0,4}?(?:frage|bitte|sage|erwähne|will|möchte)\b`},
	[2]string{"ab von", `\bab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an\b`},
	[2]string{"künftig zukunft", `\bkünftig|in zukunft\b`},
	[2]string{"bevorzuge", `\bich (?:\pL+ )?bevorzuge\b`},
	[2]string{"lieber", `\bich (?:hätte|habe|mag|möchte|will) (?:\pL+ ){0,3}?lieber|mir (?:ist|sind|wäre|wären) (?:\pL+ ){0,3}?lieber\b`},
	[2]string{"liebsten", `\bam liebsten\b`},
	[2]string{"möchte", `\bich möchte,? dass (?:du|sie|ihr)\b`},
	[2]string{"merk merke denk denke vergiss", `\bmerke? dir|denke? daran|vergiss nicht\b`})

var help = newPhrases(
	[2]string{"you", `\b(?:can|could|would|will) you\b`},
	[2]string{"help suggest recommend advice advise tips ideas options explain", `\b(?:help|suggest|recommend|advi[cs]e|tips|ideas|options|explain)\b`},
	[2]string{"how what which where", `\b(?:how|what|which|where) (?:\pL+ ){0,4}?(?:should|do|can|could|would|might) (?:i|you)\b`},
	[2]string{"i", `\bi(?:['’](?:m|d)| am| would| want| need) `},
	[2]string{"me", `\b(?:show|give|tell) me\b`},

	[2]string{"kannst könntest würdest magst", `\b(?:kannst|könntest|würdest|magst) du\b`},
	[2]string{"können könnten würden", `\b(?:können|könnten|würden) sie\b`},
	[2]string{"hilf hilfe helfen empfiehl empfehlen empfehlung rat rate tipps ideen vorschlag vorschläge", `.`},
	[2]string{"soll sollte kann könnte würdest würden", `\b(?:wie|was|welche[nrs]?|wo|womit) (?:\pL+ ){0,4}?(?:soll|sollte|kann|könnte|würdest|würden) (?:ich|du|sie)\b`},
	[2]string{"ich", `\bich (?:will|möchte|brauche|suche)\b`},
	[2]string{"mir", `\b(?:zeige?|gib|sage?|erkläre?) mir\b`})
