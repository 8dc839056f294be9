package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/session"
)

// A batch is written when it has so many messages, or so many bytes.
const (
	batchMessages = 2000
	batchBytes    = 8 << 20
)

// lookup is how many keys are asked for at once.
const lookup = 5000

// taker brings the talks of one database into an engine.
type taker struct {
	e      *engine.Engine
	r      Request
	report *session.FileReport
	stored map[string][]conversation.Conversation // by session key
	path   string
	until  map[string]time.Time // by the path of a talk's cursor: how far the talk was read
}

func newTaker(ctx context.Context, e *engine.Engine, r Request, path string, report *session.FileReport) (*taker, error) {
	all, err := e.Conversations(ctx, r.Agent)
	if err != nil {
		return nil, err
	}
	t := &taker{e: e, r: r, path: path, report: report, stored: map[string][]conversation.Conversation{}, until: map[string]time.Time{}}
	for _, c := range all {
		t.stored[c.SessionKey] = append(t.stored[c.SessionKey], c)
	}
	cursors, err := e.Cursors(ctx)
	for _, c := range cursors {
		t.until[c.Path] = time.UnixMicro(c.Bytes).UTC()
	}
	return t, err
}

// cursorPath is that of the cursor of one talk. Its number is the time of the newest message that was read, in microseconds since 1970.
func cursorPath(database, talk string) string { return database + "#" + talk }

// purged leaves out what was read of a talk before its conversation was removed: that stays read.
func (t *taker) purged(v *talk) {
	until, read := t.until[cursorPath(t.path, v.key)]
	if !read || len(t.stored[v.key]) > 0 {
		return
	}
	v.said = slices.DeleteFunc(v.said, func(s said) bool {
		old := !s.SaidAt.After(until)
		if old {
			t.leave("rows of a conversation that was purged")
		}
		return old
	})
	v.checkpoints = slices.DeleteFunc(v.checkpoints, func(c checkpoint.AdoptRequest) bool { return !c.At.After(until) })
	if v.summary != nil && !v.summary.at.After(until) {
		v.summary = nil
	}
}

// take stores what is new in a talk.
func (t *taker) take(ctx context.Context, v *talk) error {
	t.report.Threads++
	t.purged(v)
	known, err := t.known(ctx, v)
	if err != nil {
		return err
	}
	if len(t.stored[v.key]) == 0 {
		v.bootstrap(t.e.Bootstrap())
	}
	fresh, err := t.sort(ctx, v, known)
	if err != nil {
		return err
	}
	id, err := t.append(ctx, v, fresh)
	if err != nil || id == "" {
		return err
	}
	if err := t.drop(ctx, v, known); err != nil {
		return err
	}
	if err := t.mark(ctx, v, known); err != nil {
		return err
	}
	if v.summary == nil {
		return t.checkpoints(ctx, v, id, time.Time{}, time.Time{})
	}
	if err := t.checkpoints(ctx, v, id, time.Time{}, v.summary.at); err != nil {
		return err
	}
	if err := t.adopt(ctx, v, id, known); err != nil {
		return err
	}
	return t.checkpoints(ctx, v, id, v.summary.at, time.Time{})
}

// known asks the engine which keys of a talk it has in a conversation of the talk's key.
func (t *taker) known(ctx context.Context, v *talk) (map[string]conversation.KnownKey, error) {
	var keys []string
	for i := range v.said {
		s := &v.said[i]
		keys = append(keys, s.Key)
		for _, b := range s.Blocks {
			if b.Key != "" {
				keys = append(keys, b.Key)
			}
		}
		if s.state != "" {
			keys = append(keys, revision(s.Key, 1))
		}
	}
	if v.summary != nil {
		keys = append(keys, v.summary.key)
	}
	keys = append(keys, v.twice...)
	return t.ours(ctx, v, keys)
}

