// Package char says what a character is to those who read texts: part of a word or none, a capital, written but not read; and how it is folded.
// The rooms of engine/text ask here, so that what is a word to one of them is a word to all.
package char
