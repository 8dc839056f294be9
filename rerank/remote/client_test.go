package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/remote"
)

const testKey = "key-of-this-test-0123456789"

// TestConform has a server that scores as enginetest.Rated does.
func TestConform(t *testing.T) {
	for _, provider := range []string{"jina", "tei"} {
		enginetest.ConformReranker(t, func(t *testing.T) setup.Reranker {
			return serve(t, remote.Config{Provider: provider}, func(w http.ResponseWriter, r *http.Request) {
				var request struct {
					Query            string
					Documents, Texts []string
				}
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
					t.Error(err)
				}
				texts := append(request.Documents, request.Texts...)
				scores, err := enginetest.Rated{}.Rerank(r.Context(), request.Query, texts)
				if err != nil {
					return // the client is gone
				}
				type result struct {
					Index int     `json:"index"`
					Score float64 `json:"relevance_score"`
				}
				var results []result
				for i, score := range scores {
					results = append(results, result{i, score})
				}
				slices.SortStableFunc(results, func(a, b result) int { return int(1000 * (b.Score - a.Score)) })
				if provider == "tei" {
					json.NewEncoder(w).Encode(results)
				} else {
					json.NewEncoder(w).Encode(map[string]any{"model": "m", "results": results})
				}
			})
		})
	}
}

// TestShapes has what each provider is sent, and an answer as it gives them.
func TestShapes(t *testing.T) {
	const results = `{"id":"x","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.25}],"meta":{}}`
	for provider, c := range map[string]struct{ body, header, answer string }{
		"jina":        {`{"model":"m","query":"q","documents":["a","b","c"],"top_n":3,"return_documents":false}`, "Authorization: Bearer " + testKey, results},
		"siliconflow": {`{"model":"m","query":"q","documents":["a","b","c"],"top_n":3,"return_documents":false}`, "Authorization: Bearer " + testKey, results},
		"cohere":      {`{"model":"m","query":"q","documents":["a","b","c"],"top_n":3}`, "Authorization: Bearer " + testKey, results},
		"voyage": {`{"model":"m","query":"q","documents":["a","b","c"],"top_k":3}`, "Authorization: Bearer " + testKey,
			`{"object":"list","data":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.25}],"usage":{"total_tokens":3}}`},
		"pinecone": {`{"model":"m","query":"q","documents":[{"text":"a"},{"text":"b"},{"text":"c"}],"rank_fields":["text"],"return_documents":false,"top_n":3}`,
			"Api-Key: " + testKey, `{"model":"m","data":[{"index":2,"score":0.9},{"index":0,"score":0.25}],"usage":{"rerank_units":1}}`},
		"dashscope": {`{"model":"m","input":{"query":"q","documents":["a","b","c"]}}`, "Authorization: Bearer " + testKey,
			`{"output":{"results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.25}]},"usage":{"total_tokens":3},"request_id":"x"}`},
		"tei": {`{"query":"q","texts":["a","b","c"],"truncate":true}`, "Authorization: Bearer " + testKey, `[{"index":2,"score":0.9},{"index":0,"score":0.25}]`},
	} {
		client := serve(t, remote.Config{Provider: provider, Model: "m"}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var got, want any
			if err := errors.Join(json.Unmarshal(body, &got), json.Unmarshal([]byte(c.body), &want)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s, %s, body (-want +got):\n%s", provider, r.Method, r.Header.Get("Content-Type"), diff)
			}
			if name, value, _ := strings.Cut(c.header, ": "); r.Header.Get(name) != value {
				t.Errorf("%s: %s is %q", provider, name, r.Header.Get(name))
			}
			if version := r.Header.Get("X-Pinecone-API-Version"); (version == "2024-10") != (provider == "pinecone") {
				t.Errorf("%s: Pinecone's version is %q", provider, version)
			}
			io.WriteString(w, c.answer)
		})
		check(t, provider, client, []float64{0.25, math.NaN(), 0.9})
	}
}

// TestAnswers has what is let pass: of each the scores of three texts.
func TestAnswers(t *testing.T) {
	nan := math.NaN()
	for answer, want := range map[string][]float64{
		`{"results":[{"index":"1","score":"0.5"}]}`:                                                {nan, 0.5, nan},
		`{"data":[{"index":1,"relevance_score":" 0.5 ","score":0.1}]}`:                             {nan, 0.5, nan},
		`[{"index":0,"relevance_score":0.5}]`:                                                      {0.5, nan, nan},
		`{"output":{"data":[{"index":0,"score":1e-3}]}}`:                                           {0.001, nan, nan},
		`{"results":[{"index":99,"score":0.9},{"index":-1,"score":0.9},{"index":2,"score":0.3}]}`:  {nan, nan, 0.3},
		`{"results":[{"index":2,"score":0.3},{"index":2,"score":0.9}]}`:                            {nan, nan, 0.3},
		`{"results":[{"index":2,"score":"good"},{"index":2,"score":0.9},7,null,"x",{}]}`:           {nan, nan, 0.9},
		`{"results":[{"index":1.5,"score":0.9},{"index":true,"score":0.9},{"index":0,"score":0}]}`: {0, nan, nan},
		`{"results":[{"index":0,"score":"NaN"},{"index":1,"score":"Inf"},{"index":2,"score":1}]}`:  {nan, nan, 1},
		`{"results":[{"index":0,"score":7.5},{"index":1,"score":-3},{"index":2,"score":1e999}]}`:   {1, 0, nan},
		`{"results":null,"data":[{"index":0,"score":0.5}]}`:                                        {0.5, nan, nan},
	} {
		check(t, answer, serve(t, remote.Config{Provider: "jina"}, reply(200, answer)), want)
	}
}

