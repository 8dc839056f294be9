package main

import "strings"

// goNames are names of the engine's Go interface that its errors have, and what they are on the command line.
var goNames = []string{
	"name its file with Options.FTS", "name its file with MEMCTL_FTS",
	"name the extension's file with Options.FTS", "name the extension's file with MEMCTL_FTS",
	"open the file with Options.Lexical fts", "give --lexical fts",
	"bring the former as Options.Embedder, or call Engine.AddModel and then Engine.UseModel with the latter",
	"name the former with --model, or run `memctl model add` and `memctl model use` with the latter, or `memctl index rebuild --replace-model`, which drops the former",
	"bring the former as Options.Embedder, or call Engine.UseModel with the latter, of which the file has vectors too",
	"name the former with --model, or run `memctl model use` with the latter, of which the file has vectors too",
	"call Engine.DropModel with its number", "run `memctl model drop` with its number", "and then Engine.AddModel", "and then `memctl model add`",
	"call Engine.AddModel, which makes them, or set AllowMissing", "run `memctl model add`, which makes them, or give --allow-missing",
	"call Engine.UseModel with another first", "run `memctl model use` with another first",
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
