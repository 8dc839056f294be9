package wordpiece

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
)

// leastPair is the shortest cap on a pair: three tokens that mark its parts, and one of each text with a little room.
const leastPair = 8

// usualPairs is how many texts of a call are scored where nobody says.
const usualPairs = 100

// Runner computes a graph. It gives each the numbers of one sequence; cancelling takes effect between its batches.
type Runner interface {
	Run(ctx context.Context, ids, types [][]int32, each func(i int, values []float32) error) error
}

// PairModel is what the files of a cross-encoder folder say, the graph itself aside: all that whoever runs the graph needs to give the same scores.
// It never changes after it is opened.
type PairModel struct {
	Folder
	labels   int // as config.json says, 0 where it doesn't
	maxPairs int
}

// OpenPairModel reads the folder of a cross-encoder of BERT's kind:
//
//   - model.onnx or onnx/model.onnx, which is only looked for;
//   - tokenizer.json or vocab.txt, see Open. A special token that is written out in a text, such as "[SEP]", is text;
//   - config.json: max_position_embeddings, vocab_size, pad_token_id, num_labels or id2label (1 or 2 labels), and the activation as
//     sentence-transformers notes it: Identity, Sigmoid or Softmax;
//   - sentence_bert_config.json with max_seq_length; 256 when absent, and never more than the model's positions.
//
// MaxTokens takes the place of the folder's length; 0 keeps it. Of a call maxPairs texts are scored; 0 means 100. The error says which file is missing
// (then it is fs.ErrNotExist) or can't be used.
func OpenPairModel(dir string, maxTokens, maxPairs int) (*PairModel, error) {
	if maxPairs < 0 {
		return nil, fmt.Errorf("MaxPairs is %d: want 0 or more", maxPairs)
	}
	folder, config, err := openFolder(dir, maxTokens, leastPair)
	if err != nil {
		return nil, err
	}
	options := folder.Tokenizer.Options()
	options.Specials = []string{}
	if folder.Tokenizer, err = New(folder.Tokenizer.Vocab(), options); err != nil {
		return nil, err
	}
	labels := config.NumLabels
	if labels == 0 {
		labels = len(config.Labels)
	}
	if labels < 0 || labels > 2 {
		return nil, fmt.Errorf("%s: config.json says the model has %d labels: want 1, or 2 of which the last means that the text fits", dir, labels)
	}
	activation := config.Sentence.Activation
	if activation == "" {
		activation = config.Activation
	}
	switch name := strings.ToLower(path.Ext(activation)); name {
	case "", ".identity", ".sigmoid", ".softmax":
	default:
		return nil, fmt.Errorf("%s: config.json names the activation %q: only Identity, Sigmoid and Softmax are known", dir, activation)
	}
	if maxPairs == 0 {
		maxPairs = usualPairs
	}
	return &PairModel{folder, labels, maxPairs}, nil
}

// Output chooses the logits: one or two numbers for each pair.
func (m *PairModel) Output(outputs []Tensor) (Output, error) {
	for i, out := range outputs {
		if len(out.Dims) != 2 || !out.floats() || len(outputs) > 1 && out.Name != "logits" {
			continue
		}
		labels := int(out.Dims[1])
		if labels < 1 {
			labels = max(m.labels, 1)
		}
		if labels > 2 || m.labels > 0 && m.labels != labels {
			return Output{}, fmt.Errorf("output %q has %d numbers for a pair, config.json says %d: want 1 or 2", out.Name, labels, m.labels)
		}
		return Output{Place: i, Dims: labels}, nil
	}
	return Output{}, fmt.Errorf("outputs are %s: want float32 logits (pair, label), as a cross-encoder gives them", Names(outputs))
}

// Encode gives for each text the ids of start, query, end, text, end, and their types: 0 up to the first end and 1 after it. What is longer than
// the model's length loses the end of the text first, then, when a quarter of the room is left to it, that of the query.
func (m *PairModel) Encode(ctx context.Context, query string, texts []string) (ids, types [][]int32, err error) {
	room := m.MaxTokens - 3
	var asked, e Encoding
	m.Tokenizer.Tokenize(&asked, query, room)
	ids, types = make([][]int32, len(texts)), make([][]int32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		m.Tokenizer.Tokenize(&e, text, room)
		ofText := min(len(e.IDs), max(room-len(asked.IDs), room/4))
		ofQuery := min(len(asked.IDs), room-ofText)
		pair := make([]int32, 0, ofQuery+ofText+3)
		pair = append(append(append(pair, m.Tokenizer.Start()), asked.IDs[:ofQuery]...), m.Tokenizer.End())
		first := len(pair)
		pair = append(append(pair, e.IDs[:ofText]...), m.Tokenizer.End())
		kinds := make([]int32, len(pair))
		for j := first; j < len(kinds); j++ {
			kinds[j] = 1
		}
		ids[i], types[i] = pair, kinds
	}
	return ids, types, nil
}

// Rerank scores the first texts of a call; those beyond the cap have NaN.
func (m *PairModel) Rerank(ctx context.Context, graph Runner, query string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	scored := min(len(texts), m.maxPairs)
	for i := scored; i < len(scores); i++ {
		scores[i] = math.NaN()
	}
	ids, types, err := m.Encode(ctx, query, texts[:scored])
	if err != nil {
		return nil, err
	}
	err = graph.Run(ctx, ids, types, func(i int, logits []float32) (err error) {
		scores[i], err = score(logits)
		return err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// score turns a pair's logits into a score from 0 to 1: the logistic of a single one, and of two the share that the last has in their softmax, which
// is the logistic of their difference.
func score(logits []float32) (float64, error) {
	logit := float64(logits[len(logits)-1])
	if len(logits) == 2 {
		logit -= float64(logits[0])
	}
	if math.IsNaN(logit) {
		return 0, errors.New("the model gave a logit that is not a number")
	}
	return 1 / (1 + math.Exp(-logit)), nil
}
