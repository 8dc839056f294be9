package fault

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// CheckText refuses what can't be stored as it is.
func CheckText(field, s string) error {
	if !utf8.ValidString(s) {
		return Invalid(field, s, "valid UTF-8")
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return Invalid(field, s, "text without NUL bytes")
	}
	return nil
}

// CheckTexts is CheckText of each.
func CheckTexts(field string, values []string) error {
	for _, v := range values {
		if err := CheckText(field, v); err != nil {
			return err
		}
	}
	return nil
}

// word is what a host's own words for things look like.
var word = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// CheckWords refuses what is no word of a host for something, such as cron or web_chat.
func CheckWords(field string, values []string) error {
	for _, v := range values {
		if !word.MatchString(v) {
			return Invalid(field, v, "1 to 64 of a-z, 0-9, _ and -")
		}
	}
	return nil
}

// CheckTime refuses what neither SQL nor JSON can hold; absent is fine.
func CheckTime(field string, t time.Time) error {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return Invalid(field, t, "the years 1 to 9999, in UTC")
	}
	return nil
}

// Member refuses a value that is none of those allowed.
func Member[T ~string](field string, value T, allowed []T) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return Invalid(field, string(value), OneOf(allowed))
}

// Members is Member of each.
func Members[T ~string](field string, values, allowed []T) error {
	for _, v := range values {
		if err := Member(field, v, allowed); err != nil {
			return err
		}
	}
	return nil
}
