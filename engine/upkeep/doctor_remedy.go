package upkeep

import (
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// remedy is what Doctor does about a kind of fault.
type remedy int

const (
	byHand     remedy = iota // nothing: a person has to decide
	tidying                  // what follows from other rows is put right
	reindexing               // the index is made anew from the rows
	embedding                // vectors are deleted, and made anew where the model is at hand
	sweeping                 // files in the folder beside the file are deleted
	rewriting                // a model writes summaries anew
)

// explained is a kind of fault: what it means, what Doctor does about it, and in words.
type explained struct {
	fault, Means string
	remedy       remedy
	Says         string
}

const (
	indexAnew   = "the index is made anew from the rows"
	contextAnew = "the context is put in order: what does not belong there leaves it, what is lost comes back"
	countAnew   = "what it says is counted anew from its sources, and then that of all above it"
	fromBackup  = "nothing: what is lost may be in a snapshot"
	byRecover   = "nothing here: close the file; " + duck.RecoverHint
)

// explanations lists every fault that Check knows, by how it begins.
var explanations = [...]explained{
	{badHeader, "the disk did not keep what was written; the file may not open again", byHand, byRecover},
	{badBlock, "the disk did not keep what was written; what lies there can't be read, or the room can't be used again", byHand, byRecover},
	{badLog, "writes that were acknowledged are lost when the file is opened next", byHand, "nothing here: make a snapshot while the file is open"},
	{badTable, "what it holds can't be read", byHand, byRecover},

	{"memory without a document", "recall can't find the memory", reindexing, indexAnew},
	{"message without a document", "recall can't find the message", reindexing, indexAnew},
	{"summary without a document", "recall can't find the summary", reindexing, indexAnew},
	{"note without a document", "recall can't find the note", reindexing, indexAnew},
	{"document differs from its note", "recall filters by what the note is not", reindexing, indexAnew},
	{"note of no file", "nobody can tell where it is from", tidying, "the note is deleted"},
	{"two files of one path", "its notes are found twice", tidying, "the one that was read last stays, the others are deleted with their notes"},
	{"document without an owner", "recall finds what is not there any more", reindexing, indexAnew},
	{"document differs from its memory", "recall filters by what the memory is not", reindexing, indexAnew},
	{"document differs from its message", "recall filters by what the message is not", reindexing, indexAnew},
	{"document differs from its summary", "recall filters by what the summary is not", reindexing, indexAnew},
	{"message stands elsewhere than its document", "recall looks for the message's neighbours in the wrong place", reindexing, indexAnew},
	{"two documents of one session at one place", "recall takes one for the other's neighbour", reindexing, indexAnew},
	{"live document with words, but no postings", "recall can't find it by its words", reindexing, indexAnew},
	{"posting of no live document, or twice", "words are counted that should not be", reindexing, indexAnew},
	{"posting of no term", "a word can't be found", reindexing, indexAnew},
	{"surface of no term", "a way of writing leads nowhere", reindexing, indexAnew},
	{"two terms of one number", "recall takes one word for the other", reindexing, indexAnew},
	{"totals of a kind differ from a count", "the rarity of words is wrong", reindexing, indexAnew},
	{"blank scope", "nobody but an internal caller sees it", reindexing, indexAnew + "; where the row itself has no scope it stays"},
	{"passage of no live document", "it takes room", reindexing, indexAnew},
	{"passages of a document that are not one after the other", "a part of the text can't be found by its meaning", reindexing, indexAnew},
	{"number that two have", "recall takes the vector of one for that of the other", reindexing, indexAnew},
	{"vector of no live document", "recall finds what it must not", embedding, "the vector is deleted"},
	{"vector that is not of unit length", "its likeness to a question is wrong", embedding, "the vector is deleted, and made anew where the model is at hand"},
	{"kept vector that is not of unit length, or of no text", "what is written may get a wrong vector", embedding, "it is deleted: the model is asked again when it is wanted"},
	{"vector that is kept twice", "it takes room", embedding, "one of them is deleted"},
	{"more than one chosen model, or none", "recall does not know which vectors to use", byHand,
		"nothing: `memctl index rebuild --replace-model --vectors` makes all vectors with the model you name"},
	{"macro that is not Mallard's", "a formula of recall, or a function of DuckDB, may mean something else", byHand, "nothing: drop it in a DuckDB shell"},
	{"relation of no memory", "it says something of nothing", tidying, "the relation is deleted"},
	{"superseded by a memory that does not say so", "what replaced what depends on whom one asks", tidying,
		"the newer memory says so, unless it says that it replaced another one"},

	{"versions that are not one after the other", "what was known at some moment can't be told", tidying, "each begins when the one before it ends"},
	{"version of no memory", "it says what nothing was", tidying, "it is deleted"},
	{"version whose text has no document", "a recall of the past can't find it", reindexing, indexAnew},
	{"document of the past that no version has", "it takes room", reindexing, indexAnew},
	{"document both of the present and of the past, or twice of the past", "a recall of the past finds it twice", reindexing, indexAnew},
	{"document of the past with words, but no postings", "a recall of the past can't find it by its words", reindexing, indexAnew},
	{"posting of no document of the past, of no term, or twice", "a recall of the past finds what is not there", reindexing, indexAnew},
	{"passage of no document of the past", "it takes room", reindexing, indexAnew},
	{"vector of no document of the past, or not of unit length", "its likeness to a question is wrong, or it takes room", reindexing,
		indexAnew + ", and the vector where the model is at hand"},

	{"message of no conversation", "nobody can read it", byHand, fromBackup},
	{"messages are not numbered 1 to", "messages are gone, or two claim one place", tidying, "the conversation goes on after its last message; gaps stay"},
	{"conversation goes on elsewhere than after its last message", "the next message would have wrong neighbours", tidying,
		"what the conversation says of its last message is read from that"},
	{"two active conversations of one name", "messages may go into the wrong one", tidying, "the one with the newest message stays active, the others are archived"},
	{"two active conversations of one session key", "messages may go into the wrong one", tidying, "the one with the newest message stays active, the others are archived"},
	{"conversation that is both active and archived, or neither", "hosts may find it or not", tidying, "it is archived if it has a time of that, else active"},
	{"conversation whose tokens nobody can count", "nothing can be appended to it, or compacted in it", tidying, "new messages are counted as by default"},
	{"snapshot of a context of no conversation", "nothing can be built to compare with it", tidying, "the snapshot is deleted"},
	{"debt of no conversation, or a second one", "a compaction waits that can't be done, or was asked for twice", tidying, "the debt is deleted"},
	{"compaction of no conversation", "it is a record of nothing", tidying, "the record is deleted"},
	{"conversation that was compacted more or less often than is recorded", "prompts and checkpoints come at the wrong time", tidying, "the records are counted"},
	{"compaction that owes nobody", "it waits for a summary that is there", tidying, "it owes nothing more"},
	{"compaction that ends before it begins", "which messages it summarised can't be told", tidying, "it is said to have had none, and owes nothing more"},
	{"checkpoint of no conversation", "it was made of nothing", tidying, "the checkpoint is deleted"},
	{"checkpoint that has read what was not said", "a compaction may believe it", tidying, "the checkpoint is deleted"},
	{"checkpoint that says what was purged", "what was purged can still be read", tidying, "the checkpoint is deleted"},
	{"checkpoint or prompt of a time that has not come", "what is due can't be told", tidying, "a checkpoint is of the present, a prompt counts as not given"},
	{"prompt to nobody, or twice", "it says something of nothing", tidying, "the record is deleted"},
	{"cursor of no conversation", "a transcript is followed into nothing", tidying, "the cursor forgets its conversation"},

	{"draft of no conversation", "it was drawn from nothing", tidying, "the draft is deleted"},
	{"draft that says what was purged", "what was purged can still be read", tidying, "the draft loses what it says"},
	{"draft that became a memory that is gone", "it names what is not there any more", tidying, "the draft loses what it says, and the name"},
	{"admission of no draft", "it judges nothing", tidying, "the record is deleted"},
	{"extraction that has read on in no conversation", "it is a place in nothing", tidying, "the place is forgotten"},

	{"source of no memory", "it says where nothing comes from", tidying, "the record is deleted"},
	{"source of a memory that is not there", "nobody can tell where the memory comes from", tidying, "the record is deleted: the memory stands by itself then"},
	{"effect of no retraction", "it is a record of nothing", tidying, "the record is deleted"},
	{"source that is retracted twice", "undoing one of the retractions does nothing", tidying, "the first one stays, the others count as undone"},
	{"memory that no retraction withdraws", "it can't be given back", tidying, "it counts as forgotten, or where it is in recall as standing"},
	{"message that no retraction withdraws", "it can't be given back", tidying, "it is set aside as if it were of an earlier session, and can be recalled"},
	{"retracted source that can be recalled", "what was withdrawn is shown", byHand, "nothing: undo the retraction with `memctl retract --undo`, and retract it again"},

	{"message that is lost", "a model is never shown it", tidying, contextAnew + "; under a summary, where that lacks it"},
	{"summary that is lost", "a model is never shown what it stands for", tidying, "it comes back under the summary that lacks it, else into the context"},
	{"message that is in the context twice", "a model is shown it twice", tidying, contextAnew},
	{"message that is in the context and under a summary", "a model is shown it twice", tidying, contextAnew},
	{"message that is in the context and set aside", "a model is shown what it should not be", tidying, contextAnew},
	{"message that is under a summary and set aside", "it does not say where it is", tidying, "it is not set aside any more: the summary stands for it"},
	{"message that is under two summaries", "it counts twice, and is expanded twice", tidying,
		"it stays where it is in the range; if that is so in both, dissolve one of them with `memctl conversation dissolve`"},
	{"message that is set aside at no time, or at a time but not set aside", "nobody knows since when", tidying, "the time is when it was recorded, or none"},
	{"message whose tokens are not counted", "contexts are larger than they say", tidying, "they are counted"},
	{"context item that refers to nothing of its conversation", "a model is shown nothing for it", tidying, contextAnew},
	{"context item at another position than that of its first message", "the context is out of order", tidying, contextAnew},
	{"context item with other tokens than what it refers to", "the context is larger or smaller than it says", tidying, contextAnew},
	{"context items that overlap", "two items stand for the same messages", tidying, contextAnew + "; what overlaps still stays"},
	{"context item in the midst of what a summary stands for", "the order of what was said can't be told", byHand,
		"nothing: dissolve the summary with `memctl conversation dissolve`"},
	{"summary of no conversation", "nobody can read it", tidying, "it comes back into the conversation that all its sources are of"},
	{"summary that was made from nothing", "it can't be expanded", tidying, "messages that are lost come back under it, if they are as many as it says; else " + fromBackup},
	{"sources of no summary", "messages seem to be under a summary that is gone", tidying, "they are released; messages among them come back into the context"},
	{"source that is not in the conversation", "a summary can't be expanded wholly", tidying,
		"it is let go if nothing is missing without it, after what is lost came back; else " + fromBackup},
	{"sources that are not numbered from 0", "a summary expands in the wrong order", tidying, "they are numbered in the order of their messages"},
	{"sources that are out of order, or overlap", "a summary expands in the wrong order", tidying, "they are numbered in the order of their messages; overlaps stay"},
	{"summary that is not one deeper than each of its sources", "it is condensed with others too early or too late", tidying,
		countAnew + "; where its sources are of several depths it stays"},
	{"summary that is a source of two, or of one and in the context", "it counts twice, and is expanded twice", tidying,
		"it leaves the context; where two were made from it, dissolve one with `memctl conversation dissolve`"},
	{"summary that stands for itself", "it would be expanded without end", tidying, "a source outside of its range is let go; else " + fromBackup},
	{"counts of a summary differ from its sources", "budgets for expanding it are wrong", tidying, countAnew},
	{"range of a summary differs from its sources", "it seems to stand for other messages than it does", tidying, countAnew},

	{"part of no message", "it is of nothing, or names the wrong message", tidying, "it gets the place of its message, or the message of its place; else it is deleted"},
	{"parts that are not numbered from 0", "a message is shown in the wrong order", tidying, "they are numbered in the order they have"},
	{"part that refers to no large file", "its content can't be read back", byHand, fromBackup},
	{"large file of no message", "nobody can read it", tidying, "it gets the message that refers to it, and the conversation of that; else it is deleted"},
	{"two messages of one key", "a host's message was stored twice, or two were given one key", byHand, "nothing: the host knows which of them is right"},
	{missingContent, "what was kept apart can't be read back", byHand, fromBackup},
	{"content that nobody refers to", "it takes room", tidying, "it is deleted"},
	{alteredContent, "what was kept apart is not what was stored", byHand, fromBackup},
	{"content of another length", "what was kept apart is not what was stored", byHand, fromBackup},
	{orphanFault, "it takes room; a write that was broken off left it", sweeping, "the file is deleted"},
	{purgedFault, "what was purged is in no row, but its bytes may be in the file until their room is used again", byHand, "`memctl doctor --shred` writes the file anew"},
	{undividedFault, "a sentence in the midst of them is hard to find by meaning", reindexing, indexAnew + ", and vectors of passages where the model is at hand"},
	{fallbackFault, "its text is an extract or cut, for the model that was asked failed", rewriting, "it is made anew where a model is at hand"},
}

// These are no contradictions, so Check does not know them.
const (
	undividedFault = "long documents without passages"
	fallbackFault  = "summary that was made without the model"
	orphanFault    = "file that no content is in"
	purgedFault    = "purge whose bytes may still be in the file"
)

// ExplanationOf finds what is known of a fault.
func ExplanationOf(fault string) explained {
	for _, x := range explanations {
		if strings.HasPrefix(fault, x.fault) {
			return x
		}
	}
	return explained{fault, "Check found it", byHand, "nothing"}
}
