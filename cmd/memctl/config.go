package main

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/llm"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/pull"
)

// config is what the configuration file and the environment say. docs/configuration.md lists every key.
type config struct {
	Conversation setup.Conversation `toml:"conversation"`
	Rolling      setup.Rolling      `toml:"rolling"`
	Extraction   setup.Extraction   `toml:"extraction"`
	Admission    setup.Admission    `toml:"admission"`
	Turns        setup.Turns        `toml:"turns"`
	LLM          llmConfig          `toml:"llm"`
	Embedding    embeddingConfig    `toml:"embedding"`
	Reranker     rerankerConfig     `toml:"reranker"`
	Models       modelsConfig       `toml:"models"`
	Database     databaseConfig     `toml:"database"`

	presets []build.Preset    // the tables presets.NAME, which are no settings of memctl
	file    string            // that was read; "": there is none
	origins map[string]string // of the keys that are set, such as conversation.timezone: "file", or the name of a variable
}

// llmConfig is the table [llm]: the model that writes summaries and answers.
type llmConfig struct {
	Provider    string         `toml:"provider"`    // openai or anthropic; "": none
	BaseURL     string         `toml:"base_url"`    // default the provider's own
	Model       string         `toml:"model"`       // its name
	Fallbacks   []string       `toml:"fallbacks"`   // models of the same provider that are asked where that one fails
	KeyEnv      string         `toml:"key_env"`     // the variable that has the key; default OPENAI_API_KEY or ANTHROPIC_API_KEY
	Timeout     setup.Duration `toml:"timeout"`     // of one request; default 60s
	Retries     *int           `toml:"retries"`     // default 2
	Temperature *float64       `toml:"temperature"` // default the server's
	Reasoning   bool           `toml:"reasoning"`   // it thinks before it answers
}

// databaseConfig is the table [database].
type databaseConfig struct {
	Memory megabytes `toml:"memory"` // Options.MemoryLimit; default the engine's
}

// setting is one key of the configuration and the field that it fills.
type setting struct {
	table, key string
	field      reflect.Value
}

func (s setting) name() string { return s.table + "." + s.key }

// variable is the environment's name for the key.
func (s setting) variable() string {
	if s.table == "conversation" || s.table == "database" {
		return "MEMCTL_" + strings.ToUpper(s.key)
	}
	return "MEMCTL_" + strings.ToUpper(s.table+"_"+s.key)
}

// settings lists all keys in their order.
func (c *config) settings() (all []setting) {
	tables := reflect.ValueOf(c).Elem()
	for i := range tables.NumField() {
		table := tables.Type().Field(i).Tag.Get("toml")
		if table == "" {
			continue
		}
		for j := range tables.Field(i).NumField() {
			if field := tables.Field(i).Type().Field(j); field.IsExported() && field.Tag.Get("toml") != "-" {
				all = append(all, setting{table, field.Tag.Get("toml"), tables.Field(i).Field(j)})
			}
		}
	}
	return all
}

// loadConfig reads the file that is named, or else the user's own where there is one, and then the environment, which wins.
func loadConfig(named string) (*config, error) {
	c := &config{origins: map[string]string{}}
	path := named
	if path == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return c, c.readEnvironment()
		}
		path = filepath.Join(folder, "mallard", "config.toml")
	}
	switch err := c.readFile(path); {
	case named == "" && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	}
	return c, c.readEnvironment()
}

func (c *config) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usageError{err}
	}
	meta, err := toml.Decode(string(text), c)
	if err != nil {
		return usage("%s: %w", path, err)
	}
	known := []string{}
	for _, s := range c.settings() {
		known = append(known, s.table, s.name())
	}
	for _, key := range meta.Keys() { // Undecoded would let another case pass
		if key[0] != "presets" && !slices.Contains(known, key.String()) {
			return usage("%s: unknown key %s; `memctl config show` lists all of them", path, key)
		}
	}
	if c.presets, err = build.ReadPresets(string(text)); err != nil {
		return usage("%s: %w", path, err)
	}
	for _, s := range c.settings() {
		if meta.IsDefined(s.table, s.key) {
			if err := s.meant(); err != nil {
				return usage("%s: %w", path, err)
			}
			c.origins[s.name()] = "file"
		}
	}
	c.file = path
	return nil
}

