package distill

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minWords is the length below which a text says too little to learn from.
const minWords = 4

// maxLine bounds a line of text, in bytes.
const maxLine = 1 << 20

// ReadFiles reads the sentences of several files, see Read, each sentence once.
func ReadFiles(paths ...string) ([]string, error) {
	var all []string
	seen := map[string]bool{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("distill: %w", err)
		}
		sentences, err := Read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("distill: %s: %w", path, err)
		}
		for _, s := range sentences {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// Read reads sentences of at least four words, each with its first letter
// capitalised and a full stop where it ends in no other mark: from plain
// text, one sentence per line, or from a data file of WordNet (data.noun,
// data.verb, data.adj, data.adv), the examples quoted in its glosses.
func Read(r io.Reader) ([]string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var sentences []string
	wordNet, read := false, 0
	for ; lines.Scan(); read++ {
		line := lines.Text()
		if read == 0 {
			wordNet = strings.HasPrefix(line, "  1 This software and database")
		}
		if !wordNet {
			sentences = appendSentence(sentences, line)
			continue
		}
		if strings.HasPrefix(line, "  ") {
			continue // the licence
		}
		_, gloss, _ := strings.Cut(line, " | ")
		for i, part := range strings.Split(gloss, `"`) {
			if i%2 == 1 {
				sentences = appendSentence(sentences, part)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", read+1, err)
	}
	return sentences, nil
}

func appendSentence(sentences []string, text string) []string {
	words := strings.Fields(strings.TrimRight(strings.ToValidUTF8(text, ""), ";, \t\r"))
	if len(words) < minWords {
		return sentences
	}
	s := strings.Join(words, " ")
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.ContainsAny(s[len(s)-1:], ".?!") {
		s += "."
	}
	return append(sentences, s)
}
