package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	remote "github.com/mallardmem/mallard/embed/http"
)

// TestFaults: whatever a server does ends in an error that says what, with no key in it, soon and within bounds.
func TestFaults(t *testing.T) {
	good := row(0, numbers(testDims, "1"))
	two := func(rows ...string) http.HandlerFunc { return reply(200, `{"data":[`+strings.Join(rows, ",")+`]}`) }
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		says   string
	}{
		"busy":                     {reply(429, `{"error":{"message":"slow down, `+testKey+`"}}`), "429 Too Many Requests: slow down, [key]"},
		"broken":                   {reply(500, `oops`), "500 Internal Server Error: oops"},
		"gateway's page":           {reply(502, `<html>bad gateway</html>`), "502 Bad Gateway: a page of HTML"},
		"refused key":              {reply(401, `{"error":{"message":"Incorrect API key `+testKey+`"}}`), "401 Unauthorized: Incorrect API key [key]"},
		"no such model":            {reply(404, `{"error":"model \"m\" not found, try pulling it first"}`), `404 Not Found: model "m" not found`},
		"redirect":                 {reply(307, "", "Location", "http://localhost:1/"), "307 Temporary Redirect"},
		"failure with status 200":  {reply(200, `{"error":{"message":"upstream is busy","code":503}}`), "503 Service Unavailable: upstream is busy"},
		"stalled":                  {stall, "no answer within 300ms"},
		"slow headers":             {func(w http.ResponseWriter, r *http.Request) { time.Sleep(400 * time.Millisecond); two(good)(w, r) }, "no answer within 300ms"},
		"stalled in the middle":    {after(`{"data":[`, stall), "no answer within 300ms"},
		"hung up":                  {hangUp, "EOF"},
		"hung up in the middle":    {after(`{"data":[`, hangUp), "answer broke off: unexpected EOF"},
		"a body without end":       {after(`{"data":[{"index":0,"embedding":[`, endless), "answer is longer than 1 MiB, for 2 vectors"},
		"a page":                   {reply(200, `<!doctype html><html>Welcome</html>`), "answer is a page of HTML; BaseURL may not be"},
		"no JSON":                  {reply(200, `{"data": [`), "answer is not the JSON that was asked for"},
		"empty":                    {reply(200, ``), "answer is not the JSON that was asked for"},
		"another object":           {reply(200, `{"object":"list"}`), "answer has 0 vectors for 2 texts"},
		"another type":             {reply(200, `{"data":{"embedding":1}}`), "answer is not the JSON that was asked for"},
		"fewer rows":               {two(good), "answer has 1 vectors for 2 texts"},
		"more rows":                {two(good, row(1, "[]"), row(2, "[]")), "answer has 3 vectors for 2 texts"},
		"one row twice":            {two(good, good), "vector 1 of the answer has the index 0; allowed: each of 0 to 1 once"},
		"a row of another text":    {two(good, row(7, "[]")), "vector 1 of the answer has the index 7"},
		"a negative row":           {two(good, row(-1, "[]")), "vector 1 of the answer has the index -1"},
		"one row without a number": {two(good, `{"embedding":[1]}`), "vector 1 of the answer has no index, others have"},
		"shorter":                  {two(good, row(1, numbers(31, "1"))), "vector 1 has 31 dimensions; Dims is 32"},
		"longer":                   {two(good, row(1, numbers(33, "1"))), "vector 1 has 33 dimensions; Dims is 32"},
		"NaN":                      {two(good, row(1, numbers(32, "NaN"))), "invalid character 'N'"},
		"infinite":                 {two(good, row(1, numbers(32, "-Infinity"))), "invalid character 'I'"},
		"infinite in effect":       {two(good, row(1, numbers(32, "1e39"))), "vector 1 is not a list of numbers"},
		"null":                     {two(good, row(1, numbers(32, "null"))), "vector 1 is not a list of numbers"},
		"null for a vector":        {two(good, row(1, "null")), "vector 1 is not a list of numbers"},
		"text for a vector":        {two(good, row(1, `"AACAPw=="`)), "vector 1 is not a list of numbers"},
		"texts in a vector":        {two(good, row(1, numbers(32, `"1"`))), "vector 1 is not a list of numbers"},
		"zeros":                    {two(good, row(1, "[0"+strings.Repeat(",0", 31)+"]")), "the model gave a vector of zeros"},
		"too long, whatever":       {reply(400, openaiTooLong), "a text of 1 characters can't be cut to what the model takes (MaxChars is 8192): This model's maximum"},
		"deep":                     {reply(200, strings.Repeat("[", 100_000)), "answer is not the JSON that was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := 10 * time.Second
			if strings.HasPrefix(c.says, "no answer within") {
				patience = 300 * time.Millisecond
			}
			client := serve(t, doors[0], remote.Config{Retries: -1, Timeout: patience}, c.handle)
			start := time.Now()
			vectors, err := client.EmbedTexts(t.Context(), []string{"a", "b"})
			var failure *remote.Error
			if vectors != nil || !errors.As(err, &failure) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), testKey) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, %v; want it to say %q", vectors, err, c.says)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestOtherRows: the shapes that aren't OpenAI's are read as strictly.
