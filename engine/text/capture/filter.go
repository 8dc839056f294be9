package capture

import (
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
)

// Bounds of a statement, in characters. A Chinese one says as much in fewer.
const (
	longest     = 500 // and bytes of a sentence, before it is read in clauses
	fewest      = 10
	fewestHan   = 4
	mostEmoji   = 3
	mostPerText = 200_000 // bytes of a text that is read
)

// shortest is how many characters a statement like this one has at least.
func shortest(sentence string) int {
	if hasHan(sentence) {
		return fewestHan
	}
	return fewest
}

// worthReading reports whether a text may say anything to be remembered: no block that was put into a prompt, no markup, no record of a tool.
func worthReading(s string) bool {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "" || len(s) > mostPerText || strings.Contains(s, "<") && injected().MatchString(s):
		return false
	case strings.HasPrefix(trimmed, "<") && strings.Contains(trimmed, "</"), strings.HasPrefix(trimmed, "{") && strings.HasSuffix(trimmed, "}"):
		return false
	}
	return !strings.Contains(s, "**") || !boldList().MatchString(s)
}

// capturable reports whether a sentence is a statement of its writer's.
func capturable(sentence string) bool {
	length := utf8.RuneCountInString(sentence)
	if length < shortest(sentence) || length > longest || strings.HasSuffix(strings.TrimRight(sentence, `"')”」』`), "?") || strings.HasSuffix(sentence, "？") {
		return false
	}
	if strings.HasPrefix(sentence, "<") || strings.HasPrefix(sentence, ">") || strings.Contains(sentence, "://") && !strings.Contains(sentence, " ") || text.IsRecallNoise(sentence) {
		return false
	}
	return emoji(sentence) <= mostEmoji && !aboutMemory().MatchString(sentence) && !supposed().MatchString(sentence) && !credentials().MatchString(sentence) && !asksSomething().MatchString(sentence)
}

// quotedLine reports whether a sentence stands in a line that quotes somebody: "> …".
func quotedLine(s string, at int) bool {
	line := s[strings.LastIndexByte(s[:at], '\n')+1 : at]
	return strings.HasPrefix(strings.TrimSpace(line), ">")
}

func emoji(s string) (n int) {
	for _, r := range s {
		if r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2600 && r <= 0x27BF {
			n++
		}
	}
	return n
}

// requests are words of which a sentence has one that asks to be remembered.
var requestWords = later(`(?i)remember|forget|in mind|note|record|fyi|merk|denk|vergiss|notier|记|忘|注意`)

var (
	// encouragements look like wishes and are said to somebody else, or recall the past.
	encouragements = later(`(?i)!\s*$|^(?:(?:and|but|just|also),? )?(?:don't|do not|avoid) |\bremember\b|\bkeep in mind\b|^(?:always|never) (?:here|had|saw|been|thought|heard|a|the|\pL+ed)\b|^(?:always|never) (?:\pL+[ .]*){1,2}$|\bdon't know\b`)
	errand         = later(`(?i)^(?:to|your|you|about) `) // of "don't forget to", which is no statement
	injected       = later(`(?i)</?(?:relevant[-_]memories|memory[-_]context|system[-_]reminder|context[-_]window|recalled)\b`)
	boldList       = later(`(?m)^\s*[-*] \*\*`)
	// aboutMemory speaks of memories as such: how they are kept is not itself remembered.
	aboutMemory = later(`(?i)\b(?:forget|delete|remove|erase|clear|clean ?up|update|search|list|show|store|save) (?:that|this|the|all|my|your|these|those|any|old)? ?(?:\pL+ )?(?:memory|memories)\b|\bmemory_\w+|\bdo you remember\b|\b(?:vergiss|lösche?) (?:das|alles|deine|die) ?(?:erinnerung\pL*)?\b|(?:删除|清除|忘掉|清理|搜索)(?:这|那|所有|我的)*(?:记忆|条)|你(?:还)?记得`)
	// supposed is what is not so.
	supposed = later(`(?i)\b(?:if I (?:were|was|had)|imagine (?:that|you|I)|let's (?:say|pretend)|suppose(?: that)? (?:I|you|we)|pretend (?:that|to)|for example,? (?:I|my)|as if I|hypothetically|in the story|my character)\b|\b(?:stell dir vor|angenommen|wenn ich .{0,40}(?:wäre|hätte))|(?:假设|假如|如果我是|比如说)`)
	// credentials are never taken from talk.
	credentials = later(`(?i)\b(?:password|passwd|passphrase|api[ _-]?key|secret[ _-]?key|access[ _-]?token|auth token|private key|pin(?: code)? is|cvv|social security|ssn|passwort|kennwort|geheimzahl)\b|密码|口令|密钥|\bsk-[A-Za-z0-9]{16,}|\bghp_[A-Za-z0-9]{20,}|-----BEGIN`)
	// asksSomething begins as a question or an order to do something now.
	asksSomething = later(`(?i)^(?:(?:could |can |would |will )you |(?:please )?(?:help me |tell me |show me |write |explain |summari[sz]e |translate |give me )|(?:what|who|when|where|why|how|which|whose|does|do|is|are|did|should|shall) |(?:kannst|könntest|würdest|zeig|hilf|erklär|schreib|übersetz)\pL* |(?:was|wer|wann|wo|warum|wie|welche[rsn]?) )`)
	// asks are requests to remember what follows.
	asks = later(`(?i)^(?:please,? |bitte,? |ok(?:ay)?,? |and |also,? )*(?:remember(?: that\b|:)|don't forget(?: that)?|do not forget(?: that)?|(?:please )?keep in mind(?: that)?|make a note(?: that| of)?|note that|for the record|fyi|merke? dir(?: bitte)?,?(?: dass)?|denke? (?:bitte )?daran,?(?: dass)?|vergiss (?:bitte )?nicht,?(?: dass)?|notiere?(?: dir)?,?(?: dass)?)(?:[ :,]+|$)|^(?:请|麻烦)?(?:你)?(?:记住|记一下|记下来?|别忘了|不要忘记|请注意)[：:，, ]*`)
	// changes say that something is no longer as it was.
	changes = later(`(?i)^(?:(?:no|oh|sorry|wait|well|hm),? )?(?:actually|correction|i was wrong|to correct myself|rather)\b|\b(?:has changed|changed to|is now|are now|not any ?more|no longer|from now on)\b|^(?:eigentlich|korrektur|nein, |doch )|\b(?:jetzt|inzwischen|nicht mehr)\b|其实|不对|更正|改成|现在是|不再`)
	// reasons begin why or when, after what is said.
	reasons     = later(`(?i),? (?:because|but|since|although|though|so that|so I|and I|and my|and we|and this|and that|and it|and they|and he|and she|he|she|it|they|who|if|when|while|which|weil|aber|denn|obwohl|wenn|und ich|und mein\pL*)\b|, (?:und|and|so|der|die|das|not|please|bitte)\b|[,;] I\b|[，,]?(?:因为|所以|但是|不过|如果|而且)`)
	troubles    = later(`(?i)\b(?:problem|issue|bug|error|fail\pL*|crash\pL*|broke\pL*|exception|timeout|fehler|absturz|abgestürzt|kaputt)\b|问题|错误|报错|崩溃|失败`)
	germanWords = later(`(?i)\b(?:ich|bitte|immer|nicht|und|mein|meine|der|das|ist|wenn|dass)\b`)
)
