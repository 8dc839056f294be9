package capture

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/extract"
)

// Draft is a statement that a rule found.
type Draft struct {
	Category string // profile, preference, entity, event, case or pattern
	Rule     string // that found it, such as "prefers"
	Language string // of the rule: en, de or zh
	Text     string // the sentence, in one line
	Topic    string // what Value is of: "editor" in "my editor is Zed"; empty: the statement has no such form
	Value    string
	Old      string // what the statement says is true no longer
	Context  string // when it holds, such as "evening"; empty: generally
	Slot     Slot
	Negative bool    // it says what is not so
	Corrects bool    // it says that something has changed, or was wrong
	Sure     float64 // how seldom the rule is wrong, 0 to 1
	// Start and End are the bytes of the text that it is from.
	Start, End int
}

// Abstract is the statement in one line: topic and value, where it has them, with the context that it holds in.
func (d *Draft) Abstract() string {
	if d.Topic == "" {
		return d.Text
	}
	topic := d.Topic
	if d.Context != "" {
		topic += " (" + d.Context + ")"
	}
	return topic + ": " + d.Value
}

// mostDrafts is how many statements one text may give.
const mostDrafts = 5

// Find gives the statements of a text that are worth remembering, in their order, at most five.
func Find(s string) []Draft {
	if !worthReading(s) {
		return nil
	}
	var found []Draft
	previous := ""
	for _, at := range extract.Sentences(s, longest) {
		if at.Code || at.Heading {
			previous = ""
			continue
		}
		sentence := oneLine(s[at.Start:at.End])
		drafts := match(sentence, previous)
		if len(drafts) > 0 && (quotedLine(s, at.Start) || !capturable(sentence)) {
			drafts = nil
		}
		for _, d := range drafts {
			d.Start, d.End = at.Start, at.End
			d.Context, d.Slot = Context(d.Text), SlotOf(d.Text)
			if !repeats(found, d) {
				found = append(found, d)
			}
		}
		if previous = sentence; len(found) >= mostDrafts {
			return found[:mostDrafts]
		}
	}
	return found
}

func repeats(found []Draft, d Draft) bool {
	return slices.ContainsFunc(found, func(f Draft) bool { return f.Category == d.Category && strings.EqualFold(f.Abstract(), d.Abstract()) })
}

// oneLine is a sentence with single spaces and straight apostrophes, without the mark of a list in front.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.ReplaceAll(s, "’", "'")
}

// match holds a sentence against the rules. What has a topic may stand beside another topic; of the rest the first that fits counts.
func match(sentence, previous string) (found []Draft) {
	plain, asked := sentence, false
	if requestWords().MatchString(sentence) {
		plain, asked = request(sentence)
	}
	seen := map[string]bool{}
	for _, r := range candidates(plain) {
		d, ok := r.draft(plain, previous)
		if !ok || seen[d.Topic] || d.Topic == "" && len(found) > 0 {
			continue
		}
		seen[d.Topic] = true
		found = append(found, d)
	}
	wishes := len(found) == 0 && text.Wishes(plain) && !encouragements().MatchString(sentence)
	if len(found) == 0 && (asked || wishes) {
		if d, ok := wish(plain, wishes); ok {
			found = append(found, d)
		}
	}
	for i := range found {
		if asked {
			found[i].Sure = max(found[i].Sure, 0.8)
		}
	}
	return found
}

// wish is what is asked to be remembered, or with wishes to be done from now on, and fits no rule.
func wish(sentence string, wishes bool) (Draft, bool) {
	d := Draft{Category: "entity", Rule: "asked", Language: languageOf(sentence), Text: sentence, Sure: 0.75}
	if wishes {
		d.Category, d.Rule = "preference", "wishes"
	}
	return d, utf8.RuneCountInString(sentence) >= shortest(sentence)
}

// request takes "remember that" off a sentence, so that the rest is what is remembered.
func request(sentence string) (rest string, asked bool) {
	if at := asks().FindStringIndex(sentence); at != nil {
		rest = strings.TrimLeft(sentence[at[1]:], " ,:，：")
		if utf8.RuneCountInString(rest) >= shortest(rest) && !errand().MatchString(rest) {
			r, n := utf8.DecodeRuneInString(rest)
			return string(unicode.ToUpper(r)) + rest[n:], true
		}
	}
	return sentence, false
}

func languageOf(sentence string) string {
	switch {
	case hasHan(sentence):
		return "zh"
	case strings.ContainsAny(sentence, "äöüÄÖÜß") || germanWords().MatchString(sentence):
		return "de"
	}
	return "en"
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