// ours gives where keys are stored, in conversations of the talk's key.
func (t *taker) ours(ctx context.Context, v *talk, keys []string) (map[string]conversation.KnownKey, error) {
	all := map[string]conversation.KnownKey{}
	if len(t.stored[v.key]) == 0 {
		return all, nil
	}
	for some := range slices.Chunk(keys, lookup) {
		known, err := t.e.KnownKeys(ctx, some, t.r.Agent)
		if err != nil {
			return nil, err
		}
		for key, at := range known {
			if slices.ContainsFunc(t.stored[v.key], func(c conversation.Conversation) bool { return c.ID == at.ConversationID }) {
				all[key] = at
			}
		}
	}
	return all, nil
}

// sort gives the messages of a talk that are new. Calls of tools that came later are added to the messages that are stored, what the host took back is
// removed from them, and those leave the context that the host wrote anew: a run that ends here does the same again.
func (t *taker) sort(ctx context.Context, v *talk, known map[string]conversation.KnownKey) (fresh []conversation.Message, err error) {
	var gone []said
	for _, s := range v.said {
		s.Session = v.session
		at, ok := known[s.Key]
		switch {
		case s.gone && ok:
			gone = append(gone, s)
			continue
		case s.gone:
			t.leave("rows that the host deleted")
			continue
		case !ok:
			if s.state != "" {
				s.Blocks[0].Key = s.stateKey(s.Key)
			}
			fresh = append(fresh, s.Message)
			continue
		}
		t.report.Known++
		if s.state != "" {
			m, err := t.revised(ctx, v, s, known)
			if err != nil {
				return nil, err
			}
			if m != nil {
				t.report.Known--
				fresh = append(fresh, *m)
			}
			continue
		}
		if err := t.parts(ctx, s, at, known); err != nil {
			return nil, err
		}
	}
	return fresh, t.purge(ctx, v, gone)
}

// parts adds those blocks to a stored message that it does not have.
func (t *taker) parts(ctx context.Context, s said, at conversation.KnownKey, known map[string]conversation.KnownKey) error {
	var fresh []conversation.Block
	for _, b := range s.Blocks {
		if _, ok := known[b.Key]; b.Key != "" && !ok {
			fresh = append(fresh, b)
		}
	}
	if len(fresh) == 0 || at.SetAside == conversation.AsidePurged {
		return nil
	}
	added, err := t.e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: at.ConversationID, Agent: t.r.Agent, MessageKey: s.Key, Blocks: fresh})
	if err != nil {
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		return err
	}
	t.report.Parts += added.Added
	t.warn(added.VectorErr)
	return nil
}

// append stores messages, in batches. It gives the conversation; none where a gate keeps it out, or where there is none and nothing to store.
func (t *taker) append(ctx context.Context, v *talk, fresh []conversation.Message) (id string, err error) {
	for _, c := range t.stored[v.key] {
		if c.Active || id == "" {
			id = c.ID
		}
	}
	scope := t.r.Scope
	if scope == "" && t.r.Agent == "" && id == "" {
		scope = t.e.Scopes().OfSession(v.host)
	}
	for len(fresh) > 0 {
		n, bytes := 0, 0
		for n < len(fresh) && n < batchMessages && bytes < batchBytes {
			bytes += len(fresh[n].Text) + len(fresh[n].Raw)
			for _, b := range fresh[n].Blocks {
				bytes += len(b.Text) + len(b.Input) + len(b.Output) + len(b.Raw)
			}
			n++
		}
		cursor := conversation.Cursor{Path: cursorPath(t.path, v.key), Host: string(t.report.Host), Lines: int64(len(v.said)), Bytes: max(0, t.until[cursorPath(t.path, v.key)].UnixMicro())}
		for _, m := range fresh[:n] {
			cursor.Bytes = max(cursor.Bytes, m.SaidAt.UnixMicro())
		}
		result, err := t.e.Append(ctx, conversation.AppendRequest{SessionKey: v.key, SessionID: v.session, Scope: scope, Agent: t.r.Agent, Messages: fresh[:n], Cursor: &cursor})
		if err != nil {
			return "", fmt.Errorf("%s: %w", v.key, err)
		}
		if result.Skipped != "" {
			t.report.Excluded = result.Skipped
			return "", nil
		}
		events := 0
		for _, m := range fresh[:n] {
			if m.SetAside == conversation.AsideEvent {
				events++
			}
		}
		t.report.Messages += result.Added
		t.report.Events += min(events, result.Added)
		t.report.Known += n - result.Added
		t.warn(result.VectorErr)
		id, fresh = result.ConversationID, fresh[n:]
	}
	return id, nil
}

