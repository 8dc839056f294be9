package wordpiece_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/testdata/crossencoder"
)

// TestByHand computes the networks in float64, without any graph: what the numbers mean, said once more.
func TestByHand(t *testing.T) {
	for name, layers := range map[string]int{"one": 2, "two": 1} {
		pairs, err := wordpiece.OpenPairModel(crossencoder.Folder(t, name, nil), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		net := network{readWeights(t, pairs.Graph), layers}
		crossencoder.Hold(t, name, func(ctx context.Context, query string, texts []string) ([]float64, error) {
			return pairs.Rerank(ctx, net, query, texts)
		})
	}
}

const (
	dim       = 24
	heads     = 3
	ofHead    = dim / heads
	tooSmall  = 1e-12
	wideOfDim = 2 * dim
)

type network struct {
	weights map[string][]float64
	layers  int
}

// Run is wordpiece.Runner's.
func (n network) Run(_ context.Context, ids, types [][]int32, each func(int, []float32) error) error {
	for i := range ids {
		if err := each(i, n.logits(ids[i], types[i])); err != nil {
			return err
		}
	}
	return nil
}

func (n network) logits(ids, types []int32) []float32 {
	rows := make([][]float64, len(ids))
	for i, id := range ids {
		rows[i] = make([]float64, dim)
		for j := range dim {
			rows[i][j] = n.weights["words"][int(id)*dim+j] + n.weights["kinds"][int(types[i])*dim+j] + n.weights["places"][i*dim+j]
		}
		n.norm(rows[i], "embedding")
	}
	for layer := range n.layers {
		n.attend(rows, fmt.Sprintf("layer%d", layer))
	}
	pooled := n.linear(rows[0], "pooler")
	for j, x := range pooled {
		pooled[j] = math.Tanh(x)
	}
	var logits []float32
	for _, x := range n.linear(pooled, "classifier") {
		logits = append(logits, float32(x))
	}
	return logits
}

func (n network) attend(rows [][]float64, name string) {
	query, key, value := make([][]float64, len(rows)), make([][]float64, len(rows)), make([][]float64, len(rows))
	for i, row := range rows {
		query[i], key[i], value[i] = n.linear(row, name+".query"), n.linear(row, name+".key"), n.linear(row, name+".value")
	}
	for i := range rows {
		seen := make([]float64, dim)
		for head := 0; head < dim; head += ofHead {
			shares, sum := make([]float64, len(rows)), 0.0
			for other := range rows {
				var product float64
				for j := head; j < head+ofHead; j++ {
					product += query[i][j] * key[other][j]
				}
				shares[other] = math.Exp(product / math.Sqrt(ofHead))
				sum += shares[other]
			}
			for other, share := range shares {
				for j := head; j < head+ofHead; j++ {
					seen[j] += share / sum * value[other][j]
				}
			}
		}
		n.addNorm(rows[i], n.linear(seen, name+".seen"), name+".attended")
		wide := n.linear(rows[i], name+".wide")
		for j, x := range wide {
			wide[j] = x * (1 + math.Erf(x/math.Sqrt2)) / 2
		}
		n.addNorm(rows[i], n.linear(wide, name+".narrow"), name+".output")
	}
}

func (n network) linear(in []float64, name string) []float64 {
	w, out := n.weights[name+".w"], append([]float64(nil), n.weights[name+".b"]...)
	for i, x := range in {
		for j := range out {
			out[j] += x * w[i*len(out)+j]
		}
	}
	return out
}

func (n network) addNorm(row, more []float64, name string) {
	for j, x := range more {
		row[j] += x
	}
	n.norm(row, name)
}

func (n network) norm(row []float64, name string) {
	var mean, variance float64
	for _, x := range row {
		mean += x / dim
	}
	for _, x := range row {
		variance += (x - mean) * (x - mean) / dim
	}
	for j, x := range row {
		row[j] = (x-mean)/math.Sqrt(variance+tooSmall)*n.weights[name+".g"][j] + n.weights[name+".b"][j]
	}
}

// readWeights takes the float32 tensors out of a file of ONNX: the initializers (5) of the graph (7), each with its name (8), type (2) and bytes (9).
func readWeights(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string][]float64{}
	for _, graph := range fields(t, content)[7] {
		for _, tensor := range fields(t, graph)[5] {
			parts := fields(t, tensor)
			if kind, _ := protowire.ConsumeVarint(parts[2][0]); kind != 1 {
				continue
			}
			var values []float64
			for raw := parts[9][0]; len(raw) > 0; raw = raw[4:] {
				values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			}
			weights[string(parts[8][0])] = values
		}
	}
	if len(weights["words"])%dim != 0 || len(weights["layer0.wide.w"]) != dim*wideOfDim {
		t.Fatalf("%s has %d weights, %d numbers among its words", path, len(weights), len(weights["words"]))
	}
	return weights
}

// fields splits a message of protocol buffers.
func fields(t *testing.T, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	found := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		value := message[:n]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		found[number] = append(found[number], value)
		message = message[n:]
	}
	return found
}
