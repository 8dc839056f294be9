package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

// TestIsRecallNoise has the texts of spec/memories.md 7.3. In the source whatever begins like a greeting ("history of Rome", "hello there friend"), any text of fewer than five
// characters ("高兴") and what sounds vexed ("what changed?") was noise among rows too; ours leaves out what is a greeting and nothing else.
func TestIsRecallNoise(t *testing.T) {
	tests := []struct {
		in   string
		want bool
	}{
		{"hi", true}, {" Hello! ", true}, {"hey", true}, {"Good morning.", true}, {"greetings", true}, {"hello there", true},
		{"query -> none", true}, {"The query -> not found in store", true}, {"Query->unknown", true}, {"query -> no explicit solution", true},
		{"user asked for the code: none", true}, {"User asked for a file / not found.", true},
		{"no explicit solution", true}, {"Result: no explicit solution found.", true},

		{"", false}, {"tea", false}, {"高兴", false}, {"hello there friend", false}, {"The user prefers tea", false}, {"abcde", false}, {"He did it", false}, {"history of Rome", false}, {"what changed?", false},
		{"I don't recall", false}, {"the query -> nonexistent table", false}, {"subquery -> none", false},
		{"the user asked for tea, none of the others did", false}, {"This equation has no explicit solution in radicals", false},
	}
	for _, test := range tests {
		if got := text.IsRecallNoise(test.in); got != test.want {
			t.Errorf("IsRecallNoise(%q) = %v", test.in, got)
		}
	}
}
