package build

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
)

// estimators count what a text costs, by name:
//
//   - chars: characters, which are code points. No rounding; an empty text costs 0.
//   - chars4: four UTF-16 units are a token, rounded up; an empty text costs 0. As conversations count by default.
//   - u16-4: the same, but at least 1, also for an empty text.
//   - weighted: more for CJK and emoji (text.Estimator), in quarters of a token, rounded up; an empty text costs 0.
var estimators = map[string]func(string) int{
	"chars":    utf8.RuneCountInString,
	"chars4":   text.Estimator{}.Tokens,
	"u16-4":    func(s string) int { return max(1, text.Estimator{}.Tokens(s)) },
	"weighted": func(s string) int { return weighted.Tokens(s) },
}

var weighted, _ = text.NewEstimator("weighted")

// Estimators lists the names of what a budget can be counted with.
func Estimators() []string { return slices.Sorted(maps.Keys(estimators)) }
