package memory

import (
	"encoding/json"
	"slices"
	"time"
)

// mostSlices is how many contexts a memory's support is kept for: those observed last.
const mostSlices = 8

// Support is how often a memory was confirmed and contradicted, by context. Recall does not look at it.
type Support struct {
	GlobalStrength    float64        `json:"global_strength"`
	TotalObservations int            `json:"total_observations"`
	Slices            []SupportSlice `json:"slices"`
}

// SupportSlice is the support within one context.
type SupportSlice struct {
	Context        string  `json:"context"`
	Confirmations  int     `json:"confirmations"`
	Contradictions int     `json:"contradictions"`
	Strength       float64 `json:"strength"`
	LastObservedAt int64   `json:"last_observed_at"` // Unix milliseconds
}

// SupportOf reads the support of a memory. The flat form of older stores becomes one slice.
func (m *Memory) SupportOf() Support {
	var old struct {
		Support
		Confirmations  int `json:"confirmations"`
		Contradictions int `json:"contradictions"`
	}
	b, err := json.Marshal(m.SupportInfo)
	if err == nil {
		err = json.Unmarshal(b, &old)
	}
	if err != nil {
		return Support{GlobalStrength: strength(0, 0)}
	}
	if len(old.Slices) == 0 && old.Confirmations+old.Contradictions > 0 {
		old.Slices = []SupportSlice{{"general", old.Confirmations, old.Contradictions, strength(old.Confirmations, old.Contradictions), m.CreatedAt.UnixMilli()}}
	}
	return settled(old.Slices)
}

// Observe counts one confirmation or contradiction in a context.
func (s Support) Observe(context string, confirms bool, at time.Time) Support {
	all := slices.Clone(s.Slices)
	i := slices.IndexFunc(all, func(x SupportSlice) bool { return x.Context == context })
	if i < 0 {
		i, all = len(all), append(all, SupportSlice{Context: context})
	}
	x := &all[i]
	if confirms {
		x.Confirmations++
	} else {
		x.Contradictions++
	}
	x.Strength, x.LastObservedAt = strength(x.Confirmations, x.Contradictions), at.UnixMilli()
	return settled(all)
}

// TakeBack is Observe undone: one confirmation or contradiction less in a context, and no slice where nothing is left.
func (s Support) TakeBack(context string, confirms bool) Support {
	all := slices.Clone(s.Slices)
	for i := range all {
		x := &all[i]
		if x.Context != context {
			continue
		}
		if confirms {
			x.Confirmations = max(x.Confirmations-1, 0)
		} else {
			x.Contradictions = max(x.Contradictions-1, 0)
		}
		x.Strength = strength(x.Confirmations, x.Contradictions)
	}
	return settled(slices.DeleteFunc(all, func(x SupportSlice) bool { return x.Confirmations+x.Contradictions == 0 }))
}

// settled sums slices up and keeps the newest; those that are dropped are still counted this once.
func settled(all []SupportSlice) Support {
	s := Support{Slices: all}
	confirmed, contradicted := 0, 0
	for _, x := range all {
		confirmed, contradicted = confirmed+x.Confirmations, contradicted+x.Contradictions
	}
	s.GlobalStrength, s.TotalObservations = strength(confirmed, contradicted), confirmed+contradicted
	if len(all) > mostSlices {
		slices.SortStableFunc(s.Slices, func(a, b SupportSlice) int { return int(b.LastObservedAt - a.LastObservedAt) })
		s.Slices = s.Slices[:mostSlices]
	}
	return s
}

func strength(confirmations, contradictions int) float64 {
	if confirmations+contradictions == 0 {
		return 0.5
	}
	return float64(confirmations) / float64(confirmations+contradictions)
}
