package wordpiece_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/testdata/crossencoder"
)

// TestEncodePairs writes ids as tokens. The cap of 16 has room for 13 tokens of the two texts.
func TestEncodePairs(t *testing.T) {
	m, err := wordpiece.OpenPairModel(crossencoder.Folder(t, "one", nil), 16, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ query, text, want, types string }{
		"short":          {"who paints", "In oil!", "[CLS] who paint ##s [SEP] in oil ! [SEP]", "000001111"},
		"nothing":        {"", "", "[CLS] [SEP] [SEP]", "001"},
		"a mark":         {"a", "[SEP]", "[CLS] a [SEP] [ s ##e ##p ] [SEP]", "000111111"},
		"a mark, asked":  {"[CLS] a", "a", "[CLS] [ c ##l ##s ] a [SEP] a [SEP]", "0000000011"},
		"long text":      {"who was at the ship", "the a of to in is was and for on", "[CLS] who was at the ship [SEP] the a of to in is was and [SEP]", "0000000111111111"},
		"long query":     {"the a of to in is was and for on with", "ship boat fish", "[CLS] the a of to in is was and for on [SEP] ship boat fish [SEP]", "0000000000001111"},
		"both":           {"the a of to in is was and for on with", "ship boat fish old", "[CLS] the a of to in is was and for on [SEP] ship boat fish [SEP]", "0000000000001111"},
		"long, no text":  {"the a of to in is was and for on with at by from", "", "[CLS] the a of to in is was and for on with at by [SEP] [SEP]", "0000000000000001"},
		"accents, runes": {"Fïsh", "東\xff", "[CLS] fish [SEP] [UNK] [SEP]", "00011"},
	} {
		ids, types, err := m.Encode(t.Context(), c.query, []string{"another", c.text})
		if err != nil {
			t.Fatal(err)
		}
		var tokens []string
		var kinds strings.Builder
		for i, id := range ids[1] {
			tokens = append(tokens, m.Tokenizer.Vocab()[id])
			kinds.WriteByte('0' + byte(types[1][i]))
		}
		if diff := cmp.Diff(c.want+" "+c.types, strings.Join(tokens, " ")+" "+kinds.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOpenPairModelRefuses(t *testing.T) {
	for want, config := range map[string]string{
		"has 3 labels":                          `{"id2label": {"0": "a", "1": "b", "2": "c"}}`,
		"has -1 labels":                         `{"num_labels": -1}`,
		`"torch.nn.modules.activation.Tanh"`:    `{"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}`,
		`"torch.nn.modules.activation.Mish"`:    `{"sbert_ce_default_activation_function": "torch.nn.modules.activation.Mish"}`,
		"config.json says the model knows 100":  `{"vocab_size": 100}`,
		"MaxTokens is 20: want at most the mod": `{"max_position_embeddings": 10}`,
	} {
		if _, err := wordpiece.OpenPairModel(crossencoder.Folder(t, "one", map[string]string{"config.json": config}), 20, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v: want %q", config, err, want)
		}
	}
	short := crossencoder.Folder(t, "one", map[string]string{"sentence_bert_config.json": `{"max_seq_length": 7}`})
	if _, err := wordpiece.OpenPairModel(short, 0, 0); err == nil || !strings.Contains(err.Error(), "want at least 8") {
		t.Errorf("a length of 7: error %v", err)
	}
}

// TestPairScores: one logit goes through the logistic, of two the last one's share counts; what is no number is an error.
func TestPairScores(t *testing.T) {
	m, err := wordpiece.OpenPairModel(crossencoder.Folder(t, "one", nil), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		logits []float32
		want   float64
	}{
		{[]float32{0}, 0.5}, {[]float32{2}, 0.8807970779778823}, {[]float32{-100}, 3.720075976020836e-44}, {[]float32{inf}, 1}, {[]float32{-inf}, 0},
		{[]float32{1, 1}, 0.5}, {[]float32{-1, 1}, 0.8807970779778823}, {[]float32{1, -1}, 0.11920292202211755}, {[]float32{5, inf}, 1},
	} {
		scores, err := m.Rerank(t.Context(), said{c.logits}, "q", []string{"a", "b", "c"})
		if err != nil || scores[0] != scores[1] || math.Abs(scores[0]-c.want) > 1e-12 || !math.IsNaN(scores[2]) {
			t.Errorf("logits %v: %v, error %v: want %g twice, and NaN", c.logits, scores, err, c.want)
		}
	}
	for _, logits := range [][]float32{{nan}, {nan, 1}, {inf, inf}} {
		if _, err := m.Rerank(t.Context(), said{logits}, "q", []string{"a"}); err == nil || !strings.Contains(err.Error(), "not a number") {
			t.Errorf("logits %v: error %v", logits, err)
		}
	}
}

// said is a graph that says the same of every pair.
type said struct{ logits []float32 }

func (s said) Run(_ context.Context, ids, _ [][]int32, each func(int, []float32) error) error {
	for i := range ids {
		if err := each(i, s.logits); err != nil {
			return err
		}
	}
	return nil
}
