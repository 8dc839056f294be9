// Package remote asks servers for vectors: OpenAI, Azure, Jina, Voyage, NVIDIA, Gemini, Ollama, Hugging Face's text-embeddings-inference, and
// whatever else speaks OpenAI's embeddings. Its folder is named after the protocol, the package is not, so that net/http keeps its name.
//
// A Client is a setup.Embedder. What servers differ in is the table shapes; what is known of models is the table known. The package reads no
// environment variable and writes no log, and no way of printing what it exports shows a key.
package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/wire"
)

// nothing is sent for a text that shows nothing: servers refuse empty ones.
const nothing = "."

// Client asks one model of one server. It may be used by several goroutines.
type Client struct {
	config Config // with its defaults; it is not shown, for it has the keys
	shape  shape
	way    *wire.Service

	address        string // of the server's embeddings
	query, passage purpose
	fingerprint    string
	asked          *cache
}

// purpose is what a text is embedded for: the server's word for it, and what is put before the text.
type purpose struct{ task, prefix string }

// New makes a client; it asks the server nothing. The error is a Refused that names every bad field.
func New(config Config) (*Client, error) {
	s, of, err := config.settle()
	if err != nil {
		return nil, err
	}
	c := &Client{config: config, shape: s, asked: newCache(cacheSize, cacheAge, time.Now)}
	c.query = purpose{*config.QueryTask, *config.QueryPrefix}
	c.passage = purpose{*config.PassageTask, *config.PassagePrefix}
	c.way, c.address = newService(s, config), s.url(config)
	if config.Dims == of.dims {
		c.shape.dims = "" // what the model does anyway isn't asked for: some refuse to hear of it
	}
	// Whatever changes vectors, and nothing else: the server's address may move.
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q %q %d", config.Provider, config.Model, config.Dims, c.query, c.passage, config.MaxChars))
	c.fingerprint = fmt.Sprintf("%s/%s/%d/%x", config.Provider, config.Model, config.Dims, sum[:8])
	return c, nil
}

// Model is the model's name.
func (c *Client) Model() string { return c.config.Model }

// Dims is the length of the model's vectors.
func (c *Client) Dims() int { return c.config.Dims }

// Fingerprint changes with the provider, the model, the length of its vectors, tasks, prefixes, and where long texts are cut.
func (c *Client) Fingerprint() string { return c.fingerprint }

// Remote says that what the model gives is worth keeping in the file: asking again takes time, and may cost money.
func (c *Client) Remote() bool { return true }

// Format prints a client without its keys, whatever the verb.
func (c *Client) Format(state fmt.State, verb rune) { c.config.Format(state, verb) }

// EmbedTexts gives one vector of unit length per text, in their order. Texts go in batches, and a context that ends is heeded between and
// within them. What the server calls too long is cut into pieces, and has the mean of the vectors of the first 64.
//
// The error is ctx.Err() when ctx ended, else an *Error.
func (c *Client) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(texts) == 1 {
		v, err := c.one(ctx, c.passage, texts[0])
		if err != nil {
			return nil, err
		}
		return [][]float32{v}, nil
	}
	sent := make([]string, len(texts))
	for i, text := range texts {
		sent[i] = visible(text)
	}
	vectors, err := c.embed(ctx, c.passage, sent, 0)
	if err != nil {
		return nil, ended(ctx, err)
	}
	for i := range vectors {
		if vectors[i], err = c.unit(vectors[i]); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// EmbedQuery embeds a question, without the words whose weight is below 0.2 unless that is all of them. The last 256 questions of half an hour
// are remembered.
func (c *Client) EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text = withoutCommon(visible(text), weight)
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q", c.query, text))
	if v, ok := c.asked.get(key); ok {
		return v, nil
	}
	v, err := c.one(ctx, c.query, text)
	if err == nil {
		c.asked.put(key, v)
	}
	return v, err
}

// Cached tells of the questions that were remembered.
type Cached struct {
	Entries      int
	Hits, Misses int64
}

// Cached tells how often a question was known.
func (c *Client) Cached() Cached { return c.asked.stats() }

// one embeds one text within the deadline.
func (c *Client) one(ctx context.Context, p purpose, text string) ([]float32, error) {
	limited, cancel := context.WithTimeout(ctx, c.config.Deadline)
	defer cancel()
	vectors, err := c.embed(limited, p, []string{visible(text)}, 0)
	if err == nil {
		return c.unit(vectors[0])
	}
	if ctx.Err() == nil && limited.Err() != nil {
		return nil, c.fail(0, fmt.Sprintf("no vector within %v", c.config.Deadline), limited.Err())
	}
	return nil, ended(ctx, err)
}

// ended gives the caller's own error where the caller gave up.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// visible is a text in valid UTF-8 that isn't empty.
func visible(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return nothing
	}
	return text
}

// embed sends texts in batches, and gives the vectors as they come. depth counts how often these were cut already.
func (c *Client) embed(ctx context.Context, p purpose, texts []string, depth int) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n, chars := 0, 0
		for n < len(texts) && n < c.config.BatchTexts {
			chars += utf8.RuneCountInString(p.prefix) + utf8.RuneCountInString(texts[n])
			if n > 0 && chars > c.config.BatchChars {
				break
			}
			n++
		}
		vectors, err := c.batch(ctx, p, texts[:n], depth)
		if err != nil {
			return nil, err
		}
		all, texts = append(all, vectors...), texts[n:]
	}
	return all, nil
}

// batch sends texts in one request. One that is too much for the server is halved, down to the text that is too long.
func (c *Client) batch(ctx context.Context, p purpose, texts []string, depth int) ([][]float32, error) {
	vectors, err := c.post(ctx, p, texts)
	failure, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !failure.tooLong && !failure.tooMany:
		return vectors, err
	case len(texts) > 1:
		first, err := c.batch(ctx, p, texts[:len(texts)/2], depth)
		if err != nil {
			return nil, err
		}
		second, err := c.batch(ctx, p, texts[len(texts)/2:], depth)
		return append(first, second...), err
	case !failure.tooLong:
		return nil, err
	}
	pieces := c.divide(texts[0], depth)
	if pieces == nil {
		failure.Message = fmt.Sprintf("a text of %d characters can't be cut to what the model takes (MaxChars is %d): %s",
			utf8.RuneCountInString(texts[0]), c.config.MaxChars, failure.Message)
		return nil, failure
	}
	if vectors, err = c.embed(ctx, p, pieces, depth+1); err != nil {
		return nil, err
	}
	return [][]float32{mean(vectors)}, nil
}

// mean is the arithmetic mean of vectors of one length.
func mean(vectors [][]float32) []float32 {
	middle := make([]float32, len(vectors[0]))
	for i := range middle {
		var sum float64
		for _, v := range vectors {
			sum += float64(v[i])
		}
		middle[i] = float32(sum / float64(len(vectors)))
	}
	return middle
}

// unit gives a vector of finite numbers the length one.
func (c *Client) unit(v []float32) ([]float32, error) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, c.fail(200, "the model gave a vector of zeros", nil)
	}
	scaled := make([]float32, len(v))
	for i, x := range v {
		scaled[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return scaled, nil
}
