package kinds

// Kind says what a document is.
type Kind string

// The kinds that can be recalled.
const (
	Memory  Kind = "memory"
	Message Kind = "message"
	Summary Kind = "summary"
	Note    Kind = "note"
)

// Number is how many kinds there are: what is counted by kind stands in arrays of so many, in the order of All.
const Number = 4

// All lists them all.
func All() []Kind { return []Kind{Memory, Message, Summary, Note} }

// Roles lists who may have said a message.
func Roles() []string { return []string{"user", "assistant", "system", "tool"} }

// Talk is the source kind of a message of which nothing is said of what brought it about.
const Talk = "talk"

// Unattended lists the source kinds of what no person began: the work of a clock, and of other agents.
func Unattended() []string { return []string{"scheduled", "briefing", "subtask", "heartbeat", "cron"} }
