package wordpiece

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxVocab bounds the ids a file may claim; real vocabularies have 30,000 to 250,000.
const maxVocab = 1 << 22

// Open makes the tokenizer of a model folder: from tokenizer.json, or, where
// there is none, from vocab.txt (one token per line) with the settings of
// tokenizer_config.json, both as BERT models carry them. Truncation and
// padding asked for there are the caller's business and are not applied.
//
// It fails when neither file exists (the error is fs.ErrNotExist), when one
// can't be read, or when it describes another tokenizer than BERT's.
func Open(dir string) (*Tokenizer, error) {
	path := filepath.Join(dir, "tokenizer.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return openVocab(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("wordpiece: %w", err)
	}
	t, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("wordpiece: %s: %w", path, err)
	}
	return t, nil
}

func openVocab(dir string) (*Tokenizer, error) {
	path := filepath.Join(dir, "vocab.txt")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("wordpiece: %s has neither tokenizer.json nor vocab.txt: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("wordpiece: %w", err)
	}
	config := struct {
		Lower   *bool `json:"do_lower_case"`
		CJK     *bool `json:"tokenize_chinese_chars"`
		Accents *bool `json:"strip_accents"`
	}{}
	settings := filepath.Join(dir, "tokenizer_config.json")
	if text, err := os.ReadFile(settings); err == nil {
		if err := json.Unmarshal(text, &config); err != nil {
			return nil, fmt.Errorf("wordpiece: %s: %w", settings, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("wordpiece: %w", err)
	}
	lower := or(config.Lower, true)
	t, err := New(Lines(content), Options{
		KeepCase:     !lower,
		KeepTogether: !or(config.CJK, true),
		KeepAccents:  !or(config.Accents, lower),
	})
	if err != nil {
		return nil, fmt.Errorf("wordpiece: %s: %w", path, err)
	}
	return t, nil
}

// Lines gives the tokens of a vocab.txt: one per line, its number the id.
func Lines(content []byte) []string {
	text := strings.TrimSuffix(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
	return strings.Split(text, "\n")
}

// layout is the part of tokenizer.json that decides on ids.
type layout struct {
	AddedTokens []struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		Left       bool   `json:"lstrip"`
		Right      bool   `json:"rstrip"`
		Normalized bool   `json:"normalized"`
	} `json:"added_tokens"`
	Normalizer *struct {
		Type    string `json:"type"`
		Clean   *bool  `json:"clean_text"`
		CJK     *bool  `json:"handle_chinese_chars"`
		Accents *bool  `json:"strip_accents"`
		Lower   *bool  `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer *struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	Model struct {
		Type    string          `json:"type"`
		Unknown string          `json:"unk_token"`
		Prefix  string          `json:"continuing_subword_prefix"`
		MaxWord int             `json:"max_input_chars_per_word"`
		Vocab   json.RawMessage `json:"vocab"`
	} `json:"model"`
}

func parse(content []byte) (*Tokenizer, error) {
	var l layout
	if err := json.Unmarshal(content, &l); err != nil {
		return nil, err
	}
	var ids map[string]int
	if !bytes.HasPrefix(bytes.TrimSpace(l.Model.Vocab), []byte("{")) || l.Model.Type != "WordPiece" && l.Model.Type != "" {
		return nil, fmt.Errorf("model type is %q: only WordPiece with a vocabulary of tokens and ids is supported", l.Model.Type)
	}
	if err := json.Unmarshal(l.Model.Vocab, &ids); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	if l.Normalizer == nil || l.Normalizer.Type != "BertNormalizer" {
		return nil, errors.New("normalizer: only BertNormalizer is supported")
	}
	if l.PreTokenizer == nil || l.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, errors.New("pre_tokenizer: only BertPreTokenizer is supported")
	}
	specials := []string{}
	for _, added := range l.AddedTokens {
		if added.Content == "" || added.SingleWord || added.Left || added.Right || added.Normalized {
			return nil, fmt.Errorf("added_tokens: %q: single_word, lstrip, rstrip and normalized must be false", added.Content)
		}
		ids[added.Content] = added.ID
		specials = append(specials, added.Content)
	}
	vocab, err := inOrder(ids)
	if err != nil {
		return nil, err
	}
	lower := or(l.Normalizer.Lower, true)
	return New(vocab, Options{
		KeepControls: !or(l.Normalizer.Clean, true),
		KeepTogether: !or(l.Normalizer.CJK, true),
		KeepCase:     !lower,
		KeepAccents:  !or(l.Normalizer.Accents, lower),
		MaxWord:      l.Model.MaxWord,
		Prefix:       l.Model.Prefix,
		Unknown:      l.Model.Unknown,
		Specials:     slices.Compact(specials),
	})
}

func inOrder(ids map[string]int) ([]string, error) {
	size := 0
	for token, id := range ids {
		if id < 0 || id >= maxVocab {
			return nil, fmt.Errorf("model.vocab: %q has the id %d: want 0 to %d", token, id, maxVocab-1)
		}
		size = max(size, id+1)
	}
	vocab := make([]string, size)
	for token, id := range ids {
		if vocab[id] != "" {
			return nil, fmt.Errorf("model.vocab: %q and %q share the id %d", vocab[id], token, id)
		}
		vocab[id] = token
	}
	return vocab, nil
}

// or gives what is set, or else the default.
func or(set *bool, otherwise bool) bool {
	if set == nil {
		return otherwise
	}
	return *set
}
