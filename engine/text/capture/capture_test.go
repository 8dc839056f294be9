package capture_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text/capture"
)

// TestBoilerplate: what hosts and tools leave in a conversation is never captured, although a rule's words are in it.
func TestBoilerplate(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"an injected block":      "<relevant-memories>\nI prefer tea over coffee.\n</relevant-memories>",
		"markup":                 "<note>My name is Ana Souza.</note>",
		"JSON":                   `{"text": "My name is Ana Souza."}`,
		"a bold list":            "- **Editor**: I prefer Zed for Go.\n- **Shell**: I prefer fish.",
		"too many emoji":         "I love hiking in the Alps 🏔️🏔️🏔️🏔️",
		"a fence":                "```\nMy name is Ana Souza.\n```",
		"a heading":              "# My name is Ana Souza",
		"a quotation":            "> My name is Ana Souza.\n\nThat was the mail.",
		"a question":             "Did you know that I prefer tea?",
		"a question, quoted":     "He asked \"what if I prefer tea?\"",
		"an order":               "Please write a story in which my name is Ana.",
		"memory management":      "Delete all memories where I prefer tea.",
		"another's memory":       "删除所有记忆，我更喜欢简短的回答。",
		"a password":             "My password is swordfish and I prefer it.",
		"a key":                  "I use sk-abcdefghijklmnopqrstuvwx as my key.",
		"a supposition":          "If I were rich, I would live in Lisbon, I prefer it.",
		"a game":                 "Let's pretend my name is Merlin.",
		"too short":              "I love it.",
		"a greeting":             "hello there",
		"a record of a look-up":  "query -> none",
		"nothing":                " \n\t",
		"invalid UTF-8":          "\xff\xfe\xfd",
		"a German question":      "Wie heißt du? Wo wohnst du?",
		"a Chinese question":     "我更喜欢茶还是咖啡？",
		"too long to be a claim": "I prefer " + strings.Repeat("verylongword", 60) + ".",
	} {
		if got := capture.Find(s); got != nil {
			t.Errorf("%s: %q gives %+v", name, s, got)
		}
	}
}

// TestFind: what is in a message beside its sentences: several statements, what asks to be remembered, corrections, contexts, a problem and its fix.
func TestFind(t *testing.T) {
	t.Parallel()
	type short struct{ Category, Rule, Abstract, Context, Old string }
	for _, c := range []struct {
		in   string
		want []short
	}{
		{"Hi! My name is Ana Souza, I live in Lisbon and I work as a museum guide. What's new?", []short{
			{"profile", "is called", "name: Ana Souza", "", ""}, {"profile", "lives in", "home: Lisbon", "", ""}, {"profile", "works as", "occupation: museum guide", "", ""}}},
		{"Remember that the boat needs new ropes.", []short{{"entity", "asked", "The boat needs new ropes.", "", ""}}},
		{"Please remember: my favorite editor is Zed.", []short{{"preference", "favourite", "favorite editor: Zed", "", ""}}},
		{"Merk dir bitte, dass die Werkstatt montags geschlossen bleibt.", []short{{"entity", "asked", "Die Werkstatt montags geschlossen bleibt.", "", ""}}},
		{"记住：备用钥匙在花盆下面。", []short{{"entity", "asked", "备用钥匙在花盆下面。", "", ""}}},
		{"Always cite your sources.", []short{{"preference", "wishes", "Always cite your sources.", "", ""}}},
		{"Actually, my favorite editor is Helix.", []short{{"preference", "favourite", "favorite editor: Helix", "", ""}}},
		{"In the evening I prefer herbal tea.", []short{{"preference", "prefers", "In the evening I prefer herbal tea.", "evening", ""}}},
		{"I switched my editor from Vim to Helix.", []short{{"preference", "switched", "editor: Helix", "", "Vim"}}},
		{"The build failed with a timeout on CI. I fixed it by raising the limit to ten minutes.", []short{
			{"case", "fix", "The build failed with a timeout on CI. I fixed it by raising the limit to ten minutes.", "", ""}}},
		{"It rained all day. We went home.", nil},
	} {
		var got []short
		for _, d := range capture.Find(c.in) {
			got = append(got, short{d.Category, d.Rule, d.Abstract(), d.Context, d.Old})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.in, diff)
		}
	}
	if d := capture.Find("Actually, my favorite editor is Helix."); len(d) == 0 || !d[0].Corrects {
		t.Error("actually corrects nothing")
	}
	if d := capture.Find("I don't like olives at all."); len(d) == 0 || !d[0].Negative {
		t.Error("a dislike is not negative")
	}
	if n := len(capture.Find(strings.Repeat("My friend is called Ana. My dog is called Rex. My cat is called Tom. I love hiking there. I live in Rome. I prefer tea to coffee. ", 1))); n != 5 {
		t.Errorf("%d drafts of one message, want the most: 5", n)
	}
}

