package fault

import (
	"fmt"
	"strings"
)

// Invalid is ErrInvalid for one field.
func Invalid(field string, value any, allowed string) error {
	if s, ok := value.(string); ok {
		value = Quote(s)
	}
	return fmt.Errorf("%w: %s is %v; allowed: %s", ErrInvalid, field, value, allowed)
}

// Quote shortens and quotes a value for a message.
func Quote(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// OneOf lists allowed words for a message.
func OneOf[T ~string](words []T) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = string(w)
	}
	return strings.Join(parts, ", ")
}
