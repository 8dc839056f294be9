package prompts

import (
	"fmt"
	"strings"
)

// ExtractSystem is the system text of Extract, Verdict, Merge and Utility. All of them ask for one JSON object.
func ExtractSystem() string { return render("extract_system", nil) }

// Turn is what somebody said.
type Turn struct {
	Number  int
	Speaker string // blank: the user
	Text    string
}

// ExtractInput asks what of a conversation is worth remembering.
type ExtractInput struct {
	Turns []Turn
	// Language is what the answer is to be in, such as German. Blank: that of most turns.
	Language string
	// Most is how many memories the answer may have.
	Most int
}

// numbered is a text in a fence with an id.
type numbered struct{ ID, Text string }

// Extract is the prompt for {"memories": […]}.
func Extract(in ExtractInput) string {
	var turns []numbered
	var material []string
	for _, t := range in.Turns {
		text := t.Text
		if t.Speaker != "" {
			text = line(t.Speaker) + ": " + text
		}
		turns, material = append(turns, numbered{fmt.Sprint(t.Number), text}), append(material, text)
	}
	return render("extract", struct {
		Turns    []numbered
		Language string
		Most     int
		Fence    fence
	}{turns, in.Language, in.Most, newFence(material...)})
}

// Statement is a memory, or what may become one, at its three levels.
type Statement struct {
	Category                    string
	Abstract, Overview, Content string
	Similarity                  float64 // to the statement that is judged; 0: it is that itself
}

// Text is the statement as a record.
func (s Statement) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "category: %s\n", s.Category)
	if s.Similarity > 0 {
		fmt.Fprintf(&b, "similarity: %.3f\n", s.Similarity)
	}
	fmt.Fprintf(&b, "abstract: %s", s.Abstract)
	if s.Overview != "" {
		fmt.Fprintf(&b, "\noverview:\n%s", s.Overview)
	}
	if s.Content != "" {
		fmt.Fprintf(&b, "\ncontent: %s", s.Content)
	}
	return b.String()
}

// VerdictInput asks what becomes of a statement.
type VerdictInput struct {
	Draft    Statement
	Near     []Statement // numbered from 1
	Contexts []string    // the labels that are known
}

// Verdict is the prompt for {"decision", "match_index", "reason", "context_label"}.
func Verdict(in VerdictInput) string {
	material := []string{in.Draft.Text()}
	var near []numbered
	for i, m := range in.Near {
		near, material = append(near, numbered{fmt.Sprint(i + 1), m.Text()}), append(material, m.Text())
	}
	return render("verdict", struct {
		Draft    numbered
		Near     []numbered
		Contexts string
		Fence    fence
	}{numbered{Text: in.Draft.Text()}, near, strings.Join(in.Contexts, ", "), newFence(material...)})
}

// MergeInput asks for one memory in the place of two.
type MergeInput struct{ Old, New Statement }

// Merge is the prompt for {"abstract", "overview", "content"}.
func Merge(in MergeInput) string {
	return render("merge", struct {
		Category string
		Old, New numbered
		Fence    fence
	}{plainID(in.New.Category), numbered{Text: in.Old.Text()}, numbered{Text: in.New.Text()}, newFence(in.Old.Text(), in.New.Text())})
}

// UtilityInput asks how useful a statement will be.
type UtilityInput struct {
	Draft        Statement
	Conversation string // the end of it
}

// Utility is the prompt for {"utility", "reason"}.
func Utility(in UtilityInput) string {
	return render("utility", struct {
		Draft        numbered
		Conversation string
		Fence        fence
	}{numbered{Text: in.Draft.Text()}, in.Conversation, newFence(in.Draft.Text(), in.Conversation)})
}
