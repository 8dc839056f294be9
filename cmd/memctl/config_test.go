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
	c, err := config{origins: map[string]string{}}.resolved()
	if err != nil {
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
		_, err := c.resolved()
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
		{"MEMCTL_MEMORY", "much", "no size"}, {"MEMCTL_MEMORY", "0", "no size"}, {"MEMCTL_MEMORY", "1.5GB", "no size"}, {"MEMCTL_MEMORY", "-512MB", "no size"}, {"MEMCTL_MEMORY", "", "no size"},
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
		"MEMCTL_MEMORY": "2gb",
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
		"database.memory": "2048MB",
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
		if kind == reflect.TypeFor[[]int]() {
			text = "7,8"
		}
		if err := parseInto(s.field, text); text == "" || err != nil || s.field.IsZero() {
			t.Errorf("%s of type %s from %q: %v, %v", s.name(), kind, text, s.field, err)
		}
	}
}

// TestEveryKeyOfTheFile: each key can be written in the file, the variable wins over it, and both fill the same field.
func TestEveryKeyOfTheFile(t *testing.T) {
	texts := map[reflect.Kind][2]string{reflect.Int: {"7", "8"}, reflect.Float64: {"0.5", "0.25"}, reflect.Bool: {"true", "false"}, reflect.String: {`"x"`, "y"},
		reflect.Slice: {`["a", "b"]`, "c"}, reflect.Int64: {`"7s"`, "8s"}}
	var all config
	for _, s := range all.settings() {
		kind := s.field.Type()
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		text := texts[kind.Kind()]
		if kind == reflect.TypeFor[megabytes]() {
			text = [2]string{`"700MB"`, "800MB"}
		}
		if kind == reflect.TypeFor[[]int]() {
			text = [2]string{`[7, 8]`, "9"}
		}
		path := filepath.Join(t.TempDir(), "config.toml")
		write(t, path, fmt.Sprintf("[%s]\n%s = %s\n", s.table, s.key, text[0]))
		seen := func() (value, origin string) {
			t.Helper()
			c, err := loadConfig(path)
			if err != nil {
				t.Fatalf("%s: %v", s.name(), err)
			}
			for _, v := range c.values() {
				if v.Key == s.name() {
					value, origin = fmt.Sprint(v.Value), v.Origin
				} else if v.Origin != "default" {
					t.Errorf("%s is from %s, only %s is set", v.Key, v.Origin, s.name())
				}
			}
			return value, origin
		}
		want := strings.NewReplacer(`"`, "", ",", "").Replace(text[0])
		if value, origin := seen(); value != want || origin != "file" {
			t.Errorf("%s = %s in the file: %s from %s", s.name(), text[0], value, origin)
		}
		t.Setenv(s.variable(), text[1])
		if value, origin := seen(); strings.Trim(value, "[]") != text[1] || origin != s.variable() {
			t.Errorf("%s=%s: %s from %s", s.variable(), text[1], value, origin)
		}
		os.Unsetenv(s.variable())
	}
}

func TestTheFileIsStrict(t *testing.T) {
	for text, says := range map[string]string{
		"[conversation]\nleaf_chunk_token = 5": "unknown key conversation.leaf_chunk_token", "[conversation]\nLeaf_Chunk_Tokens = 5": "unknown key conversation.Leaf_Chunk_Tokens",
		"[Conversation]\nleaf_chunk_tokens = 5": "unknown key Conversation", "leaf_chunk_tokens = 5": "unknown key leaf_chunk_tokens", "[llm.more]\na = 1": "unknown key llm.more",
		"[conversation]\nleaf_chunk_tokens = \"5\"": "leaf_chunk_tokens", "[conversation]\nleaf_chunk_tokens = 1.5": "leaf_chunk_tokens", "[conversation]\nleaf_chunk_tokens = 12abc": "config.toml",
		"[conversation]\nleaf_chunk_tokens = 0": "leave it out", "[conversation]\nsummary_timeout = 60": "missing unit", "[conversation]\ndeferred_compaction = 1": "deferred_compaction",
		"[conversation]\nleaf_chunk_tokens = 1\nleaf_chunk_tokens = 2": "leaf_chunk_tokens",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		write(t, path, text)
		if _, err := loadConfig(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want it to say %q", text, err, says)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
