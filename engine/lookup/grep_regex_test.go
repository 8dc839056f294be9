package lookup_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
)

// TestGrepMatchesAsGoDoes holds the database's regular expressions to Go's, on which messages match.
func TestGrepMatchesAsGoDoes(t *testing.T) {
	enginetest.Alone(t)
	texts := []string{
		"abc", "ABC", "a\nb\nc", "abc\n", "line one\nline two", "foo bar foobar", "C++ and C#", "Straße STRASSE ſtraße", "naïve café", "K K", // the second is the Kelvin sign
		"42 apples, 7.5 pears", "日本語のテキスト", "tab\there", "ends with b", "x = y[0]", "emoji 🏗 here", "a.b.c", `back\slash`, "$100 (cash)", "aaaa",
	}
	e := enginetest.Open(t, engine.Options{})
	var say []conversation.Message
	for _, s := range texts {
		say = append(say, conversation.Message{Text: s})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say})
	for _, pattern := range []string{
		"abc", "(?i)abc", "^a", "b$", "(?m)b$", "(?m)^b", "(?m)^b$", "a.b", "(?s)a.b", `\Aabc\z`, `^abc$`, "[^a-z]+$", `\bfoo\b`, `\Bbar`, `\QC++\E`, `C\+\+`, "(?i)strasse", "(?i)straße",
		"(?i)k", `\pN`, `\p{Han}+`, `\p{Hiragana}`, `\P{Latin}`, `[[:digit:]]+\.[[:digit:]]`, `\d+\s\w+`, `\D\S`, `[\x{1F3D7}]`, `\x{1F3D7}`, `(?P<name>foo)(?P<rest>bar)`, `(?<name>foo)`,
		"a{2,3}", "a{4}", "(a{2}){3}", "(?U)a+", "a+?b*?", "one|two", "(one|two)$", "()", "a||b", `\t`, `\.b\.`, `\\s`, `\$\d+ \(`, `[]a]`, `[\]\[]\d`, "é", "caf.", "(?i)CAFÉ", "(?-s).b", "(?im)^LINE T", "x*",
	} {
		x := regexp.MustCompile(pattern)
		var want, got []string
		for _, s := range texts {
			if x.MatchString(s) {
				want = append([]string{s}, want...)
			}
		}
		r := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: pattern, Mode: lookup.GrepRegex, Order: lookup.ByNewest})
		for _, h := range r.Hits {
			got = append(got, texts[h.Seq-1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Go +database):\n%s", pattern, diff)
		}
	}
}
