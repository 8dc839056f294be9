package remote_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	remote "github.com/mallardmem/mallard/embed/http"
)

const (
	testKey  = "sk-secret-1"
	testDims = 32
	room     = 6000 // characters that the servers' model takes
)

// door is what one provider's server is asked with and answers.
type door struct {
	provider, path, header string // header has the key
	input, task            string // names of fields
	query, passage         string // what stands in the field of the task
	fields                 map[string]any
	tooLong                string // the body of a refusal
	status                 int    // and its status
	rows                   func(vectors [][]float32) any
}

// objects gives the vectors as OpenAI does, the last first.
func objects(vectors [][]float32) any {
	var data []any
	for i := len(vectors) - 1; i >= 0; i-- {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vectors[i]})
	}
	return map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]any{"prompt_tokens": 5, "total_tokens": 5}}
}

const openaiTooLong = `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9001 tokens.","type":"invalid_request_error","param":null,"code":null}}`

var doors = []door{
	{"openai", "/embeddings", "Bearer ", "input", "", "", "", map[string]any{"model": "m", "encoding_format": "float", "dimensions": 32.0}, openaiTooLong, 400, objects},
	{"azure", "/openai/deployments/m/embeddings?api-version=2024-10-21", "api-key", "input", "", "", "", map[string]any{"dimensions": 32.0}, openaiTooLong, 400, objects},
	{"jina", "/embeddings", "Bearer ", "input", "task", "retrieval.query", "retrieval.passage", map[string]any{"model": "m", "normalized": true, "dimensions": 32.0},
		`{"detail":"Input text exceeds maximum length of 8192 tokens"}`, 400, objects},
	{"voyage", "/embeddings", "Bearer ", "input", "input_type", "query", "document", map[string]any{"model": "m", "truncation": false, "output_dimension": 32.0},
		`{"detail":"The example at index 0 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens."}`, 400, objects},
	{"nvidia", "/embeddings", "Bearer ", "input", "input_type", "query", "passage", map[string]any{"model": "m", "encoding_format": "float", "truncate": "NONE", "dimensions": 32.0},
		`{"error":"Input length 600 exceeds maximum allowed token size 512"}`, 400, objects},
	{"gemini", "/models/m:batchEmbedContents", "x-goog-api-key", "requests", "taskType", "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", map[string]any{"model": "models/m", "outputDimensionality": 32.0},
		`{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 2048.","status":"INVALID_ARGUMENT"}}`, 400, func(v [][]float32) any {
			all := []any{}
			for _, one := range v {
				all = append(all, map[string]any{"values": one})
			}
			return map[string]any{"embeddings": all}
		}},
	{"ollama", "/api/embed", "Bearer ", "input", "", "", "", map[string]any{"model": "m", "truncate": false, "dimensions": 32.0},
		`{"error":"the input length exceeds the context length"}`, 500, func(v [][]float32) any {
			return map[string]any{"model": "m", "embeddings": v, "total_duration": 14143917}
		}},
	{"tei", "/embed", "Bearer ", "inputs", "prompt_name", "", "", map[string]any{"normalize": true, "truncate": false, "dimensions": 32.0},
		"{\"error\":\"Input validation error: `inputs` must have less than 512 tokens. Given: 3002\",\"error_type\":\"Validation\"}", 413, func(v [][]float32) any { return v }},
	{"generic", "/embeddings", "Bearer ", "input", "task", "", "", map[string]any{"model": "m"},
		`{"error":{"code":500,"message":"input (900 tokens) is too large to process. increase the physical batch size (current batch size: 512)","type":"server_error"}}`, 500, objects},
}

// asked is a request that a server has seen.
type asked struct {
	path, key string
	fields    map[string]any
	texts     []string
}

// log is what a server was asked.
type log struct {
	mu  sync.Mutex
	all []asked
}

func (l *log) add(a asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, a)
}

// taken gives what was asked since the last time.
func (l *log) taken() []asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// read takes a request apart.
func (d door) read(t *testing.T, r *http.Request) asked {
	t.Helper()
	a := asked{path: r.URL.RequestURI(), fields: map[string]any{}}
	if d.header == "Bearer " {
		a.key = strings.TrimPrefix(r.Header.Get("Authorization"), d.header)
	} else {
		a.key = r.Header.Get(d.header)
	}
	if err := json.NewDecoder(r.Body).Decode(&a.fields); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s asked with %s, %v", d.provider, r.Method, err)
	}
	texts, _ := a.fields[d.input].([]any)
	delete(a.fields, d.input)
	for _, text := range texts {
		if one, ok := text.(map[string]any); ok { // Gemini's, who says all of each text
			text = one["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)["text"]
			delete(one, "content")
			a.fields = one
		}
		a.texts = append(a.texts, text.(string))
	}
	return a
}

// model answers as the provider's server does, with vectors made of words, and refuses texts that are too long.
func (d door) model(t *testing.T, seen *log) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := d.read(t, r)
		seen.add(a)
		w.Header().Set("Content-Type", "application/json")
		vectors := make([][]float32, len(a.texts))
		for i, text := range a.texts {
			if utf8.RuneCountInString(text) > room {
				w.WriteHeader(d.status)
				io.WriteString(w, d.tooLong)
				return
			}
			if text == "" || !utf8.ValidString(text) {
				t.Errorf("%s was sent %q", d.provider, text)
			}
			vectors[i] = wordVector(text)
		}
		json.NewEncoder(w).Encode(d.rows(vectors))
	}
}

// wordVector adds up axes of words, and is of no particular length.
func wordVector(text string) []float32 {
	v := make([]float32, testDims)
	v[0] = 1
	for _, word := range strings.Fields(text) {
		h := fnv.New32a()
		io.WriteString(h, word)
		v[1+h.Sum32()%(testDims-1)]++
	}
	return v
}

// serve opens a client of a server that handles requests so; zero fields of the configuration get values.
func serve(t *testing.T, d door, config remote.Config, handle http.HandlerFunc) *remote.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config.Provider, config.BaseURL, config.HTTPClient = d.provider, server.URL, server.Client()
	if config.Model == "" {
		config.Model = "m"
	}
	if config.Dims == 0 {
		config.Dims = testDims
	}
	if config.Keys == nil {
		config.Keys = []string{testKey}
	}
	client, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// reply answers with this status and body.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// stall says nothing until the client goes away.
func stall(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	select {
	case <-r.Context().Done():
	case <-time.After(10 * time.Second):
	}
}

// after writes the beginning of an answer and goes on with the rest of a handler.
func after(start string, rest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, start)
		w.(http.Flusher).Flush()
		rest(w, r)
	}
}

// hangUp closes the connection.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// endless goes on with numbers until the client goes away.
func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("0.125,", 10_000)); err != nil {
			return
		}
	}
}

// numbers is a list of n numbers in JSON, the first of them as told.
func numbers(n int, first string) string {
	return "[" + first + strings.Repeat(",0.5", n-1) + "]"
}

// row is a vector in OpenAI's shape.
func row(index int, vector string) string {
	return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, vector)
}
