package wordpiece

import (
	"context"
	"slices"
)

// rareEnough is the weight below which EncodeQuery leaves a word out.
const rareEnough = 0.2

// Encode gives the ids of each text, cut to the model's length.
func (m *SentenceModel) Encode(ctx context.Context, texts []string) ([][]int32, error) {
	sequences := make([][]int32, len(texts))
	var e Encoding
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.Tokenizer.Encode(&e, m.passagePrefix+text, m.MaxTokens)
		sequences[i] = slices.Clone(e.IDs)
	}
	return sequences, nil
}

// EncodeQuery gives the ids of a query without the words whose weight is below
// 0.2, or of the whole query when no other word is left. A nil weight leaves
// nothing out; punctuation has no weight and stays.
func (m *SentenceModel) EncodeQuery(text string, weight func(word string) float64) []int32 {
	var e Encoding
	m.Tokenizer.Encode(&e, m.queryPrefix, m.MaxTokens)
	own := e.WordCount() // of the prefix, none of which is left out
	m.Tokenizer.Encode(&e, m.queryPrefix+text, m.MaxTokens)
	if weight == nil {
		return e.IDs
	}
	drop := make([]bool, e.WordCount())
	left := false
	for i := own; i < len(drop); i++ {
		if term := e.Term(int32(i)); len(term) > 0 {
			drop[i] = weight(string(term)) < rareEnough
			left = left || !drop[i]
		}
	}
	if !left {
		return e.IDs
	}
	var ids []int32
	for i, id := range e.IDs {
		if word := e.Words[i]; word < 0 || !drop[word] {
			ids = append(ids, id)
		}
	}
	return ids
}
