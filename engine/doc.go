// Package engine is an embedded memory for AI agents: one DuckDB file, inside the agent's own process.
//
// # Start with these eight
//
// [Open] opens or makes a file, [Engine.Close] gives it up. [Engine.Remember] keeps a statement, [Engine.Recall] finds what answers a question.
// [Engine.Append] keeps what was said, [Engine.Assemble] gives what a model is shown of it, [Engine.Compact] puts summaries in the place of what became
// too long. [Engine.Query] asks the file with SQL. The other verbs change, look up, move and mend.
//
// # The rooms
//
// An Engine is a facade: each verb is one line that calls a room, a package below this one, in which its requests, its results and all details are.
//
//   - memory: statements. Remember, Get, List, Update, Supersede, Forget, Purge, Import, Export; Relate, Related.
//   - note: lines of a host's Markdown files. SyncNotes, ReadNote.
//   - recall: questions. Recall, with filters, weights, explanations and a trace.
//   - conversation: what was said. Append, sessions, large files, the transcripts of hosts.
//   - compact: what stands for it. Compact, summaries, the removal of messages.
//   - checkpoint: how it stands while its context fills. Checkpoint, MaybeCheckpoint, FlushPrompt.
//   - chain: models that are asked one after the other. FailingModels.
//   - assemble: what a model is shown. Assemble, in the shape of a provider.
//   - build: the context of the next call, by presets of several hosts. Build, VerifyContext, DiffContexts.
//   - lookup: a model's tools. Grep, Search, Gaps, Describe, Expand, ExpandQuery, grants.
//   - scope: who may see what.
//   - query: analysts' questions.
//   - index: words and vectors. RebuildIndex.
//   - payload: large contents. CheckPayloadFiles.
//   - upkeep: the file as a whole. Check, Doctor, Snapshot, Shred, Stats.
//   - salvage: a damaged file. Recover.
//   - interchange: files of others, line by line.
//   - setup: options, their defaults, and what models have to do.
//   - ids and kinds: how things are named.
//   - text, window and prompts: pure. What a word is, a plan, what a model is told.
//
// Beside the facade stand session, which reads the transcripts of other hosts; share, which lets other processes read; llm, which asks the models that
// write summaries; and enginetest, for the tests of what stands on an engine. docs/architecture.md is the map of all of them.
//
// # Nouns
//
// A memory is one remembered statement with a scope (who shares it), a category (what it is about) and a tier (how fast it
// fades). A conversation is an ordered record of messages; a summary stands for messages, or for other summaries. A note is some lines of a
// Markdown file. Memories, messages, summaries and notes are documents: each has a number, words in one index, and a vector when there is an embedding model.
//
// # Writing
//
// Each write is one transaction: the row, its words and its vector are all on disk when the call returns, or none of it is. Of memories, only Purge removes
// one. One write runs at a time, reads run beside it, and the lock of those who write is never held while a model thinks.
//
// # Conversations
//
// What a model is shown of a conversation is its context: messages, and summaries in the place of older ones. The turn of an agent is
// Append, Assemble, the model, Append again, and then, when NeedsCompaction says so, Compact. No message is lost by that: Grep,
// Describe, Expand and ExpandQuery are what a model needs as tools to find what was summarised away. NewSession, ResetSession and
// Archive end what is over; PurgeMessages, PruneSetAside and PurgeConversation alone remove anything. docs/agents.md goes through it step by step.
//
// # Recalling
//
// Recall asks both channels, words and vectors, fuses their scores and takes the candidates through floors, decay and
// diversity. The formulas are SQL macros in the file itself; the weights are one value, kept by name. The result has a trace
// of every stage, and with Explain every candidate with what became of it.
//
// # Who may see what
//
// Requests carry the id of an agent; Scopes says which scopes it may use. A request without an agent is the program's own and
// sees everything.
//
// # Errors
//
// An error that a program can act on wraps one of those named here (Err…), for errors.Is, and says what may help. Others come from the context, the disk or a
// model, and are wrapped as they are.
//
// # What bites
//
// A file that is open for writing can't be opened by another process, not even for reading: share answers those, and Snapshot makes a copy for them. Two
// handles on one file in one process are refused. Vectors are of the file's model alone; another model is ErrModelMismatch,
// and RebuildIndex moves a file to it.
package engine
