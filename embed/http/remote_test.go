package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	remote "github.com/mallardmem/mallard/embed/http"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestConformance(t *testing.T) {
	for _, d := range doors {
		if testing.Short() && d.provider != "openai" && d.provider != "tei" {
			continue
		}
		t.Run(d.provider, func(t *testing.T) {
			enginetest.ConformEmbedder(t, func(t *testing.T) setup.Embedder {
				return serve(t, d, remote.Config{Deadline: time.Minute}, d.model(t, &log{}))
			})
		})
	}
}

// TestRequests: each provider is asked in its own shape, and told apart what is a question and what is to be found.
func TestRequests(t *testing.T) {
	if len(doors) != len(remote.Providers()) {
		t.Fatalf("%d providers are tested, there are %v", len(doors), remote.Providers())
	}
	for _, d := range doors {
		var seen log
		c := serve(t, d, remote.Config{}, d.model(t, &seen))
		if _, err := c.EmbedTexts(t.Context(), []string{"a <boat> & \xffone", " "}); err != nil {
			t.Fatalf("%s: %v", d.provider, err)
		}
		if _, err := c.EmbedQuery(t.Context(), "which boat?", nil); err != nil {
			t.Fatalf("%s: %v", d.provider, err)
		}
		want := func(task string, texts ...string) asked {
			fields := map[string]any{}
			for name, value := range d.fields {
				fields[name] = value
			}
			if task != "" {
				fields[d.task] = task
			}
			return asked{d.path, testKey, fields, texts}
		}
		if diff := cmp.Diff([]asked{want(d.passage, "a <boat> & \uFFFDone", "."), want(d.query, "which boat?")}, seen.taken(), cmp.AllowUnexported(asked{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.provider, diff)
		}
	}
}

// TestTasksAndPrefixes: those of the model and the provider, unless others are said.
func TestTasksAndPrefixes(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		provider       int
		config         remote.Config
		query, passage string
		task           any
	}{
		"nomic":             {6, remote.Config{Model: "nomic-embed-text"}, "search_query: x", "search_document: x", nil},
		"e5":                {7, remote.Config{Model: "intfloat/e5-base-v2"}, "query: x", "passage: x", nil},
		"bge":               {8, remote.Config{Model: "BAAI/bge-small-en-v1.5"}, "Represent this sentence for searching relevant passages: x", "x", nil},
		"qwen":              {6, remote.Config{Model: "qwen3-embedding:0.6b"}, "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:x", "x", nil},
		"of one's own":      {8, remote.Config{Model: "e5-base", QueryPrefix: text("Q "), PassagePrefix: text("")}, "Q x", "x", nil},
		"a task for tei":    {7, remote.Config{QueryTask: text("query")}, "x", "x", "query"},
		"no task for jina":  {2, remote.Config{QueryTask: text("")}, "x", "x", nil},
		"a task of voyage":  {3, remote.Config{}, "x", "x", "query"},
		"generic, own task": {8, remote.Config{QueryTask: text("search")}, "x", "x", "search"},
	} {
		d := doors[c.provider]
		var seen log
		client := serve(t, d, c.config, d.model(t, &seen))
		if _, err := client.EmbedQuery(t.Context(), "x", nil); err != nil {
			t.Fatal(name, err)
		}
		query := seen.taken()[0]
		if _, err := client.EmbedTexts(t.Context(), []string{"x"}); err != nil {
			t.Fatal(name, err)
		}
		if passage := seen.taken()[0]; query.texts[0] != c.query || passage.texts[0] != c.passage || query.fields[d.task] != c.task {
			t.Errorf("%s: question %q with task %v, passage %q", name, query.texts[0], query.fields[d.task], passage.texts[0])
		}
	}
}

// TestDims: a server is asked for a length that its model doesn't have by itself, and for no other.
func TestDims(t *testing.T) {
	for name, c := range map[string]struct {
		door   int
		config remote.Config
		want   any
	}{
		"as known":     {0, remote.Config{Model: "text-embedding-3-small", Dims: 1536}, nil},
		"shorter":      {0, remote.Config{Model: "text-embedding-3-small", Dims: 512}, 512.0},
		"nobody knows": {0, remote.Config{Model: "of-tomorrow", Dims: 512}, 512.0},
		"generic":      {8, remote.Config{Model: "of-tomorrow", Dims: 512}, nil},
	} {
		var seen log
		d := doors[c.door]
		_, _ = serve(t, d, c.config, d.model(t, &seen)).EmbedTexts(t.Context(), []string{"x"}) // its vectors have another length
		if got := seen.taken()[0].fields["dimensions"]; got != c.want {
			t.Errorf("%s: asked for %v dimensions, want %v", name, got, c.want)
		}
	}
}

