package text_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
)

type tellsTest struct {
	in    string
	flags int
}

// checkTells compares shares of so many flags.
func checkTells(t *testing.T, language string, of int, tests []tellsTest) {
	t.Helper()
	a := analyzer(t, language)
	for _, test := range tests {
		want := float32(test.flags) / float32(of)
		if got := a.Tells(test.in); got != want {
			t.Errorf("%s: Tells(%q) = %.2f, want %.2f", language, test.in, got, want)
		}
	}
}

func TestTellsEnglish(t *testing.T) {
	checkTells(t, "english", 3, []tellsTest{
		// nothing told
		{"", 0}, {"wow", 0}, {"That sounds great!", 0}, {"Thanks, Anna!", 0}, {"Hey Anna! How are you?", 0}, {"Wow Anna, nice one.", 0},
		{"Thanks so much, Anna!", 0}, {"Good idea 😊 Thanks", 0}, {"What a nice idea: Well done", 0}, {"Sure thing\nSee you", 0},
		{"Well-known. Good", 0}, {"It's kid-Friendly", 0}, {"The file is HTTP_ERROR", 0}, {"Version 1.2.3 of 24/7 at 3.5", 0},
		{"minus mission weeklong usage", 0}, {"you may do that", 0}, {"He lives in the US now.", 0}, {"(Great) - Thanks — Bye", 0},
		{`She called it "Great"`, 0}, {"She said “Hello”", 0},

		// the first person
		{"I like tea.", 1}, {"I'm tired", 1}, {"I’d rather not", 1}, {"ALL OF IT IS MINE", 1}, {"this is our dog", 1}, {"she gave us tea", 1},
		{"(me)", 1}, {"he did it by ourselves", 1}, {"well,we'll see", 1}, {"x-i/y", 1},

		// times
		{"See you tomorrow!", 1}, {"today's news", 1}, {"it was two days ago", 1}, {"Last weekend was cold", 1}, {"in march or so", 1},
		{"back in 2023-05-07", 1}, {"on 5/7/2023, at ten", 1}, {"it was 7.5.2023.", 1}, {"at 2023-05-07T10:00:00Z", 1},
		{"no date: 2023-45-07", 0}, {"no date: 192.168.1.1", 0}, {"no date: 2023-05", 0}, {"no date: 2023-05/07", 0},
		{"no date: 7.5.", 0}, {"no date: 12345年", 0}, {"no date: 5-7-202", 0}, {"no date: 5/7/20233", 0}, {"no date: 999999999999999999999-1-1", 0},

		// names
		{"he lives in Lisbon", 1}, {"she met O'Brien there", 1}, {"the painter Émile came", 1}, {"they saw Война there", 1},
		{"she is Anna's friend", 1}, {"In Rome, they ate", 1}, {"they came from Rome, Paris, and Oslo", 1}, {"met Jean-Luc at noon", 1},
		{`he read "The Long Walk" again`, 1}, {"It's Seattle, a city", 1}, {"they like R&B and Elvis", 1}, {"there, Anna's", 1},

		// more than one
		{"It was on Monday", 2}, {"back in May they left", 2}, {"May was cold", 1}, {"My sister Anna paints.", 2}, {"Last week I was ill", 2},
		{"Yesterday I met Anna in Rome", 3}, {"we moved from Oslo two years ago", 3}, {"Hey Ben! On Friday, we leave.", 3},

		// invalid bytes, combining marks
		{"\xff\xfeI\xc3 \xe2\x82", 1}, {"U\u0308bung\u0301 in Zu\u0308rich", 1},
	})
	// without case there is no name to tell
	checkTells(t, "english", 2, []tellsTest{{"2023年5月に", 1}, {"(7.5.2023)", 1}, {"我昨天去了北京", 0}, {"2023年5月7日", 1}, {"مرحبا بك", 0}, {"2023-05-07", 1}})
}

