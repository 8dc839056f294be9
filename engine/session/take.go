package session

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
)

// A batch is written when it has so many messages, or so many bytes of the host's lines.
const (
	batchMessages = 2000
	batchBytes    = 8 << 20
)

// lookup is how many keys are asked for at once.
const lookup = 5000

// taking is the work of bringing what a Read found into the engine.
type taking struct {
	*importer
	t       *Transcript
	cursor  conversation.Cursor // as it was: it moves when everything is stored
	report  *FileReport
	known   map[string]conversation.KnownKey
	targets []*target // by thread
	copying []bool    // by thread: its beginning is still a copy of its parent's

	batch  []conversation.Message // of one thread
	thread int
	bytes  int
	offset int64               // of the end of the newest line in the batch
	moved  bool                // the cursor is written
	marks  map[string]*marking // by conversation
	gated  bool                // the engine's options keep the transcript's own thread out, and so all of it
}

// take stores what the last Read of a transcript found. Its cursor moves with the last batch; until then it stays where it was, so that
// a read that was cut short is done again, which the keys make harmless.
func (im *importer) take(ctx context.Context, t *Transcript, cursor conversation.Cursor, report *FileReport) error {
	k := &taking{importer: im, t: t, cursor: cursor, report: report, copying: make([]bool, len(t.Threads))}
	report.Threads, report.Lines, report.Pending = len(t.Threads), t.Lines-cursor.Lines, t.Pending
	for _, f := range t.Faults {
		if f.Line > cursor.Lines {
			report.Skipped = append(report.Skipped, f)
		}
	}
	for i := range t.Threads {
		if v := &t.Threads[i]; t.Redact {
			v.Title = Redact(v.Title)
		}
	}
	if err := k.look(ctx); err != nil {
		return err
	}
	for i := range t.Threads {
		k.targets = append(k.targets, k.target(i))
		k.copying[i] = true
	}
	if err := k.branch(ctx); err != nil {
		return err
	}
	if err := k.purge(ctx); err != nil {
		return err
	}
	for r, err := range t.Records(ctx) {
		if err != nil {
			return err
		}
		if err := k.record(ctx, r); err != nil || k.gated {
			return err
		}
	}
	return k.finish(ctx)
}

// look asks the engine which keys of the read it has.
func (k *taking) look(ctx context.Context) error {
	k.known = map[string]conversation.KnownKey{}
	for keys := range slices.Chunk(k.t.keys(), lookup) {
		known, err := k.e.KnownKeys(ctx, keys, k.r.Agent)
		if err != nil {
			return err
		}
		maps.Copy(k.known, known)
	}
	return nil
}

// branch moves messages of earlier reads that the host left, or returned to.
func (k *taking) branch(ctx context.Context) error {
	requests := map[string]*conversation.BranchRequest{}
	for _, c := range k.t.Changes() {
		at, ok := k.known[c.Key]
		if !ok {
			continue
		}
		k.move(requests, at, c.Key, c.Off)
	}
	return k.setBranches(ctx, requests)
}

// move notes a message that moves.
func (k *taking) move(requests map[string]*conversation.BranchRequest, at conversation.KnownKey, key string, off bool) {
	r := requests[at.ConversationID]
	if r == nil {
		r = &conversation.BranchRequest{Conversation: at.ConversationID, Agent: k.r.Agent}
		requests[at.ConversationID] = r
	}
	if off {
		r.Left = append(r.Left, key)
	} else {
		r.Found = append(r.Found, key)
	}
}

func (k *taking) setBranches(ctx context.Context, requests map[string]*conversation.BranchRequest) error {
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		moved, err := k.e.SetBranch(ctx, *requests[id])
		if err != nil {
			return err
		}
		k.report.Moved += moved
	}
	return nil
}

// record stores one record, or puts it into the batch.
func (k *taking) record(ctx context.Context, r Record) error {
	if r.Thread != k.thread {
		if err := k.flush(ctx, false); err != nil {
			return err
		}
		k.thread = r.Thread
	}
	switch {
	case r.Message != nil:
		return k.message(ctx, r)
	case r.Summary != nil:
		return k.adopt(ctx, r)
	case r.Checkpoint != nil:
		return k.checkpoint(ctx, r)
	}
	return k.parts(ctx, r.Key, r.Blocks)
}

