package engine

import (
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Explained reports whether Doctor knows a fault.
func Explained(fault string) bool {
	return upkeep.ExplanationOf(fault).Means != upkeep.ExplanationOf("\x00").Means
}
