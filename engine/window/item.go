package window

// Roles of messages and turns.
const (
	User      = "user"
	Assistant = "assistant"
	System    = "system"
	Tool      = "tool"
)

// Item is one slot of the current context: a message or a summary.
type Item struct {
	Position int    // seq of the first message that it stands for
	Ref      string // id of the message or summary, unique in the context
	Summary  bool
	Depth    int  // of a summary
	Tokens   int  // as stored
	Spared   bool // it stays as it is though it is before the fresh tail, see Policy.Spared

	// Of a message:
	Role    string
	Calls   []string // ids of the tool calls that it makes
	Results []string // ids of the calls that it holds results of
}

// Tokens sums up the items.
func Tokens(items []Item) int {
	sum := 0
	for _, it := range items {
		sum += it.Tokens
	}
	return sum
}