func TestTellsGerman(t *testing.T) {
	checkTells(t, "german", 2, []tellsTest{
		{"", 0}, {"Das klingt gut!", 0}, {"Guten Morgen, Anna!", 0}, {"guten morgen", 0}, {"Danke für den Hinweis.", 0}, {"Am Morgen ist es kalt", 0},
		{"Der Hund von Anna schläft in Berlin.", 0}, {"Wie geht es dir?", 0}, {"Sie steht vor dem Haus", 0}, {"unsicher und meineidig", 0},
		{"Was ist mit Wochentagen?", 0}, {"Prima, bis bald", 0}, {"ein Jahrgang", 0},

		{"Ich mag Tee.", 1}, {"Das ist mein Hund", 1}, {"Ruf mich an", 1}, {"Sag mir Bescheid", 1}, {"wir auch", 1}, {"Komm zu uns!", 1},
		{"UNSERE KATZE", 1}, {"mit meiner Schwester", 1}, {"in unserem Garten", 1}, {"meinetwegen ich", 1},

		{"Bis morgen!", 1}, {"Gestern war es kalt", 1}, {"übermorgen geht es los", 1}, {"letzte Woche", 1}, {"am Montag", 1},
		{"im März", 1}, {"MÄRZ", 1}, {"Ma\u0308rz", 1}, {"vor zwei Tagen", 1}, {"Vor kurzem", 1}, {"vor  zwei Leuten", 0}, {"vor, zwei", 0},
		{"am 7.5.2023", 1}, {"nächsten Sommer", 1}, {"seit Jahren", 1},

		{"Ich war gestern in Berlin", 2}, {"Mein Bruder kommt am Freitag", 2}, {"Wir sind vor ein paar Tagen umgezogen", 2},
		{"Guten Morgen! Morgen habe ich frei", 2}, {"Im Juni heiraten wir", 2},
	})
}

func TestTellsOtherLanguages(t *testing.T) {
	for language, tests := range map[string][]tellsTest{
		"danish": {
			{"Det lyder godt!", 0}, {"Han går i skole", 0}, {"Vil De have te?", 0}, {"Jeg kan lide te", 1}, {"Vi ses i morgen", 2},
			{"I går var jeg i Aarhus", 3}, {"i mandags var vi ude", 2},
		},
		"dutch": {
			{"Dat klinkt goed!", 0}, {"Goede morgen", 0}, {"Is dit Uw fiets?", 0}, {"Ik hou van thee", 1}, {"tot morgen", 1},
			{"Vorige week was ik in Utrecht", 3}, {"onze hond heet Bello", 2},
		},
		"finnish": {
			{"Kuulostaa hyvältä!", 0}, {"Ja sitten mentiin", 0}, {"mut joo", 0}, {"Minun koirani", 1}, {"kolme päivää sitten", 1},
			{"Me kävimme Turussa kesäkuussa", 3}, {"nähdään lauantaina", 1},
		},
		"french": {
			{"Ça a l'air bien !", 0}, {"Bonjour M. le directeur", 0}, {"J'aime le thé", 1}, {"Aujourd’hui il pleut", 1},
			{"C'est à nous", 1}, {"Hier j'ai vu Paul", 3}, {"Ma sœur part ce soir", 2}, {"Bonjour Anne !", 0}, {"Bonjour Anne\u202F!", 0}, {"À Paris, il pleut", 1},
		},
		"italian": {
			{"Che bello!", 0}, {"Oggi Lei parte", 1}, {"fa freddo", 0}, {"A me piace", 1}, {"tre giorni fa", 1},
			{"Ieri l'ho visto a Roma", 2}, {"Mia sorella vive a Roma da anni", 3},
		},
		"norwegian": {
			{"Det høres bra ut!", 0}, {"Det går bra i dag", 1}, {"God morgen", 0}, {"Jeg liker te", 1}, {"i fjor", 1},
			{"I går var vi i Bergen", 3}, {"det var kaldt", 0},
		},
		"portuguese": {
			{"Que bom!", 0}, {"nos livros", 0}, {"uma segunda vez", 0}, {"nós gostamos", 1}, {"na próxima segunda-feira", 1}, {"há pouco", 1},
			{"Ontem eu fui a Lisboa", 3}, {"Minha irmã chegou dois dias atrás", 2},
		},
		"russian": {
			{"Звучит отлично!", 0}, {"Как у Вас дела?", 0}, {"Я люблю чай", 1}, {"в среду", 1}, {"окружающую среду", 0}, {"май", 1},
			{"маи\u0306", 1}, {"Вчера я был в Москве", 3}, {"Моя сестра приехала три дня назад", 2}, {"Привет, Анна!", 0},
		},
		"spanish": {
			{"¡Qué bien! ¿Cómo estás?", 0}, {"Buenos días", 0}, {"que sepa Usted", 0}, {"Yo quiero té", 1}, {"hace dos días", 1}, {"¡Hola Ana!", 0},
			{"Ayer estuve en Madrid con mi hermana", 3}, {"el año que viene", 1}, {"Nos vemos el sábado", 2},
		},
		"swedish": {
			{"Det låter bra!", 0}, {"Det var kallt", 0}, {"Hur går det?", 0}, {"vår hund", 1}, {"vi ses imorgon", 2}, {"God morgon", 0},
			{"I går var jag i Malmö", 3}, {"för tre dagar sedan", 1},
		},
	} {
		checkTells(t, language, 3, tests)
	}
	checkTells(t, "none", 2, []tellsTest{
		{"I went home yesterday", 0}, {"I was in Rome", 1}, {"on 2023-05-07 in Rome", 2}, {"Hey Anna!", 0},
	})
	checkTells(t, "none", 1, []tellsTest{{"我昨天去了北京", 0}, {"2023年5月7日我去了北京", 1}, {"2023년 5월", 1}, {"三十年", 0}})
}

