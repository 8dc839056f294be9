package capture

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Said is a text of a conversation, or what a tool was given and gave.
type Said struct {
	Text string
	Tool bool
}

// What a text is for, in English, German and Chinese.
var (
	remembering = later(`(?i)\b(?:remember|memori[sz]e|don'?t forget|keep in mind|note that|for the record|merk dir|merke dir|denk daran|vergiss nicht|notier)\b|记住|記住|记一下|别忘|別忘|记下`)
	correcting  = later(`(?i)\b(?:wrong|incorrect|mistaken|actually|not right|that'?s not|no longer|i meant|correction|falsch|eigentlich|stimmt nicht|nicht mehr|sondern|ich meinte)\b|不对|不對|错了|錯了|其实|其實|更正|纠正`)
	deciding    = later(`(?i)\b(?:decided?|decision|we'?ll go with|let'?s (?:use|go with)|agreed|settled on|from now on|entschieden|beschlossen|entscheidung|wir nehmen|ab jetzt|von nun an)\b|决定|決定|确定|確定|就用|说定`)
	acknowledge = later(`(?i)^(?:ok(?:ay)?|yes|yep|yeah|no|nope|sure|fine|thanks?|thank you|thx|got it|great|perfect|cool|nice|good|understood|danke|ja|nein|gut|passt|alles klar|verstanden|好的?|是的?|谢谢|謝謝|可以|行|嗯|收到|明白)[\s.!。！]*$`)
	wide        = later(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]`)
	oneElement  = later(`(?s)^<([A-Za-z][\w-]*)[^>]*>.*</([A-Za-z][\w-]*)>$`)
)

// Value is how likely talk is to have something worth remembering, 0 to 1: a wish to remember counts 0.5, the call of a tool 0.4, a correction or a decision
// 0.3, more than 200 characters in texts of more than twenty 0.2, more than six texts 0.1.
func Value(said []Said) float64 {
	var wishes, tools, settles bool
	long := 0
	for _, s := range said {
		wishes = wishes || remembering().MatchString(s.Text)
		tools = tools || s.Tool
		settles = settles || correcting().MatchString(s.Text) || deciding().MatchString(s.Text)
		if n := utf8.RuneCountInString(strings.TrimSpace(s.Text)); n > 20 && !s.Tool {
			long += n
		}
	}
	value := 0
	for _, part := range []struct {
		is    bool
		tenth int
	}{{wishes, 5}, {tools, 4}, {settles, 3}, {long > 200, 2}, {len(said) > 6, 1}} {
		if part.is {
			value += part.tenth
		}
	}
	return float64(min(value, 10)) / 10
}

// Worth is how much a text tells beside the others of a conversation, 0 to 1: the first of these that it is: nothing 0, the call of a tool 1, a
// correction 0.95, a decision 0.85, a mere acknowledgement 0.1, more than 80 characters (30 with CJK) 0.7, or 0.3 within one element of XML; a question 0.5, anything
// else 0.4.
func Worth(s Said) float64 {
	said := strings.TrimSpace(s.Text)
	long := 80
	if wide().MatchString(said) {
		long = 30
	}
	switch {
	case said == "":
		return 0
	case s.Tool:
		return 1
	case correcting().MatchString(said):
		return 0.95
	case deciding().MatchString(said):
		return 0.85
	case acknowledge().MatchString(said):
		return 0.1
	case utf8.RuneCountInString(said) > long:
		if tag := oneElement().FindStringSubmatch(said); tag != nil && tag[1] == tag[2] {
			return 0.3
		}
		return 0.7
	case strings.ContainsAny(said, "?？"):
		return 0.5
	}
	return 0.4
}

// trifles are texts below this worth; of a conversation that has nothing else the last three are kept.
const (
	trifles     = 0.3
	fewestTexts = 3
)

// Compress chooses which texts of a conversation are kept where they have no more than so many characters together, and gives their places, in order. The first and the
// last are, then those of the greatest worth, the earlier of two alike; the call of a tool takes the text after it along. Where all are trifles, the last ones
// fill up to three. What does not fit is left out, so that the characters are never more.
func Compress(said []Said, characters int) []int {
	length := make([]int, len(said))
	total := 0
	for i, s := range said {
		length[i] = utf8.RuneCountInString(s.Text)
		total += length[i]
	}
	kept := make([]bool, len(said))
	count, best := 0, 0.0
	take := func(i int) bool {
		if kept[i] || length[i] > characters {
			return false
		}
		kept[i], characters, count = true, characters-length[i], count+1
		return true
	}
	if total <= characters {
		for i := range said {
			take(i)
		}
	} else {
		order := make([]int, len(said))
		for i := range said {
			order[i], best = i, max(best, Worth(said[i]))
		}
		take(0)
		take(len(said) - 1)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(Worth(said[b]), Worth(said[a])) })
		for _, i := range order {
			if best < trifles {
				break
			}
			if take(i) && said[i].Tool && i+1 < len(said) {
				take(i + 1)
			}
		}
		for i := len(said) - 1; i >= 0 && best < trifles && count < fewestTexts; i-- {
			take(i)
		}
	}
	places := make([]int, 0, count)
	for i, k := range kept {
		if k {
			places = append(places, i)
		}
	}
	return places
}
