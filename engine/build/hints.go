package build

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Hints points at what is remembered elsewhere that shares words with how things stand: memories and notes, skills, and what was said in other conversations. Nothing is needed for that
// but words; where there is an embedding model, what is alike in meaning is found as well. What counts for how much is openboa's.
type Hints struct {
	On bool `toml:"on" json:"on"`
	// Section that pointers are shown in. Default memory.
	Section string `toml:"section" json:"section"`
	// At most so many of each are shown; 0: none.
	Memories int `toml:"memories" json:"memories"` // notes too
	Skills   int `toml:"skills" json:"skills"`
	Sessions int `toml:"sessions" json:"sessions"` // other conversations, each by what fits best in it
	// SkillPaths tell a skill among the notes: its path has such an element, a folder or the file's name.
	SkillPaths []string `toml:"skill_paths" json:"skill_paths,omitempty"`

	// Ask names what is asked for, in order (Asks); what says nothing is passed over. Where the request has a Query, that is asked alone.
	Ask       []string `toml:"ask" json:"ask,omitempty"`
	Parts     int      `toml:"parts" json:"parts"`           // so many of them at most
	PartChars int      `toml:"part_chars" json:"part_chars"` // of each
	// Looked is how many documents are looked at, of memories with notes and of what was said each. Default 60.
	Looked int `toml:"looked" json:"looked"`

	// What a document counts that says the whole of a part (once), each phrase in quotation marks, each path, identifier and plain word.
	Whole      int `toml:"whole" json:"whole"`
	Phrase     int `toml:"phrase" json:"phrase"`
	Path       int `toml:"path" json:"path"`
	Identifier int `toml:"identifier" json:"identifier"`
	Word       int `toml:"word" json:"word"`
	// Meaning is what a cosine of 1 counts, rounded, from LeastCosine on. Where a document is found by its words too, that is another piece of evidence.
	Meaning     int     `toml:"meaning" json:"meaning"`
	LeastCosine float64 `toml:"least_cosine" json:"least_cosine"`

	// Sources are what a document counts besides for where it is from: learning (a memory of the layer reflection), memory, note, skill, trace (what a tool did), summary, message,
	// or the kind of source of a message, such as outcome or evaluation.
	Sources   map[string]int `toml:"sources" json:"sources,omitempty"`
	Setup     int            `toml:"setup" json:"setup"`         // a conversation of the same scope
	Related   int            `toml:"related" json:"related"`     // one that this one began in, or that began in this one
	Sibling   int            `toml:"sibling" json:"sibling"`     // one that began where this one did
	Outcome   int            `toml:"outcome" json:"outcome"`     // it names the request's outcome
	Criterion int            `toml:"criterion" json:"criterion"` // it has all words of one of its criteria
	Criteria  int            `toml:"criteria" json:"criteria"`   // so many of these count

	// Least is the least score of what is shown.
	Least int `toml:"least" json:"least"`
	// Confidence is high with so many pieces of evidence or such a score, medium with such a score.
	HighPieces  int `toml:"high_pieces" json:"high_pieces"`
	HighScore   int `toml:"high_score" json:"high_score"`
	MediumScore int `toml:"medium_score" json:"medium_score"`
	// Snippet is how many characters are shown of each, Before how many of them lie before the first match.
	Snippet int `toml:"snippet" json:"snippet"`
	Before  int `toml:"before" json:"before"`
}

// What hints may ask for, in the order of openboa.
const (
	AskInput     = "input"     // what is said now, or else the newest of what the user said
	AskOutcome   = "outcome"   // Request.Outcome
	AskQuestions = "questions" // those that the newest checkpoint left open
	AskFailure   = "failure"   // what the newest tool that failed was asked, and gave
	AskSummary   = "summary"   // the newest summary, or else the newest checkpoint's
	AskAnswer    = "answer"    // the newest of the assistant
	AskState     = "state"     // Request.State
)

// Asks lists them all.
func Asks() []string {
	return []string{AskInput, AskOutcome, AskQuestions, AskFailure, AskSummary, AskAnswer, AskState}
}

// hints are openboa's, which every built-in preset has, and only its own has on.
func hints(on bool) Hints {
	return Hints{
		On: on, Section: Memory, Memories: 3, Skills: 2, Sessions: 2, SkillPaths: []string{"skills", "SKILL.md"}, Ask: Asks(), Parts: 6, PartChars: 240, Looked: 60,
		Whole: 6, Phrase: 4, Path: 5, Identifier: 3, Word: 1, Meaning: 10, LeastCosine: 0.5,
		Sources: map[string]int{"learning": 5, "note": 4, "memory": 3, "evaluation": 3, "trace": 3, "outcome": 2, "message": 2, "summary": 1},
		Setup:   2, Related: 2, Sibling: 1, Outcome: 3, Criterion: 1, Criteria: 2, HighPieces: 2, HighScore: 10, MediumScore: 6, Snippet: 180, Before: 40,
	}
}

