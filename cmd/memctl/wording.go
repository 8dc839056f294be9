package main

import "strings"

// goNames are names of the engine's Go interface that its errors have, and what they are on the command line.
var goNames = []string{
	"name its file with Options.FTS", "name its file with MEMCTL_FTS",
	"name the extension's file with Options.FTS", "name the extension's file with MEMCTL_FTS",
	"open the file with Options.Lexical fts", "give --lexical fts",
	"open with Options.Embedder", "name it with --model",
	"open with Options.Reranker", "name it with --rerank",
	"Options.Embedder", "--model",
	"Options.MemoryLimit of", "--memory of",
	"is too little; open with more:", "is too little; give more with --memory, with MEMCTL_MEMORY, or in the configuration file:",
	"MemoryLimit is", "memory is",
	"Lexical is", "lexical is",
	"Language is", "language is",
}

var goNamesReplacer = strings.NewReplacer(goNames...)

// worded is an error in the words of the command line.
func worded(err error) string { return goNamesReplacer.Replace(err.Error()) }
