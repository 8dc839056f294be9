package session

import (
	"context"
	"maps"
	"slices"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
)

// marking is what a host says now of messages that are stored, by their keys in a conversation.
type marking struct{ withheld, shown []string }

// note remembers whether a stored message is withheld.
func (k *taking) note(at conversation.KnownKey, key string, withheld bool) {
	if k.marks == nil {
		k.marks = map[string]*marking{}
	}
	to := k.marks[at.ConversationID]
	if to == nil {
		to = &marking{}
		k.marks[at.ConversationID] = to
	}
	if withheld {
		to.withheld = append(to.withheld, key)
	} else {
		to.shown = append(to.shown, key)
	}
}

// mark tells the engine what the host withholds of the messages that are stored. It comes before the cursor moves: a read that is cut short
// says it again.
func (k *taking) mark(ctx context.Context) error {
	for _, c := range k.t.shown {
		if at, ok := k.known[c.Key]; ok {
			k.note(at, c.Key, c.Off)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(k.marks)) {
		for withheld, keys := range map[bool][]string{true: k.marks[id].withheld, false: k.marks[id].shown} {
			if len(keys) == 0 {
				continue
			}
			changed, err := k.e.Mark(ctx, conversation.MarkRequest{Conversation: id, Agent: k.r.Agent, Keys: keys, Withheld: &withheld})
			if err != nil {
				return err
			}
			k.report.Marked += changed
		}
	}
	k.marks = nil
	return nil
}

// purge removes what stored messages said that the host redacted.
func (k *taking) purge(ctx context.Context) error {
	gone := map[string][]string{}
	for _, key := range k.t.removed {
		if at, ok := k.known[key]; ok && at.SetAside != conversation.AsidePurged && at.SetAside != conversation.AsideEvent {
			gone[at.ConversationID] = append(gone[at.ConversationID], at.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		purged, err := k.e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: id, IDs: gone[id], Agent: k.r.Agent})
		if err != nil {
			return err
		}
		k.report.Redacted += purged.Messages
	}
	return nil
}
