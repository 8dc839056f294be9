package main

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/remote"
	"github.com/mallardmem/mallard/wire"
)

// rerankerConfig is the table [reranker]: the cross-encoder that looks at the best hits of a recall once more, a folder of this machine or a server's. Fields
// that remote.Config has as well have its names, by which faults are told.
type rerankerConfig struct {
	Folder        string         `toml:"folder"`         // of a cross-encoder, or its name under $MEMCTL_MODELS
	Provider      string         `toml:"provider"`       // one of remote.Providers; "": none
	URL           string         `toml:"url"`            // default the provider's own
	Model         string         `toml:"model"`          // its name
	Keys          string         `toml:"key_env"`        // the variable that has the key, or several with commas in between; default the provider's usual
	MaxPairs      int            `toml:"max_pairs"`      // default 100
	MaxCharacters int            `toml:"max_characters"` // default 4000
	Timeout       setup.Duration `toml:"timeout"`        // of one call of the server; default 5s
	Retries       *int           `toml:"retries"`        // default 1
	Deadline      setup.Duration `toml:"deadline"`       // Options.RerankDeadline; default 5s
}

// named reports whether there is a reranker.
func (c rerankerConfig) named() bool { return c.Folder != "" || c.Provider != "" }

// check names what does not fit together.
func (c rerankerConfig) check() error {
	switch {
	case c.Folder != "" && c.Provider != "":
		return usage("reranker.folder is %s, and reranker.provider %s; allowed: one of them", c.Folder, c.Provider)
	case c.Provider == "" && (c.Model != "" || c.URL != ""):
		return usage("reranker.provider is missing; allowed: %s", strings.Join(remote.Providers(), ", "))
	case c.Deadline < 0:
		return usage("reranker.deadline is %s; allowed: a time, such as 5s", time.Duration(c.Deadline))
	}
	_, err := c.client()
	return err
}

// open gives the model; an empty one when none is configured.
func (c rerankerConfig) open() (reranker, error) {
	if err := c.check(); err != nil {
		return reranker{}, err
	}
	if c.Folder != "" {
		return openCrossEncoder("reranker.folder", c.Folder, "")
	}
	client, err := c.client()
	if client == nil || err != nil {
		return reranker{}, err
	}
	return reranker{client}, nil
}

// client gives that of the server; nil when none is configured.
func (c rerankerConfig) client() (*remote.Client, error) {
	if c.Provider == "" {
		return nil, nil
	}
	variable := cmp.Or(c.Keys, remote.KeyVariable(c.Provider))
	said, set := os.LookupEnv(variable)
	if c.Keys != "" && !set {
		return nil, usage("reranker.key_env is %s, which is not set", c.Keys)
	}
	keys := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	retries := 0 // the client's default
	if c.Retries != nil {
		if retries = *c.Retries; retries < 0 {
			return nil, usage("reranker.retries is %d; allowed: 0 or more", retries)
		} else if retries == 0 {
			retries = -1
		}
	}
	client, err := remote.New(remote.Config{Provider: c.Provider, URL: c.URL, Keys: keys, Model: c.Model, Timeout: time.Duration(c.Timeout), Retries: retries,
		MaxPairs: c.MaxPairs, MaxCharacters: c.MaxCharacters})
	var refused remote.Refused
	if !errors.As(err, &refused) {
		return client, err
	}
	var all error
	for _, fault := range refused {
		all = errors.Join(all, c.told(fault, variable))
	}
	return nil, all
}

// told says what is wrong with a field by its key in the configuration, and of a provider's key by the variable that has it.
func (c rerankerConfig) told(fault wire.Fault, variable string) error {
	if fault.Field == "Keys" {
		return usage("%s, which has the key of reranker.provider %s, is %s; allowed: %s (reranker.key_env names another variable)", variable, c.Provider, fault.Value, fault.Allowed)
	}
	field, _ := reflect.TypeFor[rerankerConfig]().FieldByName(fault.Field)
	return usage("reranker.%s is %s; allowed: %s", field.Tag.Get("toml"), fault.Value, fault.Allowed)
}
