package build

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/window"
)

// Sections that the builder fills. Any other section of a preset is the host's: Request.Texts and Request.Files fill it.
const (
	System         = "system"  // the host's text for it, the status line and, of a compacted context, how a model expands summaries
	Focus          = "focus"   // how focused the agent is
	RecallSection  = "recall"  // memories that fit the input
	SummarySection = "summary" // the newest summary, or of a context all of them
	State          = "state"   // the host's state, and the newest summary where there is no section for it
	Memory         = "memory"  // pointers to memories, beside the host's excerpt
	ToolSection    = "tools"   // what tools did, as snippets
	History        = "history" // what was said
	Quote          = "quote"   // what the input quotes
	Input          = "input"   // what is said now
)

var sectionName = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// background are kinds of source that nobody said.
var background = []string{"scheduled", "briefing", "subtask", "heartbeat"}

// Presets gives the built-in presets, as often as asked anew: their lists are the caller's.
func Presets() []Preset {
	all := []Preset{lcm(), takobot(), openboa(), goclaw(), istota()}
	for i := range all {
		if p := &all[i]; !p.Hints.On {
			p.Hints = hints(false)
		}
	}
	return all
}

// DefaultPreset is the one that a request without a name has.
const DefaultPreset = "lcm"

// lcm is Assemble: the context with its summaries, whole calls of tools, the fresh tail always and then the newest.
func lcm() Preset {
	return Preset{
		Name: "lcm", Sections: []string{System, History, Input}, Window: Window{From: FromContext},
		Budget: Budget{Max: setup.DefaultBudget, Of: OfHistory, Trim: string(window.ContiguousSuffix)}, Pressure: Pressure{High: 400, Narrow: 1200, Tight: 256},
	}
}

// takobot shows the last turns of the user in a budget of characters, excerpts of the agent's own files, and memories as broad as it is focused.
func takobot() Preset {
	return Preset{
		Name: "takobot", Sections: []string{"identity", "soul", Memory, Focus, RecallSection, History, Input}, Window: Window{UserTurns: 12},
		Budget: Budget{Max: 8000, Estimator: "chars", Of: OfHistory, Trim: string(window.ContiguousSuffix), Oversize: string(window.TailCut), RoleOverhead: 4},
		Tools:  Tools{View: ViewOmit}, Labels: Labels{Collapse: true, Fallback: "(A reply without the model, which was not reachable.)"},
		Excerpts: map[string]int{"soul": 1600, Memory: 1200}, Notices: true, Recall: Recall{On: true, Focus: true, Snippet: 420},
	}
}

// openboa shows recent talk, the state of the agent, pointers to memories and snippets of tools, all in one budget.
func openboa() Preset {
	return Preset{
		Name: "openboa", Sections: []string{System, History, State, Memory, ToolSection, Input},
		Window: Window{Messages: 48, Events: 12, EventKinds: []string{"event", "notice"}, Cursor: CursorWindow{Before: 12, EventsBefore: 4, After: 24, EventsAfter: 8}},
		Budget: Budget{Max: 8000, Estimator: "u16-4", Of: OfAll, Trim: string(window.ContiguousSuffix), Oversize: string(window.Drop), Reduce: []string{ReduceHistory, ReduceTools}},
		Tools:  Tools{View: ViewSnippet, Chars: 180, Max: 400}, Labels: Labels{User: "user:conversation", Assistant: "assistant:conversation", System: "system:conversation", Tool: "assistant:runtime_note"},
		Hints: hints(true), Summary: true, Pressure: Pressure{High: 400, Narrow: 1200, Tight: 256}, Snapshot: "always",
	}
}

// goclaw shows the summary of the last compaction and all that was said since; its budget is compaction's.
func goclaw() Preset {
	return Preset{
		Name: "goclaw", Sections: []string{System, SummarySection, History, Input}, Window: Window{From: FromContext},
		Budget: Budget{Max: 200_000, Reserve: 4000, Of: OfAll, Trim: string(window.NoTrim)}, Recall: Recall{Limit: 6, Vector: 0.7, Lexical: 0.3, MinScore: 0.35, Snippet: 700},
		Status: true, Pressure: Pressure{High: 400, Narrow: 1200, Tight: 256},
	}
}

