// Package standin makes what stands in a message for something that is too large for it, or no text: an exploration summary of a file, the reference
// under which the file is found, a note in place of media. What it makes it also reads again, such as the ids of files that a text names.
package standin
