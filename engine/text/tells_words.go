package text

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

// maxTellWord is the most bytes of a listed word.
const maxTellWord = 40

// tellList is what one language says of its words.
type tellList struct {
	listed map[string]tell // by word in lower case, phrase of two words and a space between, or spelling with its capitals
	sought tell            // what can be told in this language
}

//go:embed tells/*.txt
var tellFiles embed.FS

// tellLists reads the lists of all languages, at the first need. The files are part of the program, so what is wrong in them panics, as
// a pattern would that doesn't compile.
var tellLists = sync.OnceValue(func() map[string]tellList {
	lists := map[string]tellList{}
	for _, l := range languages {
		list := tellList{sought: tellsTime | tellsName}
		if l.stem != nil {
			list.sought |= tellsFirst
			file, err := tellFiles.ReadFile("tells/" + l.name + ".txt")
			if err != nil {
				panic(fmt.Sprintf("text: read words that tell: %v", err))
			}
			list.listed = parseTellList(string(file))
		}
		if l.name == "german" {
			list.sought &^= tellsName
		}
		lists[l.name] = list
	}
	return lists
})

// parseTellList reads a list. Each line is a kind, a colon, and words divided by white space; the two words of a phrase are joined
// by _. A word with a capital stands for that spelling alone. A line that starts with # is a comment.
func parseTellList(file string) map[string]tell {
	kinds := map[string]tell{"first": tellsFirst, "time": tellsTime, "neither": tellsNothing}
	listed := map[string]tell{}
	for line := range strings.Lines(file) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		kind, words, _ := strings.Cut(line, ":")
		if kinds[kind] == 0 {
			panic(fmt.Sprintf("text: words that tell: line %q: kinds are first, time and neither", line))
		}
		for _, word := range strings.Fields(words) {
			opening, _, isPhrase := strings.Cut(word, "_")
			word = strings.Replace(word, "_", " ", 1)
			if isPhrase {
				listed[opening] |= opensPhrase
			}
			listed[word] |= kinds[kind]
		}
	}
	return listed
}
