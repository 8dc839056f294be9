package build

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/window"
)

// Preset is a way to build a context, as plain values: nothing asks for its name. A zero value is off, or as it says. The names in the tags are those of a file
// of presets and of JSON.
type Preset struct {
	Name string `toml:"-" json:"name"`
	// Sections of the context in their order; those that are empty are left out. Beside the sections of the builder (Sections), the host's own may be named.
	Sections  []string  `toml:"sections" json:"sections"`
	Window    Window    `toml:"window" json:"window"`
	Filter    Filter    `toml:"filter" json:"filter"`
	Guarantee Guarantee `toml:"guarantee" json:"guarantee"`
	Select    Select    `toml:"select" json:"select"`
	Budget    Budget    `toml:"budget" json:"budget"`
	Tools     Tools     `toml:"tools" json:"tools"`
	Labels    Labels    `toml:"labels" json:"labels"`
	Recall    Recall    `toml:"recall" json:"recall"`
	Hints     Hints     `toml:"hints" json:"hints,omitzero"`
	Cap       Cap       `toml:"cap" json:"cap"`
	Pressure  Pressure  `toml:"pressure" json:"pressure"`
	// Excerpts are how many characters are shown of a file, by the section that it is for; at least 200 are.
	Excerpts map[string]int `toml:"excerpts" json:"excerpts,omitempty"`
	// Notices has a line stand for what is missing: a file that can't be read, an empty section, a recall that failed.
	Notices bool `toml:"notices" json:"notices"`
	// Summary shows the newest summary of the context, in the section of its name, or where the order has none in state. It is never dropped, only shortened
	// at last.
	Summary bool `toml:"summary" json:"summary"`
	// Status adds a line to the section system: how many tokens are used of how many.
	Status bool `toml:"status" json:"status"`
	// Timezone of the times that are shown. Default that of the options.
	Timezone string `toml:"timezone" json:"timezone"`
	// Snapshot keeps a row of every build: always, or when the request asks (request). It has no say in what is built.
	Snapshot string `toml:"snapshot" json:"snapshot"`
}

// Where a window's rows come from.
const (
	FromMessages = "messages" // all that was said, whatever was compacted since
	FromContext  = "context"  // what the context holds: summaries, and the messages since
)

// Window says which rows take part. Of UserTurns, Messages, Pairs and Tokens one at most is set; without any all rows do, up to Reach.
type Window struct {
	From      string `toml:"from" json:"from"` // messages or context
	UserTurns int    `toml:"user_turns" json:"user_turns"`
	Messages  int    `toml:"messages" json:"messages"` // rows of talk
	// Events are rows that tell what was done, beside Messages: results of tools, calls without a word, and the kinds of EventKinds. They are looked for as far
	// back as the oldest row of talk.
	Events     int      `toml:"events" json:"events"`
	EventKinds []string `toml:"event_kinds" json:"event_kinds,omitempty"`
	Pairs      int      `toml:"pairs" json:"pairs"`   // of what the user said, with all that was said to it
	Tokens     int      `toml:"tokens" json:"tokens"` // as stored
	// Cursor bounds what is shown around the request's Cursor, in place of Messages and Events.
	Cursor CursorWindow `toml:"cursor" json:"cursor"`
	// Reach is how many rows are looked at, at most. Default 5,000.
	Reach int `toml:"reach" json:"reach"`
	// TailCount and TailTokens are those of assemble.Request, from the context with the trim none of a budget without one.
	TailCount  int `toml:"tail_count" json:"tail_count"`
	TailTokens int `toml:"tail_tokens" json:"tail_tokens"`
}

// CursorWindow is window.CursorLimits.
type CursorWindow struct {
	Before       int `toml:"before" json:"before"`
	EventsBefore int `toml:"events_before" json:"events_before"`
	After        int `toml:"after" json:"after"`
	EventsAfter  int `toml:"events_after" json:"events_after"`
}

// Filter leaves rows of the window out.
type Filter struct {
	Exclude []string       `toml:"exclude" json:"exclude,omitempty"` // kinds of source; Guarantee.Previous may bring them back
	Never   []string       `toml:"never" json:"never,omitempty"`     // and those that nothing brings back
	Recency setup.Duration `toml:"recency" json:"recency"`           // how long before the newest row the oldest may lie; 0: any time
	Least   int            `toml:"least" json:"least"`               // so many of the newest stay whatever their time
	Anchor  string         `toml:"anchor" json:"anchor"`             // newest (default) or now
}

// Anchors of a window of time.
const (
	AnchorNewest = "newest"
	AnchorNow    = "now"
)

