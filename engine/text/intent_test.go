package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

func TestIntentOf(t *testing.T) {
	for prompt, want := range map[string]text.Depth{
		"What is my favorite editor?": "preference l0", "What's my coding style?": "preference l0", "Welchen Stil mag ich?": "preference l0", "我喜欢什么编辑器": "preference l0",
		"Why did we choose DuckDB?": "decision l1", "what was decided about the grant": "decision l1", "Warum haben wir das entschieden?": "decision l1", "为什么选 DuckDB": "decision l1",
		"Who is Ines?": "entity l1", "tell me about the harbor project": "entity l1", "Wer ist Teo?": "entity l1", "谁是负责人": "entity l1",
		"When is the release?": "event full", "what happened in the gale": "event full", "Wann war der Termin?": "event full", "什么时候发布": "event full",
		"How do we deploy?": "fact l1", "Wie mache ich das?": "fact l1", "怎么部署": "fact l1",
		"The whole thing again": " l0", "unlikely, whenever": " l0", "": " l0",
	} {
		got := text.IntentOf(prompt)
		if text.Depth(got.Name)+" "+got.Depth != want {
			t.Errorf("%q: %s %s, want %s", prompt, got.Name, got.Depth, want)
		}
		if (got.Name == "") != (len(got.Categories) == 0) {
			t.Errorf("%q: %s goes with %v", prompt, got.Name, got.Categories)
		}
	}
}
