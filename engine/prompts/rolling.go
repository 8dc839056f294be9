package prompts

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// RollingInput asks for a summary in the place of an older one and of what was said since then.
type RollingInput struct {
	// Source is what was said, as Record gives it.
	Source string
	// Previous is the older summary. Blank: "(none)".
	Previous string
	// Instructions are the operator's. Blank: "(none)".
	Instructions string
	// TargetTokens is the length to aim at. 0: none is named.
	TargetTokens int
}

// Rolling is the prompt for a summary that takes in what came before.
func Rolling(in RollingInput) string {
	return render("rolling", struct {
		RollingInput
		Fence fence
	}{in, newFence(in.Source, in.Previous, in.Instructions)})
}

// CheckpointInput asks what a conversation is about and how it stands.
type CheckpointInput struct {
	// Source is what was said, as Record gives it.
	Source string
	// Previous is the summary of what came before. Blank: "(none)".
	Previous string
	// Instructions are the operator's. Blank: "(none)".
	Instructions string
}

// Checkpoint is the prompt for {"summary", "topics", "decisions", "questions"}.
func Checkpoint(in CheckpointInput) string {
	return render("checkpoint", struct {
		CheckpointInput
		Fence fence
	}{in, newFence(in.Source, in.Previous, in.Instructions)})
}

// CheckpointSystem is the system text that goes with Checkpoint.
func CheckpointSystem() string { return render("checkpoint_system", nil) }

// Flush asks a model to write down what it must not forget; as is system or user, who says it. In it YYYY-MM-DD stands for the day.
func Flush(as string) string { return render("flush_"+as, nil) }

// Line is a message in a Record.
type Line struct {
	Role, Text string
	Results    []string // names of the tools whose results it holds; of them a record has only these
}

// What a record has of a message, in bytes, and what is added to that for its number and role when it is measured.
const (
	mostOfLine   = 2000
	aroundALine  = 50
	bytesOfToken = 4
	cutHere      = " […]"
)

// Record writes messages down for a summariser, "[n] role: text" each, within four bytes for each of maxTokens. From the newest to the oldest it takes what fits, up to the
// first that does not, the newest in any case; a line in front says how many those are of all. Of a message it has at most 2,000 bytes.
func Record(lines []Line, maxTokens int) string {
	room := maxTokens * bytesOfToken
	most := max(1, min(mostOfLine, room-aroundALine))
	first, shown := len(lines), make([]string, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		text := lines[i].text(most)
		if room -= len(text) + aroundALine; room < 0 && i < len(lines)-1 {
			break
		}
		first, shown[i] = i, fmt.Sprintf("[%d] %s: %s", i+1, lines[i].Role, text)
	}
	shown = shown[first:]
	if first > 0 {
		shown = append([]string{Newest(len(shown), len(lines))}, shown...)
	}
	return strings.Join(shown, "\n")
}

// Newest says in a record that it has so many messages of all.
func Newest(n, of int) string {
	return fmt.Sprintf("(The newest %d of %d messages; there was no room for those before them.)", n, of)
}

// Stretches divides messages into as few stretches as can be, in order, of which Record has room for each within maxTokens. Of more than most the newest are given, filled up
// from the last one on.
func Stretches(lines []Line, maxTokens, most int) (all [][]Line) {
	longest := max(1, min(mostOfLine, maxTokens*bytesOfToken-aroundALine))
	end, room := len(lines), maxTokens*bytesOfToken
	for i := len(lines) - 1; i >= 0 && len(all) < most; i-- {
		size := len(lines[i].text(longest)) + aroundALine
		if size > room && i < end-1 {
			all = append(all, lines[i+1:end])
			end, room = i+1, maxTokens*bytesOfToken
		}
		room -= size
	}
	if end > 0 && len(all) < most {
		all = append(all, lines[:end])
	}
	slices.Reverse(all)
	return all
}

// text is what a record has of a line.
func (l Line) text(most int) string {
	var all []string
	if said := strings.TrimSpace(l.Text); said != "" {
		all = append(all, said)
	}
	for _, tool := range l.Results {
		all = append(all, "[result of "+line(tool)+"]")
	}
	text := strings.Join(all, " ")
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(cutHere))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutHere
}
