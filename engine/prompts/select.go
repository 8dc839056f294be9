package prompts

// SelectSystem is the system text that goes with Select.
func SelectSystem() string { return render("select_system", nil) }

// SelectInput asks which older parts of a conversation matter for a request.
type SelectInput struct {
	Request string
	Older   []string // oldest first; the model names them by their numbers, from 0
	Recent  int      // how many newer ones are shown in any case
}

// Select is the prompt for a triage. The answer is a JSON object with one list, relevant_ids.
func Select(in SelectInput) string {
	return render("select", struct {
		SelectInput
		Fence fence
	}{in, newFence(append([]string{in.Request}, in.Older...)...)})
}
