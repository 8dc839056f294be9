package capture

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// said is how the files of languages write a rule down. The pattern's groups are topic, value and old, as far as it has them.
type said struct {
	name, category string
	words          string // of which a sentence has one
	pattern        string
	topic          string // of what it finds, with * for the pattern's
	not            string // fits sentences that look alike and say something else
	negative       bool
	corrects       bool
	troubled       bool    // only where a problem is spoken of, in the sentence or the one before
	sure           float64 // default 0.7
}

// rule is a pattern for one kind of statement in one language.
type rule struct {
	said
	language     string
	pattern, not *regexp.Regexp
}

// later compiles a pattern when it is needed first: to compile all of them takes longer than most programs do.
func later(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// ruleBook has the rules of all languages, by the words that a sentence must have for them: whole ones, or for Chinese any part.
type ruleBook struct {
	all    []rule
	byWord map[string][]int
	parts  []part
}

type part struct {
	text string
	rule int
}

var rules = sync.OnceValue(newRuleBook)

func newRuleBook() *ruleBook {
	b := &ruleBook{byWord: map[string][]int{}}
	for _, s := range english {
		b.add("en", s)
	}
	for _, s := range german {
		b.add("de", s)
	}
	for _, s := range chinese {
		b.add("zh", s)
	}
	return b
}

func (b *ruleBook) add(language string, s said) {
	r := rule{said: s, language: language, pattern: regexp.MustCompile("(?i)" + s.pattern)}
	if s.not != "" {
		r.not = regexp.MustCompile("(?i)" + s.not)
	}
	if r.sure == 0 {
		r.sure = 0.7
	}
	for _, word := range strings.Fields(s.words) {
		if language == "zh" {
			b.parts = append(b.parts, part{word, len(b.all)})
		} else {
			b.byWord[word] = append(b.byWord[word], len(b.all))
		}
	}
	b.all = append(b.all, r)
}

// words are the alternatives of a pattern, as words of a rule.
func words(alternatives string) string {
	return strings.NewReplacer("(?:", "", ")", "", "|", " ").Replace(alternatives)
}

// candidates gives the rules that a sentence has a word of, in their order.
func candidates(sentence string) (found []*rule) {
	var numbers []int
	for word := range strings.FieldsFuncSeq(strings.ToLower(sentence), func(r rune) bool { return !unicode.IsLetter(r) }) {
		numbers = append(numbers, rules().byWord[word]...)
	}
	if hasHan(sentence) {
		for _, p := range rules().parts {
			if strings.Contains(sentence, p.text) {
				numbers = append(numbers, p.rule)
			}
		}
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		found = append(found, &rules().all[n])
	}
	return found
}

// draft is what the rule finds in a sentence; previous is the one before it.
func (r *rule) draft(sentence, previous string) (d Draft, ok bool) {
	at := r.pattern.FindStringSubmatchIndex(sentence)
	if at == nil || r.not != nil && r.not.MatchString(sentence) {
		return d, false
	}
	if r.troubled && !troubles().MatchString(sentence) && !troubles().MatchString(previous) {
		return d, false
	}
	d = Draft{Category: r.category, Rule: r.name, Language: r.language, Text: sentence, Negative: r.negative, Sure: r.sure}
	group := func(name string) string {
		i := r.pattern.SubexpIndex(name)
		if i < 0 || at[2*i] < 0 {
			return ""
		}
		return trimmed(sentence[at[2*i]:at[2*i+1]])
	}
	d.Value, d.Old = group("value"), group("old")
	topic := strings.ToLower(group("topic"))
	switch {
	case strings.Contains(r.topic, "*"):
		if topic == "" {
			return d, false
		}
		d.Topic = strings.ReplaceAll(r.topic, "*", topic)
	case r.topic != "":
		d.Topic = r.topic
	}
	d.Corrects = r.corrects || d.Old != "" || changes().MatchString(sentence)
	if d.Topic != "" {
		d.Topic = settledTopic(d.Topic)
		if d.Value = upToReason(d.Value); d.Value == "" {
			return d, false
		}
	}
	if r.category == "case" && previous != "" && troubles().MatchString(previous) { // a problem and its fix are one statement
		d.Text = previous + " " + sentence
	}
	return d, true
}

// upToReason cuts a value where it goes on with why or when.
func upToReason(value string) string {
	if at := reasons().FindStringIndex(value); at != nil && at[0] > 0 {
		value = value[:at[0]]
	}
	value = trimmed(value)
	if utf8.RuneCountInString(value) > 120 {
		return ""
	}
	return value
}

// trimmed is a value without the space and the signs around it. A bracket is left where its other half is.
func trimmed(s string) string {
	return strings.Trim(strings.TrimSpace(s), " .,;:!?\"'“”„«»。，；：！？、")
}

// settledTopic is the usual name of a topic that has several.
func settledTopic(topic string) string {
	owner, thing, owned := strings.Cut(topic, "'s ")
	if !owned {
		return cmp.Or(topicNames[topic], topic)
	}
	return owner + "'s " + cmp.Or(topicNames[thing], thing)
}

// topicNames unites what is the same thing, in all languages.
var topicNames = map[string]string{
	"e-mail": "email", "email address": "email", "e-mail address": "email", "mail": "email", "mail address": "email", "e-mail-adresse": "email", "emailadresse": "email",
	"mailadresse": "email", "email-adresse": "email", "邮箱": "email", "电子邮件": "email", "电子邮箱": "email", "邮箱地址": "email",
	"phone number": "phone", "telephone": "phone", "telephone number": "phone", "number": "phone", "mobile": "phone", "mobile number": "phone", "cell": "phone",
	"cell number": "phone", "cell phone": "phone", "telefonnummer": "phone", "telefon": "phone", "handynummer": "phone", "nummer": "phone", "handy": "phone",
	"电话": "phone", "电话号码": "phone", "手机": "phone", "手机号": "phone", "手机号码": "phone",
	"postal address": "address", "home address": "address", "mailing address": "address", "adresse": "address", "anschrift": "address", "地址": "address",
	"微信号": "微信",
}