// TestManyTexts: blank texts aren't sent, those beyond the cap neither; what is long is cut; a server of tei gets 32 at a time.
func TestManyTexts(t *testing.T) {
	asked := make(chan int, 10)
	client := serve(t, remote.Config{Provider: "tei", MaxPairs: 70, MaxCharacters: 5}, func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Texts []string }
		json.NewDecoder(r.Body).Decode(&request)
		asked <- len(request.Texts)
		var results []string
		for i, text := range request.Texts {
			if len([]rune(text)) > 5 || strings.TrimSpace(text) != text || text == "" {
				t.Errorf("sent %q", text)
			}
			var n float64
			fmt.Sscanf(text, "é%f", &n)
			results = append(results, fmt.Sprintf(`{"index":%d,"score":%g}`, i, n/1000))
		}
		io.WriteString(w, "["+strings.Join(results, ",")+"]")
	})
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprintf("  é%d  and more\xff", i)
		if i%10 == 9 {
			texts[i] = " \t\n"
		}
	}
	scores, err := client.Rerank(t.Context(), "q", texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, score := range scores {
		if want := float64(i) / 1000; i%10 == 9 || i >= 77 {
			if !math.IsNaN(score) {
				t.Errorf("text %d has %g", i, score)
			}
		} else if score != want {
			t.Errorf("text %d has %g, want %g", i, score, want)
		}
	}
	for _, want := range []int{32, 32, 6} {
		if n := <-asked; n != want {
			t.Errorf("a request of %d texts, want %d", n, want)
		}
	}
	if scores, err := client.Rerank(t.Context(), " ", texts[:1]); err != nil || !math.IsNaN(scores[0]) || len(asked) != 0 {
		t.Errorf("a blank query: %v, %v, %d requests", scores, err, len(asked))
	}
}

func TestConfigRefusals(t *testing.T) {
	for want, config := range map[string]remote.Config{
		`Provider is "x"; allowed: cohere, dashscope, jina, pinecone, siliconflow, tei, voyage`: {Provider: "x", Model: "m", URL: "http://localhost"},
		"Model is empty":                    {Provider: "jina"},
		`URL is ""`:                         {Provider: "tei"},
		`URL is "http://localhost/#hidden"`: {Provider: "tei", URL: "http://u:p" + testKey + "@localhost/?k=v"},
		"URL is no URL":                     {Provider: "tei", URL: "http://[" + testKey},
		"Key is not shown":                  {Provider: "jina", Model: "m", Key: testKey + "\n"},
		"Keys is not shown, number 2":       {Provider: "jina", Model: "m", Keys: []string{testKey, testKey + "\n"}},
		"Timeout is 50ms; allowed: 0 (5s) or at least 1": {Provider: "jina", Model: "m", Timeout: 50 * time.Millisecond},
		"MaxPairs is -1":      {Provider: "jina", Model: "m", MaxPairs: -1},
		"MaxCharacters is -1": {Provider: "jina", Model: "m", MaxCharacters: -1},
	} {
		if _, err := remote.New(config); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), testKey) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	client, err := remote.New(remote.Config{Provider: "voyage", Model: "m", Key: testKey})
	if err != nil || client.Model() != "m" {
		t.Fatal(client, err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %v", client, client, client, remote.Config{Key: testKey}); strings.Contains(shown, testKey) {
		t.Errorf("the key shows: %s", shown)
	}
}

// serve makes a client of a server that handles requests this way. It fills in what the configuration leaves out.
func serve(t *testing.T, config remote.Config, handle http.HandlerFunc) *remote.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config.URL, config.Key, config.HTTPClient = server.URL+"/rerank", testKey, server.Client()
	if config.Model == "" {
		config.Model = "m"
	}
	client, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// check reranks three texts.
func check(t *testing.T, name string, client *remote.Client, want []float64) {
	t.Helper()
	got, err := client.Rerank(t.Context(), "q", []string{"a", "b", "c"})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: scores %v, error %v: want %v", name, got, err, want)
	}
}

// reply answers with this status and body.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// inTurn gives each request the next handler, and the last one to all that follow.
func inTurn(count *atomic.Int32, handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(count.Add(1)), len(handlers))-1](w, r)
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

// endless sends an answer that has no end.
func endless(pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"results":[`)
		piece := []byte(strings.Repeat(`{"index":0,"score":0.5},`, 4096))
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// hangUp closes the connection, after the first bytes of an answer if there are any.
func hangUp(start string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if start != "" {
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, start)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}
