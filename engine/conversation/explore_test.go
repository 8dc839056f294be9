package conversation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestAModelExploresTexts(t *testing.T) {
	enginetest.Alone(t)
	prose := "# Herons\n\n" + strings.Repeat("They stand in the shallows. ", 100)
	for _, test := range []struct {
		name, file, body string
		off              bool
		llm              *enginetest.LLM
		calls            int
		says             string
	}{
		{"a text", "notes.txt", prose, false, enginetest.Answers("  A heron's day.\n"), 1, "A heron's day."},
		{"the option is off", "notes.txt", prose, true, enginetest.Answers("A heron's day."), 0, "Headings: Herons"},
		{"no text but a table", "a.csv", "name,legs\n" + strings.Repeat("heron,2\n", 400), false, enginetest.Answers("A table."), 0, "400 rows"},
		{"no text at all", "a.bin", strings.Repeat("\xff", 4000), false, enginetest.Answers("Bytes."), 0, "No text"},
		{"the model is down", "notes.txt", prose, false, enginetest.Answers(errors.New("down")), 1, "Headings: Herons"},
		{"the answer is blank", "notes.txt", prose, false, enginetest.Answers(" \n"), 1, "Headings: Herons"},
		{"the answer is far too long", "notes.txt", prose, false, enginetest.Answers(enginetest.Tokens(5000)), 1, "Headings: Herons"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: test.llm, Conversation: setup.Conversation{SummarizeFiles: !test.off}})
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Blocks: []conversation.Block{{Type: conversation.FileBlock, FileName: test.file, Data: []byte(test.body)}}}}})
			files, _ := enginetest.LargeFiles(t, e, "c")
			if len(test.llm.Calls()) != test.calls || !strings.Contains(files[0].Summary, test.says) {
				t.Errorf("%d calls, %q", len(test.llm.Calls()), files[0].Summary)
			}
		})
	}
}

func TestExploringIsBounded(t *testing.T) {
	enginetest.Alone(t)
	llm := enginetest.Answers("in short")
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: setup.Conversation{SummarizeFiles: true, LargeFileTokens: 100, SummaryMaxCalls: 6}})
	var say []conversation.Message
	for i := range 8 {
		say = append(say, conversation.Message{Key: fmt.Sprint(i), Text: fmt.Sprint(i, strings.Repeat(" heron", 2000))})
	}
	say[1].Text = strings.Repeat("日", 3000) + strings.Repeat("本", 3000) + strings.Repeat("語", 3000)
	for range 2 { // the second time all are known, and the model is not asked
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say})
	}
	if calls := llm.Calls(); len(calls) != 6 || strings.Count(calls[0].Prompt, "heron heron") < 3 || len(calls[0].Prompt) > 10_000 {
		t.Errorf("%d calls", len(calls))
	}
	for _, c := range []string{"日", "本", "語"} {
		if n := strings.Count(llm.Calls()[1].Prompt, c); n != 2400 {
			t.Errorf("%d of %s are shown", n, c)
		}
	}
	if files, _ := enginetest.LargeFiles(t, e, "c"); len(files) != 8 || files[0].Summary != "in short" || files[7].Summary == "in short" {
		t.Errorf("%d files", len(files))
	}
}
