package setup

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
)

// LexicalBackend says where the words of a question are looked up.
type LexicalBackend string

// The backends. Both give the same scores.
const (
	// PostingsBackend is our own index, written in the same transaction as the row.
	PostingsBackend LexicalBackend = "postings"
	// FTSBackend is the index of DuckDB's text extension, made anew before a recall when documents were written since.
	FTSBackend LexicalBackend = "fts"
)

// LexicalBackends lists them all.
func LexicalBackends() []LexicalBackend { return []LexicalBackend{PostingsBackend, FTSBackend} }

// LoadsFTS reports whether an open engine has the text extension.
func (o Options) LoadsFTS() bool { return o.FTS != "" || o.Lexical == FTSBackend }

// Options of Open. The zero value works: no model, so recall is lexical.
type Options struct {
	// Embedder makes the vectors. Nil: what is written has none (its coverage in Stats falls) and recall is lexical. The vectors of two models at once are those of
	// embed/fused.
	Embedder Embedder
	// Reranker looks at the best candidates of a recall once more: a cross-encoder of rerank/onnx, rerank/hugot or rerank/remote, or one of your own. Default
	// none: the weights' own rerank.
	Reranker Reranker
	// RerankDeadline is how long a recall waits for it. Default 5 s.
	RerankDeadline time.Duration
	// EmbedDeadline is how long a write waits for the model, and half a second more for each text after the first; what has no vector by then
	// is stored without, and gets it from RebuildIndex. Default 30 s.
	EmbedDeadline time.Duration
	// EmbeddingCacheMB is how much of the file, in megabytes, may go to vectors that the model gave and that it is not asked for again: by a rebuild, by an import of the same
	// text, by what comes back into recall. Each vector is then in the file twice, and is written twice; some 60 bytes of memory find it. What is purged leaves it. Where it is full the
	// oldest leave. Default DefaultEmbeddingCache for an Embedder that is Remote, and none for others; a number keeps what those of this machine give as well, but for
	// one that is Instant; -1 is none.
	EmbeddingCacheMB int
	// Related brings related words into the lexical channel, as far as the weights let it. Default the Embedder's own method of
	// that name, if it has one.
	Related Related
	// ReplaceModel accepts an Embedder that is not the one of the file's vectors: nothing new gets a vector and recall is
	// lexical until RebuildIndex has embedded everything anew. Default false: ErrModelMismatch.
	ReplaceModel bool
	// ReadOnly opens the file for reading; other processes may read it too. Default false.
	ReadOnly bool
	// Wait is how long Open waits for a file that another process has. Default 0: ErrLocked at once.
	Wait time.Duration
	// Language of the tokenizer's stemmer and stop words, for a new file; an existing one keeps its own. Default "english".
	Language string
	// MaxText is how many bytes a memory's text may have, and each of its levels: all its words are indexed at once. Messages are not bounded: what is
	// long in them is kept apart. Default 1 MB.
	MaxText int
	// Threads of the database. Default the number of processors, and no more than one for each 64 MB of MemoryLimit.
	Threads int
	// MemoryLimit of the database in megabytes, LeastMemory or more. It also bounds how many calls read at once; others wait. What does not fit goes
	// to a temporary folder beside the file. Default DefaultMemory.
	MemoryLimit int
	// ResidentMB is how much memory, in megabytes and beside MemoryLimit, the resident index may take: what recall finds documents by, kept by the
	// process that asks often. It is made at the first recall, in the background. Where it does not fit, and with -1, recall asks the file. Default
	// DefaultResident.
	ResidentMB int
	// Lexical says where the words of a question are looked up. Default PostingsBackend. With FTSBackend, and without FTS, the
	// extension that DuckDB has installed is loaded, or else fetched from the network.
	Lexical LexicalBackend
	// FTS is the file of DuckDB's text extension, of the same version as the driver's. It is loaded for CheckLexical, for
	// RebuildIndex and for analysts also when Lexical is PostingsBackend. Default none.
	FTS string
	// LLM writes summaries, and answers from expanded text. Nil: summaries pick the sentences that tell most.
	LLM LLM
	// Fallbacks are asked in their order where LLM fails: for checkpoints, and for the summaries of the rolling policy. Default none.
	Fallbacks []LLM
	// Conversation says how conversations are kept, compacted and shown.
	Conversation Conversation
	// Rolling says how they are compacted in the rolling way, and when they get checkpoints.
	Rolling Rolling
	// Extraction says how memories are drawn from talk.
	Extraction Extraction
	// Turns says what BeforeTurn and AfterTurn do around a turn of talk.
	Turns Turns
	// Now tells the time, in the years 1 to 9999 and not the zero time: a write or recall that is told another is refused with
	// ErrInvalid. Default time.Now.
	Now func() time.Time
	// NewID makes an id that begins with a prefix such as "mem_" and was never given before. A write for which it does not is refused, with
	// ErrInvalid, or ErrExists where it is taken. Default a random, time-sortable one.
	NewID func(prefix string, at time.Time) string
	// Progress is told how far a long operation is; it is called from the goroutine that asked for it, which with share.Serve
	// may be that of another process's request. Default none.
	Progress func(step string, done, total int)
}

