package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

// TestSkipRecall has the prompts of spec/memories.md 7.3. Digits were emoji in the source; here they are skipped where they are few.
func TestSkipRecall(t *testing.T) {
	tests := []struct {
		rule   string
		prompt string
		want   bool
	}{
		{"too short", "hi", true},
		{"too short", "", true},
		{"too short", "ok?", true},
		{"short question", "他是谁？", false},
		{"slash command", "/help", true},
		{"slash command", "/summarize the whole conversation", true},
		{"affirmation", "ok.", true},
		{"affirmation", "got it!", true},
		{"affirmation", "yes please do it", false},
		{"continuation", "go ahead", true},
		{"continuation", "继续", true},
		{"emoji", "👍", true},
		{"emoji", "👍🏽 ❤️ 👨‍👩‍👧 🇩🇪 🎉🎉🎉🎉🎉", true},
		{"digits are short, not emoji", "12345", true},
		{"digits are no emoji", "123456789012345", false},
		{"minimum", "short one here", true},
		{"minimum", "deploy", true},
		{"minimum", "deploy?", false},
		{"minimum", "tell me about X", false},
		{"minimum", "你好", true},
		{"minimum", "配置文件在哪里呢", false},
		{"past", "你记得吗", false},
		{"past", "my email", false},
		{"past", "yesterday", false},
		{"past", "gestern", false},
		{"past is a word", "beforehand", true},
		{"greeting", "hello there friend", true},
		{"greeting with a question", "hello, where are my keys?", false},
		{"greeting with content", "hey I moved to Lisbon for good", false},
		{"greeting is a word", "history of Rome in short", false},
		{"heartbeat", "HEARTBEAT check of the whole system", true},
		{"system", "[System message] something or other", true},
		{"ping", "debug", true},
		{"wrapped", "[cron:daily] ping", true},
		{"wrapped", "[Mon 2026-01-05 10:00 UTC] ok.", true},
		{"wrapped", "Sender (untrusted metadata):\n```json\n{\"memory\": 1}\n```\n\nthanks!", true},
		{"wrapped", "Conversation info (untrusted metadata):\n{\"x\": 1}\n\nwhere is the config?", false},
		{"command", "git status", true},
		{"command", "git commit -m 'fix the thing for my boss'", true},
		{"command", "npm install lodash", true},
		{"command", "make test", true},
		{"command", "docker run nginx", true},
		{"command", `find . -name "*.go"`, true},
		{"command", "cat docs/design/overview.md", true},
		{"command", "ls ~/projects/mallard", true},
		{"command", "cd ../engine/session", true},
		{"no command", "find my notes on X", false},
		{"no command", "find my notes on main.go", false},
		{"no command", "make a plan for the weekend", false},
		{"no command", "test results of the blood work", false},
		{"no command", "build me a bookshelf plan", false},
		{"no command", "make pasta like grandmother", false},
		{"no command", "git status of which repository?", false},
		{"no command", "find passport number", false},
	}
	for _, test := range tests {
		if got := text.SkipRecall(test.prompt, 0); got != test.want {
			t.Errorf("%s: SkipRecall(%q) = %v", test.rule, test.prompt, got)
		}
	}
}

func TestSkipRecallMinimum(t *testing.T) {
	tests := []struct {
		prompt    string
		minLength int
		want      bool
	}{
		{"tell me about the deploy", 30, true},
		{"tell me about the deploy?", 30, false},
		{"tell me about the deploy", 24, false},
		{"short one here", 5, false},
		{"short one here", -1, true},
		{"我们明天去哪里玩", 30, true},
	}
	for _, test := range tests {
		if got := text.SkipRecall(test.prompt, test.minLength); got != test.want {
			t.Errorf("SkipRecall(%q, %d) = %v", test.prompt, test.minLength, got)
		}
	}
}
