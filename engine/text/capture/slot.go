package capture

import (
	"strings"
)

// Slot is one thing of one maker that somebody likes; zero: the text is of another form, or speaks of several things.
type Slot struct{ Brand, Item string }

var (
	chineseSlot = later(`(?:我|用户)?(?:很|更|还)?(?:喜欢|爱吃|偏爱|常吃|想吃)(?:吃|喝|用|买)?([\pL\pN&·'-]{1,24}?)的(.{1,80})`)
	englishSlot = later(`(?i)\b(?:likes?|loves?|prefers?|enjoys?) (.{1,80}?) from ([\pL\pN&·' -]{1,40})`)
	slotReasons = later(`(?i)因为|所以|但是|不过|\b(?:if|when|because|but)\b`)
	slotParts   = later(`(?i)[、,，/]|以及|及|与|和| and | & `)
	articles    = later(`(?i)^(?:the|an?) `)
)

// Items gives the maker that a text names and the things of it that it likes.
func Items(s string) (brand string, items []string) {
	rest := ""
	if found := chineseSlot().FindStringSubmatch(s); found != nil {
		brand, rest = found[1], found[2]
	} else if found := englishSlot().FindStringSubmatch(s); found != nil {
		rest, brand = found[1], found[2]
		if at := slotReasons().FindStringIndex(brand); at != nil {
			brand = brand[:at[0]]
		}
	}
	if at := slotReasons().FindStringIndex(rest); at != nil {
		rest = rest[:at[0]]
	}
	for _, part := range slotParts().Split(rest, -1) {
		if item := slotToken(part); item != "" {
			items = append(items, item)
		}
	}
	return slotToken(brand), items
}

// SlotOf is the slot of a text that names one thing.
func SlotOf(s string) Slot {
	brand, items := Items(s)
	if brand == "" || len(items) != 1 {
		return Slot{}
	}
	return Slot{brand, items[0]}
}

func slotToken(s string) string {
	s = articles().ReplaceAllString(trimmed(s), "")
	return strings.ToLower(strings.ReplaceAll(s, " ", ""))
}
