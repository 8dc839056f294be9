package text

import (
	"strings"
	"testing"
)

func TestWishes(t *testing.T) {
	for _, s := range []string{
		"Always cite your sources.", "Thanks! Please never use tables.", "- don't shorten names", "and please, avoid jargon",
		"When I ask for code, give me Python.", "That is it, but if I mention a trip then check the weather", "Keep it short from now on.",
		"I usually prefer tea", "I’d rather walk", "My preference is the aisle", "I would like you to answer in French.", "I want answers in bullet points",
		"Remember that I am allergic to nuts.", "Keep in mind that the office is closed.",
		"Bitte immer mit Quelle.", "Antworte bitte immer auf Deutsch.", "Nie Tabellen verwenden!", "Wenn ich nach Preisen frage, nenne sie in Euro.", "Künftig ohne Anrede.",
		"Ab jetzt per Du", "Ich hätte die Liste lieber sortiert.", "Am liebsten mit Beispielen", "Mir ist Tee lieber", "Ich möchte, dass du kurz antwortest", "Merk dir das bitte",
	} {
		if !Wishes(s) {
			t.Errorf("%q is no wish", s)
		}
	}
	for _, s := range []string{
		"", "We always went to the lake.", "Should I always cite sources?", "Do you prefer tea?", "She prefers tea", "When she asks for code, I write it.", "I rathered",
		"Remember the lake?", "Don't", "Das ist immer so", "Ich habe Lieberose besucht", "Wenn ich komme, regnet es", "Würdest du künftig anders fragen?", "zukünftige Pläne",
	} {
		if Wishes(s) {
			t.Errorf("%q is a wish", s)
		}
	}
}

func TestAsksForHelp(t *testing.T) {
	for _, s := range []string{"Can you write a reply?", "I need a plan for Rome", "What should I cook tonight", "How can I fix this", "any tips for Oslo?", "Kannst du das kürzen?",
		"Was soll ich kochen?", "Ich möchte nach Rom", "Welches Buch würdest du lesen", "Hast du Tipps?", "I'm looking for a gift"} {
		if !AsksForHelp(s) {
			t.Errorf("%q asks for no help", s)
		}
	}
	for _, s := range []string{"", "When did Anna visit Rome?", "Who painted the boat?", "Wann war Anna in Rom?", "What did he say about the options market opening?"[:30], "the canyou", "Rathaus"} {
		if AsksForHelp(s) {
			t.Errorf("%q asks for help", s)
		}
	}
}

// TestPhrases compiles every pattern, which otherwise only a sentence with one of its words does: one that is none would panic then.
func TestPhrases(t *testing.T) {
	for _, p := range []phrases{lasting, help} {
		for word, patterns := range p {
			if word != strings.ToLower(word) {
				t.Errorf("%q: sentences are in small letters", word)
			}
			for _, pattern := range patterns {
				pattern()
			}
		}
	}
}

func BenchmarkWishes(b *testing.B) {
	s := strings.Repeat("We went to the lake on Sunday, and Anna told me about her new job at the harbour. ", 3)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Wishes(s)
	}
}