func TestOtherRows(t *testing.T) {
	for body, says := range map[string]string{
		`{"embeddings":[[1,2]]}`:          "answer has 1 vectors for 2 texts",
		`{"embeddings":[[1,2],[1]]}`:      "vector 1 has 1 dimensions; Dims is 2",
		`{"embeddings":null}`:             "answer has 0 vectors",
		`{"embeddings":[[1,2],[1,null]]}`: "vector 1 is not a list of numbers",
		`[[1,2],[1]]`:                     "vector 1 has 1 dimensions; Dims is 2",
		`[[1,2]]`:                         "answer has 1 vectors for 2 texts",
		`[[[1,2],[2,3]],[[1,2],[2,3]]]`:   "vector 0 is not a list of numbers",
		`{"error":"backend","type":"x"}`:  "backend",
	} {
		d := doors[6]
		if strings.HasPrefix(body, "[") {
			d = doors[7]
		}
		client := serve(t, d, remote.Config{Dims: 2, Retries: -1}, reply(200, body))
		if v, err := client.EmbedTexts(t.Context(), []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v; want it to say %q", body, v, err, says)
		}
	}
}

// TestRetries: what passes is tried again, what stays is not.
func TestRetries(t *testing.T) {
	busy, broken := reply(429, "", "Retry-After", "0.01"), reply(500, "", "Retry-After", "0.01")
	for name, c := range map[string]struct {
		retries  int
		faults   []http.HandlerFunc
		requests int32
		works    bool
	}{
		"twice":             {0, []http.HandlerFunc{busy, broken}, 3, true},
		"too often":         {0, []http.HandlerFunc{busy, broken, busy}, 3, false},
		"five times":        {5, []http.HandlerFunc{busy, busy, busy, busy, busy}, 6, true},
		"never":             {-1, []http.HandlerFunc{busy}, 1, false},
		"hung up":           {1, []http.HandlerFunc{hangUp}, 2, true},
		"bad request":       {0, []http.HandlerFunc{reply(400, "")}, 1, false},
		"garbage":           {0, []http.HandlerFunc{reply(200, "{")}, 1, false},
		"refused":           {0, []http.HandlerFunc{reply(401, "")}, 1, false},
		"longer than asked": {0, []http.HandlerFunc{reply(503, "", "Retry-After", "31")}, 1, false},
		"after the end":     {0, []http.HandlerFunc{reply(503, "", "Retry-After", "20")}, 1, false}, // one text has ten seconds
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			model := doors[0].model(t, &log{})
			client := serve(t, doors[0], remote.Config{Retries: c.retries}, func(w http.ResponseWriter, r *http.Request) {
				if n := int(count.Add(1)); n <= len(c.faults) {
					c.faults[n-1](w, r)
					return
				}
				model(w, r)
			})
			start := time.Now()
			if _, err := client.EmbedTexts(t.Context(), []string{"a"}); (err == nil) != c.works || count.Load() != c.requests {
				t.Errorf("%v after %d requests; want it to work: %t, after %d", err, count.Load(), c.works, c.requests)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestRefused: every bad field is named, with what is allowed, and no key is shown by any way of printing.
func TestRefused(t *testing.T) {
	text := "x"
	ok := remote.Config{Provider: "openai", Model: "text-embedding-3-small", Keys: []string{testKey}}
	for name, c := range map[string]struct {
		change func(*remote.Config)
		says   string
	}{
		"provider":  {func(c *remote.Config) { c.Provider = "acme" }, `Provider is "acme"; allowed: openai, azure, jina, voyage, nvidia, gemini, ollama, tei, generic`},
		"address":   {func(c *remote.Config) { c.BaseURL = "http://u:" + testKey + "@h" }, `BaseURL is "http://hidden@h"`},
		"no URL":    {func(c *remote.Config) { c.BaseURL = ":" }, "BaseURL is no URL"},
		"generic":   {func(c *remote.Config) { c.Provider = "generic" }, `BaseURL is ""`},
		"no key":    {func(c *remote.Config) { c.Keys = nil }, "Keys is empty; allowed: at least one, as openai wants it"},
		"azure":     {func(c *remote.Config) { c.Provider, c.BaseURL, c.Keys = "azure", "https://h", nil }, "Keys is empty"},
		"bad key":   {func(c *remote.Config) { c.Keys = []string{"a", testKey + "\n"} }, "Keys is not shown, number 2; allowed: printable"},
		"no model":  {func(c *remote.Config) { c.Model = " " }, "Model is empty"},
		"unknown":   {func(c *remote.Config) { c.Model = "of-tomorrow" }, "Dims is 0; allowed: the length of the vectors of of-tomorrow, which is not known here"},
		"dims":      {func(c *remote.Config) { c.Dims = -1 }, "Dims is -1; allowed: 1 to 65536"},
		"task":      {func(c *remote.Config) { c.QueryTask = &text }, `QueryTask is "x"; allowed: none, as openai is not told tasks`},
		"version":   {func(c *remote.Config) { c.APIVersion = "1" }, `APIVersion is "1"; allowed: none`},
		"cutting":   {func(c *remote.Config) { c.MaxChars = 99 }, "MaxChars is 99; allowed: 100 to 10000000, or 0 for 8192"},
		"batch":     {func(c *remote.Config) { c.BatchTexts = 2049 }, "BatchTexts is 2049; allowed: 1 to 2048, or 0 for 64"},
		"chars":     {func(c *remote.Config) { c.BatchChars = -1 }, "BatchChars is -1"},
		"timeout":   {func(c *remote.Config) { c.Timeout = -1 }, "Timeout is -1ns; allowed: 0 (30s) or more"},
		"deadline":  {func(c *remote.Config) { c.Deadline = -1 }, "Deadline is -1ns; allowed: 0 (10s) or more"},
		"two at it": {func(c *remote.Config) { c.Timeout, c.Model = -1, "" }, "Model is empty; allowed: the name of a model\nTimeout"},
	} {
		config := ok
		c.change(&config)
		_, err := remote.New(config)
		var refused remote.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %v; want it to say %q", name, err, c.says)
		}
	}
	client, err := remote.New(ok)
	if err != nil {
		t.Fatal(err)
	}
	document, _ := json.Marshal(map[string]any{"client": client, "config": ok})
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s", client, client, client, client), fmt.Sprintf("%v %+v %#v", ok, ok, ok), string(document)} {
		if strings.Contains(shown, testKey) {
			t.Errorf("shows the key: %s", shown)
		}
	}
	if ok.Dims != 0 || ok.QueryTask != nil {
		t.Error("New changed the caller's configuration")
	}
}
