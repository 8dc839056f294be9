// Package extract makes summaries without a model, of the most telling sentences of a conversation. Summary promises what every one keeps to.
//
// A summary is made in four steps: the passages become lines under a label (label.go), the lines sentences (sentence.go), a sentence an excerpt with its
// terms and cues (excerpt.go, cue.go); excerpts are picked by worth until the room is full (pick.go); and what was left out is named (topics.go).
package extract
