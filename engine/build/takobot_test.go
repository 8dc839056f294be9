package build_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestTakobotPromise4: the messages of this conversation are loaded, and of no other, in the order they came.
func TestTakobotPromise4(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1 a1 u2 a2")...)
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "other", Messages: talk("u9 a9")}); err != nil {
		t.Fatal(err)
	}
	b := built(t, e, build.Request{Preset: "takobot"})
	if got, want := section(b, "history"), "User: u1\nAssistant: a1\nUser: u2\nAssistant: a2"; got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
}

// TestTakobotPromise5: the last user turns with what was said to them; what was said before the first is not cut off by itself.
func TestTakobotPromise5(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		talk  string
		turns int
		want  string
	}{
		{"u1 a1 u2 a2 u3 a3", 2, "3 4 5 6"}, {"u1 a1 u2 a2 u3 a3", 1, "5 6"}, {"u1 a1 u2 a2 u3 a3", 0, "1 2 3 4 5 6"},
		{"u1 a1 u2 a2 u3 a3", 3, "1 2 3 4 5 6"}, {"u1 a1 u2 a2 u3 a3", 12, "1 2 3 4 5 6"},
		{"a0 u1 a1", 1, "1 2 3"}, {"a0 u1 a1 u2 a2", 1, "4 5"}, {"a0 u1 a1 u2 a2", 2, "1 2 3 4 5"},
		{"u1 a1 a1b s1 u2 a2", 1, "5 6"}, {"u1 a1 a1b s1 u2 a2", 2, "1 2 3 4 5 6"},
	} {
		e := open(t)
		say(t, e, talk(c.talk)...)
		b := built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Window.UserTurns = c.turns })})
		if got := seqs(b); got != c.want {
			t.Errorf("%q, %d turns: %s, want %s", c.talk, c.turns, got, c.want)
		}
	}
	e := open(t)
	var long []string
	for i := range 200 {
		long = append(long, fmt.Sprintf("u%d a%d", i, i))
	}
	say(t, e, talk(strings.Join(long, " "))...)
	b := built(t, e, build.Request{Preset: "takobot"})
	if first := item(t, b, "history", "#377"); !first.Kept || b.Counts.Messages != 24 {
		t.Errorf("%d messages, the first of them %+v; want the last 12 turns", b.Counts.Messages, first)
	}
}

// TestTakobotPromise6: the vectors of the trim by characters, exactly.
func TestTakobotPromise6(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, conversation.Message{Role: "user", Text: "0123456789"}, conversation.Message{Role: "assistant", Text: "abcdefghijklmnopqrst"},
		conversation.Message{Role: "user", Text: "9876543210"}, conversation.Message{Role: "assistant", Text: "ABCDEFGHIJKLMNOPQRST"})
	for _, c := range []struct {
		max  int
		want string
	}{
		{0, "user 10, assistant 20, user 10, assistant 20"}, {102, "user 10, assistant 20, user 10, assistant 20"},
		{101, "assistant 20, user 10, assistant 20"}, {84, "assistant 20, user 10, assistant 20"},
		{83, "user 10, assistant 20"}, {51, "user 10, assistant 20"}, {50, "assistant 20"}, {33, "assistant 20"},
		{32, "assistant 19"}, {20, "assistant 7"}, {13, "assistant 1"}, {5, "assistant 1"},
	} {
		b := built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Budget.Max = c.max })})
		var got []string
		for _, it := range b.Items {
			if it.Kept && it.Kind == "message" {
				_, said, _ := strings.Cut(it.Text, ": ")
				got = append(got, fmt.Sprintf("%s %d", it.Role, utf8.RuneCountInString(said)))
				if full := "abcdefghijklmnopqrst9876543210ABCDEFGHIJKLMNOPQRST0123456789"; !strings.Contains(full, said) {
					t.Errorf("%d: %q is not the end of a message", c.max, said)
				}
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%d: %s, want %s", c.max, got, c.want)
		}
		if last := b.Messages[len(b.Messages)-1]; c.max == 20 && last.Blocks[0].Text != "NOPQRST" {
			t.Errorf("the message of the provider says %q", last.Blocks[0].Text)
		}
	}
	long := open(t)
	user, answer := strings.Repeat("ü", 79), strings.Repeat("ä", 199)
	say(t, long, conversation.Message{Text: user}, conversation.Message{Role: "assistant", Text: answer}, conversation.Message{Text: user}, conversation.Message{Role: "assistant", Text: answer})
	b := built(t, long, build.Request{Preset: "takobot", Budget: 120})
	if got, want := section(b, "history"), "Assistant: "+strings.Repeat("ä", 107); got != want || seqs(b) != "4" {
		t.Errorf("history %q, want %q", got, want)
	}
}

