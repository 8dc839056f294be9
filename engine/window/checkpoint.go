package window

import "fmt"

// Marks say when a conversation gets a checkpoint.
type Marks struct {
	Thresholds []int // per cent of the budget
	Turns      int   // so many messages of the user since the last one are reason enough; 0 or less: their number has no say
	Floor      int   // with fewer tokens there is none
}

// Due says why a checkpoint is due; empty: it is not. users are the messages of the user since the last checkpoint, covered is how many tokens the context had
// when it was made; 0: there is none since the context was compacted.
func (m Marks) Due(tokens, budget, users, covered int) string {
	if tokens < m.Floor {
		return ""
	}
	for _, percent := range m.Thresholds {
		if Reaches(tokens, budget, percent) && (covered == 0 || covered < budget*percent/100) {
			return fmt.Sprintf("%d %% of the budget", percent)
		}
	}
	if m.Turns > 0 && users >= m.Turns {
		return fmt.Sprintf("%d messages of the user", users)
	}
	return ""
}

// Flush gives the threshold whose prompt fires.
//
// Thresholds ascend. The highest that the tokens reach fires, unless it has fired; with catchUp, those below it that have not fired do, one at a time. 0: none.
func Flush(tokens, budget int, thresholds []int, fired func(percent int) bool, catchUp bool) int {
	for i := len(thresholds) - 1; i >= 0; i-- {
		if !Reaches(tokens, budget, thresholds[i]) {
			continue
		}
		if !fired(thresholds[i]) {
			return thresholds[i]
		}
		if !catchUp {
			return 0
		}
	}
	return 0
}

// Cleared reports whether a context is so small that prompts which fired may fire again: below a quarter of its budget.
func Cleared(tokens, budget int) bool { return budget > 0 && !Reaches(tokens, budget, 25) }
