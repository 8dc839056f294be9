package build

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// Request asks for the context of the next call of a model. Only Conversation is required.
type Request struct {
	Conversation string // name or id
	Agent        string // on whose behalf; empty: an internal caller
	Preset       string // its name. Default lcm
	// Custom is a preset in place of a named one. Own are presets that Preset may name beside the built-in ones.
	Custom *Preset
	Own    []Preset
	// Budget and Timezone take the place of the preset's. Default: the preset's.
	Budget   int
	Timezone string

	// Input is what is said now: it is shown last, once and whole, whatever the budget. Where it is stored already, InputID is its id or key: it is no part of
	// the history then, and Input may be empty.
	Input   string
	InputID string
	// ReplyTo is the message that the input answers, by its id or its key, which are never taken for each other. Default what the stored input says.
	ReplyTo string
	Quote   string // what the input quotes; 1,000 characters of it are shown
	// Cursor is the message that the reader saw last, by id or key. One that is not known counts as none.
	Cursor string

	Texts map[string]string // by section: what the host has to say there; before what the builder says
	Files []File
	State string // of the agent: what is pending, how its last run ended
	// Pointers are short notes of where something is remembered, for the section memory.
	Pointers []string
	// Focus is how focused the agent is, 0 to 1; Dose is what it is computed from. Default: balanced, 0.5.
	Focus *float64
	Dose  *Dose
	// Outcome is what the agent works toward, for hints.
	Outcome Outcome
	// Query is what is recalled for, or what hints ask for. Default Input, or what the preset's hints name. Scopes of the memories; nil: all that the agent may read.
	Query  string
	Scopes []string
	// Used is how many tokens the provider counted for the last call. Default what the newest answer says, or else an estimate.
	Used int

	// Selector takes the place of the preset's. Counted is told what the model took that selects; its error changes nothing.
	Selector Selector
	Counted  func(promptTokens, answerTokens int) error
	// Prompt has a context choose what fits by how well it answers, as assemble.Request.PromptAware does; only with a window from the context.
	Prompt string

	// Until is the newest message that takes part, by its seq. Default the newest of all.
	Until int
	// Turn is the host's own name of the turn: it stands in the snapshot, and nowhere else.
	Turn     string
	Snapshot bool // keep a row of the build; a preset may always do that
	Strict   bool // ErrBudget where what must be shown is over the budget
}

// File is a file of the host's of which an excerpt is shown.
type File struct {
	Section string // that it is shown in
	Name    string // in place of its path, which nobody is shown. Default the section
	Path    string
	Text    string // in place of what lies at Path
	Chars   int    // of it. Default that of the preset's Excerpts, or 1,400; at least 200
}

// mostQuote is how many characters of a quotation are shown.
const mostQuote = 1000

// effective checks a request and gives the preset that holds.
func (r *Request) effective(o setup.Options) (p Preset, err error) {
	switch {
	case r.Custom != nil && r.Preset != "":
		return p, fault.Invalid("preset", r.Preset, "none beside a custom one")
	case r.Custom != nil:
		p = r.Custom.clone()
		p.Name = cmp.Or(p.Name, "custom")
	default:
		if p, err = named(cmp.Or(r.Preset, DefaultPreset), r.Own); err != nil {
			return p, err
		}
	}
	if r.Budget != 0 {
		p.Budget.Max = r.Budget
	}
	if r.Timezone != "" {
		p.Timezone = r.Timezone
	}
	p = p.withDefaults(o)
	return p, cmp.Or(p.validate(), r.validate(&p))
}

func (r *Request) validate(p *Preset) error {
	if r.Budget < 0 || r.Budget > most {
		return fault.Invalid("budget", r.Budget, fmt.Sprintf("0 to %d", most))
	}
	if r.Until < 0 {
		return fault.Invalid("until", r.Until, "the seq of a message, or 0 for the newest")
	}
	if r.Used < 0 {
		return fault.Invalid("used", r.Used, "0 or more tokens")
	}
	if _, err := r.focus(); err != nil {
		return err
	}
	texts := append([]string{r.Outcome.Title}, r.Outcome.Criteria...)
	texts = append(texts, r.Input, r.Quote, r.State, r.Query, r.Turn, r.ReplyTo, r.Cursor, r.InputID, r.Prompt)
	for section, text := range r.Texts {
		if !slices.Contains(p.Sections, section) || slices.Contains([]string{History, ToolSection, Quote, Input}, section) {
			return fault.Invalid("texts", section, "a section of the preset but history, tools, quote and input: "+fault.OneOf(p.Sections))
		}
		texts = append(texts, text)
	}
	for _, f := range r.Files {
		switch {
		case !slices.Contains(p.Sections, f.Section) || slices.Contains([]string{History, ToolSection, Quote, Input}, f.Section):
			return fault.Invalid("files", f.Section, "a section of the preset but history, tools, quote and input: "+fault.OneOf(p.Sections))
		case f.Path == "" && f.Text == "":
			return fault.Invalid("files", f.Name, "a path or a text")
		case f.Chars < 0 || f.Chars > most:
			return fault.Invalid("files.chars", f.Chars, fmt.Sprintf("0 to %d", most))
		}
		texts = append(texts, f.Text, f.Name)
	}
	return cmp.Or(conversation.Reference{Name: r.Conversation}.Validate(), fault.CheckTexts("request", append(texts, r.Pointers...)))
}

// excerpt is the beginning of a text: lines without white space at their ends, and dots where there is more.
func excerpt(text string, chars int) string {
	text = trimLines(text)
	chars = max(200, chars)
	if utf8.RuneCountInString(text) <= chars {
		return text
	}
	return cutDots(text, chars)
}

// at is the time that a build is made for.
func (g *building) at() time.Time {
	if g.replay != nil {
		return g.replay.BuiltAt
	}
	return g.builder.file.Now()
}
