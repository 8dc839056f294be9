package text

import "testing"

func TestIsEmojiOnly(t *testing.T) {
	for s, want := range map[string]bool{
		"👍": true, "❤️ 🎉": true, "👨‍👩‍👧": true, "🇩🇪": true, "👍🏽": true, "©": true,
		"": false, " ": false, "12345": false, "#*": false, "👍 ok": false, "🏽": false,
	} {
		if got := isEmojiOnly(s); got != want {
			t.Errorf("isEmojiOnly(%q) = %v", s, got)
		}
	}
}
