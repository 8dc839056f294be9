package wordpiece

import (
	"fmt"
	"slices"
	"strings"
)

// Tensor is an input or an output as a graph declares it.
type Tensor struct {
	Name string
	Dims []int64 // below 1 where the graph leaves a length open
	Kind string  // of its numbers; "" where whoever runs the graph doesn't tell
}

// Output is what is read of a graph's outputs.
type Output struct {
	Place    int  // among the outputs
	PerToken bool // one vector per token, else one per sequence
	Dims     int  // numbers in a vector
}

// CheckInputs refuses a graph that wants something other than ids, their mask and perhaps their types.
func CheckInputs(inputs []Tensor) error {
	seen := map[string]bool{}
	for _, in := range inputs {
		switch in.Name {
		case "input_ids", "attention_mask", "token_type_ids":
		default:
			return fmt.Errorf("input %q: only input_ids, attention_mask and token_type_ids are known; the model has %s", in.Name, Names(inputs))
		}
		if in.Kind != "" && in.Kind != "INT64" {
			return fmt.Errorf("input %q is of %s: want int64", in.Name, in.Kind)
		}
		seen[in.Name] = true
	}
	if !seen["input_ids"] || !seen["attention_mask"] {
		return fmt.Errorf("inputs are %s: want input_ids and attention_mask", Names(inputs))
	}
	return nil
}

// Names lists tensors for an error.
func Names(tensors []Tensor) string {
	var list []string
	for _, t := range tensors {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %v %s", t.Name, t.Dims, t.Kind)))
	}
	return strings.Join(list, ", ")
}

// floats holds where the numbers are, or may be, float32.
func (t Tensor) floats() bool { return t.Kind == "" || t.Kind == "FLOAT" }

// Output prefers vectors of tokens, which are pooled as the folder says, to vectors that the graph has pooled by itself.
func (m *SentenceModel) Output(outputs []Tensor) (Output, error) {
	for _, rank := range []int{3, 2} {
		for i, out := range outputs {
			if len(out.Dims) != rank || !out.floats() || rank == 2 && out.Name != "sentence_embedding" {
				continue
			}
			dims := int(out.Dims[rank-1])
			if dims < 1 {
				return Output{}, fmt.Errorf("output %q doesn't say how many dimensions it has", out.Name)
			}
			return Output{Place: i, PerToken: rank == 3, Dims: dims}, nil
		}
	}
	return Output{}, fmt.Errorf("outputs are %s: want float32 vectors of tokens (text, token, dimension) or sentence_embedding (text, dimension)", Names(outputs))
}

// Vector makes the unit vector of a text of what the graph gave for it.
func (m *SentenceModel) Vector(values []float32, output Output) ([]float32, error) {
	if output.PerToken {
		return m.Pooling.Pool(values, output.Dims)
	}
	vector := slices.Clone(values)
	return vector, Normalise(vector)
}
