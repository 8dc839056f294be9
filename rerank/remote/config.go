package remote

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// Config says whom to ask and how. Printing it shows no key.
type Config struct {
	// Provider is jina, cohere, voyage, siliconflow, pinecone, dashscope or tei: the shape of requests, not who runs the server. Required.
	Provider string
	// URL is the endpoint's whole address, http or https, without user, query or fragment. Empty: the provider's own; tei has none, its servers listen
	// at /rerank.
	URL string
	// Key is sent as the bearer token, or as the header that the provider wants. Empty: none is sent.
	Key string `json:"-"`
	// Keys are further ones, which take turns with it. One that the server refuses (401, 402, 403) or has no time for (429, 503) leaves the request to the next.
	Keys []string `json:"-"`
	// Model is the model's name, such as jina-reranker-v3. Required, but for tei, whose servers have one model.
	Model string
	// Timeout bounds a call, all its requests together. 0: 5 seconds.
	Timeout time.Duration
	// Retries is how often a request is repeated after all keys had no time, a server's error (408, 5xx) or a broken connection, while there is time. 0: once; negative:
	// never.
	Retries int
	// MaxPairs is how many texts of a call are scored; those beyond it get NaN. 0: 100.
	MaxPairs int
	// MaxCharacters is what the query and each text are cut to, in code points. 0: 4,000.
	MaxCharacters int
	// HTTPClient makes the requests. nil: one with Go's default transport. Redirects aren't followed, as they would carry the key to another server,
	// unless the client says itself what to do with them.
	HTTPClient *http.Client `json:"-"`
}

// Format prints the configuration with the key hidden, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	key := "none"
	if c.Key != "" || len(c.Keys) > 0 {
		key = "hidden"
	}
	fmt.Fprintf(state, "{Provider:%s URL:%s Key:%s Model:%s Timeout:%v Retries:%d MaxPairs:%d MaxCharacters:%d}",
		c.Provider, publicURL(c.URL), key, c.Model, c.Timeout, c.Retries, c.MaxPairs, c.MaxCharacters)
}

// withDefaults returns a filled copy. It is not for reading: HTTPClient is no longer the caller's.
func (c Config) withDefaults() Config {
	way := shapes[c.Provider]
	if c.URL == "" {
		c.URL = way.url
	}
	if c.Model == "" && !way.model {
		c.Model = c.Provider
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Retries == 0 {
		c.Retries = 1
	}
	if c.MaxPairs == 0 {
		c.MaxPairs = 100
	}
	if c.MaxCharacters == 0 {
		c.MaxCharacters = 4000
	}
	c.Keys = slices.Clone(c.Keys)
	c.HTTPClient = wire.Client(c.HTTPClient)
	return c
}

// Providers lists those that a Config may name.
func Providers() []string { return slices.Sorted(maps.Keys(shapes)) }

// KeyVariable is the environment variable in which a provider's key usually stands, such as JINA_API_KEY.
func KeyVariable(provider string) string { return strings.ToUpper(provider) + "_API_KEY" }

// Refused is a Config with faults.
type Refused []wire.Fault

func (r Refused) Error() string {
	said := make([]string, len(r))
	for i, f := range r {
		said[i] = f.Error()
	}
	return strings.Join(said, "\n")
}

// validate names every bad field of a filled configuration: it is nil or a Refused. Values that may hold a secret aren't repeated.
func (c Config) validate() error {
	var bad Refused
	fail := func(field, value, allowed string) {
		bad = append(bad, wire.Fault{Field: field, Value: value, Allowed: allowed})
	}
	refuse := func(err error) {
		if fault, ok := errors.AsType[wire.Fault](err); ok {
			bad = append(bad, fault)
		}
	}
	if _, ok := shapes[c.Provider]; !ok {
		fail("Provider", fmt.Sprintf("%q", c.Provider), strings.Join(Providers(), ", "))
	}
	const addresses = "http://host/path or https://host/path, without user, query or fragment"
	if u, err := url.Parse(c.URL); err != nil {
		fail("URL", "no URL", addresses)
	} else if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		fail("URL", fmt.Sprintf("%q", publicURL(c.URL)), addresses)
	}
	for i, key := range c.Keys {
		refuse(wire.CheckKey("Keys", i+1, key))
	}
	if c.Key != "" {
		refuse(wire.CheckKey("Key", 0, c.Key))
	}
	if strings.TrimSpace(c.Model) == "" {
		fail("Model", "empty", "the name of a model")
	}
	if c.Timeout < least {
		fail("Timeout", c.Timeout.String(), fmt.Sprintf("0 (5s) or at least %v", least))
	}
	if c.MaxPairs < 0 {
		fail("MaxPairs", fmt.Sprint(c.MaxPairs), "0 (100) or more")
	}
	if c.MaxCharacters < 0 {
		fail("MaxCharacters", fmt.Sprint(c.MaxCharacters), "0 (4000) or more")
	}
	if bad == nil {
		return nil
	}
	return bad
}

// publicURL is an address without what may be secret in it. One that doesn't parse isn't shown.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	public := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		public.Fragment = "hidden"
	}
	return public.String()
}
