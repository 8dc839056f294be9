package main

import (
	"errors"
	"reflect"
	"strings"
	"time"

	remote "github.com/mallardmem/mallard/embed/http"
	"github.com/mallardmem/mallard/engine/setup"
)

// embeddingConfig is the table [embedding]: the server that makes vectors. Fields that remote.Config has as well have its names, by which faults are told.
type embeddingConfig struct {
	Provider      string         `toml:"provider"`       // one of remote.Providers; "": none
	BaseURL       string         `toml:"base_url"`       // default the provider's own
	Model         string         `toml:"model"`          // its name
	Keys          string         `toml:"key_env"`        // the variable that has the key, or several with commas in between; default the provider's usual
	Dims          int            `toml:"dims"`           // default as the model is known for
	QueryTask     *string        `toml:"query_task"`     // default the provider's
	PassageTask   *string        `toml:"passage_task"`   // likewise
	QueryPrefix   *string        `toml:"query_prefix"`   // default as the model is known to want it
	PassagePrefix *string        `toml:"passage_prefix"` // likewise
	APIVersion    string         `toml:"api_version"`    // of azure
	MaxChars      int            `toml:"max_chars"`      // default as the model is known, else 8192
	BatchTexts    int            `toml:"batch_texts"`    // default the provider's
	BatchChars    int            `toml:"batch_chars"`    // default 60000
	Timeout       setup.Duration `toml:"timeout"`        // of one request; default 30s
	Deadline      setup.Duration `toml:"deadline"`       // of one text; default 10s
	Retries       *int           `toml:"retries"`        // default 2
	CacheMB       int            `toml:"cache_mb"`       // of the file, for what a model said; default setup.DefaultEmbeddingCache for a server's
}

// open gives the client; nil when none is configured.
func (c embeddingConfig) open() (*remote.Client, error) {
	if c.Provider == "" {
		if c.Model != "" || c.BaseURL != "" {
			return nil, usage("embedding.provider is missing; allowed: %s", strings.Join(remote.Providers(), ", "))
		}
		return nil, nil
	}
	server := serverConfig{table: "embedding", provider: c.Provider, keyEnv: c.Keys, standard: remote.KeyVariable(c.Provider), fields: reflect.TypeFor[embeddingConfig]()}
	keys, err := server.keys()
	if err != nil {
		return nil, err
	}
	retries, err := server.retries(c.Retries)
	if err != nil {
		return nil, err
	}
	client, err := remote.New(remote.Config{Provider: c.Provider, BaseURL: c.BaseURL, Keys: keys, Model: c.Model, Dims: c.Dims,
		QueryTask: c.QueryTask, PassageTask: c.PassageTask, QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, APIVersion: c.APIVersion,
		MaxChars: c.MaxChars, BatchTexts: c.BatchTexts, BatchChars: c.BatchChars, Timeout: time.Duration(c.Timeout), Deadline: time.Duration(c.Deadline), Retries: retries})
	var refused remote.Refused
	if !errors.As(err, &refused) {
		return client, err
	}
	return nil, server.told(refused)
}
