package build

import (
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/assemble"
)

// Built is the context of the next call of a model, and why it is so.
type Built struct {
	Preset         string `json:"preset"`
	ConversationID string `json:"conversation_id"`
	Hash           string `json:"hash"`        // ctx_ and 32 hexadecimal digits: the same file, preset and request give the same
	ConfigHash     string `json:"config_hash"` // of the preset alone
	SnapshotID     string `json:"snapshot_id,omitempty"`
	// Sections are those that say something, in the preset's order.
	Sections []Section `json:"sections"`
	// Items are all that were considered, what is shown and what is not, in the order of the sections and within them of the conversation.
	Items      []Item     `json:"items"`
	Counts     Counts     `json:"counts"`
	Trim       Trim       `json:"trim"`
	Pressure   Headroom   `json:"pressure"`
	OverBudget bool       `json:"over_budget"` // what must be shown is more than the budget
	Selection  *Selection `json:"selection,omitempty"`
	Recall     Recalled   `json:"recall"`
	Notices    []string   `json:"notices,omitempty"`
	Until      int        `json:"until"` // seq of the newest message that took part
	BuiltAt    time.Time  `json:"built_at"`
	Config     Preset     `json:"config"` // that held
	// SystemText is for the system prompt: all sections but history, tools, quote and input, and but summaries, which are messages.
	SystemText string                      `json:"system"`
	Messages   []assemble.AssembledMessage `json:"messages"` // in an order that models accept, the input last
}

// Section is a part of a context.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Cost int    `json:"cost"` // of its items, as the budget counts
}

// Item is something that was considered for a context.
type Item struct {
	Section string `json:"section"`
	Kind    string `json:"kind"` // message, tool, summary, memory, note, skill, session, excerpt, text, state, focus, status, quote, input or pressure
	// Name is the same in every copy of the conversation: of a message # and its seq, of a summary the messages that it stands for.
	Name   string `json:"name"`
	ID     string `json:"id,omitempty"` // of the message, summary, memory or note
	Seq    int    `json:"seq,omitempty"`
	Role   string `json:"role,omitempty"`
	Cost   int    `json:"cost"` // as the budget counts
	Kept   bool   `json:"kept"`
	Reason string `json:"reason"`         // why it is shown, or is not
	Text   string `json:"text,omitempty"` // as it is shown
	Hash   string `json:"hash,omitempty"` // SHA-256 of Text in hexadecimal digits
	// Evidence is what speaks for a pointer that hints found; nil: it is none, or one of a replay.
	Evidence *Evidence `json:"evidence,omitempty"`

	passage *[2]int // bytes of a text that are shown, from and to: of a memory's, or of a pointer's on one line; nil: all of it
	chars   int     // of what the host gave, in a replay, which does not know the text
}

// Why something is shown.
const (
	ReasonInput    = "input"
	ReasonWindow   = "in the window"
	ReasonRecent   = "recent"
	ReasonReply    = "answered"
	ReasonPrevious = "previous"
	ReasonSelected = "selected"
	ReasonUnasked  = "nobody chose"
	ReasonTail     = "fresh tail"
	ReasonFits     = "fits"
	ReasonSummary  = "summary"
	ReasonHost     = "from the host"
	ReasonRecalled = "recalled"
	ReasonAlone    = "answered, alone"
	ReasonPressure = "little room"
)

// And why it is not.
const (
	DroppedKind     = "kind of source"
	DroppedWithheld = "withheld"
	DroppedWindow   = "outside the window"
	DroppedRecency  = "too long ago"
	DroppedChoice   = "not selected"
	DroppedBudget   = "budget"
	DroppedTools    = "tools are not shown"
	DroppedInput    = "it is the input"
	DroppedKnown    = "its source is shown"
	DroppedRoom     = "no room in the section"
	DroppedCap      = "cap"
	DroppedEmpty    = "says nothing"
)

// Counts of a context.
type Counts struct {
	Messages       int `json:"messages"` // that are shown; of those that took part so many are not:
	MessagesLeft   int `json:"messages_left"`
	Earlier        int `json:"earlier"` // messages before the first that was looked at
	Summaries      int `json:"summaries"`
	MemoryPointers int `json:"memory_pointers"`
	ToolSnippets   int `json:"tool_snippets"`
	Cost           int `json:"cost"` // of all that is shown, as the budget counts
	Budget         int `json:"budget"`
}

// Trim is what had to give way.
type Trim struct {
	Trimmed  bool     `json:"trimmed"`
	Dropped  []string `json:"dropped,omitempty"` // names of items, in the order they went
	Cut      []string `json:"cut,omitempty"`     // names of those that were shortened
	Unseen   int      `json:"unseen,omitempty"`  // messages after the cursor that there was no room for
	Messages int      `json:"messages,omitempty"`
	Tools    int      `json:"tools,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// Headroom is how much room a context leaves.
type Headroom struct {
	Level   string   `json:"level"`          // low, moderate or high
	Left    int      `json:"left,omitempty"` // as the budget counts
	Reasons []string `json:"reasons,omitempty"`
}

// Selection is what a selector chose, as it is recorded: a replay takes it in place of asking again.
type Selection struct {
	By      string   `json:"by"`
	Outcome string   `json:"outcome"` // skipped, chosen, or failed: then what the preset says on error holds
	Chosen  []string `json:"chosen,omitempty"`
	Asked   int      `json:"asked"` // of so many
	// Error is why it failed. It is no part of what is recorded.
	Error string `json:"-"`
}

// Outcomes of a selection.
const (
	Skipped = "skipped"
	Chosen  = "chosen"
	Failed  = "failed"
)

// Recalled is what became of the recall, or of what hints look for.
type Recalled struct {
	Status string `json:"status"` // off, query-empty, error or ok
	Hits   int    `json:"hits"`   // that were found, shown or not
	Limit  int    `json:"limit,omitempty"`
	Chars  int    `json:"chars,omitempty"`
	Focus  string `json:"focus,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Prompt is the context as assemble has it, for the shapes of providers.
func (b *Built) Prompt() *assemble.Assembled {
	return &assemble.Assembled{ConversationID: b.ConversationID, Messages: b.Messages, Guidance: b.SystemText}
}

// OpenAI gives the messages for a chat completion, SystemText first.
func (b *Built) OpenAI() []assemble.OpenAIMessage { return b.Prompt().OpenAI() }

// Anthropic gives the system prompt and the messages.
func (b *Built) Anthropic() (system string, messages []assemble.AnthropicMessage) {
	return b.Prompt().Anthropic()
}

// Text is the whole context as plain text: each section under its name.
func (b *Built) Text() string {
	var out strings.Builder
	for i, s := range b.Sections {
		if i > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString("## " + s.Name + "\n" + s.Text)
	}
	return out.String()
}
