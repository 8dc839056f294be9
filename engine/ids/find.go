package ids

import (
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// One chooses among what an id was found to name, itself first or else what it is the ending of; idOf gives the whole id of each. Errors: ErrNotFound,
// ErrAmbiguous; what says in them what was looked for.
func One[T any](what, id string, found []T, idOf func(T) string) (one T, err error) {
	switch {
	case len(found) == 0:
		return one, NotFound(what, id)
	case len(found) > 1 && idOf(found[0]) != id:
		whole := make([]string, len(found))
		for i, v := range found {
			whole[i] = idOf(v)
		}
		return one, fmt.Errorf("%w: %s fits %s; give more of it", fault.ErrAmbiguous, fault.Quote(id), strings.Join(whole, ", "))
	}
	return found[0], nil
}

// NotFound is ErrNotFound for an id that names nothing.
func NotFound(what, id string) error {
	return fmt.Errorf("%w: %s %s; give the whole id, or its ending of %d characters or more", fault.ErrNotFound, what, fault.Quote(id), MinShort)
}

// Itself is idOf for ids.
func Itself(id string) string { return id }
