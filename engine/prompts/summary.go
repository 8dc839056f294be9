package prompts

// System is the system text of every summary, of conversations and of files.
func System() string { return render("system", nil) }

// LeafInput asks for a summary of messages.
type LeafInput struct {
	// Source is the messages' text, each with its time and speaker.
	Source string
	// Previous is the summary before this one, for orientation. Blank: "(none)".
	Previous string
	// Instructions are the operator's. Blank: "(none)".
	Instructions string
	// TargetTokens is the length to aim at. 0: none is named.
	TargetTokens int
	// Aggressive asks for what is durable only: the second try, when the first was not shorter than its source.
	Aggressive bool
}

// Leaf is the prompt for a summary of depth 0.
func Leaf(in LeafInput) string {
	return render("leaf", struct {
		LeafInput
		Fence fence
	}{in, newFence(in.Source, in.Previous, in.Instructions)})
}

// CondensedInput asks for a summary of summaries.
type CondensedInput struct {
	// Depth is that of the summary to write, which is one more than its sources'. Below 1 counts as 1; from 3 on all are alike.
	Depth int
	// Source is the summaries' text, each with the time it spans.
	Source string
	// Previous is the summary before this one, which shall not be repeated. Blank: "(none)". From depth 2 on it is left out.
	Previous string
	// Instructions are the operator's. Blank: "(none)".
	Instructions string
	// TargetTokens is the length to aim at. 0: none is named.
	TargetTokens int
}

// Condensed is the prompt for a summary of depth 1 or more.
func Condensed(in CondensedInput) string {
	name := "depth3"
	switch {
	case in.Depth <= 1:
		name = "depth1"
	case in.Depth == 2:
		name = "depth2"
	}
	return render(name, struct {
		CondensedInput
		Fence fence
	}{in, newFence(in.Source, in.Previous, in.Instructions)})
}