// What MemoryLimit may be, in megabytes. With the least 100,000 memories are written and recalled. A million were with 1,384 (memctl bench recall); the default was too little
// for those questions of theirs that the file answers.
const (
	LeastMemory   = 192
	DefaultMemory = 384
)

// DefaultEmbeddingCache is what EmbeddingCacheMB is for a Remote embedder when it is 0: some 160,000 vectors of 384 dimensions, or 42,000 of 1,536.
const DefaultEmbeddingCache = 256

// MostDims is how many dimensions the vectors of a model may have.
const MostDims = 16384

// DefaultResident is what ResidentMB is when it is 0.
const DefaultResident = 512

// WithDefaults is o with every field filled in that has a default.
func (o Options) WithDefaults() Options {
	if o.Language == "" {
		o.Language = "english"
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = DefaultMemory
	}
	if o.ResidentMB == 0 {
		o.ResidentMB = DefaultResident
	}
	if o.MaxText == 0 {
		o.MaxText = 1 << 20
	}
	if o.Threads == 0 {
		o.Threads = max(1, min(runtime.NumCPU(), o.MemoryLimit/64))
	}
	Preset(&o.RerankDeadline, 5*time.Second)
	if o.EmbedDeadline == 0 {
		o.EmbedDeadline = 30 * time.Second
	}
	if own, ok := o.Embedder.(interface {
		Related(word string) (words []string, cosines []float32)
	}); ok && o.Related == nil {
		o.Related = own.Related
	}
	if o.Lexical == "" {
		o.Lexical = PostingsBackend
	}
	o.Conversation = o.Conversation.withDefaults()
	o.Rolling = o.Rolling.withDefaults()
	o.Extraction = o.Extraction.withDefaults()
	o.Turns = o.Turns.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.Random
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o
}

// Validate names every field that is wrong.
func (o Options) Validate() error {
	var errs []error
	if _, err := text.NewAnalyzer(o.Language); err != nil {
		errs = append(errs, fault.Invalid("Language", o.Language, fault.OneOf(text.Languages())))
	}
	if o.MaxText < 1 {
		errs = append(errs, fault.Invalid("MaxText", o.MaxText, "1 (byte) or more"))
	}
	if o.Threads < 1 || o.Threads > 1024 {
		errs = append(errs, fault.Invalid("Threads", o.Threads, "1 to 1024"))
	}
	if o.MemoryLimit < LeastMemory {
		errs = append(errs, fault.Invalid("MemoryLimit", o.MemoryLimit, fmt.Sprintf("%d (megabytes) or more", LeastMemory)))
	}
	if o.ResidentMB < -1 {
		errs = append(errs, fault.Invalid("ResidentMB", o.ResidentMB, "megabytes, or -1 for none"))
	}
	if o.EmbeddingCacheMB < -1 {
		errs = append(errs, fault.Invalid("EmbeddingCacheMB", o.EmbeddingCacheMB, "megabytes, or -1 for none"))
	}
	if o.Wait < 0 {
		errs = append(errs, fault.Invalid("Wait", o.Wait, "0 or more"))
	}
	if o.Embedder != nil && (o.Embedder.Dims() < 1 || o.Embedder.Dims() > MostDims) {
		errs = append(errs, fault.Invalid("Embedder.Dims", o.Embedder.Dims(), fmt.Sprintf("1 to %d", MostDims)))
	}
	if o.RerankDeadline < 0 {
		errs = append(errs, fault.Invalid("RerankDeadline", o.RerankDeadline, "more than 0"))
	}
	if o.EmbedDeadline < 0 {
		errs = append(errs, fault.Invalid("EmbedDeadline", o.EmbedDeadline, "more than 0"))
	}
	for i, m := range o.Fallbacks {
		if m == nil {
			errs = append(errs, fault.Invalid("Fallbacks", fmt.Sprintf("[%d] nil", i), "language models"))
		}
	}
	errs = append(errs, fault.Member("Lexical", o.Lexical, LexicalBackends()), fault.CheckText("FTS", o.FTS), o.Conversation.validate(), o.Rolling.validate(), o.Extraction.validate(), o.Turns.validate())
	return errors.Join(errs...)
}
