package main

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"strings"
	"time"

	remote "github.com/mallardmem/mallard/embed/http"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/wire"
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
	variable := cmp.Or(c.Keys, remote.KeyVariable(c.Provider))
	said, set := os.LookupEnv(variable)
	if c.Keys != "" && !set {
		return nil, usage("embedding.key_env is %s, which is not set", c.Keys)
	}
	keys := strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	retries := 0 // the client's default
	if c.Retries != nil {
		if retries = *c.Retries; retries < 0 {
			return nil, usage("embedding.retries is %d; allowed: 0 or more", retries)
		} else if retries == 0 {
			retries = -1
		}
	}
	client, err := remote.New(remote.Config{Provider: c.Provider, BaseURL: c.BaseURL, Keys: keys, Model: c.Model, Dims: c.Dims,
		QueryTask: c.QueryTask, PassageTask: c.PassageTask, QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, APIVersion: c.APIVersion,
		MaxChars: c.MaxChars, BatchTexts: c.BatchTexts, BatchChars: c.BatchChars, Timeout: time.Duration(c.Timeout), Deadline: time.Duration(c.Deadline), Retries: retries})
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

// told says what is wrong with a field by its key in the configuration. What is wrong with a key of a provider is told of the variable that has it, without its value.
func (c embeddingConfig) told(fault wire.Fault, variable string) error {
	if fault.Field == "Keys" {
		return usage("%s, which has the key of embedding.provider %s, is %s; allowed: %s (embedding.key_env names another variable)", variable, c.Provider, fault.Value, fault.Allowed)
	}
	field, _ := reflect.TypeFor[embeddingConfig]().FieldByName(fault.Field)
	return usage("embedding.%s is %s; allowed: %s", field.Tag.Get("toml"), fault.Value, fault.Allowed)
}