func (k *taking) message(ctx context.Context, r Record) error {
	m := r.Message
	if k.copying[r.Thread] && k.copied(r.Twins) {
		k.report.Known++
		return nil
	}
	if m.SetAside != conversation.AsideEvent {
		k.copying[r.Thread] = false
	}
	to := k.targets[r.Thread]
	if at, ok := k.known[r.Key]; ok && (r.Unique || at.ConversationID == to.id) {
		k.report.Known++
		if k.t.Host == Openboa && m.SetAside == "" {
			k.note(at, m.Key, m.Withheld)
		}
		return k.again(ctx, m, at)
	}
	k.batch = append(k.batch, *m)
	k.bytes += len(m.Raw)
	for _, b := range m.Blocks {
		k.bytes += len(b.Raw) + len(b.Data)
	}
	k.offset = r.Offset
	if len(k.batch) >= batchMessages || k.bytes >= batchBytes {
		return k.flush(ctx, false)
	}
	return nil
}

// copied reports whether the parent has all of a message.
func (k *taking) copied(twins []string) bool {
	for _, key := range twins {
		if _, ok := k.known[key]; !ok {
			return false
		}
	}
	return len(twins) > 0
}

// again looks at a message that is stored: it may have grown, or be on another branch than then.
func (k *taking) again(ctx context.Context, m *conversation.Message, at conversation.KnownKey) error {
	if off := m.SetAside == conversation.AsideOffBranch; off && at.SetAside == "" || m.SetAside == "" && at.SetAside == conversation.AsideOffBranch {
		requests := map[string]*conversation.BranchRequest{}
		k.move(requests, at, m.Key, off)
		if err := k.setBranches(ctx, requests); err != nil {
			return err
		}
	}
	from := slices.IndexFunc(m.Blocks, func(b conversation.Block) bool { return b.Key != "" })
	if from < 0 {
		return nil
	}
	return k.parts(ctx, m.Key, m.Blocks[from:])
}

// parts adds blocks to a message that is stored, those of them that it does not have. Where the message was purged with its
// conversation, or a gate kept it out, they are left out too.
func (k *taking) parts(ctx context.Context, key string, blocks []conversation.Block) error {
	var fresh []conversation.Block
	stored := false
	for _, b := range blocks {
		if b.Raw != nil { // the first of a line
			_, stored = k.known[b.Key]
		}
		if !stored {
			fresh = append(fresh, b)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := k.flush(ctx, false); err != nil {
		return err
	}
	talk := k.targets[k.thread].id
	if at, ok := k.known[key]; ok {
		talk = at.ConversationID
	}
	if talk == "" {
		return nil
	}
	added, err := k.e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: talk, Agent: k.r.Agent, MessageKey: key, Blocks: fresh})
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	k.report.Parts += added.Added
	k.warn(added.VectorErr)
	return nil
}

// adopt makes a summary of the host's stand for what was before it.
func (k *taking) adopt(ctx context.Context, r Record) error {
	if _, said := k.known[piece(r.Key, 1)]; said {
		return nil
	}
	if err := k.flush(ctx, false); err != nil || k.gated {
		return err
	}
	to, first := k.targets[r.Thread], r.Summary.FirstKept
	if to.id == "" || r.Summary.Messages == 0 {
		return k.say(ctx, r)
	}
	if next := r.Summary.Next; first == "" && k.known[next].ConversationID == to.id {
		first = next // it was stored without the summary
	}
	s, changed, err := k.e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: to.id, Agent: k.r.Agent, Key: r.Key, Text: r.Summary.Text,
		Model: string(k.t.Host), At: r.Summary.At, FirstKept: first})
	switch {
	case errors.Is(err, engine.ErrNotFound), err == nil && !changed && s.ID == "":
		return k.say(ctx, r)
	case err != nil:
		return err
	case changed:
		k.report.Summaries++
		k.warn(s.VectorErr)
	}
	return nil
}

// checkpoint takes a checkpoint of the host's over, unless the conversation that this one is a copy of has it.
func (k *taking) checkpoint(ctx context.Context, r Record) error {
	if k.copied(r.Twins) {
		return nil
	}
	if err := k.flush(ctx, false); err != nil || k.gated {
		return err
	}
	to, c := k.targets[r.Thread], r.Checkpoint
	if to.id == "" {
		return nil
	}
	_, adopted, err := k.e.AdoptCheckpoint(ctx, checkpoint.AdoptRequest{Conversation: to.id, Agent: k.r.Agent, Key: r.Key, After: c.After, At: c.At, Summary: storable(c.Summary),
		Topics: c.Topics, Decisions: c.Decisions, Questions: c.Questions, TokensAt: c.Tokens, MessagesAt: c.Messages, By: string(k.t.Host)})
	if adopted {
		k.report.Checkpoints++
	}
	return err
}

