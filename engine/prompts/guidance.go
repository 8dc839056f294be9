package prompts

// GuidanceInput describes an assembled context to the agent that will read it.
type GuidanceInput struct {
	// Summaries is how many summaries the context has, Condensed how many of them have a depth of 1 or more, and MaxDepth the
	// greatest depth.
	MaxDepth, Condensed, Summaries int
	// Grep, Describe and Expand are the names of the host's tools. Empty: grep, describe, expand.
	Grep, Describe, Expand string
}

// Guidance is the addition to an agent's system prompt: "" without summaries; firm from depth 2 or two condensed summaries on, for
// then much of the detail is out of sight; else two lines.
func Guidance(in GuidanceInput) string {
	if in.Summaries < 1 {
		return ""
	}
	in.Grep, in.Describe, in.Expand = orName(in.Grep, "grep"), orName(in.Describe, "describe"), orName(in.Expand, "expand")
	return render("guidance", struct {
		GuidanceInput
		Strong bool
	}{in, in.MaxDepth >= 2 || in.Condensed >= 2})
}

func orName(name, otherwise string) string {
	if name = line(name); name == "" {
		return otherwise
	}
	return name
}
