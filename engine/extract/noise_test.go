package extract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestNoise: a model is not shown what is like a greeting by its vector, nor what is like talk that gave nothing before; with a model that tells no texts apart, and where it
// is told to, it is shown everything. Short and long texts are not judged.
func TestNoise(t *testing.T) {
	enginetest.Alone(t)
	long := "Hello again" + strings.Repeat(", hello again", 30)
	vectors := map[string][]float32{
		extract.Touchstone:               {0, 1, 0},
		"I moved to Porto in the spring": {1, 0, 0},
		"what a lovely day it is":        {0.8, 0.6, 0}, "such a lovely day this is": {0.8, 0.6, 0},
	} // all others are like the prototypes
	for _, test := range []struct {
		name    string
		vectors map[string][]float32
		options setup.Extraction
		said    []string
		want    string // what the model is shown, in one call each
	}{
		{"a greeting", vectors, setup.Extraction{}, []string{"Good day to you", "I moved to Porto in the spring", "Good day", long}, "I moved to Porto in the spring|Good day|" + long},
		{"nothing else", vectors, setup.Extraction{}, []string{"Good day to you"}, ""},
		{"it may be kept", vectors, setup.Extraction{KeepNoise: true}, []string{"Good day to you"}, "Good day to you"},
		{"a model without an idea", map[string][]float32{}, setup.Extraction{}, []string{"Good day to you"}, "Good day to you"},
		{"compressed", vectors, setup.Extraction{Compress: true, MaxChars: 200, KeepNoise: true}, []string{"first of all", strings.Repeat("a", 150), "that is wrong", strings.Repeat("b", 150), "last of all"}, "first of all|" + strings.Repeat("a", 150) + "|that is wrong|last of all"},
	} {
		shown := []string{}
		model := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
			for _, said := range test.said {
				if strings.Contains(prompt, "\n"+said+"\n") {
					shown = append(shown, said)
				}
			}
			return `{"memories": []}`, nil
		}}
		e := enginetest.Open(t, engine.Options{LLM: model, Embedder: enginetest.Plotted{N: 3, Vectors: test.vectors}, Extraction: test.options})
		extractOf(t, e, "talk", test.said...)
		if got := strings.Join(shown, "|"); got != test.want {
			t.Errorf("%s: shown %q, want %q", test.name, got, test.want)
		}
	}
	calls := 0
	model := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		calls++
		return `{"memories": []}`, nil
	}}
	e := enginetest.Open(t, engine.Options{LLM: model, Embedder: enginetest.Plotted{N: 3, Vectors: vectors}})
	extractOf(t, e, "one", "what a lovely day it is")
	extractOf(t, e, "two", "such a lovely day this is")
	if calls != 1 {
		t.Errorf("asked %d times; what gave nothing is known", calls)
	}
}

// extractOf appends what a user says, and has memories drawn from it.
func extractOf(t *testing.T, e *engine.Engine, talk string, said ...string) {
	t.Helper()
	var messages []conversation.Message
	for _, s := range said {
		messages = append(messages, conversation.Message{Text: s})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: talk, Messages: messages})
	if _, err := e.Extract(t.Context(), extract.Request{Conversation: talk}); err != nil {
		t.Fatal(err)
	}
}