// TestTakobotPromise7: an excerpt of the memory file, and what stands for one that is missing.
func TestTakobotPromise7(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1 a1")...)
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	excerpt := func(f build.File) string {
		f.Section = "memory"
		return section(built(t, e, build.Request{Preset: "takobot", Files: []build.File{f}}), "memory")
	}
	if got, want := excerpt(build.File{Path: file("short.md", "\n# What lasts  \n\n- one \t\n")}), "# What lasts\n\n- one"; got != want {
		t.Errorf("excerpt %q, want %q", got, want)
	}
	if got := excerpt(build.File{Path: file("long.md", strings.Repeat("é", 5000))}); got != strings.Repeat("é", 1197)+"..." {
		t.Errorf("a long file shows %d characters", utf8.RuneCountInString(got))
	}
	if got := excerpt(build.File{Text: strings.Repeat("a ", 500), Chars: 10}); utf8.RuneCountInString(got) != 200 && utf8.RuneCountInString(got) != 199 {
		t.Errorf("less than 200 characters are not asked for: %d", utf8.RuneCountInString(got))
	}
	for path, want := range map[string]string{filepath.Join(folder, "none.md"): "is missing", file("empty.md", " \n\n"): "is empty", folder: "can't be read"} {
		if got := excerpt(build.File{Path: path, Name: "MEMORY.md"}); got != "(MEMORY.md "+want+")" {
			t.Errorf("%s: %q, want that it %s", path, got, want)
		}
	}
	quiet := built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Notices = false }), Files: []build.File{{Section: "memory", Path: filepath.Join(folder, "none.md")}}})
	if got := section(quiet, "memory"); got != "" || len(quiet.Notices) != 1 {
		t.Errorf("without notices: %q, %v", got, quiet.Notices)
	}
}

// TestTakobotPromise8: the soul has room for more than the memory.
func TestTakobotPromise8(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1 a1")...)
	b := built(t, e, build.Request{Preset: "takobot", Files: []build.File{{Section: "soul", Text: strings.Repeat("s", 3000)}}})
	if got := section(b, "soul"); got != strings.Repeat("s", 1597)+"..." {
		t.Errorf("%d characters of the soul", len(got))
	}
}

// TestTakobotPromise10: the vectors of the focus score, and how broad each level recalls.
func TestTakobotPromise10(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d, o, s, e float64
		score      float64
		level      string
	}{
		{.56, .62, .88, .83, 0.841060, "focused"}, {.95, .20, .15, .20, 0.186260, "diffuse"}, {.5, .5, .5, .5, 0.527840, "balanced"},
		{.55, .55, .55, .55, 0.581440, "balanced"}, {.58, .5, .6, .7, 0.661000, "balanced"}, {.58, .5, .8, .8, 0.786000, "focused"},
		{1, 1, 1, 1, 0.936160, "focused"}, {0, 0, 0, 0, 0, "diffuse"}, {7, 7, 7, 7, 0.936160, "focused"}, {-1, -1, -1, -1, 0, "diffuse"},
		{math.NaN(), .5, .5, .5, 0.527840, "balanced"},
	} {
		got := build.FocusScore(build.Dose{Dopamine: c.d, Oxytocin: c.o, Serotonin: c.s, Endorphin: c.e})
		if math.Abs(got-c.score) > 1e-9 || build.BreadthOf(got).Level != c.level {
			t.Errorf("%v: %.9f, %s; want %.6f, %s", c, got, build.BreadthOf(got).Level, c.score, c.level)
		}
	}
	for score, want := range map[float64]build.Breadth{0.68: {"focused", 4, 900}, 0.679: {"balanced", 8, 1700}, 0.4: {"balanced", 8, 1700}, 0.399: {"diffuse", 16, 3600}} {
		if got := build.BreadthOf(score); got != want {
			t.Errorf("%v: %+v, want %+v", score, got, want)
		}
	}
	e := open(t)
	say(t, e, talk("u1 a1")...)
	for i := range 20 {
		_, err := e.Remember(t.Context(), memory.RememberRequest{Text: fmt.Sprintf("The crane number %d at the harbour was painted in colour %d.", i, i*7)})
		if err != nil {
			t.Fatal(err)
		}
	}
	focused := 0.734
	for _, c := range []struct {
		focus *float64
		line  string
		limit int
		chars int
	}{{nil, "balanced (0.50)", 8, 1700}, {&focused, "focused (0.73)", 4, 900}} {
		b := built(t, e, build.Request{Preset: "takobot", Input: "Which crane at the harbour was painted in which colour?", Focus: c.focus})
		text := section(b, "recall")
		if section(b, "focus") != c.line || b.Recall.Limit != c.limit || b.Recall.Hits != c.limit || strings.Count(text, "<memory ") > c.limit {
			t.Errorf("%s: recall %+v, focus %q:\n%s", c.line, b.Recall, section(b, "focus"), text)
		}
		if shown := strings.Count(text, "<memory "); shown == 0 || utf8.RuneCountInString(text) > c.chars+200 { // and what stands around them
			t.Errorf("%s: %d hits, %d characters", c.line, shown, utf8.RuneCountInString(text))
		}
	}
}

