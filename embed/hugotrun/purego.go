package hugotrun

import (
	"fmt"
	"path/filepath"
	"slices"

	gomlx "github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// openGo loads a graph into hugot's pure-Go backend.
func openGo(content []byte, folder *wordpiece.Folder) (*Graph, error) {
	o := options.Defaults()
	o.Backend = "GO"
	o.GoMLXOptions.BatchBuckets = rowBuckets()
	o.GoMLXOptions.SequenceBuckets = widthBuckets(folder.MaxTokens)
	model := &backends.Model{Path: filepath.Dir(folder.Graph), OnnxBytes: content}
	if err := backends.CreateModelBackend(model, o); err != nil {
		return nil, fmt.Errorf("not a model that can be loaded (incomplete download?): %w", err)
	}
	network := model.GoMLXModel
	if err := checkGo(network, len(folder.Tokenizer.Vocab())); err != nil {
		network.Destroy()
		return nil, err
	}
	sequential, err := executeSequentially(network)
	if err != nil {
		network.Destroy()
		return nil, err
	}
	forgetFile(network)
	g := &Graph{model: model, backend: o.Backend, runtime: "hugot (pure Go)", compute: computeGo}
	g.close = func() error {
		network.Exec.Finalize()
		network.Destroy() // of what was there before executeSequentially
		sequential.Finalize()
		return nil
	}
	return g, nil
}

// executeSequentially makes a network compute one operation after the other in
// the caller's goroutine, on all cores where it multiplies matrices. Hugot
// asks for operations side by side, which gains nothing with sentence models,
// has data races, and ends the process when one of them panics.
func executeSequentially(network *backends.GoMLXModel) (gomlx.Backend, error) {
	backend, err := gomlx.NewWithConfig("go:ops_sequential")
	if err != nil {
		return nil, err
	}
	exec, err := context.NewExec(backend, network.Ctx, network.Call)
	if err != nil {
		backend.Finalize()
		return nil, err
	}
	exec.SetMaxCache(network.MaxCache)
	network.Backend, network.Exec = backend, exec
	return backend, nil
}

// checkGo refuses what the pure-Go backend can't compute: quantised graphs,
// whose products of integers end the process from a goroutine of its own, and
// token ids beyond the model's vectors, for which it takes the last one.
func checkGo(network *backends.GoMLXModel, vocab int) error {
	proto := network.OnnxModel.Proto.Graph
	sizes := map[string]int{}
	for _, weights := range proto.Initializer {
		if len(weights.Dims) > 0 {
			sizes[weights.Name] = int(weights.Dims[0])
		}
	}
	quantised := []string{"DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul", "QuantizeLinear"}
	for _, node := range proto.Node {
		if slices.Contains(quantised, node.OpType) {
			return fmt.Errorf("operation %s: a quantised model; hugot's Go backend needs the one with float32 weights", node.OpType)
		}
		if node.OpType == "Gather" && len(node.Input) == 2 && node.Input[1] == "input_ids" && sizes[node.Input[0]] < vocab {
			return fmt.Errorf("the tokenizer has %d tokens, the model has vectors for %d", vocab, sizes[node.Input[0]])
		}
	}
	return nil
}

// forgetFile lets go of the weights as the file has them, which would stay in
// memory beside those that are computed with. Small ones may be shapes, which
// are looked up for each new graph.
func forgetFile(network *backends.GoMLXModel) {
	const float32s = 1
	for _, weights := range network.OnnxModel.Proto.Graph.Initializer {
		if weights.DataType == float32s && len(weights.RawData) > 1024 {
			weights.RawData = nil
		}
	}
}

func computeGo(g *Graph, batch *backends.PipelineBatch) ([][]float32, error) {
	if err := backends.RunSessionOnBatch(batch, &backends.BasePipeline{Model: g.model, Runtime: g.backend}); err != nil {
		return nil, err
	}
	switch values := batch.OutputValues[g.output.Place].(type) {
	case [][]float32:
		return values, nil
	case [][][]float32: // without those of the padding
		outputs := make([][]float32, len(values))
		for i, tokens := range values {
			outputs[i] = slices.Concat(tokens...)
		}
		return outputs, nil
	}
	return nil, fmt.Errorf("output %s has the form %T", g.outputName(), batch.OutputValues[g.output.Place])
}
