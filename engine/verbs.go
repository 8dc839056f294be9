package engine

import (
	"context"
	"io"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/query"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/turn"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// What an agent remembers: package memory.

// Export writes every memory with all that is known about it, superseded and forgotten ones too, one JSON object per line in the order they were
// recorded, and gives their number.
func (e *Engine) Export(ctx context.Context, out io.Writer, r memory.ExportRequest) (n int, err error) {
	return e.memories.Export(ctx, out, r)
}

// Forget takes a memory out of recall and keeps its row, with the time and the reason.
func (e *Engine) Forget(ctx context.Context, r memory.ForgetRequest) (m *memory.Memory, err error) {
	return e.memories.Forget(ctx, r)
}

// Purge removes a memory for good: its row, its index with the words that no other document has, and what other memories say of it.
func (e *Engine) Purge(ctx context.Context, r memory.PurgeRequest) (m *memory.Memory, err error) {
	return e.memories.Purge(ctx, r)
}

// Get gives one memory, forgotten or not; with AsOf or KnownAt as it was then.
func (e *Engine) Get(ctx context.Context, r memory.GetRequest) (m *memory.Memory, err error) {
	return e.memories.Get(ctx, r)
}

// History gives every version of a memory, with what each changed.
func (e *Engine) History(ctx context.Context, r memory.HistoryRequest) (*memory.History, error) {
	return e.memories.History(ctx, r)
}

// List gives memories, newest first.
func (e *Engine) List(ctx context.Context, r memory.ListRequest) ([]*memory.Memory, error) {
	return e.memories.List(ctx, r)
}

// Import reads memories, one JSON object per line or as an array, with the keys of Export or of another store (memory.Memory.UnmarshalJSON), or the bullets
// of a Markdown file.
func (e *Engine) Import(ctx context.Context, in io.Reader, q interchange.ImportRequest) (*interchange.Imported, error) {
	return e.memories.Import(ctx, in, q)
}

// Remember stores one memory: row, words and vector in one transaction, on disk when it returns.
func (e *Engine) Remember(ctx context.Context, r memory.RememberRequest) (memory.Remembered, error) {
	return e.memories.Remember(ctx, r)
}

// RememberMany stores many memories, four thousand to a transaction; the result has one entry per request, in order.
func (e *Engine) RememberMany(ctx context.Context, requests []memory.RememberRequest) ([]memory.Remembered, error) {
	return e.memories.RememberMany(ctx, requests)
}

// Supersede stores a memory and ends the one it replaces at the same moment; the older one keeps its text and can be recalled with recall.Query.AsOf.
func (e *Engine) Supersede(ctx context.Context, r memory.SupersedeRequest) (memory.Remembered, error) {
	return e.memories.Supersede(ctx, r)
}

// Update changes a memory and its index; its id and CreatedAt stay.
func (e *Engine) Update(ctx context.Context, r memory.UpdateRequest) (memory.Updated, error) {
	return e.memories.Update(ctx, r)
}

// Finding it again: package recall.

// CheckLexical asks both lexical backends the same questions and compares the raw scores of all documents, with the weights k1 and b of the sets memory
// and transcript.
func (e *Engine) CheckLexical(ctx context.Context, r recall.CheckLexicalRequest) (*recall.LexicalCheck, error) {
	return e.recaller.CheckLexical(ctx, r)
}

// Recall finds the documents that answer a question, best first: both channels with their neighbours, dates, speakers, fusion, floors, light rerank,
// boosts, decay, noise and diversity, as the weights say (docs/recall.md).
func (e *Engine) Recall(ctx context.Context, q recall.Query) (*recall.Result, error) {
	return e.recaller.Recall(ctx, q)
}

// Touch notes that memories were used, given by their whole ids. It writes nothing itself: uses are in the file some seconds later, and when the engine is closed.
func (e *Engine) Touch(memoryIDs ...string) { e.memories.Touch(memoryIDs...) }

// FlushTouches writes the uses that were noted, and gives the tiers that memories come to by them.
func (e *Engine) FlushTouches(ctx context.Context) ([]memory.TierChange, error) {
	return e.memories.FlushTouches(ctx)
}

// SetRetention stores the file's policy of which memories are not kept for ever, which Maintain does by; one without rules removes it.
func (e *Engine) SetRetention(ctx context.Context, r memory.Retention) error {
	return e.memories.SetRetention(ctx, r)
}

// Retention gives the file's policy; without rules there is none.
func (e *Engine) Retention(ctx context.Context) (memory.Retention, error) {
	return e.memories.Retention(ctx)
}

// WeightSets gives all sets by name: the built-in ones and those stored in the file.
func (e *Engine) WeightSets(ctx context.Context) (map[string]recall.Weights, error) {
	return e.recaller.WeightSets(ctx)
}

// SetWeights stores a set under a name.
func (e *Engine) SetWeights(ctx context.Context, name string, w recall.Weights) error {
	return e.recaller.SetWeights(ctx, name, w)
}

// ResetWeights removes a stored set; a built-in one of that name is back as it was.
func (e *Engine) ResetWeights(ctx context.Context, name string) error {
	return e.recaller.ResetWeights(ctx, name)
}

// What was said: package conversation.

// AddBlocks makes a message longer: its text, tokens, index, vector and place in the context with it, in one transaction.
func (e *Engine) AddBlocks(ctx context.Context, r conversation.AddBlocksRequest) (*conversation.AddedBlocks, error) {
	return e.conversations.AddBlocks(ctx, r)
}

// Append stores messages in their order, with words and vectors, in one transaction, and puts them at the end of the context.
func (e *Engine) Append(ctx context.Context, r conversation.AppendRequest) (*conversation.Appended, error) {
	return e.conversations.Append(ctx, r)
}

// Conversations lists those that the agent may read, the one with the newest message first.
func (e *Engine) Conversations(ctx context.Context, agent string) ([]conversation.Conversation, error) {
	return e.conversations.Conversations(ctx, agent)
}

// Conversation gives one by name or id, or the unique ending of that: of several with the name the active one, or else the newest.
func (e *Engine) Conversation(ctx context.Context, name, agent string) (v *conversation.Conversation, err error) {
	return e.conversations.Conversation(ctx, name, agent)
}

// Cursors lists how far transcripts were read, by their paths.
func (e *Engine) Cursors(ctx context.Context) (all []conversation.Cursor, err error) {
	return e.conversations.Cursors(ctx)
}

// SetCursor writes a cursor by itself, when the transcript went on without a message.
func (e *Engine) SetCursor(ctx context.Context, v conversation.Cursor) error {
	return e.conversations.SetCursor(ctx, v)
}

// PruneHeartbeats sets aside every turn of the context that ended with exactly HEARTBEAT_OK (in any case, with any space around it), from the user's
// message before it on, if HEARTBEAT.md is named in it.
func (e *Engine) PruneHeartbeats(ctx context.Context, r conversation.PruneHeartbeatsRequest) (ids []string, err error) {
	return e.conversations.PruneHeartbeats(ctx, r)
}

// ImportMessages reads messages, one JSON object per line or as an array: conversation and text, and as they are known key, session, role, speaker,
// time, caption, set_aside and marks; beside text, or in its place, blocks as Messages gives them, or the content of a host's message (conversation.ContentOf).
func (e *Engine) ImportMessages(ctx context.Context, in io.Reader, q interchange.ImportRequest) (*interchange.Imported, error) {
	return e.conversations.ImportMessages(ctx, in, q)
}

// LargeFile finds a large file by its id, or the unique ending of it.
func (e *Engine) LargeFile(ctx context.Context, id, agent string) (f *conversation.LargeFile, err error) {
	return e.conversations.LargeFile(ctx, id, agent)
}

// LargeFiles lists the large files of a conversation, in the order they came.
func (e *Engine) LargeFiles(ctx context.Context, conversation, agent string) (all []*conversation.LargeFile, err error) {
	return e.conversations.LargeFiles(ctx, conversation, agent)
}

// ReadLargeFile reads a piece of a large file back.
func (e *Engine) ReadLargeFile(ctx context.Context, r conversation.ReadLargeFileRequest) (piece *conversation.LargeFilePiece, err error) {
	return e.conversations.ReadLargeFile(ctx, r)
}

// NewSession takes messages and shallow summaries out of the context; nothing is lost, and what stays keeps its position.
func (e *Engine) NewSession(ctx context.Context, r conversation.NewSessionRequest) (*conversation.SessionBegun, error) {
	return e.conversations.NewSession(ctx, r)
}

// Archive ends a conversation: it is no longer found by its session key, and what is appended under its name begins another one.
func (e *Engine) Archive(ctx context.Context, r conversation.ArchiveRequest) (*conversation.Ended, error) {
	return e.conversations.Archive(ctx, r)
}

// ResetSession archives a conversation and begins an empty one of the same name, key, session and scope.
func (e *Engine) ResetSession(ctx context.Context, r conversation.ArchiveRequest) (*conversation.Ended, error) {
	return e.conversations.ResetSession(ctx, r)
}

// EndSession does what the end of a host's session calls for, by its reason.
func (e *Engine) EndSession(ctx context.Context, r conversation.EndSessionRequest) (*conversation.Ended, error) {
	return e.conversations.EndSession(ctx, r)
}

// Messages gives messages of a conversation in their order, with their blocks.
func (e *Engine) Messages(ctx context.Context, r conversation.MessagesRequest) (all []*conversation.Message, err error) {
	return e.conversations.Messages(ctx, r)
}

// KnownKeys says which keys were stored before, as those of messages, of blocks or of summaries, in any conversation that the agent may read.
func (e *Engine) KnownKeys(ctx context.Context, keys []string, agent string) (map[string]conversation.KnownKey, error) {
	return e.conversations.KnownKeys(ctx, keys, agent)
}

// Mark says of messages whether models are shown them, and whether a host said them because its model failed.
func (e *Engine) Mark(ctx context.Context, r conversation.MarkRequest) (changed int, err error) {
	return e.conversations.Mark(ctx, r)
}

// SetBranch takes messages that the host edited away or rolled back out of the context, and puts those back that it returned to; both by their keys.
func (e *Engine) SetBranch(ctx context.Context, r conversation.BranchRequest) (moved int, err error) {
	return e.conversations.SetBranch(ctx, r)
}

// Retitle gives a conversation another title.
func (e *Engine) Retitle(ctx context.Context, conversation, agent, title string) error {
	return e.conversations.Retitle(ctx, conversation, agent, title)
}

// Bootstrap is how many tokens the first import of a transcript may put into a context, and what a message costs there.
func (e *Engine) Bootstrap() (budget int, count func(conversation.Message) int) {
	return e.conversations.Bootstrap()
}

// What stands for it: package compact.

// AdoptSummary puts a host's summary in the place of everything in the context before the message FirstKept.
func (e *Engine) AdoptSummary(ctx context.Context, r compact.AdoptRequest) (s *compact.Summary, changed bool, err error) {
	return e.compactor.AdoptSummary(ctx, r)
}

// Compact replaces old messages of the context by summaries, and old summaries by fewer: no message is lost, all can be expanded again.
func (e *Engine) Compact(ctx context.Context, r compact.Request) (*compact.Compacted, error) {
	return e.compactor.Compact(ctx, r)
}

// NeedsCompaction looks whether Compact would find something to do.
func (e *Engine) NeedsCompaction(ctx context.Context, r compact.Request) (n compact.Need, err error) {
	return e.compactor.NeedsCompaction(ctx, r)
}

// Debts lists the conversations whose compaction was put off, oldest first.
func (e *Engine) Debts(ctx context.Context) (all []compact.Debt, err error) {
	return e.compactor.Debts(ctx)
}

// CompactPending makes one sweep of each conversation whose compaction was put off and whose time has come, and gives what became of each.
func (e *Engine) CompactPending(ctx context.Context) (done []*compact.Compacted, err error) {
	return e.compactor.CompactPending(ctx)
}

// Context lists the current context of a conversation in its order.
func (e *Engine) Context(ctx context.Context, r compact.ContextRequest) (all []compact.ContextItem, err error) {
	return e.compactor.Context(ctx, r)
}

// PruneSetAside purges messages that were set aside long ago, one conversation after the other: PurgeMessages says what stays of them.
func (e *Engine) PruneSetAside(ctx context.Context, r compact.PruneSetAsideRequest) (*compact.Pruned, error) {
	return e.compactor.PruneSetAside(ctx, r)
}

// PurgeMessages removes what messages say and all that is known of it: text, blocks, what the host wrote, large files, words and vectors.
func (e *Engine) PurgeMessages(ctx context.Context, r compact.PurgeMessagesRequest) (*compact.Purged, error) {
	return e.compactor.PurgeMessages(ctx, r)
}

// PurgeConversation removes a conversation for good: its messages and summaries with all that belongs to them, and its own row.
func (e *Engine) PurgeConversation(ctx context.Context, name, agent string) (*compact.Purged, error) {
	return e.compactor.PurgeConversation(ctx, name, agent)
}

// RewriteSummary gives a summary another text.
func (e *Engine) RewriteSummary(ctx context.Context, r compact.RewriteRequest) (*compact.Summary, error) {
	return e.compactor.RewriteSummary(ctx, r)
}

// RetryFallbacks makes summaries anew that were made without the model that was asked, those that others were made from first.
func (e *Engine) RetryFallbacks(ctx context.Context, r compact.RetryRequest) (*compact.Retried, error) {
	return e.compactor.RetryFallbacks(ctx, r)
}

// DissolveSummary puts the sources of a summary back into the context, in its place, and removes it.
func (e *Engine) DissolveSummary(ctx context.Context, r compact.DissolveRequest) (*compact.Summary, error) {
	return e.compactor.DissolveSummary(ctx, r)
}

// SummaryTree gives the summaries of a conversation as trees.
func (e *Engine) SummaryTree(ctx context.Context, r compact.TreeRequest) (*compact.Tree, error) {
	return e.compactor.SummaryTree(ctx, r)
}

// What is drawn from talk: package extract.

// Extract draws memories from a text, or from messages of a conversation: each statement becomes a draft and gets a verdict.
func (e *Engine) Extract(ctx context.Context, r extract.Request) (*extract.Report, error) {
	return e.extractor.Extract(ctx, r)
}

// Drafts lists what was drawn from talk and what became of it, newest first.
func (e *Engine) Drafts(ctx context.Context, r extract.DraftsRequest) (all []extract.Draft, err error) {
	return e.extractor.Drafts(ctx, r)
}

// AdmissionStats counts which drafts were admitted and rejected, and why.
func (e *Engine) AdmissionStats(ctx context.Context, r extract.AdmissionStatsRequest) (*extract.AdmissionStats, error) {
	return e.extractor.AdmissionStats(ctx, r)
}

// What came from what: package lineage.

// Lineage tells what something came from, and what came from it.
func (e *Engine) Lineage(ctx context.Context, r lineage.Request) (*lineage.Lineage, error) {
	return e.lineage.Lineage(ctx, r)
}

// Retract withdraws a message, memory, summary, import or call and all that descends from it, in one transaction; DryRun only says what that is.
func (e *Engine) Retract(ctx context.Context, r lineage.RetractRequest) (*lineage.Retraction, error) {
	return e.lineage.Retract(ctx, r)
}

// UndoRetraction takes a retraction back: all is as it was before, where nobody has changed it since.
func (e *Engine) UndoRetraction(ctx context.Context, r lineage.UndoRequest) (*lineage.Retraction, error) {
	return e.lineage.UndoRetraction(ctx, r)
}

// Retractions lists what was retracted, the newest first.
func (e *Engine) Retractions(ctx context.Context, r lineage.ListRequest) ([]lineage.Retraction, error) {
	return e.lineage.Retractions(ctx, r)
}

// Around a turn of talk: package turn.

// BeforeTurn gives what is known that may matter for what the user says, as a block for the prompt: what fits, was not shown in the session's last turns, and was of use.
func (e *Engine) BeforeTurn(ctx context.Context, t turn.Turn) (*turn.Injection, error) {
	return e.turns.Before(ctx, t)
}

// AfterTurn keeps what was said, notes which memories were of use, and has memories drawn from the talk when enough of it was not read yet.
func (e *Engine) AfterTurn(ctx context.Context, t turn.Turn) (*turn.Outcome, error) {
	return e.turns.After(ctx, t)
}

// What a model is shown: package assemble.

// Assemble chooses from the context of a conversation what a model is shown within a budget, and renders it.
func (e *Engine) Assemble(ctx context.Context, r assemble.Request) (*assemble.Assembled, error) {
	return e.assembler.Assemble(ctx, r)
}

// A model's tools: package lookup.

// Describe says what an id names, without its contents below: a summary comes with its tree and with what that would cost to expand.
func (e *Engine) Describe(ctx context.Context, r lookup.DescribeRequest) (*lookup.Description, error) {
	return e.tools.Describe(ctx, r)
}

// Expand walks down from summaries to what they were made from, until the cap.
func (e *Engine) Expand(ctx context.Context, r lookup.ExpandRequest) (*lookup.Expansion, error) {
	return e.tools.Expand(ctx, r)
}

// ExpandQuery finds the messages that answer a question among those that only summaries stand for, or with InContext among all of the conversation, best
// first as Recall ranks them, and has the model answer from them, within setup.Conversation.SummaryTimeout.
func (e *Engine) ExpandQuery(ctx context.Context, r lookup.ExpandQueryRequest) (*lookup.QueryAnswer, error) {
	return e.tools.ExpandQuery(ctx, r)
}

// CreateGrant lets whoever is given its id expand what it covers.
func (e *Engine) CreateGrant(ctx context.Context, r lookup.GrantRequest) (*lookup.Grant, error) {
	return e.tools.CreateGrant(ctx, r)
}

// Grant gives a grant as it stands.
func (e *Engine) Grant(id string) (*lookup.Grant, error) { return e.tools.Grant(id) }

// RevokeGrant ends a grant; a call that uses it comes to its end.
func (e *Engine) RevokeGrant(id string) error { return e.tools.RevokeGrant(id) }

// Grep searches conversations for words or a regular expression.
func (e *Engine) Grep(ctx context.Context, r lookup.GrepRequest) (*lookup.GrepResult, error) {
	return e.tools.Grep(ctx, r)
}

// Who may see what: package scope.

// Scopes gives the file's scopes.
func (e *Engine) Scopes() scope.Scopes { return e.scopes.Scopes() }

// UnusedScopes gives those of the scopes that no memory, no conversation and no file with notes is in, forgotten and archived ones counted too.
func (e *Engine) UnusedScopes(ctx context.Context, scopes []string) (unused []string, err error) {
	return e.scopes.UnusedScopes(ctx, scopes)
}

// SetScopes stores new scopes in the file; when they are not valid, the old ones stay.
func (e *Engine) SetScopes(ctx context.Context, s scope.Scopes) error {
	return e.scopes.SetScopes(ctx, s)
}

// Analysts' questions: package query.

// Query answers one SELECT over the file, for analysts; limit bounds the rows, 0 is a thousand.
func (e *Engine) Query(ctx context.Context, query string, limit int) (*query.Table, error) {
	return e.queries.Query(ctx, query, limit)
}

// QueryEach answers one SELECT over the file and gives its rows one by one: first the columns alone, with a row that is nil, then each row, which is the
// caller's to keep.
func (e *Engine) QueryEach(ctx context.Context, r query.Request, each func(columns []string, row []any) error) (cut string, err error) {
	return e.queries.QueryEach(ctx, r, each)
}

// What documents are found by: package index.

// Language is the one of the file's tokenizer.
func (e *Engine) Language(ctx context.Context) (language string, err error) {
	return e.index.Language(ctx)
}

// RebuildIndex makes the index anew from the rows: words and totals in one transaction, then vectors batch by batch.
func (e *Engine) RebuildIndex(ctx context.Context, r index.RebuildRequest) (*index.Rebuilt, error) {
	return e.index.RebuildIndex(ctx, r)
}

// The file as a whole: package upkeep.

// Check proves the file's integrity.
func (e *Engine) Check(ctx context.Context) (faults []upkeep.Fault, err error) {
	return e.upkeep.Check(ctx)
}

// Doctor explains every fault that Check finds, fallback summaries and left files, and with Apply repairs them: counters from the bottom up, contexts,
// leftovers, the index, vectors, and the summaries that were made without the model.
func (e *Engine) Doctor(ctx context.Context, r upkeep.DoctorRequest) (*upkeep.Diagnosis, error) {
	return e.upkeep.Doctor(ctx, r)
}

// Shred writes the file anew, so that neither it nor what lies beside it has a byte of what was purged, or is in no row for another reason: DuckDB
// leaves what is deleted in the file until its room is used again.
func (e *Engine) Shred(ctx context.Context) (*upkeep.Shredded, error) { return e.upkeep.Shred(ctx) }

// Snapshot writes a consistent copy of the whole file to out, which must not exist.
func (e *Engine) Snapshot(ctx context.Context, out string) error { return e.upkeep.Snapshot(ctx, out) }

// Stats counts what the file holds.
func (e *Engine) Stats(ctx context.Context) (*upkeep.Stats, error) { return e.upkeep.Stats(ctx) }

// Large contents: package payload.

// CheckPayloadFiles compares the folder of the largest payloads (the file's name and ".files") with the rows that name them.
func (e *Engine) CheckPayloadFiles(ctx context.Context, remove bool) (*payload.Files, error) {
	return e.contents.CheckPayloadFiles(ctx, remove)
}

// The open file.

// Closed reports whether Close was called.
func (e *Engine) Closed() bool { return e.file.Closed() }

// Notices say what a crash had left of the file when it was opened, and what became of it; none when there was nothing to mend.
func (e *Engine) Notices() []string { return e.file.Notices() }

// Path is the absolute name of the file, or ":memory:".
func (e *Engine) Path() string { return e.file.Path() }