// say makes a summary a message: what it stands for is not in this conversation, but in another file or in the session's parent.
func (k *taking) say(ctx context.Context, r Record) error {
	m := conversation.Message{Key: piece(r.Key, 1), Role: "system", Text: storable(r.Summary.Text), SaidAt: r.Summary.At, Session: k.t.Threads[r.Thread].ID}
	r.Key, r.Message, r.Summary = m.Key, &m, nil
	return k.message(ctx, r)
}

// flush stores the batch. The last one moves the cursor.
func (k *taking) flush(ctx context.Context, last bool) error {
	if len(k.batch) == 0 {
		return nil
	}
	v, to := k.t.Threads[k.thread], k.targets[k.thread]
	r := conversation.AppendRequest{Agent: k.r.Agent, Scope: k.r.Scope, Messages: k.batch}
	switch {
	case to.id == "":
		r.SessionKey, r.SessionID, r.Title, r.Parent = v.Key, v.ID, v.Title, k.parent(v)
		r.Scope = or(r.Scope, scopeOf(or(v.CWD, k.t.Threads[k.t.Own].CWD)))
	case to.keyed: // so that the conversation knows which session it is in, and the gates which key it has
		r.SessionKey, r.SessionID = v.Key, v.ID
	default:
		r.Conversation = to.id
	}
	if k.thread == k.t.Own {
		at := k.cursor
		if last {
			at = k.end()
			k.moved = true
		}
		r.Cursor = &at
	}
	result, err := k.e.Append(ctx, r)
	if err != nil {
		return err
	}
	if result.Skipped != "" {
		k.report.Excluded, k.gated = result.Skipped, k.thread == k.t.Own
		k.batch, k.bytes = nil, 0
		return nil
	}
	k.stand(result.ConversationID, v, r.Scope)
	k.count(result)
	k.batch, k.bytes = nil, 0
	k.progress(k.offset)
	return nil
}

// stand notes where a thread's messages went.
func (k *taking) stand(id string, v Thread, scope string) {
	to := k.targets[k.thread]
	if to.id == "" {
		to.id, to.title, to.keyed = id, v.Title, true
		k.stored = append(k.stored, conversation.Conversation{ID: id, Name: v.Key, SessionKey: v.Key, SessionID: v.ID, Title: v.Title, Scope: scope, Active: true})
	}
	if k.thread == k.t.Own {
		k.report.ConversationID, k.cursor.ConversationID = id, id
	}
}

// count adds a batch to the report.
func (k *taking) count(result *conversation.Appended) {
	events := 0
	for _, m := range k.batch {
		if m.SetAside == conversation.AsideEvent {
			events++
		}
	}
	k.report.Messages += result.Added
	k.report.Events += min(events, result.Added)
	k.report.Known += len(k.batch) - result.Added
	k.warn(result.VectorErr)
}

func (k *taking) warn(err error) {
	if err != nil {
		k.report.VectorErr = err.Error()
	}
}

// end is the cursor behind everything that was read.
func (k *taking) end() conversation.Cursor {
	at := k.cursor
	at.Bytes, at.Lines, at.Skipped = k.t.Bytes, k.t.Lines, int64(len(k.t.Faults))
	return at
}

// finish stores the rest, the title and the cursor.
func (k *taking) finish(ctx context.Context) error {
	if err := k.mark(ctx); err != nil {
		return err
	}
	if err := k.flush(ctx, true); err != nil || k.gated {
		return err
	}
	for i, v := range k.t.Threads {
		if to := k.targets[i]; to.id != "" && v.Title != "" && v.Title != to.title {
			if err := k.e.Retitle(ctx, to.id, k.r.Agent, v.Title); err != nil {
				return err
			}
			to.title = v.Title
		}
	}
	if k.t.Own < len(k.targets) {
		own := k.targets[k.t.Own]
		k.report.ConversationID, k.report.Title = own.id, own.title
		k.cursor.ConversationID = own.id
	}
	end := k.end()
	if !k.moved {
		if err := k.e.SetCursor(ctx, end); err != nil {
			return err
		}
	}
	k.cursors[end.Path] = end
	return nil
}
