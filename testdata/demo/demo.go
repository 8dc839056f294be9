// Package demo holds the demo history, so that a program can bring it along. README.md says what is in the files.
package demo

import "embed"

// Files are memories.jsonl, messages.jsonl and questions.jsonl.
//
//go:embed *.jsonl
var Files embed.FS
