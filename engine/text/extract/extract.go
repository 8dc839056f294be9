package extract

import (
	"math"
	"strings"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Passage is a piece of source for a summary: one message, say, or an earlier summary. Label says when and who, such as
// "[2026-01-02 03:04 UTC] user"; a label without a name behind its bracket, or none, is for what has several speakers.
type Passage struct {
	Label, Text string
}

// Input is what to summarise.
type Input struct {
	Passages []Passage
	Target   int // the most tokens of the summary
	// Tokens estimates the tokens of a text; nil is chars4. It must not fall when a text grows.
	Tokens func(string) int
	// Rarity weighs a term: zero if it says nothing, and more the rarer it is, such as the inverse document frequency in an index.
	// Nil is the natural logarithm of (n+1)/(f+0.5) where f of the n sentences have the term.
	Rarity func(term string) float64
}

// Summary returns a summary made of the most telling sentences of the passages, in their order and as written but for white space,
// list marks and cuts. It needs no model, knows no clock, and gives the same summary for the same input.
//
// Each passage that something was taken from is a line that begins with its label and a colon. Of the label, what earlier lines have
// said is left out: the date of the same day, and the time within ten minutes. The last line names up to ten topics that were left out,
// "Expand for details about: a, b, c", if there are any and there is room.
//
// A summary has at most Target tokens, and fewer than the passages have in sum. It is "" if not even the beginning of a sentence fits.
//
// A sentence is worth the sum of its terms, each by its rarity and less for each sentence with it that was taken before, as in maximal
// marginal relevance. What tells about people, names, times or numbers, decides, promises or fails is worth more, and so is a question
// that nobody answered; other questions, small talk, code and markup are worth less. Sentences are taken by worth per token, and one
// that says what a taken one says is passed over: it has most of its terms, and neither another number nor a "not" more or less.
//
// Earlier summaries are sources like any other. Their lines keep their labels, and topics they left out are among those left out now.
func Summary(a *text.Analyzer, in Input) string {
	if in.Tokens == nil {
		in.Tokens = text.Estimator{}.Tokens
	}
	total := 0
	for _, p := range in.Passages {
		total += in.Tokens(p.Text)
	}
	in.Target = min(in.Target, total-1)
	if in.Target < 1 {
		return ""
	}
	x := newExtraction(a, in)
	x.pick()
	if len(x.order) == 0 {
		return x.beginning()
	}
	return x.withTopics(x.render())
}

// extraction is the making of one summary.
type extraction struct {
	analyzer *text.Analyzer
	Input
	lines    []labelled
	topics   []string // that earlier summaries left out
	excerpts []excerpt
	terms    []term
	termNo   map[string]int32
	pairs    map[termPair]int // neighbours without a stop word between, and how often
	order    []int            // excerpts taken, most worth first
	shared   []int            // by excerpt: terms shared with the one looked at
}

// labelled is a stretch of source under one label.
type labelled struct {
	label
	text     string
	answered bool // somebody else speaks later
}

// excerpt is a sentence that may be taken.
type excerpt struct {
	sentence
	line    int      // that it stands in
	text    string   // as printed
	terms   []int32  // distinct, without stop words
	numbers []string // as surfaces
	negated bool
	factor  float64 // what its cues make of the sum of its terms
	tokens  int
	taken   bool
}

// term is what is known of a term.
type term struct {
	term     string
	surface  string  // as first written inside a sentence, else at the beginning of one
	inside   bool    // surface is from inside a sentence
	count    int     // of excerpts with it
	capitals int     // of them with a capital inside a sentence
	isCode   bool    // reads as an identifier
	isName   bool    // of a speaker
	best     float64 // factor of them
	weight   float64
	holders  []int // excerpts taken
}

type termPair struct{ first, second int32 }

func newExtraction(a *text.Analyzer, in Input) *extraction {
	long := 0
	for _, p := range in.Passages {
		long += len(p.Text)
	}
	x := &extraction{
		analyzer: a, Input: in, lines: make([]labelled, 0, len(in.Passages)), excerpts: make([]excerpt, 0, long/shortness),
		terms: make([]term, 0, long/rareness), termNo: make(map[string]int32, long/rareness), pairs: make(map[termPair]int, long/rareness),
	}
	for _, p := range in.Passages {
		x.split(p)
	}
	speakers := map[string]bool{}
	for i := len(x.lines) - 1; i >= 0; i-- {
		speaker := x.lines[i].speaker
		x.lines[i].answered = len(speakers) > 1 || len(speakers) == 1 && !speakers[speaker]
		speakers[speaker] = true
	}
	r := excerptReader{extraction: x, met: make(map[string]*metWord, long/rareness), maxSentence: min(max(in.Target*4/3, minClause), maxClause)}
	for i := range x.lines {
		r.read(i)
	}
	for speaker := range speakers {
		for _, t := range a.Tokens(speaker) {
			if no, ok := x.termNo[t.Term]; ok {
				x.terms[no].isName = true
			}
		}
	}
	for i := range x.terms {
		x.weigh(&x.terms[i])
	}
	x.shared = make([]int, len(x.excerpts))
	return x
}

const (
	rareness   = 24   // bytes of a long text in which there is one new word, or pair of words
	shortness  = 56   // bytes of a sentence
	saturation = 0.25 // sentences with a term that give it half of the weight it can have

	// A sentence longer than a third of the target is cut into clauses, by bytes in these bounds.
	minClause = 80
	maxClause = 360
)

// weigh gives a term its weight. The speakers' names have none, since labels say them, and what no one reads weighs little: hashes,
// keys and stretches of encoded data.
func (x *extraction) weigh(t *term) {
	rarity := x.rarity(t.term, t.count)
	if t.isName || !(rarity > 0) {
		return
	}
	t.weight = rarity * float64(t.count) / (float64(t.count) + saturation)
	if isOpaque(t.term) {
		t.weight /= 5
	}
}

func (x *extraction) rarity(term string, count int) float64 {
	if x.Rarity != nil {
		return x.Rarity(term)
	}
	return math.Log(float64(len(x.excerpts)+1) / (float64(count) + 0.5))
}

// isOpaque reports words too long to be read, as such or for the digits in them.
func isOpaque(term string) bool {
	return len(term) >= 12 && !strings.ContainsAny(term, "/\\.:-_@") && (len(term) > 30 || strings.ContainsAny(term, "0123456789"))
}

// split appends the lines of a passage. One without a speaker may be an earlier summary, whose lines have labels of their own and whose
// last line names topics. What somebody said is never taken apart in this way: it could put words into the mouth of another.
func (x *extraction) split(p Passage) {
	text, own := char.Clean(p.Text), newLabel(p.Label)
	if own.speaker != "" {
		x.lines = append(x.lines, labelled{label: own, text: text})
		return
	}
	start, labels := 0, false
	flush := func(end int) {
		if strings.TrimSpace(text[start:end]) != "" {
			x.lines = append(x.lines, labelled{label: own, text: text[start:end]})
		}
	}
	for i := 0; i < len(text); {
		next := i + lineLength(text[i:])
		line := text[i:next]
		if topics, ok := strings.CutPrefix(line, topicsLine); ok {
			flush(i)
			x.topics = append(x.topics, strings.Split(topics, ",")...)
			start = next
		} else if next, n := lineLabel(line, own, labels); n > 0 {
			flush(i)
			own, start, labels = next, i+n, true
		}
		i = next
	}
	flush(len(text))
}