// Guarantee names what no selector leaves out.
type Guarantee struct {
	Recent   int  `toml:"recent" json:"recent"`     // of the newest
	Previous int  `toml:"previous" json:"previous"` // so many of the newest of any kind take part, those of Filter.Exclude too
	Reply    bool `toml:"reply" json:"reply"`       // what the request answers takes part, and stays
	// ReplyFirst shows that before all others, in place of where it was said.
	ReplyFirst bool `toml:"reply_first" json:"reply_first"`
	// AloneKinds are kinds of source: who answers such a message is shown that alone, up to AloneChars characters of it, and nothing where it is empty.
	AloneKinds []string `toml:"alone_kinds" json:"alone_kinds,omitempty"`
	AloneChars int      `toml:"alone_chars" json:"alone_chars"`
	// Protect has so many of the newest rows of talk taken first where the trim is best_fit, if they fit.
	Protect int `toml:"protect" json:"protect"`
}

// Selectors by name, and what is done when one fails.
const (
	SelectLLM     = "llm"     // the model is asked
	SelectLexical = "lexical" // what shares words with the input, common ones left aside
	SelectRecall  = "recall"  // what a recall for the input finds

	KeepAll    = "keep_all"
	KeepRecent = "keep_recent"
)

// Select has a selector choose among what is older than Guarantee.Recent.
type Select struct {
	By      string         `toml:"by" json:"by"`                 // llm, lexical or recall; empty: nobody chooses
	Skip    int            `toml:"skip" json:"skip"`             // with so many rows or pairs, or fewer, nobody is asked
	OnError string         `toml:"on_error" json:"on_error"`     // keep_all (default) or keep_recent
	Timeout setup.Duration `toml:"timeout" json:"timeout"`       // of all attempts together. Default 30 s
	Tries   int            `toml:"tries" json:"tries"`           // how often a model is asked. Default 1
	Chars   int            `toml:"item_chars" json:"item_chars"` // of each row or pair that a model is shown. Default 600
	Most    int            `toml:"most" json:"most"`             // of those that lexical and recall choose. Default 10
}

// Budgets over all that is shown, or over the section history.
const (
	OfAll     = "all"
	OfHistory = "history"
)

// Steps that a budget over all takes, in the order of Budget.Reduce.
const (
	ReduceHistory = "history" // by Trim
	ReduceTools   = "tools"   // what is shown whole becomes a snippet, then the oldest go
	ReduceRecall  = "recall"  // the last hits go
)

// Budget bounds a context. What is over it though all was reduced is shown nevertheless, and said.
type Budget struct {
	Max       int      `toml:"max" json:"max"`             // in what Estimator counts; 0: no bound
	Reserve   int      `toml:"reserve" json:"reserve"`     // of Max, for what the model answers
	Estimator string   `toml:"estimator" json:"estimator"` // see Estimators
	Of        string   `toml:"of" json:"of"`               // all or history
	Trim      string   `toml:"trim" json:"trim"`           // window.Trim
	Oversize  string   `toml:"oversize" json:"oversize"`   // window.Oversize
	Reduce    []string `toml:"reduce" json:"reduce,omitempty"`
	// RoleOverhead: a row costs what it says, the name of its role, and so much. 0: what it is rendered as.
	RoleOverhead int `toml:"role_overhead" json:"role_overhead"`
}

// Views of what tools did.
const (
	ViewFull    = "full"    // calls and results, as they were
	ViewSnippet = "snippet" // a line for each
	ViewActions = "actions" // a line of what was done below the answer
	ViewOmit    = "omit"
)

// Tools says how the work of tools is shown.
type Tools struct {
	View  string `toml:"view" json:"view"`
	Chars int    `toml:"chars" json:"chars"`       // of what a tool gave, in a snippet. Default 180
	Most  int    `toml:"most" json:"most"`         // actions that are named. Default 15
	Max   int    `toml:"max_cost" json:"max_cost"` // of the section tools; the oldest go. 0: no bound
}

// Labels say how a row is written.
type Labels struct {
	User      string `toml:"user" json:"user"`
	Assistant string `toml:"assistant" json:"assistant"`
	System    string `toml:"system" json:"system"`
	Tool      string `toml:"tool" json:"tool"`
	Scheduled string `toml:"scheduled" json:"scheduled"` // of the rows of users of ScheduledKinds
	// ScheduledKinds are the kinds of source that nobody said.
	ScheduledKinds []string `toml:"scheduled_kinds" json:"scheduled_kinds,omitempty"`
	Speaker        bool     `toml:"speaker" json:"speaker"`           // the speaker's name where there is one, in place of User
	Time           string   `toml:"time" json:"time"`                 // before each row, as time.Layout writes it; empty: none
	Collapse       bool     `toml:"collapse" json:"collapse"`         // each run of white space is one space
	AnswerChars    int      `toml:"answer_chars" json:"answer_chars"` // of each answer; 0: all
	Fallback       string   `toml:"fallback" json:"fallback"`         // in place of what a host said because its model failed; empty: what it said
}

