package main

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/remote"
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
	server := serverConfig{table: "reranker", provider: c.Provider, keyEnv: c.Keys, standard: remote.KeyVariable(c.Provider), fields: reflect.TypeFor[rerankerConfig]()}
	keys, err := server.keys()
	if err != nil {
		return nil, err
	}
	retries, err := server.retries(c.Retries)
	if err != nil {
		return nil, err
	}
	client, err := remote.New(remote.Config{Provider: c.Provider, URL: c.URL, Keys: keys, Model: c.Model, Timeout: time.Duration(c.Timeout), Retries: retries,
		MaxPairs: c.MaxPairs, MaxCharacters: c.MaxCharacters})
	var refused remote.Refused
	if !errors.As(err, &refused) {
		return client, err
	}
	return nil, server.told(refused)
}