// istota shows pairs of prompt and result: the newest always, those a model finds relevant of the older, and what is answered.
func istota() Preset {
	return Preset{
		Name: "istota", Sections: []string{System, "user", "channel", "playbooks", "dated", "facts", RecallSection, History, Quote, Input}, Window: Window{Pairs: 25},
		Filter:    Filter{Exclude: slices.Clone(background), Never: []string{"subtask", "heartbeat"}, Least: 10},
		Guarantee: Guarantee{Recent: 5, Previous: 3, Reply: true, AloneKinds: []string{"scheduled", "briefing"}, AloneChars: 2000},
		Select:    Select{By: SelectLLM, Skip: 3, OnError: KeepAll}, Tools: Tools{View: ViewActions, Most: 15}, Budget: Budget{Trim: string(window.NoTrim)},
		Labels: Labels{User: "User", Assistant: "Bot", Scheduled: "Scheduled", ScheduledKinds: slices.Clone(background), Speaker: true, Time: "2006-01-02 15:04"},
		Recall: Recall{Limit: 5, Snippet: 300, HalfLifeDays: 180},
		Cap:    Cap{Of: []string{RecallSection, "facts", "dated", "playbooks", "user", "channel"}, Order: []string{RecallSection, "facts", "dated", "playbooks"}},
	}
}

// named finds a preset by its name among those of the host and the built-in ones.
func named(name string, own []Preset) (Preset, error) {
	all := append(slices.Clone(own), Presets()...)
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Preset{}, fault.Invalid("preset", name, strings.Join(names, ", "))
}

// ReadPresets reads presets from a TOML text: a table presets.NAME for each, of which base names the preset that it begins as, a built-in one (default lcm) or one that stands before it. What a
// table does not name is as there. Other tables are passed over; a key that is not known is ErrInvalid.
func ReadPresets(text string) (all []Preset, err error) {
	var file struct {
		Presets map[string]toml.Primitive `toml:"presets"`
	}
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, fmt.Errorf("%w: presets: %w", fault.ErrInvalid, err)
	}
	known := map[string]bool{}
	for _, key := range meta.Keys() { // in the order of the file
		if len(key) < 2 || key[0] != "presets" || known[key[1]] {
			continue
		}
		name := key[1]
		known[name] = true
		if !presetName.MatchString(name) {
			return nil, fault.Invalid("preset", name, "a name of a-z, 0-9, _ and -")
		}
		var of struct {
			Base string `toml:"base"`
		}
		if err := meta.PrimitiveDecode(file.Presets[name], &of); err != nil {
			return nil, fmt.Errorf("%w: presets.%s: %w", fault.ErrInvalid, name, err)
		}
		if of.Base == "" {
			of.Base = DefaultPreset
		}
		p, err := named(of.Base, all)
		if err != nil {
			return nil, fmt.Errorf("presets.%s: base: %w", name, err)
		}
		p = p.clone()
		if err := meta.PrimitiveDecode(file.Presets[name], &p); err != nil {
			return nil, fmt.Errorf("%w: presets.%s: %w", fault.ErrInvalid, name, err)
		}
		p.Name = name
		all = append(all, p)
	}
	for _, key := range meta.Undecoded() {
		if key[0] == "presets" {
			return nil, fault.Invalid("presets", key.String(), "keys of a preset")
		}
	}
	return all, nil
}

var presetName = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// clone is p with lists of its own.
func (p Preset) clone() Preset {
	for _, list := range []*[]string{&p.Sections, &p.Window.EventKinds, &p.Filter.Exclude, &p.Filter.Never, &p.Guarantee.AloneKinds, &p.Budget.Reduce, &p.Labels.ScheduledKinds, &p.Cap.Of, &p.Cap.Order} {
		*list = slices.Clone(*list)
	}
	p.Excerpts = maps.Clone(p.Excerpts)
	p.Hints.clone()
	return p
}
