package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
)

// newSession takes messages and shallow summaries out of the context.
func (s *simulation) newSession(d *simulated) {
	d.see(s.t, s.engine)
	depth := s.rng.IntN(5) - 1
	begun, err := s.engine.NewSession(s.t.Context(), conversation.NewSessionRequest{Conversation: d.named(), RetainDepth: &depth})
	if err != nil {
		s.t.Fatal(err)
	}
	if depth >= 0 {
		d.leave(conversation.AsideNew, depth)
	}
	d.see(s.t, s.engine)
	if begun.TokensAfter != d.tokens() || begun.Kept != len(d.context) {
		s.t.Fatalf("%+v of %d items of %d tokens", begun, len(d.context), d.tokens())
	}
}

// end ends a session: the conversation goes on, is archived, or is archived and gives its name to another one.
func (s *simulation) end(d *simulated) {
	if d.past {
		return
	}
	d.see(s.t, s.engine)
	r := conversation.EndSessionRequest{Conversation: d.name, Reason: []string{"", "restart", "deleted", "reset", "idle"}[s.rng.IntN(5)]}
	ended, err := s.engine.EndSession(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	over := !ended.EndIgnored && (r.Reason == "deleted" || len(d.said) > 0) // what is empty goes on
	if want := !over && !ended.EndIgnored; ended.Fresh != want || ended.EndIgnored != (r.Reason == "" || r.Reason == "restart") ||
		(ended.Successor != "") != (over && r.Reason != "deleted") {
		s.t.Fatalf("%+v of %d messages: %+v", r, len(d.said), ended)
	}
	if over {
		d.past = true
		d.leave(conversation.AsideReset, 0)
		next := newSimulated(d.name)
		next.id = ended.Successor
		s.all = append(s.all, next)
	}
	d.see(s.t, s.engine)
}

// addBlocks makes a message longer, wherever it is now.
func (s *simulation) addBlocks(d *simulated) {
	if len(d.said) == 0 {
		return
	}
	seq := 1 + s.rng.IntN(len(d.said))
	m := &d.said[seq-1]
	var fresh []conversation.Block
	for range 1 + s.rng.IntN(2) {
		s.keys++
		kind := []conversation.BlockType{conversation.TextBlock, conversation.ThinkingBlock}[s.rng.IntN(2)]
		fresh = append(fresh, conversation.Block{Type: kind, Text: s.words(1 + s.rng.IntN(20)), Key: fmt.Sprint("block ", s.keys)})
	}
	for again := range 2 {
		added, err := s.engine.AddBlocks(s.t.Context(), conversation.AddBlocksRequest{Conversation: d.named(), MessageID: d.ids[seq-1], Blocks: fresh})
		want := len(fresh)
		if again > 0 || d.aside[seq] == conversation.AsidePurged {
			want = 0
		}
		if err != nil || added.Added != want {
			s.t.Fatalf("blocks of message %d of %s: %+v, %v, want %d", seq, d.name, added, err, want)
		}
	}
	if d.aside[seq] != conversation.AsidePurged {
		m.Blocks = append(slices.Clone(plainly(*m).Blocks), fresh...)
		for _, b := range fresh {
			if b.Type == conversation.TextBlock {
				m.Text += "\n" + b.Text
			}
		}
	}
	d.see(s.t, s.engine)
}

// branch edits messages away, and returns to some that were.
func (s *simulation) branch(d *simulated) {
	d.see(s.t, s.engine)
	within := func(seq int) bool {
		return len(enginetest.Rows(s.t, s.engine, fmt.Sprintf("SELECT id FROM summaries WHERE conversation_id = '%s' AND first_seq < %d AND %d < last_seq", d.id, seq, seq))) > 0
	}
	r := conversation.BranchRequest{Conversation: d.named()}
	var back []compact.ContextItem
	left := map[string]bool{}
	for i, m := range d.said {
		seq, item := i+1, compact.ContextItem{Position: i + 1, Kind: kinds.Message, Ref: d.ids[i]}
		switch {
		case m.Key == "" || s.rng.IntN(3) > 0:
		case d.aside[seq] == conversation.AsideOffBranch:
			if r.Found = append(r.Found, m.Key); !within(seq) {
				back = append(back, item)
			}
		case s.rng.IntN(4) == 0 && slices.ContainsFunc(d.context, func(i compact.ContextItem) bool { return i.Ref == item.Ref }):
			r.Left = append(r.Left, m.Key)
			left[item.Ref] = true
		}
	}
	if d.past {
		back, left = nil, nil
	}
	moved, err := s.engine.SetBranch(s.t.Context(), r)
	if err != nil || moved != len(back)+len(left) {
		s.t.Fatalf("%+v moved %d, %v, want %d and %d", r, moved, err, len(left), len(back))
	}
	d.out(left, conversation.AsideOffBranch)
	for _, item := range back {
		delete(d.aside, item.Position)
	}
	d.context = append(d.context, back...)
	slices.SortFunc(d.context, func(a, b compact.ContextItem) int { return cmp.Compare(a.Position, b.Position) })
	d.see(s.t, s.engine)
}

// heartbeats lets the host ask whether there is anything to do, and sets aside what came to nothing.
func (s *simulation) heartbeats(d *simulated) {
	d.see(s.t, s.engine)
	if !d.past && s.rng.IntN(4) > 0 {
		answer := []string{"HEARTBEAT_OK", " heartbeat_ok\n", "HEARTBEAT_OK all good"}[s.rng.IntN(3)]
		said := enginetest.Dialogue("u "+enginetest.HeartbeatPoll, "a "+answer)
		if s.rng.IntN(2) == 0 {
			s.keys++
			id := fmt.Sprint("call_", s.keys)
			said = slices.Insert(said, 1, conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: "read", Input: "HEARTBEAT.md"}}},
				conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Tool: "read", Output: "nothing to do"}}})
		}
		s.say(d, said...)
	}
	want := map[string]bool{}
	turn := 0 // seq of the user's message
	for i, m := range d.said {
		talk := d.aside[i+1] != conversation.AsideOffBranch && d.aside[i+1] != conversation.AsideEvent
		if talk && m.Role == "user" {
			turn = i + 1
		}
		if turn > 0 && talk && m.Role == "assistant" && strings.EqualFold(strings.TrimSpace(m.Text), "heartbeat_ok") && slices.ContainsFunc(d.said[turn-1:i+1], isPoll) {
			for k := turn; k <= i+1; k++ {
				want[d.ids[k-1]] = true
			}
		}
	}
	for id := range want {
		if !slices.ContainsFunc(d.context, func(i compact.ContextItem) bool { return i.Ref == id }) {
			delete(want, id)
		}
	}
	ids, err := s.engine.PruneHeartbeats(s.t.Context(), conversation.PruneHeartbeatsRequest{Conversation: d.named()})
	if err != nil || len(ids) != len(want) {
		s.t.Fatalf("heartbeats of %s: %v, %v, want %v", d.name, ids, err, want)
	}
	d.out(want, conversation.AsideHeartbeat)
	d.see(s.t, s.engine)
}

