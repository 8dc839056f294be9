package kinds

// Kind says what a document is.
type Kind string

// The kinds that can be recalled.
const (
	Memory  Kind = "memory"
	Message Kind = "message"
	Summary Kind = "summary"
)

// All lists them all.
func All() []Kind { return []Kind{Memory, Message, Summary} }

// Roles lists who may have said a message.
func Roles() []string { return []string{"user", "assistant", "system", "tool"} }
