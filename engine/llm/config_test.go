package llm_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/llm"
)

func TestConfigErrors(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		name   string
		config llm.Config
		want   []string
	}{
		{"no model", llm.Config{Model: " "}, []string{"Model is empty; allowed: the name of a model"}},
		{"scheme", llm.Config{Model: "m", BaseURL: "ftp://host"}, []string{`BaseURL is "ftp://host"; allowed: http://host or https://host`}},
		{"no scheme", llm.Config{Model: "m", BaseURL: "host/v1"}, []string{`BaseURL is "host/v1"`}},
		{"no host", llm.Config{Model: "m", BaseURL: "http://:80/v1"}, []string{`BaseURL is "http://:80/v1"`}},
		{"host and port only", llm.Config{Model: "m", BaseURL: "localhost:8080"}, []string{`BaseURL is "localhost:hidden"`}},
		{"no URL", llm.Config{Model: "m", BaseURL: "http://h:sesame"}, []string{"BaseURL is no URL"}},
		{"password", llm.Config{Model: "m", BaseURL: "http://u:sesame@h"}, []string{`BaseURL is "http://hidden@h"`}},
		{"query", llm.Config{Model: "m", BaseURL: "http://h/v1?key=sesame"}, []string{`BaseURL is "http://h/v1?hidden"`}},
		{"fragment", llm.Config{Model: "m", BaseURL: "http://h/v1#sesame"}, []string{`BaseURL is "http://h/v1#hidden"`}},
		{"key", llm.Config{Model: "m", Key: "sesame\n"}, []string{"Key is not shown; allowed: printable ASCII"}},
		{"timeout", llm.Config{Model: "m", Timeout: -time.Second}, []string{"Timeout is -1s; allowed: 0 (60s) or more"}},
		{"cold", llm.Config{Model: "m", Temperature: number(-0.1)}, []string{"Temperature is -0.1; allowed: 0 to "}},
		{"hot", llm.Config{Model: "m", Temperature: number(2.1)}, []string{"Temperature is 2.1"}},
		{"no number", llm.Config{Model: "m", Temperature: number(math.NaN())}, []string{"Temperature is NaN"}},
		{"everything", llm.Config{BaseURL: "x:", Timeout: -1}, []string{"BaseURL is", "Model is", "Timeout is"}},
	} {
		for _, p := range providers() {
			client, err := p.open(c.config)
			if client != nil || err == nil || !strings.HasPrefix(err.Error(), "llm: "+p.name+": ") {
				t.Errorf("%s: %s: client %v, error %v", p.name, c.name, client, err)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %s: error %q doesn't hold %q", p.name, c.name, err, want)
				}
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("%s: %s: a secret in %q", p.name, c.name, err)
			}
		}
	}
	if _, err := llm.Anthropic(llm.Config{Model: "m", Temperature: number(1.5)}); err == nil || !strings.Contains(err.Error(), "0 to 1") {
		t.Errorf("Anthropic at 1.5: %v", err)
	}
	if _, err := llm.OpenAI(llm.Config{Model: "m", Temperature: number(1.5)}); err != nil {
		t.Errorf("OpenAI at 1.5: %v", err)
	}
}

// However a configuration or a client is printed, the key stays hidden.
func TestKeyIsNotPrinted(t *testing.T) {
	config := llm.Config{BaseURL: "http://user:" + testKey + "@host", Key: testKey, Model: "m"}
	printed := ""
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed += fmt.Sprintf(verb+verb, config, &config) + fmt.Sprintf(verb, []llm.Config{config})
	}
	if !strings.Contains(printed, "Key:hidden Model:m") {
		t.Errorf("printed as %s", printed)
	}
	config.BaseURL = ""
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	printed += string(encoded)
	for _, p := range providers() {
		client, err := p.open(config)
		if err != nil {
			t.Fatal(err)
		}
		printed += fmt.Sprintf("%v %+v %#v", client, *client, client)
	}
	if strings.Contains(printed, testKey) {
		t.Errorf("the key is shown: %s", printed)
	}
}
