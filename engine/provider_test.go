package engine_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
)

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkProviders holds what an assembled context becomes to the strictest rules of providers.
func checkProviders(t *testing.T, a *engine.Assembled) {
	t.Helper()
	checkOpenAI(t, a)
	checkAnthropic(t, a)
}

func checkOpenAI(t *testing.T, a *engine.Assembled) {
	t.Helper()
	messages := a.OpenAI()
	if len(messages) > 0 && messages[0].Role == "system" {
		messages = messages[1:]
	}
	var open []string // calls that are not answered yet
	seen := map[string]bool{}
	before := ""
	for i, m := range messages {
		switch {
		case len(open) > 0 && m.ToolCallID != open[0]:
			t.Errorf("openai %d: %+v, but the call %s has no result yet", i, m, open[0])
		case m.Role == before && m.Role != "tool":
			t.Errorf("openai %d: two of %s in a row", i, m.Role)
		case m.Role == "tool" && len(open) == 0:
			t.Errorf("openai %d: %+v answers no call", i, m)
		case i == 0 && m.Role != "user":
			t.Errorf("openai: begins with %+v", m)
		}
		if m.Role == "tool" && len(open) > 0 {
			open = open[1:]
		}
		if before = m.Role; m.Role == "tool" {
			before = "results"
		}
		if text, ok := m.Content.(string); ok && strings.TrimSpace(text) == "" || m.Content == nil && len(m.ToolCalls) == 0 {
			t.Errorf("openai %d: empty: %+v", i, m)
		}
		for _, call := range m.ToolCalls {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || !plainID.MatchString(call.ID) || !plainID.MatchString(call.Function.Name) || seen[call.ID] {
				t.Errorf("openai %d: %v in %+v", i, err, call)
			}
			seen[call.ID] = true
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("openai: no results of %v", open)
	}
}

func checkAnthropic(t *testing.T, a *engine.Assembled) {
	t.Helper()
	system, messages := a.Anthropic()
	if system != a.Guidance {
		t.Errorf("anthropic: system %q, want %q", system, a.Guidance)
	}
	var open []string
	seen := map[string]bool{}
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			t.Errorf("anthropic %d: %s with %d blocks, want %s", i, m.Role, len(m.Content), want)
		}
		for j, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					t.Errorf("anthropic %d.%d: empty", i, j)
				}
			case "tool_use":
				var input map[string]any
				if err := json.Unmarshal(b.Input, &input); err != nil || !plainID.MatchString(b.ID) || !plainID.MatchString(b.Name) || seen[b.ID] {
					t.Errorf("anthropic %d.%d: %v in %+v", i, j, err, b)
				}
				seen[b.ID] = true
				open = append(open, b.ID)
			case "tool_result":
				if len(open) == 0 || b.ToolUseID != open[0] || b.Content == "" {
					t.Fatalf("anthropic %d.%d: %+v, want the result of %v", i, j, b, open)
				}
				open = open[1:]
			}
			if len(open) > 0 && m.Role == "user" && b.Type != "tool_result" {
				t.Errorf("anthropic %d.%d: %s before the results of %v", i, j, b.Type, open)
			}
		}
		if len(open) > 0 && m.Role == "user" {
			t.Errorf("anthropic %d: no results of %v", i, open)
		}
	}
	if len(open) > 0 {
		t.Errorf("anthropic: no results of %v", open)
	}
}