// Recall brings memories in that fit the input.
type Recall struct {
	On      bool    `toml:"on" json:"on"`
	Limit   int     `toml:"limit" json:"limit"`
	Chars   int     `toml:"chars" json:"chars"`     // of all hits together; 0: no bound
	Snippet int     `toml:"snippet" json:"snippet"` // of each hit; 0: all
	Focus   bool    `toml:"focus" json:"focus"`     // Limit and Chars come from the request's focus
	Vector  float64 `toml:"vector" json:"vector"`   // weights of both channels; both 0: those of the file
	Lexical float64 `toml:"lexical" json:"lexical"`
	// MinScore is the least score of a hit, 0 to 1.
	MinScore     float64 `toml:"min_score" json:"min_score"`
	HalfLifeDays float64 `toml:"half_life_days" json:"half_life_days"` // a score is halved in so many days; 0: it is not
	// Section that hits are shown in. Default recall.
	Section string `toml:"section" json:"section"`
}

// Cap bounds sections together, in characters: they are cut in the order, each as far as need be, and what is not in it never is.
type Cap struct {
	Max   int      `toml:"max" json:"max"`         // 0: no bound
	Of    []string `toml:"of" json:"of,omitempty"` // the sections that count
	Order []string `toml:"order" json:"order,omitempty"`
}

// Pressure says when there is little room left, in what the budget counts.
type Pressure struct {
	High   int  `toml:"high" json:"high"`     // less room than that is high pressure
	Narrow int  `toml:"narrow" json:"narrow"` // and than that at least moderate
	Tight  int  `toml:"tight" json:"tight"`   // with as little, or when something was dropped, Note says so
	Note   bool `toml:"note" json:"note"`     // to the model, in the section state; the context is then fitted once more
}

const most = 1 << 30

// validate names the first field that is wrong; p has its defaults.
func (p *Preset) validate() error {
	for _, f := range []struct {
		field      string
		value, min int
	}{{"window.user_turns", p.Window.UserTurns, 0}, {"window.messages", p.Window.Messages, 0}, {"window.events", p.Window.Events, 0}, {"window.pairs", p.Window.Pairs, 0},
		{"window.tokens", p.Window.Tokens, 0}, {"window.reach", p.Window.Reach, 1}, {"window.tail_count", p.Window.TailCount, -1}, {"window.tail_tokens", p.Window.TailTokens, -1},
		{"window.cursor.before", p.Window.Cursor.Before, 0}, {"window.cursor.events_before", p.Window.Cursor.EventsBefore, 0},
		{"window.cursor.after", p.Window.Cursor.After, 0}, {"window.cursor.events_after", p.Window.Cursor.EventsAfter, 0},
		{"filter.recency", int(min(time.Duration(p.Filter.Recency)/time.Second, most)), 0}, {"filter.least", p.Filter.Least, 0},
		{"guarantee.recent", p.Guarantee.Recent, 0}, {"guarantee.previous", p.Guarantee.Previous, 0}, {"guarantee.protect", p.Guarantee.Protect, 0}, {"guarantee.alone_chars", p.Guarantee.AloneChars, 0},
		{"select.skip", p.Select.Skip, 0}, {"select.tries", p.Select.Tries, 1}, {"select.item_chars", p.Select.Chars, 1}, {"select.most", p.Select.Most, 1},
		{"budget.max", p.Budget.Max, 0}, {"budget.reserve", p.Budget.Reserve, 0}, {"budget.role_overhead", p.Budget.RoleOverhead, 0},
		{"tools.chars", p.Tools.Chars, 4}, {"tools.most", p.Tools.Most, 1}, {"tools.max_cost", p.Tools.Max, 0}, {"labels.answer_chars", p.Labels.AnswerChars, 0},
		{"recall.limit", p.Recall.Limit, 0}, {"recall.chars", p.Recall.Chars, 0}, {"recall.snippet", p.Recall.Snippet, 0}, {"cap.max", p.Cap.Max, 0},
		{"pressure.high", p.Pressure.High, 0}, {"pressure.narrow", p.Pressure.Narrow, 0}, {"pressure.tight", p.Pressure.Tight, 0},
	} {
		if f.value < f.min || f.value > most {
			return fault.Invalid(f.field, f.value, fmt.Sprintf("%d to %d", f.min, most))
		}
	}
	for _, f := range []struct {
		field   string
		value   string
		allowed []string
	}{{"window.from", p.Window.From, []string{FromMessages, FromContext}}, {"filter.anchor", p.Filter.Anchor, []string{AnchorNewest, AnchorNow}},
		{"select.by", p.Select.By, []string{"", SelectLLM, SelectLexical, SelectRecall}}, {"select.on_error", p.Select.OnError, []string{KeepAll, KeepRecent}},
		{"budget.estimator", p.Budget.Estimator, Estimators()}, {"budget.of", p.Budget.Of, []string{OfAll, OfHistory}},
		{"tools.view", p.Tools.View, []string{ViewFull, ViewSnippet, ViewActions, ViewOmit}}, {"snapshot", p.Snapshot, []string{"always", "request"}},
	} {
		if err := fault.Member(f.field, f.value, f.allowed); err != nil {
			return err
		}
	}
	return cmp.Or(fault.Member("budget.trim", window.Trim(p.Budget.Trim), window.Trims()), fault.Member("budget.oversize", window.Oversize(p.Budget.Oversize), window.Oversizes()),
		fault.Members("budget.reduce", p.Budget.Reduce, []string{ReduceHistory, ReduceTools, ReduceRecall}), p.Hints.validate(&p.Recall), p.validateTogether())
}

