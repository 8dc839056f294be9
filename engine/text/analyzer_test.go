package text_test

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text"
)

func analyzer(t testing.TB, language string) *text.Analyzer {
	t.Helper()
	a, err := text.NewAnalyzer(language)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func surfaces(tokens []text.Token) string {
	words := make([]string, len(tokens))
	for i, token := range tokens {
		words[i] = token.Surface
	}
	return strings.Join(words, " ")
}

func terms(tokens []text.Token) string {
	words := make([]string, len(tokens))
	for i, token := range tokens {
		words[i] = token.Term
	}
	return strings.Join(words, " ")
}

func TestSurfaces(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"no words", " … 👍 -- __ !?", ""},
		{"case and accents", "Crème BRÛLÉE", "creme brulee"},
		{"full width", "ＦＯＯ　１２３", "foo 123"},
		{"not", "don't don’t dont", "dont dont dont"},
		{"possessive", "John's James' children’s", "john james children"},
		{"clitics", "I'm we're they've she'll I'd it's", "i we they she i it"},
		{"inner apostrophe", "O'Brien rock'n'roll", "obrien rocknroll"},
		{"quoted", "'quoted' words", "quoted words"},
		{"tatweel", "ـ ــ x_ـ ـكتاب كـتاب", "x كتاب كتاب"},
		{"decade", "the 1990's", "the 1990"},
		{"natural hyphen", "a well-known e-mail", "a well known e mail"},
		{"typographic hyphen", "DB‐42", "db-42 db 42"},
		{"natural slash", "and/or", "and or"},
		{"ticket", "DB-42", "db-42 db 42"},
		{"version", "v1.2.3", "v1.2.3 v1 2 3"},
		{"date", "2024-05-07", "2024-05-07 2024 05 07"},
		{"time", "10:30", "10:30 10 30"},
		{"fraction", "24/7", "24/7 24 7"},
		{"vulgar fraction", "½", "1/2"},
		{"thousands", "1,000 12,345,678 1,00", "1000 12345678 1 00"},
		{"decimals", "1,000.50", "1000.50 1000 50"},
		{"snake case", "foo_bar __init__ a__b", "foo_bar foo bar init a__b a b"},
		{"camel case", "getUserName", "getusername"},
		{"e-mail", "ann@example.com", "ann@example.com ann example.com example com"},
		{"mention", "@alice", "alice"},
		{"file", "main.go", "main.go main go"},
		{"path", "src/main.go", "src/main.go src main.go main go"},
		{"absolute path", "/etc/passwd", "etc/passwd etc passwd"},
		{"windows path", `C:\Temp\log`, `c temp\log temp log`},
		{"url", "https://example.com/a?b=1", "https example.com/a example.com example com a b 1"},
		{"scope", "std::vec", "std::vec std vec"},
		{"tag", "proj:AIF", "proj:aif proj aif"},
		{"issue", "owner/repo#42", "owner/repo#42 owner repo 42"},
		{"ampersand", "AT&T", "at&t at t"},
		{"acronym", "U.S.A. e.g.", "usa eg"},
		{"languages", "C++ C# F#, g++!", "c++ c c# c f# f g++ g"},
		{"no language", "foo# C++x", "foo c x"},
		{"end of sentence", "the end. Next", "the end next"},
		{"soft hyphen", "co\u00ADop", "coop"},
		{"han", "用户", "用 用户 户"},
		{"han and latin", "用Go写", "用 go 写"},
		{"kana", "ガス", "ガ ガス ス"},
		{"half-width kana", "ｶﾞｽ", "ガ ガス ス"},
		{"decomposed kana", "か\u3099す", "が がす す"},
		{"long vowel", "カー", "カ カー ー"},
		{"hangul", "한국", "한 한국 국"},
		{"decomposed hangul", "\u1112\u1161\u11ab국", "한 한국 국"},
		{"thai", "ไทย", "ไ ไท ท ทย ย"},
		{"thai marks", "ที่", "ที่"},
		{"devanagari", "हिन्दी", "हिन्दी"},
		{"arabic points", "مُحَمَّد", "محمد"},
		{"hebrew points", "שָׁלוֹם", "שלום"},
		{"cyrillic", "Ёлка Синий", "елка синий"},
		{"greek", "ΌΔΟΣ", "οδοσ"},
		{"ligature", "ﬁn Straße Łódź", "fin strasse lodz"},
		{"control", "a\x00b\xffc", "a b c"},
		{"marks alone", "\u0301 \u064b", ""},
	}
	a := analyzer(t, "none")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, surfaces(a.Tokens(test.in))); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestElision(t *testing.T) {
	for language, want := range map[string]string{"french": "l homme d accord", "italian": "l homme d accord", "english": "lhomme daccord"} {
		if got := surfaces(analyzer(t, language).Tokens("l'homme d’accord")); got != want {
			t.Errorf("%s: got %q, want %q", language, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	tests := []struct{ language, in, want string }{
		{"", "Running runs run", "run run run"},
		{"english", "memories DB-42s foo_bars", "memori db-42s db 42s foo_bars foo bar"},
		{"german", "Häuser Haus Haeuser Straßen Strasse", "haus haus haeus strass strass"},
		{"french", "mangée mangee manger activité activites", "mang mang mang activ activ"},
		{"spanish", "comunicación comunicacion comunicaciones comía comia", "comun comun comun com com"},
		{"italian", "attività attivita mangiare", "attiv attiv mang"},
		{"portuguese", "comunicação comunicacao comunicações", "comunic comunic comunic"},
		{"russian", "синий синего ёлка елки", "син син елк елк"},
		{"dutch", "huizen boeken", "huiz boek"},
		{"swedish", "hästar hästen", "hast hast"},
		{"danish", "huset husene", "hus hus"},
		{"norwegian", "gutten gutter", "gutt gutt"},
		{"finnish", "talossa talo", "talo talo"},
		{"none", "Running runs", "running runs"},
	}
	for _, test := range tests {
		if got := terms(analyzer(t, test.language).Tokens(test.in)); got != test.want {
			t.Errorf("%q %q: got %q, want %q", test.language, test.in, got, test.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	s := "Ünï John’s src/a.go ｶﾞｽ"
	var got []string
	for _, token := range analyzer(t, "none").Tokens(s) {
		got = append(got, s[token.Start:token.End])
	}
	want := []string{"Ünï", "John’s", "src/a.go", "src", "a.go", "a", "go", "ｶﾞ", "ｶﾞｽ", "ｽ"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongTokensAreCut(t *testing.T) {
	a := analyzer(t, "")
	for _, s := range []string{strings.Repeat("é", 100), strings.Repeat("x", 1000), strings.Repeat("ab_", 5000), strings.Repeat("１", 65)} {
		tokens := a.Tokens(s)
		if n := utf8.RuneCountInString(tokens[0].Surface); n != 64 {
			t.Errorf("%.10q…: surface of %d code points", s, n)
		}
		if diff := cmp.Diff(tokens, a.Tokens(s)); diff != "" {
			t.Errorf("%.10q…: second time differs: %s", s, diff)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	a := analyzer(t, "")
	dst := a.Append(a.Tokens("one"), "two")
	if got := surfaces(dst); got != "one two" {
		t.Errorf("got %q", got)
	}
}

func TestQueryTokens(t *testing.T) {
	tests := []struct{ language, in, want string }{
		{"", "When did Maria move to the new house, and whose houses?", "maria move new hous"},
		{"", "What's her dog's name?", "dog name"},
		{"", "who was it?", "who was it"},
		{"", "who who", "who"},
		{"", "", ""},
		{"german", "Wann ist Maria in das Haus gezogen?", "maria haus gezog"},
		{"french", "Qu'est-ce que l'homme mange ?", "homm mang"},
		{"none", "who was it", "who was it"},
	}
	for _, test := range tests {
		if got := terms(analyzer(t, test.language).QueryTokens(test.in)); got != test.want {
			t.Errorf("%q %q: got %q, want %q", test.language, test.in, got, test.want)
		}
	}
}

func TestIsStop(t *testing.T) {
	a := analyzer(t, "english")
	for _, word := range strings.Fields("what when where who whose how why did does do is was are were would could should her his they " +
		"them a an the and or in on at of dont didnt isnt") {
		if !a.IsStop(word) {
			t.Errorf("%q should be a stop word", word)
		}
	}
	for _, word := range strings.Fields("name move berlin work day go may db-42") {
		if a.IsStop(word) {
			t.Errorf("%q should be no stop word", word)
		}
	}
}

func TestEveryLanguageHasStopWords(t *testing.T) {
	the := map[string]string{"danish": "hvad", "dutch": "waarom", "english": "the", "finnish": "mika", "french": "ou", "german": "fur",
		"italian": "perche", "norwegian": "hva", "portuguese": "voce", "russian": "что", "spanish": "que", "swedish": "ar"}
	for _, language := range text.Languages() {
		if word, a := the[language], analyzer(t, language); language != "none" && (word == "" || !a.IsStop(word)) {
			t.Errorf("%s: %q is no stop word", language, word)
		}
	}
}

func TestUnknownLanguage(t *testing.T) {
	_, err := text.NewAnalyzer("klingon")
	if err == nil || !strings.Contains(err.Error(), `"klingon"`) || !strings.Contains(err.Error(), "english, finnish") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	a := analyzer(t, "")
	s := "Running memories of Häuser in DB-42 用户 " + strings.Repeat("various words ", 20)
	want := a.Tokens(s)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if diff := cmp.Diff(want, a.Tokens(s)); diff != "" {
					t.Error(diff)
					return
				}
			}
		})
	}
	all.Wait()
}
