package main

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "What holds for conversations, memories drawn from talk, models and the database",
		Long: `Config shows what holds for conversations, how memories are drawn from talk and recalled before a turn, which language model, which server of vectors and which reranker there is, and how much memory the database has. A value is the default, or that of the
configuration file, or that of an environment variable, which wins: MEMCTL_ and the key in capitals, such as MEMCTL_LEAF_CHUNK_TOKENS, or
MEMCTL_LLM_MODEL for a key of the table [llm]; the tables [rolling], [extraction], [admission], [turns], [embedding], [reranker] and [models] have their names there as well.

The file is --config, else MEMCTL_CONFIG, else mallard/config.toml in your configuration folder. It is TOML, with the tables
[conversation], [rolling], [extraction], [admission], [turns], [llm], [embedding], [reranker], [models] and [database], and your own [presets.NAME] for memctl context. A key that is not known is an error.`,
		Example: `  memctl config show
  MEMCTL_LLM_PROVIDER=openai memctl config show --json
  MEMCTL_EMBEDDING_PROVIDER=ollama MEMCTL_EMBEDDING_MODEL=nomic-embed-text memctl config show`,
	}
	cmd.AddCommand(newConfigShowCommand(a))
	return cmd
}

func newConfigShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show every value and where it is from",
		Long: `Show prints every key with the value that holds, and where that is from: default, file, or the name of a variable. It fails
when a value is not allowed. No key of a provider is shown.`,
		Example: `  memctl config show
  memctl config show --config team.toml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(a.config)
			if err != nil {
				return err
			}
			resolved, err := c.resolved()
			_, _, err2 := c.LLM.open()
			_, err3 := c.Embedding.open()
			if err := errors.Join(err, err2, err3, c.Reranker.check()); err != nil {
				return err
			}
			values := resolved.values()
			document := map[string]any{"file": c.file, "values": values}
			return a.answer(document, func() { a.printConfig(c.file, values) })
		},
	}
}

// configValue is a key with the value that holds.
type configValue struct {
	Key    string `json:"key"`
	Value  any    `json:"value"` // null: none
	Origin string `json:"origin"`
}

// values lists all keys with what holds; c has its defaults.
func (c *config) values() (all []configValue) {
	for _, s := range c.settings() {
		v := configValue{Key: s.name(), Origin: cmp.Or(c.origins[s.name()], "default")}
		field := s.field
		if field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}
		switch text, ok := field.Interface().(encoding.TextMarshaler); {
		case field.IsZero() && field.Kind() != reflect.Bool && v.Origin == "default": // nothing, or what the server does
		case ok:
			b, _ := text.MarshalText()
			v.Value = string(b)
		default:
			v.Value = field.Interface()
		}
		all = append(all, v)
	}
	return all
}

func (a *app) printConfig(file string, values []configValue) {
	if file == "" {
		a.note("There is no configuration file.")
	} else {
		a.note("The configuration file is %s.", file)
	}
	t := a.table("key", "value", "from")
	for _, v := range values {
		value := "–"
		switch x := v.Value.(type) {
		case nil:
		case []string:
			value = strings.Join(x, ", ")
		case []int:
			value = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x)), ", "), "[]")
		default:
			value = fmt.Sprint(x)
		}
		if (v.Key == "llm.key_env" || v.Key == "reranker.key_env") && v.Value != nil && os.Getenv(value) == "" {
			value += " (not set)"
		}
		t.AppendRow([]any{v.Key, line(value, a.width()-60), v.Origin})
	}
	t.Render()
}