// validateTogether checks what no field says alone.
func (p *Preset) validateTogether() error {
	windows := 0
	for _, n := range []int{p.Window.UserTurns, p.Window.Messages, p.Window.Pairs, p.Window.Tokens} {
		if n > 0 {
			windows++
		}
	}
	switch r := p.Recall; {
	case windows > 1:
		return fault.Invalid("window", p.Name, "one of user_turns, messages, pairs and tokens")
	case p.Window.From == FromContext && windows > 0:
		return fault.Invalid("window.from", p.Window.From, "messages, beside user_turns, messages, pairs or tokens")
	case p.Budget.Reserve > 0 && p.Budget.Reserve >= p.Budget.Max:
		return fault.Invalid("budget.reserve", p.Budget.Reserve, "less than budget.max")
	case !(r.Vector >= 0 && r.Vector <= 1 && r.Lexical >= 0 && r.Lexical <= 1):
		return fault.Invalid("recall.vector and recall.lexical", fmt.Sprint(r.Vector, r.Lexical), "0 to 1")
	case !(r.MinScore >= 0 && r.MinScore <= 1):
		return fault.Invalid("recall.min_score", r.MinScore, "0 to 1")
	case !(r.HalfLifeDays >= 0 && r.HalfLifeDays <= most):
		return fault.Invalid("recall.half_life_days", r.HalfLifeDays, "0 or more")
	case p.Select.Timeout <= 0:
		return fault.Invalid("select.timeout", time.Duration(p.Select.Timeout), "a time such as 30s")
	case !slices.Contains(p.Sections, History):
		return fault.Invalid("sections", fmt.Sprint(p.Sections), "history among them")
	}
	if _, err := time.LoadLocation(p.Timezone); err != nil {
		return fault.Invalid("timezone", p.Timezone, "a name such as Europe/Berlin, or UTC")
	}
	for i, s := range p.Sections {
		if !sectionName.MatchString(s) || slices.Contains(p.Sections[:i], s) {
			return fault.Invalid("sections", s, "words of a-z, 0-9 and _, each once")
		}
	}
	return nil
}

// withDefaults fills in what a preset leaves open.
func (p Preset) withDefaults(o setup.Options) Preset {
	setup.Preset(&p.Window.From, FromMessages)
	setup.Preset(&p.Window.Reach, 5000)
	setup.Preset(&p.Filter.Anchor, AnchorNewest)
	setup.Preset(&p.Select.OnError, KeepAll)
	setup.Preset(&p.Select.Timeout, setup.Duration(30*time.Second))
	setup.Preset(&p.Select.Tries, 1)
	setup.Preset(&p.Select.Chars, 600)
	setup.Preset(&p.Select.Most, 10)
	setup.Preset(&p.Budget.Estimator, "chars4")
	setup.Preset(&p.Budget.Of, OfAll)
	setup.Preset(&p.Budget.Trim, string(window.ContiguousSuffix))
	setup.Preset(&p.Budget.Oversize, string(window.Keep))
	setup.Preset(&p.Tools.View, ViewFull)
	setup.Preset(&p.Tools.Chars, 180)
	setup.Preset(&p.Tools.Most, 15)
	setup.Preset(&p.Labels.User, "User")
	setup.Preset(&p.Labels.Assistant, "Assistant")
	setup.Preset(&p.Labels.System, "System")
	setup.Preset(&p.Labels.Tool, "Tool")
	setup.Preset(&p.Recall.Section, RecallSection)
	setup.Preset(&p.Snapshot, "request")
	setup.Preset(&p.Timezone, o.Conversation.Location().String())
	if p.Sections == nil {
		p.Sections = []string{System, SummarySection, History, Input}
	}
	return p
}

// Effective gives a preset with every value that holds, or says what is wrong with it. Errors: ErrInvalid.
func (p Preset) Effective(o setup.Options) (Preset, error) {
	p = p.clone().withDefaults(o.WithDefaults())
	return p, p.validate()
}