// TestTakobotPromise12: sections stand in the preset's order, and an empty one says so.
func TestTakobotPromise12(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1 a1")...)
	b := built(t, e, build.Request{Preset: "takobot", Input: "What now?", Texts: map[string]string{"identity": "You are Tako."}, Files: []build.File{{Section: "soul", Text: "calm"}}})
	var names []string
	for _, s := range b.Sections {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "identity soul memory focus recall history input"; got != want {
		t.Errorf("sections %s, want %s", got, want)
	}
	if section(b, "memory") != "(nothing)" || section(b, "recall") != "(nothing)" || section(b, "input") != "What now?" {
		t.Errorf("sections:\n%s", b.Text())
	}
	if empty := built(t, e, build.Request{Preset: "takobot", Until: 0, Conversation: "c"}); !strings.Contains(empty.Text(), "## history") {
		t.Error("no history")
	}
}

// TestTakobotPromise13: the same stack for every channel: who speaks in which conversation changes nothing but names.
func TestTakobotPromise13(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, channel := range []string{"terminal:main", "xmtp:0a1b"} {
		if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: channel, Messages: talk("u1 a1 u2 a2")}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := built(t, e, build.Request{Conversation: "terminal:main", Preset: "takobot", Input: "x"}), built(t, e, build.Request{Conversation: "xmtp:0a1b", Preset: "takobot", Input: "x"})
	if a.Text() != b.Text() || a.Hash != b.Hash {
		t.Errorf("%s\n%s\nand\n%s\n%s", a.Hash, a.Text(), b.Hash, b.Text())
	}
}

// TestTakobotPromise15: what a host said because its model failed is kept, costs what it says, and is shown in short.
func TestTakobotPromise15(t *testing.T) {
	t.Parallel()
	e := open(t)
	diagnosis := "Inference is unavailable. Last inference error: timeout. Detailed command logs: /var/log/tako/inference.log"
	say(t, e, conversation.Message{Text: "Hello  there,\n\n friend"}, conversation.Message{Role: "assistant", Text: diagnosis, Fallback: true})
	b := built(t, e, build.Request{Preset: "takobot"})
	if got := section(b, "history"); strings.Contains(got, "/var/log") || !strings.Contains(got, "without the model") || !strings.Contains(got, "User: Hello there, friend") {
		t.Errorf("history:\n%s", got)
	}
	if cost := item(t, b, "history", "#2").Cost; cost != len(diagnosis)+len("assistant")+4 {
		t.Errorf("it costs %d, want as much as it says", cost)
	}
	if m, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c"}); err != nil || m[1].Text != diagnosis || m[0].Text != "Hello  there,\n\n friend" {
		t.Errorf("stored: %+v, %v", m, err)
	}
}
