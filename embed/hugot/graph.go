package hugot

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/knights-analytics/hugot/backends"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// graph is a loaded model: token ids in, the vectors of a text's tokens out,
// or one vector per text. Not safe for concurrent use.
type graph struct {
	model   *backends.Model
	backend string // as hugot names it
	runtime string // as people do
	output  int    // which of the model's outputs is used
	pooled  bool   // the output is a vector per text already
	dims    int
	compute func(g *graph, batch *backends.PipelineBatch) ([][]float32, error)
	close   func() error
}

func openGraph(sentence *wordpiece.SentenceModel, library string) (g *graph, err error) {
	defer recovered(&err)
	content, err := os.ReadFile(sentence.Graph)
	if err != nil {
		return nil, err
	}
	g, err = openORT(content, library)
	if errors.Is(err, errNoORT) && library == "" {
		g, err = openGo(content, sentence)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sentence.Graph, err)
	}
	if err := g.choose(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", sentence.Graph, err), g.close())
	}
	return g, nil
}

// choose checks the inputs and prefers vectors of tokens, which are pooled as
// the folder says, to vectors the graph has pooled by itself.
func (g *graph) choose() error {
	seen := map[string]bool{}
	for _, in := range g.model.InputsMeta {
		switch in.Name {
		case "input_ids", "attention_mask", "token_type_ids":
			seen[in.Name] = true
		default:
			return fmt.Errorf("input %q: only input_ids, attention_mask and token_type_ids are known; the model has %s", in.Name, names(g.model.InputsMeta))
		}
	}
	if !seen["input_ids"] || !seen["attention_mask"] {
		return fmt.Errorf("inputs are %s: want input_ids and attention_mask", names(g.model.InputsMeta))
	}
	for _, rank := range []int{3, 2} {
		for i, out := range g.model.OutputsMeta {
			if len(out.Dimensions) != rank || rank == 2 && out.Name != "sentence_embedding" {
				continue
			}
			g.output, g.pooled, g.dims = i, rank == 2, int(out.Dimensions[rank-1])
			if g.dims < 1 {
				return fmt.Errorf("output %q doesn't say how many dimensions it has", out.Name)
			}
			return nil
		}
	}
	return fmt.Errorf("outputs are %s: want vectors of tokens (text, token, dimension) or sentence_embedding (text, dimension)", names(g.model.OutputsMeta))
}

// errNoORT: there is no ONNX Runtime backend, or no library for it.
var errNoORT = errors.New("no ONNX Runtime")

func names(values []backends.InputOutputInfo) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%s %v", v.Name, v.Dimensions))
	}
	return strings.Join(list, ", ")
}

// run gives the output for sequences of ids, the longest first and none of
// them empty: per sequence as many vectors as it has ids, one after the
// other, or a single one when pooled.
func (g *graph) run(sequences [][]int32) (outputs [][]float32, err error) {
	defer recovered(&err)
	batch := newBatch(sequences)
	defer func() { err = errors.Join(err, batch.Destroy()) }()
	if err := backends.CreateInputTensors(batch, g.model, g.backend); err != nil {
		return nil, err
	}
	outputs, err = g.compute(g, batch)
	if err != nil {
		return nil, err
	}
	for i, values := range outputs {
		want := g.dims
		if !g.pooled {
			want *= len(sequences[i])
		}
		if len(values) != want {
			return nil, fmt.Errorf("output %s has %d values for a text: want %d", names(g.model.OutputsMeta[g.output:g.output+1]), len(values), want)
		}
	}
	return outputs, nil
}

// recovered turns a panic of hugot's into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.Join(*err, fmt.Errorf("hugot panicked: %v", r))
	}
}
