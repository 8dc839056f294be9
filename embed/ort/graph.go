package ort

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	native "github.com/yalue/onnxruntime_go"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// A batch has at most this many sequences and tokens: enough to fill the cores,
// and little enough that cancelling never waits a second.
const (
	batchRows   = 32
	batchTokens = 4096
)

// Graph is a loaded model: token ids in, one vector per token or per sequence
// out. It may be used by several goroutines.
type Graph struct {
	inputs  []string
	output  wordpiece.Output
	padding int64

	mu      sync.RWMutex                   // held for reading while the graph runs, for writing by Close
	session *native.DynamicAdvancedSession // nil once closed
}

// Open loads a folder's graph; choose says which of its outputs is read. A run
// takes that many threads, or with 0 as many as the library thinks best. Load
// has to come first.
func Open(folder *wordpiece.Folder, threads int, choose func(outputs []wordpiece.Tensor) (wordpiece.Output, error)) (*Graph, error) {
	g := &Graph{padding: folder.Padding}
	name, err := g.inspect(folder.Graph, choose)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Graph, err)
	}
	options, err := native.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	defer options.Destroy()
	err = errors.Join(
		options.SetIntraOpNumThreads(threads),
		options.SetInterOpNumThreads(1),
		// Plans of memory use are kept for every shape seen; shapes here are many.
		options.SetMemPattern(false),
	)
	if err != nil {
		return nil, fmt.Errorf("session options: %w", err)
	}
	if g.session, err = native.NewDynamicAdvancedSession(folder.Graph, g.inputs, []string{name}, options); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Graph, err)
	}
	return g, nil
}

// inspect reads the names and types of a graph, before it is optimised, and
// gives the name of the output.
func (g *Graph) inspect(path string, choose func([]wordpiece.Tensor) (wordpiece.Output, error)) (string, error) {
	options, err := native.NewSessionOptions()
	if err != nil {
		return "", err
	}
	defer options.Destroy()
	if err := options.SetGraphOptimizationLevel(native.GraphOptimizationLevelDisableAll); err != nil {
		return "", err
	}
	inputs, outputs, err := native.GetInputOutputInfoWithOptions(path, options)
	if err != nil {
		return "", fmt.Errorf("not a model that can be loaded (incomplete download?): %w", err)
	}
	if err := wordpiece.CheckInputs(tensors(inputs)); err != nil {
		return "", err
	}
	for _, in := range inputs {
		g.inputs = append(g.inputs, in.Name)
	}
	if g.output, err = choose(tensors(outputs)); err != nil {
		return "", err
	}
	return outputs[g.output.Place].Name, nil
}

func tensors(values []native.InputOutputInfo) []wordpiece.Tensor {
	list := make([]wordpiece.Tensor, len(values))
	for i, v := range values {
		list[i] = wordpiece.Tensor{Name: v.Name, Dims: v.Dimensions, Kind: strings.TrimPrefix(v.DataType.String(), "ONNX_TENSOR_ELEMENT_DATA_TYPE_")}
	}
	return list
}

// Output is what is read of the graph.
func (g *Graph) Output() wordpiece.Output { return g.output }

// Close gives the graph's memory back, after the batches under way. Using it
// afterwards is an error; closing it twice is not.
func (g *Graph) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session == nil {
		return nil
	}
	err := g.session.Destroy()
	g.session = nil
	return err
}

// Run computes sequences of ids, none of them empty; nil types are all 0. It
// gives each the numbers of one sequence, which are valid until it returns: as
// many vectors as the sequence has ids, one after the other, or a single one.
// Cancelling takes effect between batches.
func (g *Graph) Run(ctx context.Context, ids, types [][]int32, each func(i int, values []float32) error) error {
	rows := func(length int) int { return min(batchRows, batchTokens/length) }
	for _, batch := range wordpiece.Batches(ids, rows) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.runBatch(ids, types, batch, each); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (g *Graph) runBatch(ids, types [][]int32, batch []int, each func(int, []float32) error) error {
	width := len(ids[batch[0]])
	values, err := g.compute(layOut(ids, types, batch, width, g.padding), len(batch), width)
	if err != nil {
		return err
	}
	perRow := len(values) / len(batch)
	for row, i := range batch {
		length := perRow
		if g.output.PerToken {
			length = len(ids[i]) * g.output.Dims
		}
		if err := each(i, values[row*perRow:][:length]); err != nil {
			return err
		}
	}
	return nil
}

// layOut gives the inputs of a batch by their names, filled up to width.
func layOut(ids, types [][]int32, batch []int, width int, padding int64) map[string][]int64 {
	size := len(batch) * width
	tokens, mask, kinds := make([]int64, size), make([]int64, size), make([]int64, size)
	for row, i := range batch {
		for column := range width {
			at := row*width + column
			if column >= len(ids[i]) {
				tokens[at] = padding
				continue
			}
			tokens[at], mask[at] = int64(ids[i][column]), 1
			if types != nil {
				kinds[at] = int64(types[i][column])
			}
		}
	}
	return map[string][]int64{"input_ids": tokens, "attention_mask": mask, "token_type_ids": kinds}
}

// compute gives the output for rows × width ids.
func (g *Graph) compute(data map[string][]int64, rows, width int) ([]float32, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.session == nil {
		return nil, errors.New("the model is closed")
	}
	shape := native.NewShape(int64(rows), int64(width))
	var inputs []native.Value
	defer func() {
		for _, in := range inputs {
			in.Destroy()
		}
	}()
	for _, name := range g.inputs {
		tensor, err := native.NewTensor(shape, data[name])
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		inputs = append(inputs, tensor)
	}
	outputShape := native.NewShape(int64(rows), int64(g.output.Dims))
	if g.output.PerToken {
		outputShape = native.NewShape(int64(rows), int64(width), int64(g.output.Dims))
	}
	values := make([]float32, outputShape.FlattenedSize())
	output, err := native.NewTensor(outputShape, values)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	defer output.Destroy()
	if err := g.session.Run(inputs, []native.Value{output}); err != nil {
		return nil, err
	}
	return values, nil
}
