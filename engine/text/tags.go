package text

import (
	"regexp"
	"strings"
)

// TagTokens returns the tag tokens of a query, such as proj:AIF for the prefix proj.
func TagTokens(query string, prefixes []string) []string {
	if len(prefixes) == 0 {
		return nil
	}
	quoted := make([]string, len(prefixes))
	for i, p := range prefixes {
		quoted[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`(?i)(?:` + strings.Join(quoted, "|") + `):[\pL\pN_-]+`).FindAllString(query, -1)
}