// drop takes stored messages out of the context that another one says as well.
func (t *taker) drop(ctx context.Context, v *talk, known map[string]conversation.KnownKey) error {
	left := map[string][]string{}
	for _, key := range v.twice {
		if at, ok := known[key]; ok && at.SetAside == "" {
			left[at.ConversationID] = append(left[at.ConversationID], key)
		}
	}
	for id, keys := range left {
		moved, err := t.e.SetBranch(ctx, conversation.BranchRequest{Conversation: id, Agent: t.r.Agent, Left: keys})
		if err != nil {
			return err
		}
		t.report.Moved += moved
	}
	return nil
}

// mark tells the engine which of the messages that were stored before the host withholds now.
func (t *taker) mark(ctx context.Context, v *talk, known map[string]conversation.KnownKey) error {
	keys := map[string]map[bool][]string{}
	for _, s := range v.said {
		if at, ok := known[s.Key]; ok && v.judged && s.SetAside == "" {
			if keys[at.ConversationID] == nil {
				keys[at.ConversationID] = map[bool][]string{}
			}
			keys[at.ConversationID][s.Withheld] = append(keys[at.ConversationID][s.Withheld], s.Key)
		}
	}
	for id, of := range keys {
		for withheld, some := range of {
			changed, err := t.e.Mark(ctx, conversation.MarkRequest{Conversation: id, Agent: t.r.Agent, Keys: some, Withheld: &withheld})
			if err != nil {
				return err
			}
			t.report.Marked += changed
		}
	}
	return nil
}

// adopt makes the host's newest summary stand for what was before it.
func (t *taker) adopt(ctx context.Context, v *talk, id string, known map[string]conversation.KnownKey) error {
	if _, ok := known[v.summary.key]; ok {
		return nil
	}
	s, changed, err := t.e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: id, Agent: t.r.Agent, Key: v.summary.key, Text: v.summary.text,
		Model: string(t.report.Host), At: v.summary.at, FirstKept: v.summary.firstKept})
	switch {
	case errors.Is(err, engine.ErrNotFound):
		t.leave("summaries whose first kept message is not in the conversation")
	case err != nil:
		return fmt.Errorf("%s: %w", v.key, err)
	case changed:
		t.report.Summaries++
		t.warn(s.VectorErr)
	case s.ID == "":
		t.leave("summaries of nothing that is in the context")
	}
	return nil
}

// checkpoints takes those of the host's over that were made since one moment until another; one of zero is no bound. Coverage ends with a compaction, so that
// those before it come first.
func (t *taker) checkpoints(ctx context.Context, v *talk, id string, since, until time.Time) error {
	if len(v.checkpoints) == 0 {
		return nil
	}
	stored, err := t.e.Checkpoints(ctx, checkpoint.ListRequest{Conversation: id, Agent: t.r.Agent, Limit: 10_000}) // others are looked up one by one
	if err != nil {
		return err
	}
	for _, c := range v.checkpoints {
		known := slices.ContainsFunc(stored, func(k *checkpoint.Checkpoint) bool { return k.Key == c.Key })
		if known || !since.IsZero() && !c.At.After(since) || !until.IsZero() && c.At.After(until) {
			continue
		}
		c.Conversation, c.Agent = id, t.r.Agent
		_, adopted, err := t.e.AdoptCheckpoint(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", v.key, err)
		}
		if adopted {
			t.report.Checkpoints++
		}
	}
	return nil
}

func (t *taker) leave(why string) { t.report.Leave(why, 1) }

func (t *taker) warn(err error) {
	if err != nil {
		t.report.VectorErr = err.Error()
	}
}
