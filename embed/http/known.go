package remote

import "strings"

// What models of a family want before a question and before a text that is to be found.
const (
	nomicQuery, nomicPassage = "search_query: ", "search_document: "
	e5Query, e5Passage       = "query: ", "passage: "
	bgeQuery                 = "Represent this sentence for searching relevant passages: "
	bgeChineseQuery          = "为这个句子生成表示以用于检索相关文章："
	instructed               = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
	qwenQuery                = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:" // without the space
)

// defaultMaxChars is where texts are cut for a model of which nothing else is known.
const defaultMaxChars = 8192

// modelFacts are what is known of models whose name begins so.
type modelFacts struct {
	name                       string
	dims                       int // 0: they differ
	queryPrefix, passagePrefix string
	maxChars                   int // 0: 8192
}

// known are the models, the more particular names first. A name is compared in small letters without what stands before a slash, with a colon as a
// hyphen, since Ollama writes sizes so. Lengths are those of the models' own pages.
var known = []modelFacts{
	{name: "text-embedding-3-small", dims: 1536},
	{name: "text-embedding-3-large", dims: 3072},
	{name: "text-embedding-ada-002", dims: 1536},
	{name: "text-embedding-004", dims: 768},
	{name: "gemini-embedding-001", dims: 3072},
	{name: "nomic-embed-text", dims: 768, queryPrefix: nomicQuery, passagePrefix: nomicPassage},
	{name: "bge-m3", dims: 1024},
	{name: "bge-small-en", dims: 384, queryPrefix: bgeQuery, maxChars: 512},
	{name: "bge-base-en", dims: 768, queryPrefix: bgeQuery, maxChars: 512},
	{name: "bge-large-en", dims: 1024, queryPrefix: bgeQuery, maxChars: 512},
	{name: "bge-small-zh", dims: 512, queryPrefix: bgeChineseQuery, maxChars: 512},
	{name: "bge-base-zh", dims: 768, queryPrefix: bgeChineseQuery, maxChars: 512},
	{name: "bge-large-zh", dims: 1024, queryPrefix: bgeChineseQuery, maxChars: 512},
	{name: "multilingual-e5-large-instruct", dims: 1024, queryPrefix: instructed, maxChars: 512},
	{name: "multilingual-e5-small", dims: 384, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "multilingual-e5-base", dims: 768, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "multilingual-e5-large", dims: 1024, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "e5-small", dims: 384, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "e5-base", dims: 768, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "e5-large", dims: 1024, queryPrefix: e5Query, passagePrefix: e5Passage, maxChars: 512},
	{name: "e5-mistral", dims: 4096, queryPrefix: instructed},
	{name: "qwen3-embedding-0.6b", dims: 1024, queryPrefix: qwenQuery},
	{name: "qwen3-embedding-4b", dims: 2560, queryPrefix: qwenQuery},
	{name: "qwen3-embedding-8b", dims: 4096, queryPrefix: qwenQuery},
	{name: "qwen3-embedding", queryPrefix: qwenQuery},
	{name: "all-minilm-l6", dims: 384, maxChars: 512},
	{name: "all-minilm", dims: 384, maxChars: 512},
	{name: "all-mpnet-base-v2", dims: 768, maxChars: 512},
	{name: "jina-embeddings-v5-text-small", dims: 1024},
	{name: "jina-embeddings-v5-text-nano", dims: 768},
	{name: "jina-embeddings-v3", dims: 1024},
	{name: "voyage-3-lite", dims: 512},
	{name: "voyage-3", dims: 1024}, // with voyage-3-large and voyage-3.5
	{name: "voyage-code-3", dims: 1024},
	{name: "nv-embedqa-e5-v5", dims: 1024, maxChars: 512},
}

// factsOf is what is known of a model; zero: nothing.
func factsOf(model string) modelFacts {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name = strings.ReplaceAll(name, ":", "-")
	for _, f := range known {
		if strings.HasPrefix(name, f.name) {
			return f
		}
	}
	return modelFacts{}
}
