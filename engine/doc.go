// Package engine is an embedded memory for AI agents: one DuckDB file, inside the agent's own process.
//
// # Start with these eight
//
// [Open] and [Engine.Close] a file; [Engine.Remember] a statement and [Engine.Recall] what answers a question; [Engine.Append] what was said,
// [Engine.Assemble] what a model is shown of it, and [Engine.Compact] what became too long; [Engine.Query] asks the file with SQL. The other verbs
// change, look up, move and mend.
//
// # Nouns
//
// A memory is one remembered statement with a scope (who shares it), a category (what it is about) and a tier (how fast it
// fades). A conversation is an ordered record of messages; a summary stands for messages, or for other summaries. Memories, messages
// and summaries are documents: each has a number, words in one index, and a vector when there is an embedding model.
//
// # Writing
//
// Open a file, Remember statements, Append messages. Each write is one transaction: the row, its words and its vector are all
// on disk when the call returns, or none of it is. Update, Supersede, Forget and Purge change memories; nothing but Purge
// removes one. One write runs at a time, reads run beside it, and no lock is held while a model thinks.
//
// # Conversations
//
// What a model is shown of a conversation is its context: messages, and summaries in the place of older ones. The turn of an agent is
// Append, Assemble, the model, Append again, and then, when NeedsCompaction says so, Compact. No message is lost by that: Grep,
// Describe, Expand and ExpandQuery are what a model needs as tools to find what was summarised away. NewSession, ResetSession and
// Archive end what is over; PurgeMessages and PurgeConversation alone remove anything. docs/agents.md goes through it step by step;
// package session reads the transcripts of other hosts, and package llm asks the models that write summaries.
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
// # What bites
//
// A file that is open for writing can't be opened by another process, not even for reading: Snapshot makes a copy for those. Two
// handles on one file in one process are refused. Vectors are of the file's model alone; another model is ErrModelMismatch,
// and RebuildIndex moves a file to it.
package engine
