//go:build ORT || ALL

package hugotrun

import (
	"errors"
	"fmt"
	"slices"

	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"
	native "github.com/yalue/onnxruntime_go"

	"github.com/mallardmem/mallard/embed/ort"
)

// openORT loads a graph into hugot's ONNX Runtime backend. It fails with
// errNoORT when there is no library.
func openORT(content []byte, library string) (*Graph, error) {
	if err := ort.Load(library); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoORT, err)
	}
	session, err := native.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	o := options.Defaults()
	o.Backend, o.BackendOptions = "ORT", session
	// Hugot makes Path the working folder of the process while it loads, and leaves it so when that fails; this one changes nothing.
	// Weights in a second file are not found then, which is an error.
	model := &backends.Model{Path: ".", OnnxBytes: content}
	if err := backends.CreateModelBackend(model, o); err != nil {
		return nil, errors.Join(fmt.Errorf("not a model that can be loaded (incomplete download?): %w", err), session.Destroy())
	}
	g := &Graph{model: model, backend: o.Backend, runtime: "hugot (ONNX Runtime)", compute: computeORT}
	g.close = func() error { return errors.Join(model.ORTModel.Destroy(), session.Destroy()) }
	return g, nil
}

// computeORT runs hugot's session, but not by hugot, which never frees the
// outputs.
func computeORT(g *Graph, batch *backends.PipelineBatch) (outputs [][]float32, err error) {
	values := make([]native.Value, len(g.model.OutputsMeta))
	if err := g.model.ORTModel.Session.Run(batch.InputValues.([]native.Value), values); err != nil {
		return nil, err
	}
	defer func() {
		for _, v := range values {
			err = errors.Join(err, v.Destroy())
		}
	}()
	tensor, ok := values[g.output.Place].(*native.Tensor[float32])
	if !ok {
		return nil, fmt.Errorf("output %s is not of float32", g.outputName())
	}
	data := tensor.GetData()
	row := len(data) / len(batch.Input) // of a text: its tokens and the padding, or its one vector
	outputs = make([][]float32, len(batch.Input))
	for i, input := range batch.Input {
		length := row
		if g.output.PerToken {
			length = min(row, len(input.TokenIDs)*g.output.Dims)
		}
		outputs[i] = slices.Clone(data[i*row:][:length])
	}
	return outputs, nil
}
