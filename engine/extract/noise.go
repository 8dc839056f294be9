package extract

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/capture"
)

// prototypes are texts that tell nothing of anybody, by whose vectors others like them are known: questions about memory, denials, greetings.
var prototypes = []string{
	"Do you remember what I told you about myself?", "The quarterly budget of the harbor was approved by the council.", // the second is unlike all others: it tells whether the model tells texts apart
	"Can you recall what we talked about last time?", "What do you know about me?", "What did I say about that before?", "Have I mentioned this to you already?",
	"你还记得我之前说过什么吗？", "你知道我是谁吗？",
	"I don't have any information about that in my memory.", "I'm sorry, I couldn't find any relevant memories.", "I don't recall you telling me that.",
	"Hello, how are you doing today?", "Hi there, this is a fresh session, let's begin.", "你好，很高兴见到你。",
}

// touchstone is the place of the prototype that is none: a model for which it is like the first has no idea of texts.
const touchstone = 1

const (
	leastNoise     = 0.82 // cosine to a prototype
	leastKnown     = 0.95 // from which on a learned one tells nothing new
	degenerate     = 0.98
	mostLearned    = 200
	fewestJudged   = 9 // characters; what is shorter or longer is not judged
	mostJudged     = 300
	mostLearnedEnd = 300 // characters at the end of talk that gave nothing
)

// noise is what is known of texts that tell nothing. It is kept in memory only.
type noise struct {
	mu      sync.Mutex // innermost; not held while the model embeds
	known   bool       // base was made, or can't be
	base    [][]float32
	learned [][]float32 // oldest first
}

// vectorsOf embeds texts; nil where there is no model, or it fails: then nothing is noise.
func (ex *Extractor) vectorsOf(ctx context.Context, texts []string) [][]float32 {
	if ex.opts.Embedder == nil || len(texts) == 0 {
		return nil
	}
	vectors, err := ex.opts.Embedder.EmbedTexts(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil
	}
	return vectors
}

// noiseBase gives the vectors of the prototypes; nil: the model tells none apart.
func (ex *Extractor) noiseBase(ctx context.Context) [][]float32 {
	ex.noise.mu.Lock()
	base, known := ex.noise.base, ex.noise.known
	ex.noise.mu.Unlock()
	if known {
		return base
	}
	vectors := ex.vectorsOf(ctx, prototypes)
	if ctx.Err() != nil || vectors == nil {
		return nil
	}
	if inner(vectors[0], vectors[touchstone]) > degenerate {
		vectors = nil
	} else {
		vectors = slices.Delete(vectors, touchstone, touchstone+1)
	}
	ex.noise.mu.Lock()
	defer ex.noise.mu.Unlock()
	ex.noise.base, ex.noise.known = vectors, true
	return vectors
}

// like reports whether a vector has a cosine of least or more to any known one.
func like(v []float32, all [][]float32, least float64) bool {
	return slices.ContainsFunc(all, func(known []float32) bool { return len(known) == len(v) && inner(v, known) >= least })
}

// isNoise says of texts which tell nothing of anybody.
func (ex *Extractor) isNoise(ctx context.Context, texts []string) []bool {
	found := make([]bool, len(texts))
	base := ex.noiseBase(ctx)
	if base == nil || ex.opts.Extraction.KeepNoise {
		return found
	}
	var judged []string
	var places []int
	for i, s := range texts {
		if n := utf8.RuneCountInString(s); n >= fewestJudged && n <= mostJudged {
			judged, places = append(judged, s), append(places, i)
		}
	}
	vectors := ex.vectorsOf(ctx, judged)
	ex.noise.mu.Lock()
	defer ex.noise.mu.Unlock()
	for n, v := range vectors {
		found[places[n]] = like(v, base, leastNoise) || like(v, ex.noise.learned, leastNoise)
	}
	return found
}

// learnNoise takes the end of talk in which a model found nothing for what tells nothing.
func (ex *Extractor) learnNoise(ctx context.Context, said string) {
	runes := []rune(strings.TrimSpace(said))
	if len(runes) > mostLearnedEnd {
		runes = runes[len(runes)-mostLearnedEnd:]
	}
	base := ex.noiseBase(ctx)
	if base == nil || len(runes) < fewestJudged || ex.opts.Extraction.KeepNoise {
		return
	}
	vectors := ex.vectorsOf(ctx, []string{string(runes)})
	ex.noise.mu.Lock()
	defer ex.noise.mu.Unlock()
	if vectors == nil || like(vectors[0], base, leastKnown) || like(vectors[0], ex.noise.learned, leastKnown) {
		return
	}
	if ex.noise.learned = append(ex.noise.learned, vectors[0]); len(ex.noise.learned) > mostLearned {
		ex.noise.learned = ex.noise.learned[1:]
	}
}

// shown is what of a window a model is shown: without what tells nothing, and where there is more than it is shown at once, what tells most. places are those of its turns in the
// window.
func (x *run) shown(ctx context.Context, w *window) (part *window, places []int) {
	texts := make([]string, len(w.turns))
	for i, t := range w.turns {
		texts[i] = t.text
	}
	part = &window{conversationID: w.conversationID, from: w.from, to: w.to, cursor: w.cursor}
	var said []capture.Said
	for i, is := range x.isNoise(ctx, texts) {
		if !is {
			said, places = append(said, capture.Said{Text: texts[i]}), append(places, i)
		}
	}
	if x.opts.Extraction.Compress {
		kept := capture.Compress(said, x.opts.Extraction.MaxChars)
		all := places
		places = make([]int, len(kept))
		for n, at := range kept {
			places[n] = all[at]
		}
	}
	for _, at := range places {
		part.turns = append(part.turns, w.turns[at])
	}
	return part, places
}