func (c *config) readEnvironment() error {
	for _, s := range c.settings() {
		value, ok := os.LookupEnv(s.variable())
		if !ok {
			continue
		}
		err := parseInto(s.field, value)
		if err == nil {
			err = s.meant()
		}
		if err != nil {
			return usage("%s: %w", s.variable(), err)
		}
		c.origins[s.name()] = s.variable()
	}
	return nil
}

// resolved fills in the defaults, and refuses values that are not allowed.
func (c config) resolved() (config, error) {
	var err, ofRolling, ofExtraction, ofTurns error
	c.Conversation, err = c.Conversation.Resolved()
	c.Rolling, ofRolling = c.Rolling.Resolved()
	c.Extraction.Admission = c.Admission
	c.Extraction, ofExtraction = c.Extraction.Resolved()
	c.Turns, ofTurns = c.Turns.Resolved()
	err = errors.Join(err, ofRolling, ofExtraction, ofTurns)
	c.Models.Hub, c.Models.Releases = cmp.Or(c.Models.Hub, pull.DefaultHub), cmp.Or(c.Models.Releases, pull.DefaultReleases)
	c.Database.Memory = cmp.Or(c.Database.Memory, setup.DefaultMemory)
	if c.Database.Memory < setup.LeastMemory {
		err = errors.Join(err, usage("database.memory is %s; allowed: %dMB or more", c.Database.Memory, setup.LeastMemory))
	}
	return c, err
}

// meant refuses a zero that would count as nothing said, where the default is another value.
func (s setting) meant() error {
	if !s.field.IsZero() || s.field.Kind() == reflect.Bool || s.field.Kind() == reflect.Slice {
		return nil
	}
	c, _ := config{}.resolved()
	for _, other := range c.settings() {
		if other.name() == s.name() && other.field.IsZero() {
			return nil
		}
	}
	return fmt.Errorf("%s is %v; leave it out for the default", s.key, s.field)
}

// parseInto reads a variable's text into a field, strictly.
func parseInto(field reflect.Value, text string) error {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if u, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Slice:
		list := reflect.MakeSlice(field.Type(), 0, 0)
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			one := reflect.New(field.Type().Elem()).Elem()
			if err := parseInto(one, word); err != nil {
				return err
			}
			list = reflect.Append(list, one)
		}
		field.Set(list)
	case reflect.Int:
		var n int
		if n, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		field.SetInt(int64(n))
	case reflect.Float64:
		var x float64
		if x, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		field.SetFloat(x)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q; allowed: true, false", text)
		}
		field.SetBool(text == "true")
	}
	return nil
}

// providers are the ways to ask a model, and where each has its key by default.
var providers = []struct {
	name, keyEnv string
	open         func(llm.Config) (*llm.Client, error)
}{{"openai", "OPENAI_API_KEY", llm.OpenAI}, {"anthropic", "ANTHROPIC_API_KEY", llm.Anthropic}}

// open gives the model and those that are asked where it fails; nil when none is configured.
func (c llmConfig) open() (model setup.LLM, fallbacks []setup.LLM, err error) {
	if c.Provider == "" {
		if c.Model != "" || c.BaseURL != "" || len(c.Fallbacks) > 0 {
			return nil, nil, usage("llm.provider is missing; allowed: openai, anthropic")
		}
		return nil, nil, nil
	}
	for _, p := range providers {
		if p.name != c.Provider {
			continue
		}
		key, set := os.LookupEnv(cmp.Or(c.KeyEnv, p.keyEnv))
		if c.KeyEnv != "" && !set {
			return nil, nil, usage("llm.key_env is %s, which is not set", c.KeyEnv)
		}
		retries := 0 // the client's default
		if c.Retries != nil {
			if retries = *c.Retries; retries < 0 {
				return nil, nil, usage("llm.retries is %d; allowed: 0 or more", retries)
			} else if retries == 0 {
				retries = -1
			}
		}
		var all []setup.LLM
		for _, name := range append([]string{c.Model}, c.Fallbacks...) {
			client, err := p.open(llm.Config{BaseURL: c.BaseURL, Key: key, Model: name, Timeout: time.Duration(c.Timeout), Retries: retries,
				Temperature: c.Temperature, Reasoning: c.Reasoning})
			if err != nil {
				return nil, nil, usage("llm: %w", err)
			}
			all = append(all, client)
		}
		return all[0], all[1:], nil
	}
	return nil, nil, usage("llm.provider is %q; allowed: openai, anthropic", c.Provider)
}
