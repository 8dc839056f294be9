package window

import "slices"

// Turn is one message of a prompt as its order sees it.
type Turn struct {
	Index   int    // the caller's number of the message
	Role    string // user, assistant, system, tool
	Calls   []string
	Results []string // ids of the calls whose results to show
	Blank   bool     // it holds nothing but calls and results
	Failed  bool     // an assistant's answer that broke off: its calls need no result
	Old     bool     // before the fresh tail: a call that nothing answers is taken off, not answered
	// Synthetic marks an answer made up for a call that has none. Index is then that of the calling message.
	Synthetic bool
}

// Repair puts turns into an order that models accept: every call is followed by its results, in the order of the calls, and then by what
// stood between them. Results are looked for among all turns, before their call too, as the package says; duplicates and orphans are
// dropped. A call that nothing answers gets a synthetic result, or is taken off if it is Old. System turns become a user's, tool turns
// without an id an assistant's; turns of which nothing is left are dropped.
//
// A message of several results may come apart: then several turns have its Index, each with the Results to show of it, and one without
// any for whatever else it holds.
func Repair(turns []Turn) []Turn {
	type call struct {
		turn int
		id   string
	}
	answer := map[call]int{}
	for _, p := range pairs(len(turns), func(i int) (calls, results []string) {
		if turns[i].Failed {
			return nil, turns[i].Results
		}
		return turns[i].Calls, turns[i].Results
	}) {
		answer[call{p.call, p.id}] = p.result
	}

	out := make([]Turn, 0, len(turns))
	for i, t := range turns {
		answered := func(id string) bool { _, ok := answer[call{i, id}]; return ok }
		hadResults := len(t.Results) > 0
		t.Results = keep(t.Results, answered) // by itself: only calls of this turn count
		if !t.Failed {
			t.Calls = keep(t.Calls, func(id string) bool { return !t.Old || answered(id) })
		}
		switch {
		case t.Role == Tool && hadResults:
			continue // they follow their calls
		case t.Role == Tool:
			t.Role = Assistant
		case t.Role == System:
			t.Role = User
		}
		if nothing := t.Blank && len(t.Calls)+len(t.Results) == 0; nothing && (hadResults || t.Role == Assistant) {
			continue
		}
		out = append(out, t)
		if t.Failed {
			continue
		}
		shown := -1 // the turn that the last of out shows results of
		for _, id := range t.Calls {
			switch from, ok := answer[call{i, id}]; {
			case !ok:
				out = append(out, Turn{Index: t.Index, Role: Tool, Results: []string{id}, Synthetic: true, Old: t.Old})
				shown = -1
			case from == i:
			case from == shown:
				last := &out[len(out)-1]
				last.Results = append(last.Results, id)
			default:
				out = append(out, Turn{Index: turns[from].Index, Role: Tool, Results: []string{id}, Old: turns[from].Old, Synthetic: turns[from].Synthetic})
				shown = from
			}
		}
	}
	return out
}

// keep gives the ids that are wanted, each once, nil if there are none.
func keep(ids []string, wanted func(string) bool) []string {
	var kept []string
	for _, id := range ids {
		if wanted(id) && !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}
