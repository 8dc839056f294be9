// Package hugotrun runs models with hugot: in pure Go, or, in programs built
// with the tag ORT, in ONNX Runtime where its library is found. Of hugot only
// what runs a graph is used; ids come from package wordpiece.
package hugotrun

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/knights-analytics/hugot/backends"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// Graph is a loaded model: token ids in, the vectors of a sequence's tokens
// out, or one vector per sequence. It may be used by several goroutines, whose
// batches run one after the other: each of them takes all cores.
type Graph struct {
	model   *backends.Model
	backend string // as hugot names it
	runtime string // as people do
	output  wordpiece.Output
	widths  []int // see widthBuckets
	compute func(g *Graph, batch *backends.PipelineBatch) ([][]float32, error)

	turn  chan struct{} // has room for whoever uses the model, which hugot doesn't guard
	close func() error  // nil once closed
}

// Open loads a folder's graph; choose says which of its outputs is read. A
// library can only be named in programs built with the tag ORT. What can't be
// computed may show in the first run only.
func Open(folder *wordpiece.Folder, library string, choose func(outputs []wordpiece.Tensor) (wordpiece.Output, error)) (g *Graph, err error) {
	defer recovered(&err)
	content, err := os.ReadFile(folder.Graph)
	if err != nil {
		return nil, err
	}
	g, err = openORT(content, library)
	if errors.Is(err, errNoORT) && library == "" {
		g, err = openGo(content, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Graph, err)
	}
	g.widths, g.turn = widthBuckets(folder.MaxTokens), make(chan struct{}, 1)
	if err = wordpiece.CheckInputs(tensors(g.model.InputsMeta)); err == nil {
		g.output, err = choose(tensors(g.model.OutputsMeta))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", folder.Graph, err), g.close())
	}
	return g, nil
}

// errNoORT: there is no ONNX Runtime backend, or no library for it.
var errNoORT = errors.New("no ONNX Runtime")

func tensors(values []backends.InputOutputInfo) []wordpiece.Tensor {
	list := make([]wordpiece.Tensor, len(values))
	for i, v := range values {
		list[i] = wordpiece.Tensor{Name: v.Name, Dims: v.Dimensions}
	}
	return list
}

// Output is what is read of the graph.
func (g *Graph) Output() wordpiece.Output { return g.output }

// Runtime says what computes: "hugot (pure Go)" or "hugot (ONNX Runtime)".
func (g *Graph) Runtime() string { return g.runtime }

// Close gives the graph's memory back, after the batch under way. Using it
// afterwards is an error; closing it twice is not.
func (g *Graph) Close() error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	if g.close == nil {
		return nil
	}
	err := g.close()
	g.close = nil
	return err
}

// Run computes sequences of ids, none of them empty; nil types are all 0. It
// gives each the numbers of one sequence: as many vectors as the sequence has
// ids, one after the other, or a single one. Cancelling takes effect between
// batches.
func (g *Graph) Run(ctx context.Context, ids, types [][]int32, each func(i int, values []float32) error) error {
	fit := func(length int) int { return rows(g.widths, length) }
	for _, batch := range wordpiece.Batches(ids, fit) {
		outputs, err := g.runBatch(ctx, ids, types, batch)
		if err != nil {
			return err
		}
		for row, i := range batch {
			want := g.output.Dims
			if g.output.PerToken {
				want *= len(ids[i])
			}
			if len(outputs[row]) != want {
				return fmt.Errorf("output %s has %d values for a sequence: want %d", g.outputName(), len(outputs[row]), want)
			}
			if err := each(i, outputs[row]); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// runBatch waits for its turn.
func (g *Graph) runBatch(ctx context.Context, ids, types [][]int32, places []int) (outputs [][]float32, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if g.close == nil {
		return nil, errors.New("the model is closed")
	}
	defer recovered(&err)
	batch := newBatch(ids, types, places)
	defer func() { err = errors.Join(err, batch.Destroy()) }()
	if err := backends.CreateInputTensors(batch, g.model, g.backend); err != nil {
		return nil, err
	}
	return g.compute(g, batch)
}

func (g *Graph) outputName() string {
	return wordpiece.Names(tensors(g.model.OutputsMeta[g.output.Place : g.output.Place+1]))
}

// recovered turns a panic of hugot's into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.Join(*err, fmt.Errorf("hugot panicked: %v", r))
	}
}
