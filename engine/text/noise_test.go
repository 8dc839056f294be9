package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

func TestIsCaptureNoise(t *testing.T) {
	tests := []struct {
		in   string
		want bool
	}{
		{"hi", true}, {"abcd", true}, {"hello there friend", true}, {"what changed?", true}, {"what just changed", true},
		{"Hey!", true}, {"good morning", true}, {"New session started", true}, {"HEARTBEAT", true}, {"HEARTBEAT_OK", true}, {"好", true},
		{"I don't have any information on that.", true}, {"I dont have access to your files", true}, {"I’m not sure about it", true},
		{"Sorry, I don't recall.", true}, {"It looks like I don't know", true}, {"I wasn't able to find it", true},
		{"No relevant memories found.", true}, {"Do you remember my dog?", true}, {"can you recall it?", true},
		{"did I tell you?", true}, {"have I mentioned Maria?", true}, {"What did I say?", true},
		{"你还记得吗", true}, {"你記得我嗎", true}, {"记不记得", true}, {"你知道我喜欢什么吗", true}, {"我之前说了什么？", true},
		{"Reply with only NONE if there is nothing", true}, {"Answer only with the exact code", true},
		{"you never remember", true}, {"Why do you keep forgetting", true}, {"did you get what I meant", true},
		{"why is my memory broken", true}, {"query -> none", true}, {"no explicit solution", true},

		{"history of Rome", false}, {"Hiking boots size 43", false}, {"heyday", false}, {"高兴", false}, {"The user prefers tea", false},
		{"abcde", false}, {"He did it", false}, {"Hey, I have moved to Lisbon for good", false}, {"new sessions of therapy", false},
		{"I don't have a car", false}, {"我喜欢喝茶", false}, {"what changed in the release was the parser", false},
		{"Hello Kitty is the favourite toy of Ann", false},
	}
	for _, test := range tests {
		if got := text.IsCaptureNoise(test.in); got != test.want {
			t.Errorf("IsCaptureNoise(%q) = %v", test.in, got)
		}
	}
}

func TestIsRecallNoise(t *testing.T) {
	tests := []struct {
		in   string
		want bool
	}{
		{"hi", true}, {" Hello! ", true}, {"hey", true}, {"Good morning.", true}, {"greetings", true}, {"hello there", true},
		{"query -> none", true}, {"The query -> not found in store", true}, {"Query->unknown", true}, {"query -> no explicit solution", true},
		{"user asked for the code: none", true}, {"User asked for a file / not found.", true},
		{"no explicit solution", true}, {"Result: no explicit solution found.", true},

		{"", false}, {"tea", false}, {"高兴", false}, {"hello there friend", false}, {"history of Rome", false}, {"what changed?", false},
		{"I don't recall", false}, {"the query -> nonexistent table", false}, {"subquery -> none", false},
		{"the user asked for tea, none of the others did", false}, {"This equation has no explicit solution in radicals", false},
	}
	for _, test := range tests {
		if got := text.IsRecallNoise(test.in); got != test.want {
			t.Errorf("IsRecallNoise(%q) = %v", test.in, got)
		}
	}
}
