// Package window plans what of a conversation is compacted and what of it is shown within a budget. It is arithmetic over items
// and numbers: it loads no text, calls no model, knows no clock and no database. The engine does what it says.
//
// # Compaction
//
// The context is an ordered list of items, each one message or one summary. The newest messages are the fresh tail (Policy.Tail) and
// stay as they are; so does what the user asked for last, when that is long ago (Policy.Spared). Before the tail, a run of messages becomes
// a leaf, a summary of depth 0 (Policy.LeafRun), and a run of summaries of one depth becomes a condensed summary of the next
// (Policy.CondensedRun). A Sweep chains such passes: it says what is next, is told what came of it, and knows when to stop; Rounds
// chains sweeps until a target is met. Escalation judges what a summariser answered.
//
// # Pairs
//
// A tool call and its result belong together: a call without a result is refused by models, a result without a call says nothing.
// Neither the fresh tail nor a run begins or ends between the two, Select shows both or none, and Repair puts into order what reaches
// the model. Ids may come again in a conversation: a result answers the newest call of its id before it that has none yet. A result
// that precedes every call of its id answers the newest one of them, if nothing else does; any other result without a call is a
// duplicate or an orphan.
package window
