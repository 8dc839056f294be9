package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	errNoObject   = errors.New("the answer has no JSON object")
	trailingComma = regexp.MustCompile(`,\s*([}\]])`)
)

// decode reads the first JSON object of an answer that has a key; what stands around it, such as a fence or a remark, is passed over, and commas too many
// are taken out.
func decode(answer string, into any, key string) error {
	err := errNoObject
	for rest := answer; ; {
		start := strings.IndexByte(rest, '{')
		if start < 0 {
			return err
		}
		rest = rest[start:]
		end := balanced(rest)
		if end < 0 {
			return err
		}
		for _, text := range []string{rest[:end], trailingComma.ReplaceAllString(rest[:end], "$1")} {
			var keys map[string]json.RawMessage
			if json.Unmarshal([]byte(text), &keys) != nil {
				continue
			}
			if value, ok := keys[key]; !ok || string(value) == "null" {
				err = fmt.Errorf("the answer has no %s", key)
				break
			}
			if bad := json.Unmarshal([]byte(text), into); bad != nil {
				err = fmt.Errorf("the answer is of another form: %w", bad)
				break
			}
			return nil
		}
		rest = rest[1:]
	}
}

// balanced is where the object that a text begins with ends; -1: nowhere.
func balanced(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
