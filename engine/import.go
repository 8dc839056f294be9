package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// importBatch is how many rows go into one transaction.
const importBatch = 1000

// ImportRequest says how to read a file of JSON Lines, or of one JSON array.
type ImportRequest struct {
	Agent        string // empty: an internal caller
	Scope        string // takes the place of a row's own
	Conversation string // of messages whose row names none
	DryRun       bool   // only looks for faults
	// Strict refuses a memory with a value that its field can't have. Otherwise the field takes its default, and that is counted.
	Strict bool
}

// Imported says what became of the rows: of the lines, or of the elements of an array.
type Imported struct {
	Lines     int         `json:"lines"` // that are not blank, or elements
	Created   int         `json:"created"`
	Known     int         `json:"known"`                  // were in the file already
	Excluded  int         `json:"excluded,omitempty"`     // messages that the session gates of ConversationOptions kept out
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

func (r *Imported) fault(at position, err error) {
	r.Faults = append(r.Faults, LineFault{at.line, at.of(err).Error()})
}

// unembedded notes why a row that is stored has no vector, if it has none.
func (r *Imported) unembedded(at position, err error) {
	switch {
	case errors.Is(err, ErrBadVector):
		r.WithoutVector = append(r.WithoutVector, LineFault{at.line, at.of(err).Error()})
	case err != nil:
		r.VectorErr = err.Error()
	}
}

// sort puts what was noted when it was stored where its line is.
func (r *Imported) sort() {
	for _, list := range [][]LineFault{r.Faults, r.WithoutVector} {
		slices.SortStableFunc(list, func(a, b LineFault) int { return a.Line - b.Line })
	}
}

// Import reads memories, one JSON object per line or as an array, with the keys of Export or of another store (Memory.UnmarshalJSON). What
// is known is left as it is: a memory by its id or key, and one without either where the file has one of its text, scope, category and
// time, if it names one, be that forgotten since. A row with a fault is left out and reported. Errors are of the file or the model;
// batches before them are stored.
func (e *Engine) Import(ctx context.Context, in io.Reader, q ImportRequest) (*Imported, error) {
	result := &Imported{}
	defer result.sort()
	var batch []*draft
	var places []position
	flush := func() error {
		if len(batch) == 0 || q.DryRun {
			batch, places = batch[:0], places[:0]
			return nil
		}
		if err := e.store(ctx, batch); err != nil {
			return err
		}
		for i, d := range batch {
			switch {
			case errors.Is(d.result.Err, ErrExists), d.result.Err == nil && !d.result.Created:
				result.Known++
			case d.result.Err != nil:
				result.fault(places[i], d.result.Err)
			default:
				result.Created++
				result.unembedded(places[i], d.result.VectorErr)
			}
		}
		batch, places = batch[:0], places[:0]
		e.opts.Progress("memories", result.Lines, 0)
		return nil
	}
	err := eachRow(in, func(r row) error {
		result.Lines++
		d, defaulted, err := e.parseMemory(r, q)
		if err != nil {
			result.fault(r.position, err)
			return nil
		}
		for _, field := range defaulted {
			if result.Defaulted == nil {
				result.Defaulted = map[string]int{}
			}
			result.Defaulted[field]++
		}
		batch, places = append(batch, d), append(places, r.position)
		if len(batch) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return result, fmt.Errorf("import: %w", err)
	}
	return result, nil
}

// parseMemory makes a row ready to be stored, and names the fields of which it had to take the default.
func (e *Engine) parseMemory(r row, q ImportRequest) (d *draft, defaulted []string, err error) {
	if r.broken != nil {
		return nil, nil, r.broken
	}
	m := &Memory{}
	amiss := func(field string, err error) error {
		if q.Strict || field == "text" {
			return err
		}
		defaulted = append(defaulted, field)
		return nil
	}
	if err := m.read(r.json, amiss); err != nil {
		return nil, nil, err
	}
	if m.Scope != "" && q.Scope == "" {
		if bad := e.scopesNow().Check(m.Scope); bad != nil {
			if err := amiss("scope", bad); err != nil {
				return nil, nil, err
			}
			m.Scope = ""
		}
	}
	m.Scope = cmp.Or(q.Scope, m.Scope)
	m.Source = cmp.Or(m.Source, legacySource)
	d = &draft{memory: m, agent: q.Agent, imported: true, restated: m.ID == "" && m.Key == "", dated: !m.CreatedAt.IsZero(), result: &Remembered{}}
	return d, defaulted, e.admit(d)
}
