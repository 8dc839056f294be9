package llm

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
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
		publicURL(c.BaseURL), key, c.Model, c.Timeout, c.Retries, c.Reasoning)
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
	client := http.Client{}
	if c.HTTPClient != nil {
		client = *c.HTTPClient
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	c.HTTPClient = &client
	return c
}

// validate names every bad field. Values that may hold a secret aren't repeated.
func (c Config) validate(hottest float64) error {
	var bad []error
	fail := func(field, value, allowed string) {
		bad = append(bad, fmt.Errorf("%s is %s; allowed: %s", field, value, allowed))
	}
	const addresses = "http://host or https://host, with a path, without user, query or fragment"
	if u, err := url.Parse(c.BaseURL); err != nil {
		fail("BaseURL", "no URL", addresses)
	} else if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		fail("BaseURL", fmt.Sprintf("%q", publicURL(c.BaseURL)), addresses)
	}
	if strings.IndexFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		fail("Key", "not shown", "printable ASCII without spaces")
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

// publicURL is an address without what may be secret in it. One that doesn't parse isn't shown.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	if u.User != nil {
		u.User = url.User("hidden")
	}
	if u.RawQuery != "" {
		u.RawQuery = "hidden"
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = "hidden", ""
	}
	if u.Opaque != "" {
		u.Opaque = "hidden"
	}
	return u.String()
}
