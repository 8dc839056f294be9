package memory

import (
	"maps"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// CheckWhere says what is wrong with metadata that is asked for: keys of Extra with their values.
func CheckWhere(where map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(where)) {
		if key == "" {
			return fault.Invalid("where", "", "a key and its value")
		}
		if err := fault.CheckTexts("where", []string{key, where[key]}); err != nil {
			return err
		}
	}
	return nil
}

// Where gives metadata that is asked for as statements want it: JSON pointers into Extra, and the text that stands at each.
func Where(where map[string]string) (pointers, values []string) {
	pointers, values = []string{}, []string{}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, key := range slices.Sorted(maps.Keys(where)) {
		pointers, values = append(pointers, "/"+escape.Replace(key)), append(values, where[key])
	}
	return pointers, values
}
