package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/wire"
)

// shape is what one provider's requests look like. Their answers are all read the same way, see read.
type shape struct {
	url     string            // of the endpoint; "" where everybody has a server of his own
	header  string            // that carries the key; "" is Authorization with Bearer
	headers map[string]string // sent besides
	model   bool              // the request names a model
	inside  string            // the field in which query and texts stand; "" is the request itself
	texts   string            // the name of the list of texts
	objects bool              // whose members are {"text": …}
	top     string            // the name of how many are wanted back; "" is no such field
	more    map[string]any    // sent besides
	most    int               // texts in one request
}

// shapes has all providers, by the names that Config.Provider takes.
var shapes = map[string]shape{
	"jina":        {url: "https://api.jina.ai/v1/rerank", model: true, texts: "documents", top: "top_n", more: map[string]any{"return_documents": false}, most: 100},
	"siliconflow": {url: "https://api.siliconflow.cn/v1/rerank", model: true, texts: "documents", top: "top_n", more: map[string]any{"return_documents": false}, most: 100},
	"cohere":      {url: "https://api.cohere.com/v2/rerank", model: true, texts: "documents", top: "top_n", most: 100},
	"voyage":      {url: "https://api.voyageai.com/v1/rerank", model: true, texts: "documents", top: "top_k", most: 100},
	"pinecone": {url: "https://api.pinecone.io/rerank", header: "Api-Key", headers: map[string]string{"X-Pinecone-API-Version": "2024-10"}, model: true,
		texts: "documents", objects: true, top: "top_n", more: map[string]any{"rank_fields": []string{"text"}, "return_documents": false}, most: 100},
	"dashscope": {url: "https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank", model: true, inside: "input", texts: "documents", most: 100},
	// A server of text-embeddings-inference refuses more than 32 unless it was started otherwise.
	"tei": {texts: "texts", more: map[string]any{"truncate": true}, most: 32},
}

// body is a request in JSON.
func (s shape) body(model, query string, texts []string) ([]byte, error) {
	request := map[string]any{}
	for name, value := range s.more {
		request[name] = value
	}
	if s.model {
		request["model"] = model
	}
	if s.top != "" {
		request[s.top] = len(texts)
	}
	inner := request
	if s.inside != "" {
		inner = map[string]any{}
		request[s.inside] = inner
	}
	inner["query"], inner[s.texts] = query, texts
	if s.objects {
		list := make([]map[string]string, len(texts))
		for i, text := range texts {
			list[i] = map[string]string{"text": text}
		}
		inner[s.texts] = list
	}
	return json.Marshal(request)
}

// read fills in the scores of an answer: a list at its top, or under results or data, there or within output, of objects with an index and a
// relevance_score or score. What is no number is passed over, as is an index that nobody asked for, or a second time. Scores are brought to 0 to 1.
// An answer without one usable member is an error.
func read(answer []byte, scores []float64) error {
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var top any
	if err := decoder.Decode(&top); err != nil {
		return errors.New("answer is no JSON")
	}
	done := make([]bool, len(scores))
	found := false
	for _, member := range listOf(top) {
		fields, _ := member.(map[string]any)
		index, ok := number(fields["index"])
		if !ok || index != math.Trunc(index) || index < 0 || index >= float64(len(scores)) || done[int(index)] {
			continue
		}
		score, ok := number(fields["relevance_score"])
		if !ok {
			score, ok = number(fields["score"])
		}
		if ok {
			scores[int(index)], done[int(index)], found = min(1, max(0, score)), true, true
		}
	}
	if !found {
		return errors.New("answer has no scores")
	}
	return nil
}

func listOf(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range []string{"results", "data", "output"} {
		if list := listOf(object[name]); list != nil {
			return list
		}
	}
	return nil
}

// number reads a finite number, or a string that has one.
func number(value any) (float64, bool) {
	var text string
	switch value := value.(type) {
	case json.Number:
		text = value.String()
	case string:
		text = strings.TrimSpace(value)
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// answerMessage says what is wrong with an answer of success, and what the server says in it: gateways report the failure of the one behind them so.
func answerMessage(answer []byte, wrong error) string {
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) && json.Valid(answer) {
		if said := wire.ServerMessage(answer); !strings.HasPrefix(said, "{") {
			return wrong.Error() + ": " + said
		}
	}
	return wrong.Error()
}
