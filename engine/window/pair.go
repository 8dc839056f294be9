package window

// pair is a tool call and the result that answers it, by the indexes of the messages that hold them. They may be one message.
type pair struct {
	id           string
	call, result int
}

// pairs matches the calls and results of n messages as the package says. The order of what it returns means nothing.
func pairs(n int, at func(i int) (calls, results []string)) []pair {
	var found []pair
	called := map[string]bool{}
	open := map[string]int{}  // id → newest call, unless it is answered
	early := map[string]int{} // id → newest result before any call
	for i := range n {
		calls, results := at(i)
		for _, id := range calls {
			open[id], called[id] = i, true
		}
		for _, id := range results {
			if call, ok := open[id]; ok {
				found = append(found, pair{id, call, i})
				delete(open, id)
			} else if !called[id] {
				early[id] = i
			}
		}
	}
	for id, result := range early {
		if call, ok := open[id]; ok {
			found = append(found, pair{id, call, result})
		}
	}
	return found
}

func itemPairs(items []Item) []pair {
	return pairs(len(items), func(i int) (calls, results []string) {
		if items[i].Summary {
			return nil, nil
		}
		return items[i].Calls, items[i].Results
	})
}

// farApart is how many messages other than results may lie between a call and its result before seams lets go of them. Without it
// one result that came much too late, or an id used again, would keep all that lies between from ever being compacted.
const farApart = 32

// seams counts, for every index, the pairs that a cut before it would split; nil when there are none.
type seams []int

// seamsOf finds the seams of a context. Pairs that are far apart, or have a summary between them, are let go.
func seamsOf(items []Item) seams {
	found := itemPairs(items)
	if len(found) == 0 {
		return nil
	}
	between := make([]int, len(items)+1) // running count of what keeps a pair apart
	for i, it := range items {
		switch {
		case it.Summary:
			between[i+1] = between[i] + farApart + 1
		case len(it.Results) == 0:
			between[i+1] = between[i] + 1
		default:
			between[i+1] = between[i]
		}
	}
	s := make(seams, len(items)+1)
	for _, p := range found {
		first, last := min(p.call, p.result), max(p.call, p.result)
		if first < last && between[last]-between[first+1] <= farApart {
			s[first+1]++
			s[last+1]--
		}
	}
	for i := 1; i < len(s); i++ {
		s[i] += s[i-1]
	}
	return s
}

// back is the nearest index at or before k where a cut splits nothing.
func (s seams) back(k int) int {
	for k < len(s) && s[k] > 0 {
		k--
	}
	return k
}

// ahead is the nearest index at or after k where a cut splits nothing.
func (s seams) ahead(k int) int {
	for k < len(s) && s[k] > 0 {
		k++
	}
	return k
}
