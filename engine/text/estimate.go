package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Estimator estimates how many tokens a model makes of a text, for budgets; no tokenizer of a model is consulted. The zero value is
// chars4. Both estimators count in quarters of a token and round the sum up, and an invalid byte counts as one character.
//
//   - chars4: four UTF-16 code units are a token. Exact to compute anywhere, three to six times too low for CJK.
//   - weighted: one and a half tokens for a Han, kana or hangul character and for CJK punctuation and full-width forms, two for any
//     other character beyond U+FFFF (emoji, above all), a quarter for the rest.
type Estimator struct {
	weighted bool
}

// NewEstimator returns the estimator of a name, chars4 if the name is empty. Any name that Estimators doesn't list is an error.
func NewEstimator(name string) (Estimator, error) {
	switch name {
	case "", "chars4":
		return Estimator{}, nil
	case "weighted":
		return Estimator{weighted: true}, nil
	}
	return Estimator{}, fmt.Errorf("text: estimator %q: allowed are %s", name, strings.Join(Estimators(), ", "))
}

// Estimators lists the names that NewEstimator takes, in alphabetical order.
func Estimators() []string {
	return []string{"chars4", "weighted"}
}

// String returns the name of the estimator.
func (e Estimator) String() string {
	if e.weighted {
		return "weighted"
	}
	return "chars4"
}

// Tokens returns the estimate for s, 0 for an empty text. It allocates nothing.
func (e Estimator) Tokens(s string) int {
	quarters := 0
	for i := 0; i < len(s); {
		n := asciiPrefix(s[i:])
		quarters += n
		for i += n; i < len(s) && s[i] >= utf8.RuneSelf; i += n {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			quarters += e.quarters(r)
		}
	}
	return (quarters + 3) / 4
}

func (e Estimator) quarters(r rune) int {
	switch {
	case e.weighted && isWide(r):
		return 6
	case r <= 0xFFFF:
		return 1
	case e.weighted:
		return 8
	}
	return 2
}

// isWide reports the characters that the weighted estimator counts as one and a half tokens. They are fewer than isCJK has.
func isWide(r rune) bool {
	switch {
	case r < 0x3000:
		return false
	case r <= 0x30FF, 0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xAC00 <= r && r <= 0xD7AF, 0xFF00 <= r && r <= 0xFFEF,
		0x20000 <= r && r <= 0x2A6DF, 0x2A700 <= r && r <= 0x2EBEF:
		return true
	}
	return false
}

// asciiPrefix returns how many bytes s has before the first that is not ASCII. It looks at eight at a time.
func asciiPrefix(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		if (w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7])&utf8.RuneSelf != 0 {
			break
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}
