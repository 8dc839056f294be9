// Package wordpiece is an exact BERT tokenizer: the same ids as the original
// implementation, on any input, at several hundred thousand texts a second.
//
// A text is normalised (control characters out, accents and case folded,
// ideographs set apart), split into words at spaces and punctuation, and each
// word is cut greedily into the longest pieces the vocabulary has. A
// Tokenizer never changes after it is made and may be shared by goroutines.
package wordpiece

import (
	"fmt"
	"strings"
)

// Tokenizer turns text into the ids of one vocabulary.
type Tokenizer struct {
	vocab    []string
	heads    map[string]int32 // pieces that begin a word
	tails    map[string]int32 // pieces that continue one, without their prefix
	longest  int              // bytes of the longest piece
	options  Options
	ascii    [128]byte // see asciiClasses
	specials []special
	starts   string // the first bytes of all specials
	unknown  int32
	start    int32
	end      int32
}

// special is a token written out in the text, such as "[SEP]", that stands
// for itself before any normalisation.
type special struct {
	text string
	id   int32
}

// Options say how text is normalised. The zero value is BERT uncased.
type Options struct {
	KeepControls bool     // leave control characters and odd spaces as they are
	KeepTogether bool     // don't make each CJK ideograph a word
	KeepCase     bool     // don't lower
	KeepAccents  bool     // don't decompose and drop combining marks
	MaxWord      int      // longer words, in characters, become unknown; 0 means 100
	Prefix       string   // marks a piece that continues a word; "" means "##"
	Unknown      string   // "" means "[UNK]"
	Start        string   // "" means "[CLS]"
	End          string   // "" means "[SEP]"
	Specials     []string // tokens recognised in the text itself; nil means the five of BERT that the vocabulary has
}

func (o Options) withDefaults() Options {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if o.MaxWord == 0 {
		o.MaxWord = 100
	}
	set(&o.Prefix, "##")
	set(&o.Unknown, "[UNK]")
	set(&o.Start, "[CLS]")
	set(&o.End, "[SEP]")
	return o
}

// New makes a tokenizer for a vocabulary in which a token's place is its id.
// It fails when the vocabulary is empty, has a token twice, or lacks one that
// the options name. The vocabulary is kept, not copied.
func New(vocab []string, options Options) (*Tokenizer, error) {
	o := options.withDefaults()
	if o.MaxWord < 0 {
		return nil, fmt.Errorf("wordpiece: MaxWord is %d: want at least 1, or 0 for 100", o.MaxWord)
	}
	t := &Tokenizer{
		vocab:   vocab,
		heads:   make(map[string]int32, len(vocab)),
		tails:   make(map[string]int32, len(vocab)/4),
		options: o,
		ascii:   asciiClasses(o),
	}
	for i, token := range vocab {
		piece, pieces := token, t.heads
		if rest, ok := strings.CutPrefix(token, o.Prefix); ok && rest != "" {
			piece, pieces = rest, t.tails
		}
		if piece == "" {
			continue // a hole in the ids
		}
		if first, twice := pieces[piece]; twice {
			return nil, fmt.Errorf("wordpiece: token %q stands twice in the vocabulary, as %d and %d", token, first, i)
		}
		pieces[piece] = int32(i)
		t.longest = max(t.longest, len(piece))
	}
	for _, need := range []struct {
		token string
		id    *int32
	}{{o.Unknown, &t.unknown}, {o.Start, &t.start}, {o.End, &t.end}} {
		id, ok := t.ID(need.token)
		if !ok {
			return nil, fmt.Errorf("wordpiece: the vocabulary of %d tokens has no %q", len(vocab), need.token)
		}
		*need.id = id
	}
	return t, t.addSpecials()
}

func (t *Tokenizer) addSpecials() error {
	names, optional := t.options.Specials, false
	if names == nil {
		names, optional = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, true
	}
	for _, name := range names {
		id, ok := t.ID(name)
		if !ok && optional {
			continue
		}
		if !ok {
			return fmt.Errorf("wordpiece: the vocabulary of %d tokens has no special token %q", len(t.vocab), name)
		}
		t.specials = append(t.specials, special{name, id})
		if !strings.Contains(t.starts, name[:1]) {
			t.starts += name[:1]
		}
	}
	return nil
}

// Vocab gives the tokens in the order of their ids. It is not to be changed.
func (t *Tokenizer) Vocab() []string { return t.vocab }

// Options gives the options the tokenizer was made with, defaults filled in.
func (t *Tokenizer) Options() Options { return t.options }

// ID gives the id of a token as it stands in the vocabulary, prefix and all.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if rest, ok := strings.CutPrefix(token, t.options.Prefix); ok && rest != "" {
		id, ok := t.tails[rest]
		return id, ok
	}
	id, ok := t.heads[token]
	return id, ok
}

// Unknown, Start and End give the ids of the tokens for a word that can't be
// spelled, the beginning of a text and its end.
func (t *Tokenizer) Unknown() int32 { return t.unknown }
func (t *Tokenizer) Start() int32   { return t.start }
func (t *Tokenizer) End() int32     { return t.end }

// Tokenize fills e with the tokens of a text alone, at most limit of them
// (0: all). Bytes that are not UTF-8 are left out.
func (t *Tokenizer) Tokenize(e *Encoding, text string, limit int) {
	e.reset()
	t.scan(e, text, limit)
}

// Encode fills e with a text between the start and end tokens, cut on the
// right to limit tokens with both included (0: all; less than 2 counts as 2).
func (t *Tokenizer) Encode(e *Encoding, text string, limit int) {
	e.reset()
	e.add(t.start, noWord)
	if limit <= 0 {
		t.scan(e, text, 0)
	} else if limit > 2 {
		t.scan(e, text, limit-1)
	}
	e.add(t.end, noWord)
}

// EncodePair fills e with start, a, end, b, end, and Types with 0 up to the
// first end and 1 after it, as the original does. Beyond limit tokens (0: all;
// less than 3 counts as 3) the longer text is cut first, on the right; see
// PairModel.Encode for a question beside a text.
func (t *Tokenizer) EncodePair(e *Encoding, a, b string, limit int) {
	var second Encoding
	e.reset()
	e.add(t.start, noWord)
	t.scan(e, a, 0)
	t.scan(&second, b, 0)
	if limit > 0 {
		keepA, keepB := shares(len(e.IDs)-1, len(second.IDs), max(limit-3, 0))
		e.cut(keepA + 1)
		second.cut(keepB)
	}
	e.add(t.end, noWord)
	e.Types = append(e.Types[:0], make([]int32, len(e.IDs))...)
	e.join(&second)
	e.add(t.end, noWord)
	for len(e.Types) < len(e.IDs) {
		e.Types = append(e.Types, 1)
	}
}

// shares divides room among two texts of a and b tokens: the shorter one
// keeps up to half, the longer one (the second, when equal) gets the rest.
func shares(a, b, room int) (int, int) {
	if a+b <= room {
		return a, b
	}
	if a > b {
		keepB, keepA := shares(b, a, room)
		return keepA, keepB
	}
	keep := min(a, room/2)
	return keep, room - keep
}
