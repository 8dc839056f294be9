package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// excerptReader reads the sentences of the lines with their terms and cues. It keeps its buffers from line to line.
type excerptReader struct {
	*extraction
	tokens    []text.Token
	sentences []sentence
	numbered  []int32             // terms of excerpts, one behind the other
	met       map[string]*metWord // by surface
	// maxSentence is the bytes from which a sentence is cut into clauses.
	maxSentence int
}

// metWord is what is known of a word as it is written, so that each is looked up once.
type metWord struct {
	cues cues
	stop bool
	term string
	no   int32 // of the term; -1: it has none yet
}

// read appends the excerpts of a line.
func (r *excerptReader) read(line int) {
	text := r.lines[line].text
	r.tokens = r.analyzer.Append(r.tokens[:0], text)
	r.sentences = sentences(r.sentences[:0], text, r.maxSentence)
	tokens := r.tokens
	for _, s := range r.sentences {
		for len(tokens) > 0 && tokens[0].Start < s.start {
			tokens = tokens[1:]
		}
		n := 0
		for n < len(tokens) && tokens[n].Start < s.end {
			n++
		}
		if n > 0 {
			r.append(line, s, tokens[:n])
		}
		tokens = tokens[n:]
	}
}

// append appends the excerpt of a sentence.
func (r *excerptReader) append(line int, s sentence, tokens []text.Token) {
	text := r.lines[line].text
	s.code = s.code || isMarkup(text[s.start:s.end])
	e := excerpt{sentence: s, line: line, text: singleSpaced(text[s.start:s.end])}
	e.tokens = r.Tokens(e.text)
	var found cues
	from := len(r.numbered)
	previous, whole, end := int32(-1), 0, 0 // the term before, the end of the identifier, the end of the token before
	for i, t := range tokens {
		word := r.word(t)
		found |= word.cues
		if word.cues&cueNumber != 0 && !slices.Contains(e.numbers, t.Surface) {
			e.numbers = append(e.numbers, t.Surface)
		}
		if t.End <= whole {
			continue
		}
		isCode := i+1 < len(tokens) && tokens[i+1].End <= t.End && !isUnspacedAt(text, t.Start)
		if isCode || i+1 < len(tokens) && tokens[i+1].Start < t.End {
			whole = t.End
		}
		if isCode {
			found |= cueCode
		}
		if word.stop {
			previous = -1
			continue
		}
		if word.no < 0 {
			word.no = r.term(t)
		}
		no := word.no
		x := &r.terms[no]
		x.isCode = x.isCode || isCode
		if i > 0 && !x.inside {
			x.surface, x.inside = trimClitic(text[t.Start:t.End]), true
		}
		if !slices.Contains(r.numbered[from:], no) {
			r.numbered = append(r.numbered, no)
			x.count++
			if i > 0 && !s.code && isUpperAt(text, t.Start) {
				x.capitals++
			}
		}
		if previous >= 0 && t.Start == end+1 && text[end] == ' ' && previous != no {
			r.pairs[termPair{previous, no}]++
		}
		previous, end = no, t.End
	}
	e.terms = r.numbered[from:len(r.numbered):len(r.numbered)]
	e.negated = found&cueNot != 0
	e.factor = r.factor(&e, found)
	for _, no := range e.terms {
		r.terms[no].best = max(r.terms[no].best, e.factor)
	}
	r.excerpts = append(r.excerpts, e)
}

// factor returns what an excerpt's terms are multiplied by for what it is and the cues in it.
func (r *excerptReader) factor(e *excerpt, found cues) float64 {
	if end := lastSign(e.text); end == '?' || end == '？' || end == '؟' {
		found |= cueQuestion
		if !r.lines[e.line].answered {
			found |= cueOpen
		}
	}
	f := found.factor() * (1 + tellsBonus*float64(r.analyzer.Tells(e.text)))
	if n := float64(len(e.terms)); n < fewTerms {
		f *= n / fewTerms
	}
	if e.heading {
		f *= headingFactor
	}
	if e.code && found&cueError == 0 {
		f *= markupFactor
	}
	return f
}

// word returns what is known of a token's word.
func (r *excerptReader) word(t text.Token) *metWord {
	w := r.met[t.Surface]
	if w == nil || w.term != t.Term {
		w = &metWord{cues: cueOf(t.Surface), stop: r.analyzer.IsStop(t.Surface), term: t.Term, no: -1}
		r.met[t.Surface] = w
	}
	return w
}

// term returns the number of a token's term.
func (r *excerptReader) term(t text.Token) int32 {
	no, ok := r.termNo[t.Term]
	if !ok {
		no = int32(len(r.terms))
		r.termNo[t.Term] = no
		r.terms = append(r.terms, term{term: t.Term, surface: t.Surface})
	}
	return no
}

// singleSpaced returns a text with one space wherever it has white space, without any at its ends.
func singleSpaced(s string) string {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && before == ' ' {
			return strings.Join(strings.Fields(s), " ")
		}
		before = c
	}
	return strings.TrimSuffix(s, " ")
}

// isMarkup reports a text that has more than a quarter of signs, such as JSON or a line of a table.
func isMarkup(s string) bool {
	signs, all := 0, 0
	for _, r := range s {
		all++
		if r < utf8.RuneSelf && !char.InASCIIWord(byte(r)) && r != ' ' || r >= utf8.RuneSelf && unicode.IsSymbol(r) {
			signs++
		}
	}
	return signs*4 > all
}

// trimClitic returns a word without the 's behind it.
func trimClitic(word string) string {
	for _, end := range [...]string{"'s", "’s"} {
		word = strings.TrimSuffix(word, end)
	}
	return word
}

func isUpperAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return char.IsUpper(r)
}

func isUnspacedAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return char.IsUnspaced(r)
}
