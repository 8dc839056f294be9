package text

// Group is one row of an expansion table: when a trigger occurs in a query, the terms are appended.
type Group struct{ Triggers, Terms []string }

// Expander appends synonyms to a query.
type Expander struct{ groups []Group }

// NewExpander returns an expander over a caller's own table.
func NewExpander(groups []Group) *Expander { return &Expander{groups: groups} }

// Expand returns the query with at most five synonyms appended.
func (e *Expander) Expand(query string) string { return query }

// Expand is Expander.Expand with the built-in table.
func Expand(query string) string { return query }
