package foreign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
)

// stateKey is the key of the block that says which revision of a row a message has.
func (s *said) stateKey(key string) string {
	if s.final {
		return key + "@final"
	}
	sum := sha256.Sum256([]byte(s.state))
	return key + "@" + hex.EncodeToString(sum[:6])
}

// revision is the key of the nth revision of a row, from 0.
func revision(key string, n int) string {
	if n == 0 {
		return key
	}
	return fmt.Sprintf("%s#%d", key, n)
}

// revised gives a row that is stored as a message anew, if the host wrote it anew; the revision before leaves the context. One that was final stays.
func (t *taker) revised(ctx context.Context, v *talk, s said, known map[string]conversation.KnownKey) (*conversation.Message, error) {
	n, err := t.newest(ctx, v, s.Key, known)
	if err != nil {
		return nil, err
	}
	before := revision(s.Key, n)
	final := said{final: true}
	told, err := t.ours(ctx, v, []string{final.stateKey(before), s.stateKey(before)})
	if err != nil || len(told) > 0 {
		return nil, err
	}
	moved, err := t.e.SetBranch(ctx, conversation.BranchRequest{Conversation: known[before].ConversationID, Agent: t.r.Agent, Left: []string{before}})
	if err != nil {
		return nil, err
	}
	t.report.Moved += moved
	again := s.Message
	again.Key = revision(s.Key, n+1)
	again.Blocks = slices.Clone(s.Blocks)
	again.Blocks[0].Key = s.stateKey(again.Key)
	return &again, nil
}

// newest is the number of a row's newest revision.
func (t *taker) newest(ctx context.Context, v *talk, key string, known map[string]conversation.KnownKey) (n int, err error) {
	for {
		if _, ok := known[revision(key, n+1)]; !ok {
			return n, nil
		}
		n++
		more, err := t.ours(ctx, v, []string{revision(key, n+1)})
		if err != nil {
			return n, err
		}
		maps.Copy(known, more)
	}
}

// purge removes what rows said that the host deleted, in all revisions.
func (t *taker) purge(ctx context.Context, v *talk, gone []said) error {
	for _, s := range gone {
		known, err := t.ours(ctx, v, []string{s.Key, revision(s.Key, 1)})
		if err != nil {
			return err
		}
		n, err := t.newest(ctx, v, s.Key, known)
		if err != nil {
			return err
		}
		ids := map[string][]string{}
		for i := range n + 1 {
			if at, ok := known[revision(s.Key, i)]; ok && at.SetAside != conversation.AsidePurged {
				ids[at.ConversationID] = append(ids[at.ConversationID], at.ID)
			}
		}
		for id, messages := range ids {
			purged, err := t.e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: id, IDs: messages, Agent: t.r.Agent})
			if err != nil {
				return err
			}
			t.report.Redacted += purged.Messages
		}
	}
	return nil
}
