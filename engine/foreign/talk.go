package foreign

import (
	"cmp"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
)

// talk is one conversation of a host's, as its database has it.
type talk struct {
	key     string // names the conversation across imports
	host    string // what the host calls it, where that may name an agent
	session string
	said    []said // in the order of the talk
	summary *summary
	// checkpoints of it, in the order of their times, without their conversation.
	checkpoints []checkpoint.AdoptRequest
	// twice are keys of rows that another one says as well, which may not have been there when they were stored.
	twice []string
	// judged: the host says of every message whether it is withheld.
	judged bool
}

// said is a row of a host's as a message, with its key.
type said struct {
	conversation.Message
	// state names what a row says that the host may write anew; another one later is another revision. Empty: the row stays as it is.
	state string
	final bool // of such a row: this one the host never writes anew
	gone  bool // the host took back what was said
}

// summary stands for every message of a talk before firstKept.
type summary struct {
	key, text, firstKept string
	at                   time.Time
}

// inOrder puts what was said in the order of its times; of one time as it came. What tells no time has that of what came before.
func inOrder(all []said) {
	var last time.Time
	for i := range all {
		if all[i].SaidAt.IsZero() {
			all[i].SaidAt = last
		}
		last = all[i].SaidAt
	}
	slices.SortStableFunc(all, func(a, b said) int { return a.SaidAt.Compare(b.SaidAt) })
}

// event is a record of the host that is no turn of talk.
func event(key, kind, text string, at time.Time, raw []byte) said {
	return said{Message: conversation.Message{Key: key, Role: "system", SetAside: conversation.AsideEvent, SaidAt: at, Raw: raw,
		Blocks: []conversation.Block{{Type: conversation.BlockType(cmp.Or(word(kind), "event")), Text: text}}}}
}

// bootstrap sets the older messages of a talk that is new aside, so that the newest are within a budget of tokens; at least one. What a summary
// stands for takes no room, and no result of a tool is there without its call.
func (v *talk) bootstrap(budget int, count func(conversation.Message) int) {
	oldest := 0
	if v.summary != nil {
		oldest = len(v.said)
		if i := v.index(v.summary.firstKept); v.summary.firstKept != "" && i >= 0 {
			oldest = i
		}
	}
	first, used := -1, 0
	for i := len(v.said) - 1; i >= oldest; i-- {
		if v.said[i].SetAside != "" || v.said[i].gone {
			continue
		}
		used += count(v.said[i].Message)
		if used > budget && first >= 0 {
			break
		}
		first = i
	}
	if first < 0 {
		return
	}
	first = max(oldest, v.withCalls(first))
	for i := oldest; i < first; i++ {
		if v.said[i].SetAside == "" {
			v.said[i].SetAside = conversation.AsideNew
		}
	}
}

// index is that of the message with a key, or -1.
func (v *talk) index(key string) int {
	return slices.IndexFunc(v.said, func(s said) bool { return s.Key == key })
}

// withCalls moves the first of the messages that stay to older ones, until no result is among them without its call.
func (v *talk) withCalls(first int) int {
	calls := map[string]int{}
	for i, s := range v.said {
		for _, b := range s.Blocks {
			if b.Type == conversation.ToolCallBlock {
				calls[b.CallID] = i
			}
		}
	}
	for i := len(v.said) - 1; i >= first; i-- { // what is moved to is older, and looked at in its turn
		for _, b := range v.said[i].Blocks {
			if call, ok := calls[b.CallID]; ok && b.Type == conversation.ToolResultBlock && call < first {
				first = call
			}
		}
	}
	return first
}
