package capture

import (
	"regexp"
	"strings"
	"time"
)

var passing = later(`(?i)\b(?:today|yesterday|tomorrow|recently|currently|right now|this week|this month|last week|next week|this morning|tonight|later)\b|` +
	`今天|昨天|明天|最近|正在|刚才|刚刚|这周|这个月|上周|下周|目前|现在|今晚|今早|稍后|待会`)

// Temporal is "dynamic" for what a text says of these days, which will soon be out of date, else "static".
func Temporal(s string) string {
	if passing().MatchString(s) {
		return "dynamic"
	}
	return "static"
}

// spells are how long what a text says holds, the first that fits: day after tomorrow comes before tomorrow.
var spells = []struct {
	pattern func() *regexp.Regexp
	lasts   time.Duration
}{
	{later(`后天|\bday after tomorrow\b`), 48 * time.Hour},
	{later(`明天|\btomorrow\b`), 24 * time.Hour},
	{later(`下周|\bnext week\b`), 7 * 24 * time.Hour},
	{later(`这周|\bthis week\b`), 3 * 24 * time.Hour},
	{later(`下个月|\bnext month\b`), 30 * 24 * time.Hour},
	{later(`这个月|\bthis month\b`), 15 * 24 * time.Hour},
	{later(`今晚|\btonight\b`), 12 * time.Hour},
	{later(`今天|\btoday\b`), 18 * time.Hour},
}

// Lasts is how long what a text says is likely to hold; 0: nothing says that it ends.
func Lasts(s string) time.Duration {
	s = strings.ToLower(s)
	for _, spell := range spells {
		if spell.pattern().MatchString(s) {
			return spell.lasts
		}
	}
	return 0
}
