package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// object is a vector as OpenAI gives it.
type object struct {
	Index     *int
	Embedding json.RawMessage
}

// read finds the vectors of n texts in an answer, in the order of the texts.
func read(answer []byte, rows string, n, dims int) ([][]float32, error) {
	answer = bytes.TrimSpace(answer)
	if bytes.HasPrefix(answer, []byte("<")) {
		return nil, errors.New("answer is a page of HTML; BaseURL may not be the address of the interface")
	}
	var raw []json.RawMessage
	var err error
	switch rows {
	case "data":
		var whole struct{ Data []object }
		if err = json.Unmarshal(answer, &whole); err == nil {
			raw, err = ordered(whole.Data, n)
		}
	case "embeddings":
		var whole struct{ Embeddings []json.RawMessage }
		err = json.Unmarshal(answer, &whole)
		raw = whole.Embeddings
	default:
		err = json.Unmarshal(answer, &raw)
	}
	var misplaced orderError
	switch {
	case errors.As(err, &misplaced):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("answer is not the JSON that was asked for: %w", err)
	case len(raw) != n:
		return nil, fmt.Errorf("answer has %d vectors for %d texts", len(raw), n)
	}
	vectors := make([][]float32, n)
	for i, one := range raw {
		if vectors[i], err = vector(one, dims); err != nil {
			return nil, fmt.Errorf("vector %d %w", i, err)
		}
	}
	return vectors, nil
}

// orderError says which vector has no place.
type orderError string

func (e orderError) Error() string { return string(e) }

// ordered puts vectors where their index says, if they have any.
func ordered(all []object, n int) ([]json.RawMessage, error) {
	raw, taken, numbered := make([]json.RawMessage, len(all)), make([]bool, len(all)), 0
	for i, o := range all {
		raw[i] = o.Embedding
		if o.Index != nil {
			numbered++
		}
	}
	if numbered == 0 || len(all) != n {
		return raw, nil
	}
	for i, o := range all {
		if o.Index == nil {
			return nil, orderError(fmt.Sprintf("vector %d of the answer has no index, others have", i))
		}
		at := *o.Index
		if at < 0 || at >= n || taken[at] {
			return nil, orderError(fmt.Sprintf("vector %d of the answer has the index %d; allowed: each of 0 to %d once", i, at, n-1))
		}
		raw[at], taken[at] = o.Embedding, true
	}
	return raw, nil
}

// vector reads one list of finite numbers. JSON has no others, but null would be read as 0.
func vector(raw json.RawMessage, dims int) ([]float32, error) {
	if bytes.HasPrefix(raw, []byte("{")) { // Gemini's
		var object struct{ Values json.RawMessage }
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, fmt.Errorf("is not a list of numbers: %w", err)
		}
		raw = object.Values
	}
	if bytes.Contains(raw, []byte("null")) || !bytes.HasPrefix(raw, []byte("[")) {
		return nil, errors.New("is not a list of numbers")
	}
	v := make([]float32, 0, dims)
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("is not a list of numbers: %w", err)
	}
	if len(v) != dims {
		return nil, fmt.Errorf("has %d dimensions; Dims is %d", len(v), dims)
	}
	return v, nil
}