// say appends messages as they are.
func (s *simulation) say(d *simulated, said ...conversation.Message) {
	for i := range said {
		said[i].SaidAt = s.clock.At
	}
	result, err := s.engine.Append(s.t.Context(), conversation.AppendRequest{Conversation: d.named(), Messages: said})
	if err != nil {
		s.t.Fatal(err)
	}
	for i, m := range said {
		d.hear(m, result.IDs[i])
	}
}

// isPoll reports whether a message names the file of heartbeats.
func isPoll(m conversation.Message) bool {
	named := strings.Contains(m.Text, "HEARTBEAT.md")
	for _, b := range m.Blocks {
		named = named || strings.Contains(b.Input, "HEARTBEAT.md")
	}
	return named
}

// out takes messages out of the context.
func (d *simulated) out(ids map[string]bool, why conversation.SetAside) {
	d.context = slices.DeleteFunc(slices.Clone(d.context), func(i compact.ContextItem) bool {
		if ids[i.Ref] {
			d.aside[i.Position] = why
		}
		return ids[i.Ref]
	})
}

// purge removes messages for good, wherever they are.
func (s *simulation) purge(d *simulated) {
	d.see(s.t, s.engine)
	if len(d.said) == 0 {
		return
	}
	var seqs []int
	r := compact.PurgeMessagesRequest{Conversation: d.named()}
	from := s.rng.IntN(len(d.said))
	for seq := from + 1; seq <= min(from+1+s.rng.IntN(6), len(d.said)); seq++ {
		r.IDs = append(r.IDs, d.ids[seq-1])
		if d.aside[seq] != conversation.AsidePurged {
			seqs = append(seqs, seq)
		}
	}
	below := s.below(d)
	purged, err := s.engine.PurgeMessages(s.t.Context(), r)
	if err != nil || purged.Messages != len(seqs) {
		s.t.Fatalf("purge of %v: %+v, %v, want %d", r.IDs, purged, err, len(seqs))
	}
	d.forget(seqs, below)
	d.see(s.t, s.engine)
}

