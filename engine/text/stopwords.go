package text

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed stopwords/*.txt
var stopwordFiles embed.FS

// readStopwords returns the stop words of a language by their surfaces. A list holds words divided by white space; a line that
// starts with # is a comment.
func readStopwords(name string) (map[string]bool, error) {
	list, err := stopwordFiles.ReadFile("stopwords/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("text: read stop words: %w", err)
	}
	words := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			words[foldWord(word)] = true
		}
	}
	return words, nil
}
