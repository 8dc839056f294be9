package capture

import (
	"regexp"
	"strings"
)

// General is the context of a statement that names none.
const General = "general"

// Contexts are the labels that a model may give a statement. Afternoon, which a statement may also have, is none of them.
func Contexts() []string {
	return []string{General, "morning", "evening", "night", "weekday", "weekend", "work", "leisure", "summer", "winter", "travel"}
}

var contextPatterns = []struct {
	label   string
	pattern func() *regexp.Regexp
}{
	{"morning", later(`(?i)\b(?:in the mornings?|every morning|mornings|for breakfast|morgens|am morgen|jeden morgen|zum frühstück)\b|早上|上午|早晨|早餐`)},
	{"afternoon", later(`(?i)\b(?:in the afternoons?|afternoons|nachmittags|am nachmittag)\b|下午`)},
	{"evening", later(`(?i)\b(?:in the evenings?|every evening|evenings|for dinner|abends|am abend|jeden abend)\b|傍晚|晚上`)},
	{"night", later(`(?i)\b(?:at night|late at night|before bed|nachts|in der nacht)\b|深夜|夜晚|凌晨`)},
	{"weekend", later(`(?i)\b(?:on (?:the )?weekends?|at (?:the )?weekends?|weekends|am wochenende|an wochenenden)\b|周末|假日|休息日`)},
	{"weekday", later(`(?i)\b(?:on weekdays|during the week|weekdays|unter der woche|wochentags|werktags)\b|工作日|平时`)},
	{"work", later(`(?i)\b(?:at work|for work|at the office|in the office|bei der arbeit|im büro|auf der arbeit)\b|上班时|办公时|在办公室|工作时`)},
	{"leisure", later(`(?i)\b(?:in my (?:free|spare) time|for fun|off work|in meiner freizeit|in der freizeit)\b|休闲|放松|休息时`)},
	{"summer", later(`(?i)\b(?:in (?:the )?summer|during (?:the )?summer|summers|im sommer)\b|夏天|夏季`)},
	{"winter", later(`(?i)\b(?:in (?:the )?winter|during (?:the )?winter|winters|im winter)\b|冬天|冬季`)},
	{"travel", later(`(?i)\b(?:when (?:I'm |I am )?travell?ing|when I travel|while travell?ing|on (?:business )?trips|auf reisen|unterwegs)\b|旅行时|出差时|旅游时`)},
}

// Context says when a statement holds, such as "evening" of "In the evening I drink tea"; empty: it does not say.
func Context(s string) string {
	for _, c := range contextPatterns {
		if c.pattern().MatchString(s) {
			return c.label
		}
	}
	return ""
}

var contextSynonyms = map[string]string{
	"": General, "早上": "morning", "上午": "morning", "早晨": "morning", "下午": "afternoon", "傍晚": "evening", "晚上": "evening", "深夜": "night", "夜晚": "night", "凌晨": "night",
	"工作日": "weekday", "平时": "weekday", "周末": "weekend", "假日": "weekend", "休息日": "weekend", "工作": "work", "上班": "work", "办公": "work",
	"休闲": "leisure", "放松": "leisure", "休息": "leisure", "夏天": "summer", "夏季": "summer", "冬天": "winter", "冬季": "winter", "旅行": "travel", "出差": "travel", "旅游": "travel",
}

// NormaliseContext gives a label in its usual form: lower case, Chinese in English, none as general. One that nobody knows is kept.
func NormaliseContext(label string) string {
	label = strings.ToLower(strings.TrimSpace(label))
	if known, ok := contextSynonyms[label]; ok {
		return known
	}
	return label
}
