package remote

import (
	"net/url"
	"strings"
)

// shape is what servers differ in.
type shape struct {
	name        string
	address     string // of the provider; "": it has to be said
	path        string // below the address; {model} and {version} are filled in
	keyVariable string // where a key is usually kept
	keyed       bool   // the provider's own address wants a key
	keyHeader   string // that has the key by itself; "": it is a bearer token

	input          string         // the field of the texts
	each           string         // the field of objects that say all of one text, as Gemini wants it; "": texts are a list
	model          string         // the field of the model; "": the server has one
	task           string         // the field that says what a text is embedded for; "": there is none
	query, passage string         // what stands there where nobody says otherwise
	dims           string         // the field that asks for vectors of another length; "": there is none
	always         map[string]any // what is sent with every request
	rows           string         // where the vectors are: data has objects, embeddings and "" (the answer itself) have arrays of numbers, or objects of which values has them
	batch          int            // so many texts go in one request
	version        string         // of the interface, where the address has one
}

// shapes are the providers. Servers are told to refuse what is too long rather than cut it, where they can be: the rest of a text would be lost
// without a word. Sources: the providers' references of their embeddings.
var shapes = []shape{
	{name: "openai", address: "https://api.openai.com/v1", path: "/embeddings", keyVariable: "OPENAI_API_KEY", keyed: true,
		input: "input", model: "model", dims: "dimensions", always: map[string]any{"encoding_format": "float"}, rows: "data", batch: 64},
	{name: "azure", path: "/openai/deployments/{model}/embeddings?api-version={version}", keyVariable: "AZURE_OPENAI_API_KEY", keyed: true, keyHeader: "api-key",
		input: "input", dims: "dimensions", rows: "data", batch: 64, version: "2024-10-21"},
	{name: "jina", address: "https://api.jina.ai/v1", path: "/embeddings", keyVariable: "JINA_API_KEY", keyed: true,
		input: "input", model: "model", task: "task", query: "retrieval.query", passage: "retrieval.passage", dims: "dimensions",
		always: map[string]any{"normalized": true}, rows: "data", batch: 64},
	{name: "voyage", address: "https://api.voyageai.com/v1", path: "/embeddings", keyVariable: "VOYAGE_API_KEY", keyed: true,
		input: "input", model: "model", task: "input_type", query: "query", passage: "document", dims: "output_dimension",
		always: map[string]any{"truncation": false}, rows: "data", batch: 64},
	{name: "nvidia", address: "https://integrate.api.nvidia.com/v1", path: "/embeddings", keyVariable: "NVIDIA_API_KEY", keyed: true,
		input: "input", model: "model", task: "input_type", query: "query", passage: "passage", dims: "dimensions",
		always: map[string]any{"encoding_format": "float", "truncate": "NONE"}, rows: "data", batch: 64},
	// Its interface in OpenAI's shape is told no tasks.
	{name: "gemini", address: "https://generativelanguage.googleapis.com/v1beta", path: "/models/{model}:batchEmbedContents", keyVariable: "GEMINI_API_KEY", keyed: true, keyHeader: "x-goog-api-key",
		each: "requests", model: "model", task: "taskType", query: "RETRIEVAL_QUERY", passage: "RETRIEVAL_DOCUMENT", dims: "outputDimensionality", rows: "embeddings", batch: 64},
	{name: "ollama", address: "http://localhost:11434", path: "/api/embed", keyVariable: "OLLAMA_API_KEY",
		input: "input", model: "model", dims: "dimensions", always: map[string]any{"truncate": false}, rows: "embeddings", batch: 32},
	{name: "tei", address: "http://localhost:8080", path: "/embed", keyVariable: "TEI_API_KEY",
		input: "inputs", task: "prompt_name", dims: "dimensions", always: map[string]any{"normalize": true, "truncate": false}, batch: 32},
	{name: "generic", path: "/embeddings", keyVariable: "EMBEDDING_API_KEY",
		input: "input", model: "model", task: "task", rows: "data", batch: 32},
}

// Providers are the names that Config.Provider may have.
func Providers() (names []string) {
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return names
}

// KeyVariable is the environment variable in which a provider's key is usually kept; "" for one that is not known.
func KeyVariable(provider string) string {
	s, _ := shapeOf(provider)
	return s.keyVariable
}

func shapeOf(provider string) (shape, bool) {
	for _, s := range shapes {
		if s.name == provider {
			return s, true
		}
	}
	return shape{}, false
}

// url is where texts are sent.
func (s shape) url(config Config) string {
	filled := strings.NewReplacer("{model}", url.PathEscape(config.Model), "{version}", url.QueryEscape(config.APIVersion)).Replace(s.path)
	return strings.TrimRight(config.BaseURL, "/") + filled
}

// body is a request.
func (s shape) body(config Config, p purpose, texts []string) map[string]any {
	if s.each == "" {
		return s.object(config, p, texts)
	}
	all := make([]map[string]any, len(texts))
	for i, text := range texts {
		all[i] = s.object(config, p, nil)
		all[i][s.model] = "models/" + config.Model
		all[i]["content"] = map[string]any{"parts": []map[string]string{{"text": p.prefix + text}}}
	}
	return map[string]any{s.each: all}
}

// object has what is said of texts, and the texts themselves unless each has an object of its own.
func (s shape) object(config Config, p purpose, texts []string) map[string]any {
	fields := map[string]any{}
	for name, value := range s.always {
		fields[name] = value
	}
	sent := texts
	if p.prefix != "" {
		sent = make([]string, len(texts))
		for i, text := range texts {
			sent[i] = p.prefix + text
		}
	}
	if s.input != "" {
		fields[s.input] = sent
	}
	if s.model != "" {
		fields[s.model] = config.Model
	}
	if s.task != "" && p.task != "" {
		fields[s.task] = p.task
	}
	if s.dims != "" {
		fields[s.dims] = config.Dims
	}
	return fields
}
