package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// configRow is a key as docs/configuration.md has it.
type configRow struct{ Key, Default string }

// documentedConfig reads the tables of the page, and what each key allows.
func documentedConfig(t *testing.T) (rows []configRow, allowed map[string]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	allowed = map[string]string{}
	table := ""
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			table = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		key := table + "." + strings.Trim(cells[1], " `")
		rows = append(rows, configRow{key, strings.TrimSpace(cells[2])})
		allowed[key] = strings.TrimSpace(cells[3])
	}
	return rows, allowed
}

func TestDocumentedConfiguration(t *testing.T) {
	rows, allowed := documentedConfig(t)
	c := &config{origins: map[string]string{}}
	var err error
	if c.Conversation, err = c.Conversation.Resolved(); err != nil {
		t.Fatal(err)
	}
	var want []configRow
	for _, v := range c.values() {
		text := "–"
		if v.Value != nil {
			text = fmt.Sprint(v.Value)
		}
		want = append(want, configRow{v.Key, text})
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("docs/configuration.md (-program +page):\n%s", diff)
	}
	// accepts says whether a key may have a value.
	accepts := func(s setting, value string) error {
		var c config
		for _, own := range c.settings() {
			if own.name() == s.name() {
				if err := parseInto(own.field, value); err != nil {
					return err
				}
			}
		}
		_, err := c.Conversation.Resolved()
		return err
	}
	tried := 0
	for _, s := range c.settings() {
		least, _, isRange := strings.Cut(allowed[s.name()], " or more")
		if !isRange || s.table != "conversation" {
			continue
		}
		n, err := strconv.Atoi(least)
		if err != nil {
			t.Fatal(s.name(), err)
		}
		tried++
		if err := accepts(s, least); err != nil {
			t.Errorf("%s = %s: %v", s.name(), least, err)
		}
		if less := n - 1; less != 0 { // 0 is refused before the engine sees it
			if err := accepts(s, strconv.Itoa(less)); err == nil {
				t.Errorf("%s = %d is accepted, the page says %s", s.name(), less, allowed[s.name()])
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d ranges were tried", tried)
	}
}

func TestEnvironmentIsStrict(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // not that of whoever runs the tests
	for _, test := range []struct{ variable, value, says string }{
		{"MEMCTL_FRESH_TAIL_COUNT", "12abc", "no whole number"}, {"MEMCTL_FRESH_TAIL_COUNT", "", "no whole number"}, {"MEMCTL_FRESH_TAIL_COUNT", "1.5", "no whole number"},
		{"MEMCTL_FRESH_TAIL_COUNT", "0", "leave it out"}, {"MEMCTL_CONTEXT_THRESHOLD", "most", "no number"}, {"MEMCTL_CONTEXT_THRESHOLD", "0", "leave it out"},
		{"MEMCTL_SUMMARY_TIMEOUT", "60", "missing unit"}, {"MEMCTL_DEFERRED_COMPACTION", "yes", "true, false"}, {"MEMCTL_DEFERRED_COMPACTION", "1", "true, false"},
		{"MEMCTL_TIMEZONE", "", "leave it out"}, {"MEMCTL_LLM_TEMPERATURE", "hot", "no number"},
	} {
		t.Setenv(test.variable, test.value)
		if _, err := loadConfig(""); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.variable) {
			t.Errorf("%s=%s: %v: want it to say %q", test.variable, test.value, err, test.says)
		}
		os.Unsetenv(test.variable)
	}
	for variable, value := range map[string]string{
		"MEMCTL_FRESH_TAIL_COUNT": "-1", "MEMCTL_INCREMENTAL_MAX_DEPTH": "0", "MEMCTL_SKIP_STATELESS_SESSIONS": "false", "MEMCTL_SUMMARY_TIMEOUT": "1h30m",
		"MEMCTL_IGNORE_SESSION_PATTERNS": "agent:*, **:cron", "MEMCTL_MAX_ASSEMBLY_TOKEN_BUDGET": "0", "MEMCTL_LLM_RETRIES": "0",
	} {
		t.Setenv(variable, value)
	}
	c, err := loadConfig("")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, v := range c.values() {
		if v.Origin != "default" {
			got[v.Key] = v.Value
		}
	}
	want := map[string]any{
		"conversation.fresh_tail_count": -1, "conversation.incremental_max_depth": 0, "conversation.skip_stateless_sessions": false,
		"conversation.summary_timeout": "1h30m0s", "conversation.ignore_session_patterns": []string{"agent:*", "**:cron"},
		"conversation.max_assembly_token_budget": 0, "llm.retries": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryKeyIsKnownToTheEnvironment: each type of field can be read.
func TestEveryKeyIsKnownToTheEnvironment(t *testing.T) {
	var c config
	for _, s := range c.settings() {
		kind := s.field.Type()
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		text := map[reflect.Kind]string{reflect.Int: "7", reflect.Float64: "0.5", reflect.Bool: "true", reflect.String: "x", reflect.Slice: "a,b", reflect.Int64: "7s"}[kind.Kind()]
		if err := parseInto(s.field, text); text == "" || err != nil || s.field.IsZero() {
			t.Errorf("%s of type %s from %q: %v, %v", s.name(), kind, text, s.field, err)
		}
	}
}