// TestTellsLists holds that each listed word tells what its line says, alone, in capitals unless they matter, and between others.
func TestTellsLists(t *testing.T) {
	files, err := filepath.Glob("tells/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no lists: %v", err)
	}
	for _, file := range files {
		list, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := map[string][]string{}
		for line := range strings.Lines(string(list)) {
			if kind, listed, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
				words[kind] = append(words[kind], strings.Fields(listed)...)
			}
		}
		a := analyzer(t, strings.TrimSuffix(filepath.Base(file), ".txt"))
		for kind, listed := range words {
			seen := map[string]bool{}
			for _, word := range listed {
				if seen[word] {
					t.Errorf("%s: %s: %s is listed twice", file, kind, word)
				}
				seen[word] = true
				spellings := []string{word, "123 " + word + ", 123"}
				if upper := strings.ToUpper(word); strings.ToLower(word) == word && !slices.Contains(words["neither"], upper) {
					spellings = append(spellings, upper)
				}
				for _, s := range spellings {
					if got := a.Tells(strings.ReplaceAll(s, "_", " ")); (got > 0) != (kind != "neither") {
						t.Errorf("%s: %s: Tells(%q) = %.2f", file, kind, s, got)
					}
				}
			}
		}
	}
}

func FuzzTells(f *testing.F) {
	texttest.Seed(f)
	for _, s := range []string{"I-", "Hey Anna", "5/7/2023", "2023年", "vor zwei", "i\u00ad går", "A'b", "ΑΒ", strings.Repeat("ä", 200), "I\u0301\u0327"} {
		f.Add(s)
	}
	var analyzers []*text.Analyzer
	for _, language := range text.Languages() {
		analyzers = append(analyzers, analyzer(f, language))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, a := range analyzers {
			got := a.Tells(s)
			if whole := float64(got) * 6; got < 0 || got > 1 || math.Abs(whole-math.Round(whole)) > 1e-5 {
				t.Fatalf("%s: Tells(%q) = %v", text.Languages()[i], s, got)
			}
			if again := a.Tells(strings.Clone(s)); again != got {
				t.Fatalf("%s: Tells(%q) = %v, then %v", text.Languages()[i], s, got, again)
			}
		}
	})
}

func BenchmarkTells(b *testing.B) {
	for _, bench := range []struct{ name, language, in string }{
		{"english", "english", "That sounds like so much fun, and it is really good to hear that the whole team could be there with the dogs, Caroline! Thanks for sharing."},
		{"russian", "russian", "Это звучит очень здорово, и хорошо, что вся команда могла быть там вместе с собаками и детьми, когда погода была такой тёплой, Анна! Спасибо, что поделилась."},
		{"unspaced", "none", "这听起来真的很有趣，很高兴听到整个团队都能带着狗一起去那里，谢谢你的分享，希望以后还有机会再见。"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			a := analyzer(b, bench.language)
			b.ReportAllocs()
			for b.Loop() {
				a.Tells(bench.in)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, test := range []struct{ language, in, want string }{
		{"english", "What did Ines say to Bruno in June about Lisbon?", "Ines Bruno Lisbon"},
		{"english", "Is Anna coming? Hey Teo, wait", "Anna"},
		{"english", "Where is the HTTP server", ""},
		{"english", "", ""},
		{"german", "Wo ist der Hafen von Lissabon?", ""},
		{"none", "where is Lisbon", "Lisbon"},
	} {
		if got := strings.Join(analyzer(t, test.language).Names(test.in), " "); got != test.want {
			t.Errorf("%s: Names(%q) = %q, want %q", test.language, test.in, got, test.want)
		}
	}
}