// below lists the messages below each summary of the context.
func (s *simulation) below(d *simulated) map[string][]int {
	all := map[string][]int{}
	for _, row := range enginetest.Rows(s.t, s.engine, fmt.Sprintf(`WITH RECURSIVE below(top, kind, id) AS (
			SELECT ref, kind, ref FROM context_items WHERE conversation_id = '%s' AND kind = 'summary'
			UNION ALL
			SELECT b.top, u.kind, u.source FROM below AS b JOIN summary_sources AS u ON u.summary_id = b.id)
		SELECT b.top, m.seq FROM below AS b JOIN messages AS m ON m.id = b.id ORDER BY m.seq`, d.id)) {
		top := row[0].(string)
		all[top] = append(all[top], int(row[1].(int32)))
	}
	return all
}

// forget leaves of messages what a purge does. A summary begins with the first message that is left to it, or is gone.
func (d *simulated) forget(seqs []int, below map[string][]int) {
	for _, seq := range seqs {
		m := d.said[seq-1]
		d.said[seq-1], d.aside[seq] = conversation.Message{Key: m.Key, Role: m.Role, SaidAt: m.SaidAt}, conversation.AsidePurged
	}
	var kept []compact.ContextItem
	for _, item := range d.context {
		left := below[item.Ref]
		if item.Kind == kinds.Message {
			left = []int{item.Position}
		}
		left = slices.DeleteFunc(left, func(seq int) bool { return slices.Contains(seqs, seq) })
		if len(left) > 0 {
			item.Position = left[0]
			kept = append(kept, item)
		}
	}
	d.context = kept
}

// prune purges what was set aside for some reasons.
func (s *simulation) prune(d *simulated) {
	r := compact.PruneSetAsideRequest{Conversation: d.named()}
	for _, why := range []conversation.SetAside{conversation.AsideNew, conversation.AsideReset, conversation.AsideHeartbeat, conversation.AsideOffBranch, conversation.AsideEvent} {
		if s.rng.IntN(2) == 0 {
			r.Reasons = append(r.Reasons, why)
		}
	}
	if r.Reasons == nil {
		return
	}
	d.see(s.t, s.engine)
	var seqs []int
	for seq, why := range d.aside {
		if slices.Contains(r.Reasons, why) {
			seqs = append(seqs, seq)
		}
	}
	pruned, err := s.engine.PruneSetAside(s.t.Context(), r)
	if err != nil || pruned.Messages != len(seqs) {
		s.t.Fatalf("%+v: %+v, %v, want %d messages", r, pruned, err, len(seqs))
	}
	d.forget(seqs, s.below(d))
	d.see(s.t, s.engine)
}

// purgeConversation removes one that is archived.
func (s *simulation) purgeConversation(d *simulated) {
	if !d.past {
		return
	}
	purged, err := s.engine.PurgeConversation(s.t.Context(), d.id, "")
	if err != nil || purged.Messages != len(d.said) {
		s.t.Fatalf("purge of %s: %+v, %v", d.id, purged, err)
	}
	if _, err := s.engine.Conversation(s.t.Context(), d.id, ""); !errors.Is(err, engine.ErrNotFound) {
		s.t.Fatalf("%s is still there: %v", d.id, err)
	}
	s.all = slices.DeleteFunc(s.all, func(other *simulated) bool { return other == d })
}

// checkpoint writes the log into the file.
func (s *simulation) checkpoint(*simulated) {
	if err := enginetest.Checkpoint(s.t.Context(), s.engine); err != nil {
		s.t.Fatal(err)
	}
}

// rebuild makes the index anew.
func (s *simulation) rebuild(*simulated) {
	if _, err := s.engine.RebuildIndex(s.t.Context(), index.RebuildRequest{}); err != nil {
		s.t.Fatal(err)
	}
}