// limit is how many pointers there may be.
func (h *Hints) limit() int { return h.Memories + h.Skills + h.Sessions }

func (h *Hints) clone() {
	h.Sources = maps.Clone(h.Sources)
	h.SkillPaths, h.Ask = slices.Clone(h.SkillPaths), slices.Clone(h.Ask)
}

// validate names the first field that is wrong. What is off may be anything.
func (h *Hints) validate(r *Recall) error {
	if !h.On {
		return nil
	}
	for _, f := range []struct {
		field       string
		n, from, to int
	}{{"memories", h.Memories, 0, 100}, {"skills", h.Skills, 0, 100}, {"sessions", h.Sessions, 0, 100}, {"parts", h.Parts, 1, 100}, {"part_chars", h.PartChars, 1, 10_000}, {"looked", h.Looked, 1, 1000},
		{"whole", h.Whole, 0, most}, {"phrase", h.Phrase, 0, most}, {"path", h.Path, 0, most}, {"identifier", h.Identifier, 0, most}, {"word", h.Word, 0, most}, {"meaning", h.Meaning, 0, most},
		{"setup", h.Setup, 0, most}, {"related", h.Related, 0, most}, {"sibling", h.Sibling, 0, most}, {"outcome", h.Outcome, 0, most}, {"criterion", h.Criterion, 0, most}, {"criteria", h.Criteria, 0, 100},
		{"least", h.Least, 0, most}, {"high_pieces", h.HighPieces, 1, most}, {"high_score", h.HighScore, 0, most}, {"medium_score", h.MediumScore, 0, most}, {"snippet", h.Snippet, 1, 100_000}, {"before", h.Before, 0, 100_000}} {
		if f.n < f.from || f.n > f.to {
			return fault.Invalid("hints."+f.field, f.n, fmt.Sprintf("%d to %d", f.from, f.to))
		}
	}
	for _, source := range slices.Sorted(maps.Keys(h.Sources)) {
		if n := h.Sources[source]; n < 0 || n > most {
			return fault.Invalid("hints.sources."+source, n, fmt.Sprintf("0 to %d", most))
		}
	}
	switch {
	case r.On:
		return fault.Invalid("hints.on", true, "false, beside recall.on")
	case h.limit() == 0:
		return fault.Invalid("hints.on", true, "false, where memories, skills and sessions are 0")
	case !(h.LeastCosine >= 0 && h.LeastCosine <= 1):
		return fault.Invalid("hints.least_cosine", h.LeastCosine, "0 to 1")
	case h.Before >= h.Snippet:
		return fault.Invalid("hints.before", h.Before, fmt.Sprintf("less than hints.snippet, %d", h.Snippet))
	case len(h.Ask) == 0:
		return fault.Invalid("hints.ask", "", fault.OneOf(Asks()))
	}
	return cmp.Or(fault.Members("hints.ask", h.Ask, Asks()), fault.CheckWords("hints.sources", slices.Sorted(maps.Keys(h.Sources))))
}

// isSkill reports whether a note of that path is of a skill.
func (h *Hints) isSkill(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(element string) bool { return slices.Contains(h.SkillPaths, element) })
}

// Outcome is what an agent works toward: hints ask for it, and what names it counts for more.
type Outcome struct {
	Title    string
	Criteria []string // by which it is judged
}

// Evidence is why a pointer is shown.
type Evidence struct {
	Score      int    `json:"score"`
	Pieces     int    `json:"pieces"`     // hits on the document: by its words, by its meaning
	Confidence string `json:"confidence"` // high, medium or low
	// Why is what counted, each with how much, as in `word "crane" +1`.
	Why []string `json:"why"`
}

// Weigh makes one of all hits on one document, by their scores: that of the best, and one more for each other. Without a hit it is nothing.
func (h *Hints) Weigh(scores ...int) (e Evidence) {
	if len(scores) == 0 {
		return e
	}
	e.Pieces, e.Score = len(scores), slices.Max(scores)+len(scores)-1
	switch {
	case e.Pieces >= h.HighPieces || e.Score >= h.HighScore:
		e.Confidence = "high"
	case e.Score >= h.MediumScore:
		e.Confidence = "medium"
	default:
		e.Confidence = "low"
	}
	return e
}
