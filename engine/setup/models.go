package setup

import (
	"context"
)

// Related gives words that mean nearly the same as a word, nearest first, each with the cosine of the two; none for a word it does not
// know. The word is in lower case without accents. It must be fast and safe for concurrent use.
type Related func(word string) (words []string, cosines []float32)

// Embedder turns text into vectors of one length. Implementations live under embed; any other that keeps these rules will do.
// It must be safe for concurrent use.
type Embedder interface {
	// Model names the model, such as "all-MiniLM-L6-v2".
	Model() string
	// Dims is the length of its vectors.
	Dims() int
	// Fingerprint changes whenever the vectors of the same texts would.
	Fingerprint() string
	// EmbedTexts gives one vector of unit length per text, in their order. No texts give no vectors.
	EmbedTexts(ctx context.Context, texts []string) ([][]float32, error)
	// EmbedQuery embeds a question. weight, when it is not nil, gives the rarity of a word from 0 (says nothing) to 1; it is
	// asked about words in lower case without accents. A provider that can't weigh words leaves out those below 0.2.
	EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error)
}

// Remote is an Embedder that asks a server for its vectors, which is slow and may cost money: what it gives is kept in the file, so that it is not asked twice
// (Options.EmbeddingCacheMB).
type Remote interface {
	Remote() bool
}

// Instant is an Embedder that makes a vector in less time than it takes to find it in a file, as the built-in table does: nothing that it gives is kept.
type Instant interface {
	Instant() bool
}

// Chancy is an Embedder that knows its cosines. Those that come with Mallard are, as far as they were measured; with another, recall has no floor
// of cosines.
type Chancy interface {
	// Chance is the cosine that a text which has nothing to do with a question seldom reaches; 0 where nobody knows. words are those of the
	// question that say something, in lower case without accents: of words that the model does not know it makes anything.
	Chance(words []string) float64
}

// Counting is an LLM that tells how many tokens a question and its answer took, as its server counts them; zeros where that does not say. What another takes
// is estimated.
type Counting interface {
	CompleteCounted(ctx context.Context, system, prompt string, maxTokens int) (answer string, promptTokens, answerTokens int, err error)
}

// LLM is a language model that answers one prompt at a time. Clients for the usual servers are in engine/llm; any other that keeps these
// rules will do. It must be safe for concurrent use.
//
// An error that has a method Unauthorized() bool giving true means that asking again is of no use until somebody mends the key; any other is
// taken to pass.
type LLM interface {
	// Model names the model, such as "claude-sonnet-4-5".
	Model() string
	// Complete gives the answer to a prompt, as plain text of about maxTokens tokens at most; what the model thought is no part of it. It
	// must return soon after ctx is over: a compaction waits for it, and others of the conversation for the compaction.
	Complete(ctx context.Context, system, prompt string, maxTokens int) (string, error)
}

// Reranker reads a query beside each text and says how well they fit. Implementations live under rerank; any other that keeps these rules will do.
// It must be safe for concurrent use.
//
// An error that has a method Reason() string says in a word or two why, such as "timeout"; traces tell it.
type Reranker interface {
	// Model names the model, such as "ms-marco-MiniLM-L-6-v2".
	Model() string
	// Rerank gives one score per text, in their order: from 0, has nothing to do with the query, to 1, answers it. A text that was not scored, such as one
	// without a word or beyond what the model takes in one call, has NaN. A text's score does not depend on what else is asked, up to rounding. No texts
	// give no scores. It must return soon after ctx is over, with ctx's error: a recall waits for it.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}
