package prompts_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/prompts"
)

// TestRecord: what a summariser is shown of messages: the newest that fit, each cut, and no result of a tool.
func TestRecord(t *testing.T) {
	talk := []prompts.Line{{Role: "user", Text: "where is the crane?"}, {Role: "assistant", Text: "I look."}, {Role: "tool", Results: []string{"look"}}}
	if got := prompts.Record(talk, 4000); got != "[1] user: where is the crane?\n[2] assistant: I look.\n[3] tool: [result of look]" {
		t.Errorf("%q", got)
	}
	// Each of these takes 50 + 50 of the 400 bytes that 100 tokens are.
	var many []prompts.Line
	for i := range 9 {
		many = append(many, prompts.Line{Role: "user", Text: strings.Repeat(fmt.Sprint(i+1), 50)})
	}
	got := strings.Split(prompts.Record(many, 100), "\n")
	if len(got) != 5 || !strings.Contains(got[0], "newest 4 of 9") || !strings.HasPrefix(got[1], "[6] user: 666") {
		t.Errorf("%q", got)
	}
	many[6].Text = strings.Repeat("x", 151) // the third from the end does not fit: what is older stays out, although it would
	if got := prompts.Record(many, 100); !strings.Contains(got, "newest 2 of 9") || strings.Contains(got, "[6]") {
		t.Errorf("%q", got)
	}
	for _, long := range []string{strings.Repeat("a", 2001), strings.Repeat("€", 900)} {
		text := strings.TrimPrefix(prompts.Record([]prompts.Line{{Role: "user", Text: long}}, 4000), "[1] user: ")
		if len(text) > 2000 || len(text) < 1990 || !strings.HasSuffix(text, "[…]") || !utf8.ValidString(text) {
			t.Errorf("%d bytes of %d: %q", len(text), len(long), text[len(text)-20:])
		}
	}
	if got := prompts.Record([]prompts.Line{{Role: "user", Text: strings.Repeat("a", 2000)}}, 4000); len(got) != len("[1] user: ")+2000 {
		t.Errorf("2000 bytes are cut: %d", len(got))
	}
	if got := prompts.Record([]prompts.Line{{Role: "user", Text: strings.Repeat("a", 500)}}, 20); len(got) < 20 || len(got) > 60 {
		t.Errorf("of the newest there is something in any case: %q", got)
	}
}
