package wordpiece

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// defaultMaxTokens is what texts are cut to where the folder names no length
// of its own: what the MiniLM sentence models were trained with.
const defaultMaxTokens = 256

// SentenceModel is what the files of a sentence-transformer folder say, the
// graph itself aside: all that whoever runs the graph needs to make the same
// vectors. It never changes after it is opened.
type SentenceModel struct {
	Folder
	Pooling Pooling

	queryPrefix, passagePrefix string
}

// OpenSentenceModel reads a folder in the layout of sentence-transformers, or with the path of one of its graphs (dir/model_quantized.onnx) that graph:
//
//   - model.onnx or onnx/model.onnx, which is only looked for;
//   - tokenizer.json or vocab.txt, see Open;
//   - 1_Pooling/config.json: mean, cls or max; mean when absent;
//   - sentence_bert_config.json with max_seq_length; 256 when absent, and
//     never more than max_position_embeddings of config.json;
//   - config_sentence_transformers.json: the prompts named query, and document or
//     passage, which are put before questions and other texts.
//
// MaxTokens takes the place of the folder's length; 0 keeps it. The error says
// which file is missing (then it is fs.ErrNotExist) or can't be used.
func OpenSentenceModel(dir string, maxTokens int) (*SentenceModel, error) {
	folder, _, err := openFolder(dir, maxTokens, 3)
	if err != nil {
		return nil, err
	}
	pooling, err := readPooling(folder.dir)
	if err != nil {
		return nil, err
	}
	said := struct{ Prompts map[string]string }{}
	if _, err := readJSON(filepath.Join(folder.dir, "config_sentence_transformers.json"), &said); err != nil {
		return nil, err
	}
	return &SentenceModel{folder, pooling, said.Prompts["query"], cmp.Or(said.Prompts["document"], said.Prompts["passage"])}, nil
}

// Prefixes are what is put before questions and before other texts; "" where that is nothing.
func (m *SentenceModel) Prefixes() (query, passage string) { return m.queryPrefix, m.passagePrefix }

// readPooling reads 1_Pooling/config.json of sentence-transformers; without
// it the pooling is mean.
func readPooling(dir string) (Pooling, error) {
	path := filepath.Join(dir, "1_Pooling", "config.json")
	modes := struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Root bool `json:"pooling_mode_mean_sqrt_len_tokens"` // a multiple of the mean: the same unit vector
		Last bool `json:"pooling_mode_lasttoken"`
		Wtd  bool `json:"pooling_mode_weightedmean_tokens"`
	}{}
	found, err := readJSON(path, &modes)
	if err != nil || !found {
		return PoolMean, err
	}
	chosen := map[Pooling]bool{PoolMean: modes.Mean || modes.Root, PoolCLS: modes.CLS, PoolMax: modes.Max}
	var mode Pooling
	count := 0
	for name, on := range chosen {
		if on {
			mode = name
			count++
		}
	}
	if count != 1 || modes.Last || modes.Wtd {
		return "", fmt.Errorf("%s: want exactly one of mean, cls and max pooling", path)
	}
	return mode, nil
}

// Fingerprint covers all that decides on the vectors: graph, tokenizer,
// pooling, prefixes and the length texts are cut to. What runs the graph is no part of
// it, since every provider is held to the same vectors.
func (m *SentenceModel) Fingerprint() (string, error) {
	h := sha256.New()
	for _, path := range []string{m.Graph, m.Graph + "_data"} { // weights over 2 GB stand in a second file
		in, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && path != m.Graph {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, in)
		in.Close()
		if err != nil {
			return "", err
		}
	}
	fmt.Fprintf(h, "%q %+v %s %d", m.Tokenizer.Vocab(), m.Tokenizer.Options(), m.Pooling, m.MaxTokens)
	if m.queryPrefix != "" || m.passagePrefix != "" {
		fmt.Fprintf(h, " %q %q", m.queryPrefix, m.passagePrefix)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}
