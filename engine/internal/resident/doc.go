// Package resident finds, in memory, the documents that may answer a question: what the query recall_gather finds in the file, a hundred times as fast.
// It has no idea of files or transactions; whoever owns one (package index) fills it, tells it what was committed, and drops it at will.
//
// A document stands in a slot that nothing else ever gets: where its words change, it takes another one, and the old slot is dead. Columns, postings
// and sketches of vectors go by slot, so that nothing in them is ever taken out; when many are dead, the whole is made anew beside the old one.
//
// A vector is kept twice: as one bit a dimension of other axes, by which all are looked through, and as 16 bits, of which the cosines are made. Where a question
// may be answered by few, all their cosines are made. What goes through many of them is in C (kernels.c), which the database needs a compiler for anyway.
//
// Passages of long documents have vectors of the same kind, in rows of their own, each of which knows its slot.
//
// Index.mu owns everything. A question holds it for reading as long as it asks, what was committed is put in under it.
package resident
