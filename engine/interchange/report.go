package interchange

import (
	"errors"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// ImportBatch is how many rows go into one transaction.
const ImportBatch = 1000

// ImportRequest says how to read a file: JSON Lines, one JSON array, or Markdown.
type ImportRequest struct {
	Agent        string // empty: an internal caller
	Name         string // of the file, kept with what is imported; empty: it has none
	Trust        string // of memories, takes the place of a row's own: stated, extracted, imported or untrusted
	Scope        string // takes the place of a row's own
	Conversation string // of messages whose row names none
	DryRun       bool   // only looks for faults
	Markdown     bool   // of memories: every bullet is one (EachBullet); a Name that begins with a date gives them that
	// Strict refuses a memory with a value that its field can't have. Otherwise the field takes its default, and that is counted.
	Strict bool
}

// Imported says what became of the rows: of the lines, of the elements of an array, or of the bullets.
type Imported struct {
	ID        string      `json:"id,omitempty"` // of this import; empty: it stored nothing new, or messages
	Lines     int         `json:"lines"`        // that are not blank, or elements, or bullets that say something
	Created   int         `json:"created"`
	Known     int         `json:"known"`                  // were in the file already
	Excluded  int         `json:"excluded,omitempty"`     // messages that the session gates of setup.Conversation kept out
	Faults    []LineFault `json:"faults,omitempty"`       // rows that were left out
	VectorErr string      `json:"vector_error,omitempty"` // all is stored, but the model failed or took too long
	// Defaulted is how many rows had a value that its field can't have, by field; they are read with the field's default.
	Defaulted map[string]int `json:"defaulted,omitempty"`
	// WithoutVector are rows that are stored, but for which the model gave no usable vector.
	WithoutVector []LineFault `json:"without_vector,omitempty"`
}

// LineFault is a row of which something was left out, and why.
type LineFault struct {
	Line int    `json:"line"` // from 1; where it begins
	Err  string `json:"error"`
}

// Fault notes why a row is left out.
func (r *Imported) Fault(at Position, err error) {
	r.Faults = append(r.Faults, LineFault{at.line, at.of(err).Error()})
}

// Unembedded notes why a row that is stored has no vector, if it has none.
func (r *Imported) Unembedded(at Position, err error) {
	switch {
	case errors.Is(err, fault.ErrBadVector):
		r.WithoutVector = append(r.WithoutVector, LineFault{at.line, at.of(err).Error()})
	case err != nil:
		r.VectorErr = err.Error()
	}
}

// Sort puts what was noted when it was stored where its line is.
func (r *Imported) Sort() {
	for _, list := range [][]LineFault{r.Faults, r.WithoutVector} {
		slices.SortStableFunc(list, func(a, b LineFault) int { return a.Line - b.Line })
	}
}
