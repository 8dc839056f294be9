//go:build ORT || ALL

package hugot

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"
	ort "github.com/yalue/onnxruntime_go"
)

// loading guards the state that ONNX Runtime keeps for the whole process: one
// library, one environment. It is never unloaded, since sessions of other
// owners may live in it.
var loading sync.Mutex

func loadORT(library string) error {
	loading.Lock()
	defer loading.Unlock()
	if ort.IsInitialized() {
		return nil
	}
	if library == "" {
		library = os.Getenv("MEMCTL_ORT")
	}
	if library != "" {
		ort.SetSharedLibraryPath(library)
	}
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return fmt.Errorf("%w: library %q: %w", errNoORT, library, err)
	}
	return nil
}

// openORT loads a graph into hugot's ONNX Runtime backend. It fails with
// errNoORT when there is no library.
func openORT(content []byte, library string) (*graph, error) {
	if err := loadORT(library); err != nil {
		return nil, err
	}
	session, err := ort.NewSessionOptions()
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
	g := &graph{model: model, backend: o.Backend, runtime: "hugot (ONNX Runtime)", compute: computeORT}
	g.close = func() error { return errors.Join(model.ORTModel.Destroy(), session.Destroy()) }
	return g, nil
}

// computeORT runs hugot's session, but not by hugot, which never frees the
// outputs.
func computeORT(g *graph, batch *backends.PipelineBatch) (outputs [][]float32, err error) {
	values := make([]ort.Value, len(g.model.OutputsMeta))
	if err := g.model.ORTModel.Session.Run(batch.InputValues.([]ort.Value), values); err != nil {
		return nil, err
	}
	defer func() {
		for _, v := range values {
			err = errors.Join(err, v.Destroy())
		}
	}()
	tensor, ok := values[g.output].(*ort.Tensor[float32])
	if !ok {
		return nil, fmt.Errorf("output %s is not of float32", names(g.model.OutputsMeta[g.output:g.output+1]))
	}
	data := tensor.GetData()
	row := len(data) / len(batch.Input) // of a text: its tokens and the padding, or its one vector
	outputs = make([][]float32, len(batch.Input))
	for i, input := range batch.Input {
		length := row
		if !g.pooled {
			length = min(row, len(input.TokenIDs)*g.dims)
		}
		outputs[i] = slices.Clone(data[i*row:][:length])
	}
	return outputs, nil
}
