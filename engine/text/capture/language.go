package capture

import (
	"strings"
	"unicode"
)

// names of languages, for a model.
var languageNames = map[string]string{"en": "English", "de": "German", "zh": "Chinese"}

// LanguageName is what a language is called in English; empty: nobody knows.
func LanguageName(language string) string { return languageNames[language] }

// function words by which two languages are told apart; what both have is in neither.
var functionWords = func() map[string]string {
	words := map[string]string{}
	for _, word := range strings.Fields("the of and to is are it that this with for have has my you your but not they he she we be i") {
		words[word] = "en"
	}
	for _, word := range strings.Fields("der das und ist sind ein eine nicht mit für ich du wir sie mein meine aber auch auf zu den dem von hat habe") {
		words[word] = "de"
	}
	return words
}()

// Language is en, de or zh; empty where a text is too short to tell, or of another language.
func Language(s string) string {
	han, letters := 0, 0
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			han++
		} else if unicode.IsLetter(r) {
			letters++
		}
	}
	if han > 3 && 4*han > letters {
		return "zh"
	}
	counts := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if language := functionWords[word]; language != "" {
			counts[language]++
		}
	}
	switch en, de := counts["en"], counts["de"]; {
	case en >= 2 && en > 2*de:
		return "en"
	case de >= 2 && de > 2*en:
		return "de"
	}
	return ""
}