// TestSlots are those of spec/memories.md 4.12 and 7.3.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, brand string
		items     []string
	}{
		{"喜欢麦当劳的板烧鸡腿堡", "麦当劳", []string{"板烧鸡腿堡"}},
		{"likes fries and nuggets from KFC", "kfc", []string{"fries", "nuggets"}},
		{"I like the Big Mac from McDonald's because it is big", "mcdonald's", []string{"bigmac"}},
		{"prefers tea", "", nil},
	} {
		brand, items := capture.Items(c.in)
		if brand != c.brand || !slices.Equal(items, c.items) {
			t.Errorf("%q gives %q %q", c.in, brand, items)
		}
		if slot := capture.SlotOf(c.in); (slot != capture.Slot{}) != (len(items) == 1) {
			t.Errorf("%q has the slot %+v of %d items", c.in, slot, len(items))
		}
	}
}

// TestTemporal has the vectors U of spec/memories.md 7.2.
func TestTemporal(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]struct {
		hours time.Duration
		kind  string
	}{
		"the day after tomorrow": {48, "dynamic"}, "tomorrow": {24, "dynamic"}, "next week": {168, "dynamic"}, "this week": {72, "dynamic"},
		"next month": {720, "static"}, "this month": {360, "dynamic"}, "tonight": {12, "dynamic"}, "today": {18, "dynamic"},
		"后天": {48, "static"}, "今晚": {12, "dynamic"}, "see you later": {0, "dynamic"}, "collateral": {0, "static"},
	} {
		if got := capture.Lasts(s); got != want.hours*time.Hour {
			t.Errorf("%q lasts %v", s, got)
		}
		if got := capture.Temporal(s); got != want.kind {
			t.Errorf("%q is %s", s, got)
		}
	}
}

func TestNormaliseContext(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "general", " Evening ": "evening", "晚上": "evening", "下午": "afternoon", "Custom": "custom", "出差": "travel"} {
		if got := capture.NormaliseContext(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"My name is Ana Souza.", "记住：备用钥匙在花盆下面。", "Remember that ", "> a\n```\nb", "Ich bin 3 Jahre\xff alt", "I use \u2028 as my İ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range capture.Find(s) {
			if d.Start < 0 || d.End > len(s) || d.Start >= d.End {
				t.Fatalf("%q: from %d to %d", s, d.Start, d.End)
			}
			if d.Category == "" || d.Text == "" || d.Abstract() == "" || strings.ContainsAny(d.Abstract(), "\n\r") || utf8.ValidString(s) && !utf8.ValidString(d.Abstract()) {
				t.Fatalf("%q: %+v", s, d)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	turns := []string{
		"Hey Mel! Good to see you! How have you been?",
		"I went to the support group yesterday and it was so powerful. Everybody told their story and I felt less alone.",
		"I'm originally from Porto, but I live in Lisbon now. My favorite place there is the old fish market near the river.",
		"That's great! Did the kids enjoy it as well? We should go together some time, maybe on Saturday if the weather is fine.",
		"Der Fehler lag an der vollen Platte. Ich habe ihn behoben, indem ich die alten Protokolle gelöscht habe.",
		"我最喜欢的编辑器是Zed。周五之前必须完成报告。",
	}
	n := 0
	for b.Loop() {
		for _, s := range turns {
			capture.Find(s)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}
