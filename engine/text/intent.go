package text

import (
	"regexp"
	"strings"
)

// Intent is what a prompt wants to know: which kinds of memory answer it, and in what detail.
type Intent struct {
	Name       string   `json:"name"`                 // preference, decision, entity, event, fact; empty: nobody can tell
	Categories []string `json:"categories,omitempty"` // of memories that answer it, best first
	Depth      Depth    `json:"depth"`
}

// Depth is how much of a memory a question calls for.
type Depth string

// The depths: a sentence of at most 80 characters, some 300 characters, all.
const (
	Sentence  Depth = "l0"
	Paragraph Depth = "l1"
	Whole     Depth = "full"
)

// IntentOf reads what a prompt wants to know, in English, German and Chinese. The first of these that it speaks of is its intent: how somebody likes things, what was decided and
// why, who or what somebody is, what happened and when, how something is done.
func IntentOf(prompt string) Intent {
	for _, i := range intents {
		if i.words.MatchString(prompt) {
			return i.Intent
		}
	}
	return Intent{Depth: Sentence}
}

var intents = []struct {
	Intent
	words *regexp.Regexp
}{
	{Intent{"preference", []string{"preference", "event"}, Sentence}, spoken(
		`prefer\w*|favou?rite|likes?|dislikes?|hates?|style|tastes?|usual(?:ly)?|habits?`,
		`bevorzug\pL*|lieblings\pL*|mag(?:st)?|gern|stil|geschmack|gewohnheit\pL*`, `喜欢|喜歡|偏好|偏爱|爱吃|风格|習慣|习惯|最爱`)},
	{Intent{"decision", []string{"event", "profile", "case"}, Paragraph}, spoken(
		`decid\w*|decision\w*|chose|chosen|why (?:did|do|are|is|was|were) (?:we|i|you|they)|rationale|reasons?|trade-?offs?|agreed`,
		`entschied\pL*|entscheid\pL*|beschlossen|beschluss|warum (?:haben|hatten|sind) wir|begründung|grund`, `决定|決定|为什么选|為什麼選|理由|选择了|为何`)},
	{Intent{"entity", []string{"entity", "profile", "case"}, Paragraph}, spoken(
		`who(?:'s| is| are| was)?|whose|which (?:person|team|project|server|company|service|repo\w*)|tell me about|contact|email|phone|address`,
		`wer|wessen|welche[rsn]? (?:person|team|projekt|server|firma)|erzähl mir|kontakt|telefonnummer|adresse`, `谁|誰|哪个(?:人|项目|团队|公司)|联系方式|電話|电话|邮箱|地址`)},
	{Intent{"event", []string{"entity", "event"}, Whole}, spoken(
		`when|what happened|timeline|history of|yesterday|last (?:week|month|year|time|night)|ago|schedule\w*|deadline\w*|meeting|appointment`,
		`wann|was (?:ist|war) passiert|verlauf|gestern|letzte[nsr]? (?:woche|monat|jahr|mal)|termin\pL*|frist`, `什么时候|什麼時候|何时|发生了什么|時間線|时间线|昨天|上周|上个月|去年|截止|会议|日程`)},
	{Intent{"fact", []string{"profile", "case", "entity", "pattern"}, Paragraph}, spoken(
		`how (?:do|does|did|can|should|to)|what(?:'s| is| are| was)|where|which|steps?|set ?up|configure|fix|solve`,
		`wie (?:geht|mache?|kann|soll|habe?n?)|was (?:ist|sind|war)|wo|welche[rsn]?|schritte|einrichten|beheb\pL*`, `怎么|怎麼|如何|什么是|什麼是|是什么|在哪|步骤|配置|解决`)},
}

// spoken finds one of some words, of the first two lists as whole words.
func spoken(english, german, chinese string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(?:` + strings.Join([]string{english, german}, "|") + `)(?:$|[^\pL\pN])|` + chinese)
}