// TestUnitLength: vectors come in the order of the texts, whatever order the server has, with the length one.
func TestUnitLength(t *testing.T) {
	for name, c := range map[string]struct{ first, second string }{
		"in order":     {`{"index":0,"embedding":[3,4]}`, `{"index":1,"embedding":[0,-2]}`},
		"turned":       {`{"index":1,"embedding":[0,-2]}`, `{"index":0,"embedding":[3,4]}`},
		"not numbered": {`{"embedding":[3,4]}`, `{"embedding":[0,-2]}`},
		"huge":         {`{"embedding":[3e38,4e38]}`, ``},
		"large":        {`{"embedding":[1.5e38,2e38]}`, `{"embedding":[0,-2e-38]}`},
	} {
		client := serve(t, doors[0], remote.Config{Dims: 2, Retries: -1}, reply(200, `{"data":[`+c.first+`,`+c.second+`]}`))
		got, err := client.EmbedTexts(t.Context(), []string{"a", "b"})
		if name == "huge" {
			if err == nil {
				t.Error("numbers that no float32 has were taken")
			}
			continue
		}
		if err != nil || math.Abs(float64(got[0][0])-0.6) > 1e-6 || math.Abs(float64(got[0][1])-0.8) > 1e-6 || got[1][1] != -1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestKeys: they take turns, and one that fails leaves its request to the next.
func TestKeys(t *testing.T) {
	keys := []string{"sk-alpha", "sk-beta", "sk-gamma"}
	for name, c := range map[string]struct {
		fails  map[string]int // the status for a key
		want   []string
		works  bool
		status int
	}{
		"in turn":            {nil, []string{"sk-alpha", "sk-beta", "sk-gamma", "sk-alpha"}, true, 0},
		"one is refused":     {map[string]int{"sk-alpha": 401}, []string{"sk-alpha", "sk-beta", "sk-beta", "sk-gamma", "sk-alpha", "sk-beta"}, true, 0},
		"two have no time":   {map[string]int{"sk-alpha": 429, "sk-beta": 503}, []string{"sk-alpha", "sk-beta", "sk-gamma", "sk-beta", "sk-gamma", "sk-gamma", "sk-alpha", "sk-beta", "sk-gamma"}, true, 0},
		"all are refused":    {map[string]int{"sk-alpha": 401, "sk-beta": 403, "sk-gamma": 402}, []string{"sk-alpha", "sk-beta", "sk-gamma"}, false, 402},
		"refused and busy":   {map[string]int{"sk-alpha": 401, "sk-beta": 429, "sk-gamma": 429}, []string{"sk-alpha", "sk-beta", "sk-gamma", "sk-beta", "sk-gamma"}, false, 429},
		"the server's fault": {map[string]int{"sk-alpha": 400}, []string{"sk-alpha"}, false, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen log
			model := doors[0].model(t, &seen)
			client := serve(t, doors[0], remote.Config{Keys: keys, Retries: 1}, func(w http.ResponseWriter, r *http.Request) {
				if status := c.fails[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; status != 0 {
					seen.add(doors[0].read(t, r))
					reply(status, "", "Retry-After", "0.01")(w, r)
					return
				}
				model(w, r)
			})
			var err error
			for range 4 {
				if _, err = client.EmbedTexts(t.Context(), []string{"a"}); err != nil {
					break
				}
			}
			var used []string
			for _, a := range seen.taken() {
				used = append(used, a.key)
			}
			var failure *remote.Error
			if errors.As(err, &failure) == c.works || failure != nil && failure.Status != c.status {
				t.Errorf("%v; want it to work: %t", err, c.works)
			}
			if diff := cmp.Diff(c.want, used); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeadline: one text has so long, with everything; who gives up gets their own error at once.
func TestDeadline(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{"in a request": stall, "in a wait": reply(429, "", "Retry-After", "1")} {
		client := serve(t, doors[0], remote.Config{Deadline: 200 * time.Millisecond, Retries: 9}, handle)
		start := time.Now()
		var failure *remote.Error
		if _, err := client.EmbedQuery(t.Context(), "a", nil); !errors.As(err, &failure) || !failure.Temporary() || name == "in a request" && failure.Message != "no vector within 200ms" {
			t.Errorf("%s: question: %v", name, err)
		}
		if _, err := client.EmbedTexts(t.Context(), []string{"a"}); !errors.As(err, &failure) {
			t.Errorf("%s: text: %v", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		patient := serve(t, doors[0], remote.Config{Deadline: time.Minute, Retries: 9}, handle)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := patient.EmbedTexts(ctx, []string{"a", "b"}); err != context.Canceled {
			t.Errorf("%s: %v, want it cancelled", name, err)
		}
	}
}

// TestBatches: requests have so many texts and characters at most, halves where the server wants fewer, and a cancelled context ends the work between them.
func TestBatches(t *testing.T) {
	sizes := func(all []asked) (n []int) {
		for _, a := range all {
			n = append(n, len(a.texts))
		}
		return n
	}
	texts := make([]string, 10)
	for i := range texts {
		texts[i] = strings.Repeat(fmt.Sprint(i), 100)
	}
	for name, c := range map[string]struct {
		config remote.Config
		least  int // texts from which on the server refuses
		want   []int
	}{
		"by number":     {remote.Config{BatchTexts: 4}, 99, []int{4, 4, 2}},
		"by characters": {remote.Config{BatchChars: 350}, 99, []int{3, 3, 3, 1}},
		"a long one":    {remote.Config{BatchChars: 50}, 99, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		"too many":      {remote.Config{}, 4, []int{10, 5, 2, 3, 5, 2, 3}},
	} {
		var seen log
		model := doors[7].model(t, &seen)
		client := serve(t, doors[7], c.config, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if a := doors[7].read(t, r); len(a.texts) >= c.least {
				seen.add(a)
				reply(413, `{"error":"batch size 10 > maximum allowed batch size 3","error_type":"Validation"}`)(w, r)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			model(w, r)
		})
		vectors, err := client.EmbedTexts(t.Context(), texts)
		if err != nil || len(vectors) != 10 {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		if diff := cmp.Diff(c.want, sizes(seen.taken())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for i, text := range texts {
			want, norm := wordVector(text), 0.0
			for _, x := range want {
				norm += float64(x) * float64(x)
			}
			for j := range want {
				if math.Abs(float64(want[j])/math.Sqrt(norm)-float64(vectors[i][j])) > 1e-6 {
					t.Fatalf("%s: text %d has another's vector", name, i)
				}
			}
		}
	}
	var seen log
	model := doors[0].model(t, &seen)
	ctx, cancel := context.WithCancel(t.Context())
	client := serve(t, doors[0], remote.Config{BatchTexts: 2}, func(w http.ResponseWriter, r *http.Request) { model(w, r); cancel() })
	if _, err := client.EmbedTexts(ctx, texts); err != context.Canceled || len(seen.taken()) != 1 {
		t.Errorf("cancelled in the first batch: %v", err)
	}
}

// TestLongTexts: what the server calls too long has the mean of its pieces, beside texts that are not, and the work for it is bounded.
func TestLongTexts(t *testing.T) {
	for _, d := range doors {
		var seen log
		client := serve(t, d, remote.Config{}, d.model(t, &seen))
		long := strings.Repeat("x", 5734) + strings.Repeat("y", 3000) // the second piece begins with the 409 letters before
		vectors, err := client.EmbedTexts(t.Context(), []string{"tea", long, "cake"})
		if err != nil {
			t.Fatalf("%s: %v", d.provider, err)
		}
		first, second := wordVector(long[:5734]), wordVector(long[5734-409:])
		want, norm := make([]float64, testDims), 0.0
		for i := range want {
			want[i] = (float64(first[i]) + float64(second[i])) / 2
			norm += want[i] * want[i]
		}
		for i := range want {
			if math.Abs(want[i]/math.Sqrt(norm)-float64(vectors[1][i])) > 1e-6 {
				t.Fatalf("%s: %v is not the mean of the pieces", d.provider, vectors[1])
			}
		}
		if n := len(seen.taken()); n > 7 { // all three; tea; two; the long one; its pieces; cake
			t.Errorf("%s: %d requests", d.provider, n)
		}
	}
	var requests atomic.Int32
	never := serve(t, doors[0], remote.Config{Deadline: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		reply(400, openaiTooLong)(w, r)
	})
	for _, long := range []string{strings.Repeat("word ", 200_000), strings.Repeat("字", 300_000), strings.Repeat("字", 150)} {
		requests.Store(0)
		if _, err := never.EmbedQuery(t.Context(), long, nil); err == nil || !strings.Contains(err.Error(), "can't be cut to what the model takes") || requests.Load() > 50 {
			t.Errorf("%d characters: %v after %d requests", len(long), err, requests.Load())
		}
	}
}

// TestQuestionsAreRemembered, each for itself and as it was asked; texts are not.
func TestQuestionsAreRemembered(t *testing.T) {
	var seen log
	client := serve(t, doors[0], remote.Config{}, doors[0].model(t, &seen))
	for _, q := range []string{"tea?", "tea?", "cake?", "tea?"} {
		v, err := client.EmbedQuery(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		v[0] = 99
	}
	if _, err := client.EmbedTexts(t.Context(), []string{"tea?"}); err != nil {
		t.Fatal(err)
	}
	if got, n := client.Cached(), len(seen.taken()); n != 3 || got != (remote.Cached{Entries: 2, Hits: 2, Misses: 2}) {
		t.Errorf("%d requests, %+v", n, got)
	}
	if v, _ := client.EmbedQuery(t.Context(), "tea?", nil); v[0] == 99 {
		t.Error("who changes a vector changes what is remembered")
	}
	broken := serve(t, doors[0], remote.Config{Retries: -1}, reply(500, ""))
	for range 2 {
		if _, err := broken.EmbedQuery(t.Context(), "tea?", nil); err == nil {
			t.Error("a failure was remembered as a vector")
		}
	}
}

// TestFingerprint changes with whatever changes vectors, and with nothing else.
func TestFingerprint(t *testing.T) {
	text := func(s string) *string { return &s }
	base := remote.Config{Provider: "jina", Model: "jina-embeddings-v3", Keys: []string{"k"}}
	of := func(change func(*remote.Config)) string {
		c := base
		change(&c)
		client, err := remote.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return client.Fingerprint()
	}
	want := of(func(*remote.Config) {})
	for name, change := range map[string]func(*remote.Config){
		"provider": func(c *remote.Config) { c.Provider, c.BaseURL = "generic", "http://localhost" }, "model": func(c *remote.Config) { c.Model = "jina-embeddings-v3b" },
		"dims": func(c *remote.Config) { c.Dims = 256 }, "task": func(c *remote.Config) { c.PassageTask = text("text-matching") }, "query task": func(c *remote.Config) { c.QueryTask = text("") },
		"prefix": func(c *remote.Config) { c.PassagePrefix = text("p: ") }, "query prefix": func(c *remote.Config) { c.QueryPrefix = text("p: ") }, "pieces": func(c *remote.Config) { c.MaxChars = 900 },
	} {
		if of(change) == want {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	for name, change := range map[string]func(*remote.Config){
		"address": func(c *remote.Config) { c.BaseURL = "http://localhost:9/v1" }, "key": func(c *remote.Config) { c.Keys = []string{"l", "m"} },
		"known dims": func(c *remote.Config) { c.Dims = 1024 }, "usual task": func(c *remote.Config) { c.QueryTask = text("retrieval.query") },
		"batches": func(c *remote.Config) { c.BatchTexts = 3 }, "times": func(c *remote.Config) { c.Timeout, c.Deadline, c.Retries = 1, 1, 1 },
	} {
		if of(change) != want {
			t.Errorf("another %s has another fingerprint", name)
		}
	}
}

// TestParallel: one client, many goroutines, a server that fails now and then.
func TestParallel(t *testing.T) {
	var count atomic.Int32
	model := doors[0].model(t, &log{})
	client := serve(t, doors[0], remote.Config{Retries: 20, Keys: []string{"sk-a", "sk-b"}}, func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1)%3 == 0 {
			reply(503, "", "Retry-After", "0.01")(w, r)
			return
		}
		model(w, r)
	})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := client.EmbedTexts(t.Context(), []string{"one", "two"}); err != nil {
				t.Error(err)
			}
			if _, err := client.EmbedQuery(t.Context(), fmt.Sprint(i%4), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
