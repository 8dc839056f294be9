package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// Config says which model to ask and how. Printing it shows no key.
type Config struct {
	// BaseURL is the server's address, http or https, without user, query or fragment. Empty: the provider's own.
	// OpenAI-compatible servers are asked at BaseURL/chat/completions, Anthropic's at BaseURL/v1/messages.
	BaseURL string
	// Key is sent as the bearer token (OpenAI) or as x-api-key (Anthropic). Empty: none is sent.
	Key string `json:"-"`
	// Model is the model's name. Required.
	Model string
	// Timeout bounds one request. 0: 60 seconds.
	Timeout time.Duration
	// Retries is how often a request is repeated after 429, a server's error (408, 5xx) or a broken connection. 0: twice;
	// negative: never.
	Retries int
	// Temperature is 0 to 2 (Anthropic: 0 to 1). nil: the server's default.
	Temperature *float64
	// Reasoning says that the model thinks before it answers, on the same allowance of tokens. It gets 2,048 more.
	Reasoning bool
	// HTTPClient makes the requests. nil: one with Go's default transport. Redirects aren't followed, as they would carry the key
	// to another server, unless the client says itself what to do with them.
	HTTPClient *http.Client `json:"-"`
}

// Format prints the configuration with the key hidden, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	key := "none"
	if c.Key != "" {
		key = "hidden"
	}
	fmt.Fprintf(state, "{BaseURL:%s Key:%s Model:%s Timeout:%v Retries:%d Reasoning:%t}",
		wire.PublicAddress(c.BaseURL), key, c.Model, c.Timeout, c.Retries, c.Reasoning)
}

// withDefaults returns a filled copy. It is not for reading: HTTPClient is no longer the caller's.
func (c Config) withDefaults(baseURL string) Config {
	if c.BaseURL == "" {
		c.BaseURL = baseURL
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	c.HTTPClient = wire.Client(c.HTTPClient)
	return c
}

// validate names every bad field. Values that may hold a secret aren't repeated.
func (c Config) validate(hottest float64) error {
	var bad []error
	fail := func(field, value, allowed string) {
		bad = append(bad, wire.Fault{Field: field, Value: value, Allowed: allowed})
	}
	bad = append(bad, wire.CheckAddress("BaseURL", c.BaseURL))
	if c.Key != "" {
		bad = append(bad, wire.CheckKey("Key", 0, c.Key))
	}
	if strings.TrimSpace(c.Model) == "" {
		fail("Model", "empty", "the name of a model")
	}
	if c.Timeout < 0 {
		fail("Timeout", c.Timeout.String(), "0 (60s) or more")
	}
	if t := c.Temperature; t != nil && !(*t >= 0 && *t <= hottest) {
		fail("Temperature", fmt.Sprint(*t), fmt.Sprintf("0 to %g", hottest))
	}
	return errors.Join(bad...)
}
