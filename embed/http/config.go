package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// Config says which model to ask and how. Printing it shows no key.
type Config struct {
	// Provider is one of Providers. Required.
	Provider string
	// BaseURL is the server's address, http or https, without user, query or fragment. Empty: the provider's own; azure and generic have none.
	// Azure's is that of the resource, and Model the name of the deployment. Texts are sent to a path below it, such as /embeddings.
	BaseURL string
	// Keys take turns. One that the server refuses (401, 402, 403) or has no time for (429, 503) leaves the request to the next. Providers at their own address want one.
	Keys []string `json:"-"`
	// Model is the model's name. Required.
	Model string
	// Dims is the length of the vectors. 0: as the model is known for. Where another is said, the server is asked for it, if it can be.
	Dims int
	// QueryTask and PassageTask tell the server what a text is embedded for, in its own words. nil: as the provider has them, such as query and
	// document; empty: nothing is said.
	QueryTask, PassageTask *string
	// QueryPrefix and PassagePrefix stand before every question, and before every text that is to be found. nil: as the model is known to want
	// them; empty: nothing.
	QueryPrefix, PassagePrefix *string
	// APIVersion is for azure alone. Empty: 2024-10-21.
	APIVersion string
	// MaxChars is about how many characters the model takes. Only what the server calls too long is cut, to pieces of 0.7 of it (CJK 0.28).
	// 0: as the model is known, else 8,192. At least 100.
	MaxChars int
	// BatchTexts is how many texts go in one request. 0: 64, or 32 for local servers. At most 2,048.
	BatchTexts int
	// BatchChars is how many characters go in one request, if there is more than one text. 0: 60,000.
	BatchChars int
	// Timeout bounds one request. 0: 30 seconds.
	Timeout time.Duration
	// Deadline bounds the embedding of one text, with all that is tried again. 0: 10 seconds.
	Deadline time.Duration
	// Retries is how often a request is repeated after all keys had no time, a server's error (408, 5xx) or a broken connection. 0: twice; negative: never.
	Retries int
	// HTTPClient makes the requests. nil: one with Go's default transport. Redirects aren't followed, as they would carry the key to another
	// server, unless the client says itself what to do with them.
	HTTPClient *http.Client `json:"-"`
}

// Format prints the configuration with the keys hidden, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "{Provider:%s BaseURL:%s Keys:%d hidden Model:%s Dims:%d Timeout:%v Deadline:%v Retries:%d}",
		c.Provider, wire.PublicAddress(c.BaseURL), len(c.Keys), c.Model, c.Dims, c.Timeout, c.Deadline, c.Retries)
}

// Refused is a Config with faults.
type Refused []wire.Fault

func (r Refused) Error() string {
	said := make([]string, len(r))
	for i, f := range r {
		said[i] = f.Error()
	}
	return "embedding: " + strings.Join(said, "\n")
}

// settle fills in the defaults, and refuses what is not allowed.
func (c *Config) settle() (shape, modelFacts, error) {
	var bad Refused
	fail := func(field, value, allowed string) {
		bad = append(bad, wire.Fault{Field: field, Value: value, Allowed: allowed})
	}
	s, ok := shapeOf(c.Provider)
	if !ok {
		fail("Provider", fmt.Sprintf("%q", c.Provider), strings.Join(Providers(), ", "))
		return s, modelFacts{}, bad
	}
	own := c.BaseURL == ""
	c.BaseURL = cmp.Or(c.BaseURL, s.address)
	check := func(err error) {
		if fault, ok := errors.AsType[wire.Fault](err); ok {
			bad = append(bad, fault)
		}
	}
	check(wire.CheckAddress("BaseURL", c.BaseURL))
	c.Keys = slices.Clone(c.Keys)
	for i, key := range c.Keys {
		check(wire.CheckKey("Keys", i+1, key))
	}
	if len(c.Keys) == 0 && s.keyed && (own || s.address == "") {
		fail("Keys", "empty", "at least one, as "+s.name+" wants it")
	}
	if strings.TrimSpace(c.Model) == "" {
		fail("Model", "empty", "the name of a model")
	}
	of := factsOf(c.Model)
	switch {
	case c.Dims < 0 || c.Dims > 65536:
		fail("Dims", fmt.Sprint(c.Dims), "1 to 65536, or 0 for what the model is known for")
	case c.Dims == 0 && of.dims == 0 && c.Model != "":
		fail("Dims", "0", "the length of the vectors of "+c.Model+", which is not known here")
	}
	c.Dims = cmp.Or(c.Dims, of.dims)
	for _, t := range []struct {
		field string
		said  **string
		usual string
	}{{"QueryTask", &c.QueryTask, s.query}, {"PassageTask", &c.PassageTask, s.passage}} {
		if *t.said == nil {
			*t.said = &t.usual
		} else if **t.said != "" && s.task == "" {
			fail(t.field, fmt.Sprintf("%q", **t.said), "none, as "+s.name+" is not told tasks; a prefix may serve")
		}
	}
	if c.QueryPrefix == nil {
		c.QueryPrefix = &of.queryPrefix
	}
	if c.PassagePrefix == nil {
		c.PassagePrefix = &of.passagePrefix
	}
	if c.APIVersion != "" && s.version == "" {
		fail("APIVersion", fmt.Sprintf("%q", c.APIVersion), "none, as "+s.name+" has no versions")
	}
	c.APIVersion = cmp.Or(c.APIVersion, s.version)
	for _, n := range []struct {
		field        string
		value        *int
		usual, least int
		most         int
	}{
		{"MaxChars", &c.MaxChars, cmp.Or(of.maxChars, defaultMaxChars), shortest, 10_000_000},
		{"BatchTexts", &c.BatchTexts, s.batch, 1, 2048},
		{"BatchChars", &c.BatchChars, 60_000, 1, 10_000_000},
	} {
		if *n.value != 0 && (*n.value < n.least || *n.value > n.most) {
			fail(n.field, fmt.Sprint(*n.value), fmt.Sprintf("%d to %d, or 0 for %d", n.least, n.most, n.usual))
		}
		*n.value = cmp.Or(*n.value, n.usual)
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		usual time.Duration
	}{{"Timeout", &c.Timeout, 30 * time.Second}, {"Deadline", &c.Deadline, 10 * time.Second}} {
		if *d.value < 0 {
			fail(d.field, d.value.String(), fmt.Sprintf("0 (%v) or more", d.usual))
		}
		*d.value = cmp.Or(*d.value, d.usual)
	}
	c.Retries = cmp.Or(c.Retries, 2)
	if len(bad) > 0 {
		return s, of, bad
	}
	return s, of, nil
}
