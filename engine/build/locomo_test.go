package build_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

var sessionKey = regexp.MustCompile(`^session_(\d+)$`)

// recorded are the conversations of a file in the format of LoCoMo, each as messages of a user and an assistant.
func recorded(t *testing.T, path string) (all [][]conversation.Message) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var samples []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(content, &samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		var numbers []int
		for key := range s.Conversation {
			if m := sessionKey.FindStringSubmatch(key); m != nil {
				n, _ := strconv.Atoi(m[1])
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		var messages []conversation.Message
		first := ""
		for _, n := range numbers {
			var turns []struct{ Speaker, Text string }
			if err := json.Unmarshal(s.Conversation[fmt.Sprint("session_", n)], &turns); err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				if first == "" {
					first = turn.Speaker
				}
				m := conversation.Message{Role: "assistant", Speaker: turn.Speaker, Text: turn.Text}
				if turn.Speaker == first {
					m.Role = "user"
				}
				if strings.TrimSpace(m.Text) != "" {
					messages = append(messages, m)
				}
			}
		}
		all = append(all, messages)
	}
	return all
}

// TestRecordedTalk builds every preset over recorded conversations: budgets hold, every build can be verified, and what is compacted meanwhile keeps them.
func TestRecordedTalk(t *testing.T) {
	files := filepath.SplitList(os.Getenv("MALLARD_TALKS"))
	if len(files) == 0 {
		t.Skip("MALLARD_TALKS names no files in the format of LoCoMo: presets are not built over recorded talk")
	}
	for _, file := range files {
		for n, messages := range recorded(t, file) {
			e := open(t, engine.Options{LLM: enginetest.Answers(`{"relevant_ids":[0,3]}`), Conversation: setup.Conversation{LeafChunkTokens: 2000, LeafTargetTokens: 300}})
			say(t, e, messages...)
			for _, compacted := range []bool{false, true} {
				if compacted {
					if _, err := e.Compact(t.Context(), compactRequest()); err != nil {
						t.Fatal(err)
					}
				}
				for _, p := range build.Presets() {
					for _, budget := range []int{0, 500, 2000} {
						r := build.Request{Preset: p.Name, Input: "What did we say about it?", Snapshot: true}
						if budget > 0 && p.Budget.Max > 0 {
							r.Budget = budget + p.Budget.Reserve
						}
						b := built(t, e, r)
						used := b.Counts.Cost
						if p.Budget.Of == build.OfHistory {
							used = sectionCost(b, "history")
						}
						if room := b.Counts.Budget; room > 0 && used > room && !b.OverBudget {
							t.Errorf("%s %d, %s, budget %d: costs %d of %d, and nothing is said", filepath.Base(file), n, p.Name, budget, used, room)
						}
						if b.OverBudget && (p.Name == "takobot" || p.Name == "openboa") {
							t.Errorf("%s %d, %s, budget %d: over it", filepath.Base(file), n, p.Name, budget)
						}
						if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
							t.Errorf("%s %d, %s, budget %d: %+v, %v", filepath.Base(file), n, p.Name, budget, v, err)
						}
					}
				}
			}
		}
	}
}
