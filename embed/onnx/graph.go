package onnx

import (
	"errors"
	"fmt"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// graph is a loaded model: token ids in, one vector per token or per text out.
type graph struct {
	session *ort.DynamicAdvancedSession
	inputs  []string
	pooled  bool // the output is a vector per text already
	dims    int
}

func openGraph(path string, threads int) (*graph, error) {
	g, output, err := inspect(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("onnx: session options: %w", err)
	}
	defer options.Destroy()
	err = errors.Join(
		options.SetIntraOpNumThreads(threads),
		options.SetInterOpNumThreads(1),
		// Plans of memory use are kept for every shape seen; shapes here are many.
		options.SetMemPattern(false),
	)
	if err != nil {
		return nil, fmt.Errorf("onnx: session options: %w", err)
	}
	if g.session, err = ort.NewDynamicAdvancedSession(path, g.inputs, []string{output}, options); err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	return g, nil
}

// inspect reads the names and types of a graph, before it is optimised.
func inspect(path string) (*graph, string, error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, "", err
	}
	defer options.Destroy()
	if err := options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll); err != nil {
		return nil, "", err
	}
	inputs, outputs, err := ort.GetInputOutputInfoWithOptions(path, options)
	if err != nil {
		return nil, "", fmt.Errorf("not a model that can be loaded (incomplete download?): %w", err)
	}
	g := &graph{}
	seen := map[string]bool{}
	for _, in := range inputs {
		switch in.Name {
		case "input_ids", "attention_mask", "token_type_ids":
		default:
			return nil, "", fmt.Errorf("input %q: only input_ids, attention_mask and token_type_ids are known; the model has %s", in.Name, names(inputs))
		}
		if in.DataType != ort.TensorElementDataTypeInt64 {
			return nil, "", fmt.Errorf("input %q is of %s: want int64", in.Name, in.DataType)
		}
		g.inputs = append(g.inputs, in.Name)
		seen[in.Name] = true
	}
	if !seen["input_ids"] || !seen["attention_mask"] {
		return nil, "", fmt.Errorf("inputs are %s: want input_ids and attention_mask", names(inputs))
	}
	out, err := chooseOutput(outputs)
	if err != nil {
		return nil, "", err
	}
	g.pooled = len(out.Dimensions) == 2
	g.dims = int(out.Dimensions[len(out.Dimensions)-1])
	if g.dims < 1 {
		return nil, "", fmt.Errorf("output %q doesn't say how many dimensions it has", out.Name)
	}
	return g, out.Name, nil
}

// chooseOutput prefers vectors of tokens, which are pooled as the folder
// says, to vectors the graph has pooled by itself.
func chooseOutput(outputs []ort.InputOutputInfo) (ort.InputOutputInfo, error) {
	for _, rank := range []int{3, 2} {
		for _, out := range outputs {
			if len(out.Dimensions) == rank && out.DataType == ort.TensorElementDataTypeFloat && (rank == 3 || out.Name == "sentence_embedding") {
				return out, nil
			}
		}
	}
	return ort.InputOutputInfo{}, fmt.Errorf("outputs are %s: want float32 vectors of tokens (text, token, dimension) or sentence_embedding (text, dimension)", names(outputs))
}

func names(values []ort.InputOutputInfo) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%s %v %s", v.Name, v.Dimensions, v.DataType))
	}
	return strings.Join(list, ", ")
}

// run gives the output for rows × width ids; mask is 1 where an id counts.
// The result has rows × width × dims values, or rows × dims when pooled.
func (g *graph) run(ids, mask []int64, rows, width int) ([]float32, error) {
	shape := ort.NewShape(int64(rows), int64(width))
	var inputs []ort.Value
	defer func() {
		for _, in := range inputs {
			in.Destroy()
		}
	}()
	for _, name := range g.inputs {
		data := ids
		switch name {
		case "attention_mask":
			data = mask
		case "token_type_ids":
			data = make([]int64, len(ids))
		}
		tensor, err := ort.NewTensor(shape, data)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		inputs = append(inputs, tensor)
	}
	outputShape := ort.NewShape(int64(rows), int64(width), int64(g.dims))
	if g.pooled {
		outputShape = ort.NewShape(int64(rows), int64(g.dims))
	}
	values := make([]float32, outputShape.FlattenedSize())
	output, err := ort.NewTensor(outputShape, values)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	defer output.Destroy()
	if err := g.session.Run(inputs, []ort.Value{output}); err != nil {
		return nil, err
	}
	return values, nil
}
