package conversation

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/text/standin"
)

const (
	// exploredWhole is up to how many characters a text is shown to the model whole; of a longer one, its beginning, middle and end, of
	// exploredPiece characters each.
	exploredWhole = 4800
	exploredPiece = 2400
	// exploredTokens is how long the model's answer may be: 300 words, and some.
	exploredTokens = 600
	// explorations is what the calls of the model are counted under: contents are explored before it is known where they go.
	explorations = "large files"
)

// explore says in short what a content holds. Of a text a model says it, where setup.Conversation.SummarizeFiles asks for that; else, and
// where the model fails, it is what can be counted and picked. It may take long, and needs no lock.
func (cs *Store) explore(ctx context.Context, name, kind string, content []byte) string {
	if !utf8.Valid(content) {
		return "No text: " + cmp.Or(kind, "bytes") + "."
	}
	if cs.opts.Conversation.SummarizeFiles && cs.opts.LLM != nil && standin.DetectKind(name, kind) == standin.KindText {
		if answer := cs.askToExplore(ctx, name, kind, string(content)); answer != "" {
			return answer
		}
	}
	return standin.Explore(name, kind, content)
}

// askToExplore calls the model once; without an answer it gives none.
func (cs *Store) askToExplore(ctx context.Context, name, kind, content string) string {
	if cs.Guard.Closed(explorations, false) != "" || !cs.Guard.Spend(explorations) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cs.opts.Conversation.SummaryTimeout))
	defer cancel()
	prompt := prompts.File(prompts.FileInput{Name: name, MIME: kind, Headers: standin.Headings(content), Parts: piecesOf(content)})
	answer, err := cs.opts.LLM.Complete(ctx, prompts.System(), prompt, exploredTokens)
	cs.Guard.Answered(err)
	if err != nil || cs.estimator.Tokens(answer) > 2*exploredTokens {
		return ""
	}
	return strings.TrimSpace(CleanText(answer))
}

// piecesOf gives a text whole, or its beginning, middle and end.
func piecesOf(s string) []string {
	if utf8.RuneCountInString(s) <= exploredWhole {
		return []string{s}
	}
	middle := len(s) / 2
	for !utf8.RuneStart(s[middle]) {
		middle++
	}
	from, to := before(s, middle, exploredPiece/2), after(s, middle, exploredPiece/2)
	return []string{s[:after(s, 0, exploredPiece)], s[from:to], s[before(s, len(s), exploredPiece):]}
}

// after gives where so many characters from at on end, and before where so many up to at begin.
func after(s string, at, characters int) int {
	for ; at < len(s) && characters > 0; characters-- {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return at
}

func before(s string, at, characters int) int {
	for ; at > 0 && characters > 0; characters-- {
		_, n := utf8.DecodeLastRuneInString(s[:at])
		at -= n
	}
	return at
}
