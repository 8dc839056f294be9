package extract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// script answers each question of extraction in turn: the first answers to what is worth remembering, and so on. An answer "!x" is the error x, and
// "..." is none within any time.
type script struct{ find, judge, merge, utility []string }

func (s *script) llm() *enginetest.LLM {
	left := map[string]*[]string{"Find what": &s.find, "Decide what": &s.judge, "Make one": &s.merge, "How useful": &s.utility}
	return &enginetest.LLM{Answer: func(ctx context.Context, _, prompt string, _ int) (string, error) {
		for begins, answers := range left {
			if !strings.HasPrefix(prompt, begins) {
				continue
			}
			if len(*answers) == 0 {
				return "", errors.New("the script has no answer to: " + begins)
			}
			answer := (*answers)[0]
			*answers = (*answers)[1:]
			switch {
			case answer == "...":
				<-ctx.Done()
				return "", ctx.Err()
			case answer == "!401":
				return "", enginetest.Refused{}
			case strings.HasPrefix(answer, "!"):
				return "", errors.New(answer[1:])
			}
			return answer, nil
		}
		return "", errors.New("a question that nobody expects: " + prompt[:40])
	}}
}

func memoryJSON(category, abstract, content string) string {
	return fmt.Sprintf(`{"memories": [{"category": %q, "abstract": %q, "overview": "- it", "content": %q, "turns": [1]}]}`, category, abstract, content)
}

// What the file has, and what a user then says.
const (
	knownEditor = "Editor: Ana uses Vim for Go"
	saidEditor  = "Editor: Ana uses Vim for Go and C"
)

func calls(t *testing.T, e *engine.Engine) (all []string) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, "SELECT concat_ws(' ', label, attempt, outcome, told) FROM model_calls ORDER BY started_at, label, attempt") {
		all = append(all, row[0].(string))
	}
	return all
}

// TestModelVerdicts drives each verdict of a model, with the conditions that the engine holds it to.
func TestModelVerdicts(t *testing.T) {
	t.Parallel()
	verdict := func(decision, label string, match int) string {
		return fmt.Sprintf("```json\n{\"decision\": %q, \"match_index\": %d, \"reason\": \"so it is\", \"context_label\": %q,}\n```", decision, match, label)
	}
	const merged = `Sure! {"abstract": "Editor: Ana uses Vim for Go and for C", "overview": "- Vim", "content": "Both."} Is that all?`
	for _, c := range []struct {
		name, category string
		script         script
		want           outcome
		left           []string
		support        string
	}{
		{"create", "preferences", script{judge: []string{verdict("create", "", 0)}}, outcome{saidEditor, "create", "create"}, []string{knownEditor, saidEditor}, ""},
		{"skip", "preferences", script{judge: []string{verdict("SKIP", "", 0)}}, outcome{saidEditor, "skip", "skip"}, []string{knownEditor}, ""},
		{"merge", "preferences", script{judge: []string{verdict("merge", "", 1)}, merge: []string{merged}}, outcome{saidEditor, "merge", "merge"},
			[]string{"Editor: Ana uses Vim for Go and for C"}, "general 1/0"},
		{"merge without an index", "entities", script{judge: []string{verdict("merge", "", 9)}, merge: []string{merged}}, outcome{saidEditor, "merge", "merge"},
			[]string{"Editor: Ana uses Vim for Go and for C"}, "general 1/0"},
		{"merge that fails", "preferences", script{judge: []string{verdict("merge", "", 1)}, merge: []string{"no", "null"}}, outcome{saidEditor, "merge", "create"},
			[]string{knownEditor, saidEditor}, ""},
		{"supersede", "preferences", script{judge: []string{verdict("supersede", "", 1)}}, outcome{saidEditor, "supersede", "supersede"}, []string{saidEditor}, ""},
		{"supersede without an index", "preferences", script{judge: []string{verdict("supersede", "", 0)}}, outcome{saidEditor, "supersede", "create"},
			[]string{knownEditor, saidEditor}, ""},
		{"supersede a pattern", "patterns", script{judge: []string{verdict("supersede", "", 1)}}, outcome{saidEditor, "supersede", "create"},
			[]string{knownEditor, saidEditor}, ""},
		{"support", "preferences", script{judge: []string{verdict("support", "晚上", 1)}}, outcome{saidEditor, "support", "support"}, []string{knownEditor}, "evening 1/0"},
		{"contextualize", "preferences", script{judge: []string{verdict("contextualize", "work", 1)}}, outcome{saidEditor, "contextualize", "contextualize"},
			[]string{knownEditor, saidEditor}, ""},
		{"contradict in general", "preferences", script{judge: []string{verdict("contradict", "general", 1)}}, outcome{saidEditor, "contradict", "supersede"},
			[]string{saidEditor}, ""},
		{"contradict without a label", "preferences", script{judge: []string{verdict("contradict", "", 1)}}, outcome{saidEditor, "contradict", "contradict"},
			[]string{knownEditor, saidEditor}, "general 0/1"},
		{"contradict in a context", "patterns", script{judge: []string{verdict("contradict", "work", 1)}}, outcome{saidEditor, "contradict", "contradict"},
			[]string{knownEditor, saidEditor}, "work 0/1"},
		{"an event is created", "events", script{judge: []string{verdict("contradict", "general", 1)}}, outcome{saidEditor, "contradict", "create"},
			[]string{knownEditor, saidEditor}, ""},
		{"a case is created", "cases", script{judge: []string{verdict("support", "general", 1)}}, outcome{saidEditor, "support", "create"},
			[]string{knownEditor, saidEditor}, ""},
		{"no verdict", "preferences", script{judge: []string{"null", "maybe"}}, outcome{saidEditor, "create", "create"}, []string{knownEditor, saidEditor}, ""},
		{"a profile is merged", "profile", script{merge: []string{merged}}, outcome{saidEditor, "merge", "merge"}, []string{"Editor: Ana uses Vim for Go and for C"}, "general 1/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.script.find = []string{memoryJSON(c.category, saidEditor, saidEditor)}
			e := enginetest.Open(t, engine.Options{LLM: c.script.llm()})
			category, _ := memory.ParseCategory(c.category)
			m := enginetest.Remember(t, e, memory.RememberRequest{Text: knownEditor, Category: category})
			r := say(t, e, "c", "By the way, I use Vim for Go and C.")
			if diff := cmp.Diff([]outcome{c.want}, outcomes(r.Drafts)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, r)
			}
			left := texts(t, e)
			if len(left) == 2 && left[0] != knownEditor { // what was said is dated, and older than the test's clock
				left[0], left[1] = left[1], left[0]
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			support := ""
			all, err := e.List(t.Context(), memory.ListRequest{Standing: "current"})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				for _, s := range one.SupportOf().Slices {
					support += fmt.Sprintf("%s %d/%d", s.Context, s.Confirmations, s.Contradictions)
				}
			}
			if support != c.support {
				t.Errorf("support %q, want %q", support, c.support)
			}
			if r.Drafts[0].Action == "merge" && enginetest.Get(t, e, m.ID).SupersededBy != r.Drafts[0].MemoryID {
				t.Error("what was merged is lost")
			}
			if r.Calls != len(calls(t, e)) || r.Model != "scripted" {
				t.Errorf("%d calls, %v", r.Calls, calls(t, e))
			}
		})
	}
}

// TestModelFailures: a model that fails is asked once more, then rules take its place; every call is a row.
func TestModelFailures(t *testing.T) {
	t.Parallel()
	good := memoryJSON("preferences", "Editor: Ana uses Zed", "She writes all of it in Zed.")
	rules := []outcome{{"favorite editor: Zed", "create", "create"}}
	model := []outcome{{"Editor: Ana uses Zed", "create", "create"}}
	german := memoryJSON("preferences", "Editor: Ana nutzt Zed für alles", "Sie schreibt das und den ganzen Rest nicht mit Vim, und das ist gut für sie.")
	for _, c := range []struct {
		name  string
		find  []string
		want  []outcome
		calls []string
	}{
		{"null", []string{"null", good}, model, []string{"extract-candidates 1 unusable false", "extract-candidates 2 answered false"}},
		{"no JSON", []string{"I would remember the editor.", "{"}, rules, []string{"extract-candidates 1 unusable false", "extract-candidates 2 unusable false"}},
		{"another form", []string{`{"memories": "none"}`, `{"memories": [1]}`}, rules, []string{"extract-candidates 1 unusable false", "extract-candidates 2 unusable false"}},
		{"chatty", []string{"Here {it} is:\n```json\n" + strings.Replace(good, "}]", "},]", 1) + "\n```\nAnything else?"}, model, []string{"extract-candidates 1 answered false"}},
		{"nothing", []string{`{"memories": []}`}, nil, []string{"extract-candidates 1 answered false"}},
		{"not usable", []string{`{"memories": [{"category": "gossip", "abstract": "Ana uses Zed"}, {"category": "events", "abstract": "Ok"}, {"category": "events", "abstract": "hello there"}]}`}, nil,
			[]string{"extract-candidates 1 answered false"}},
		{"fails", []string{"!down", "!down"}, rules, []string{"extract-candidates 1 failed false", "extract-candidates 2 failed false"}},
		{"late", []string{"...", good}, model, []string{"extract-candidates 1 late false", "extract-candidates 2 answered false"}},
		{"refused", []string{"!401"}, rules, []string{"extract-candidates 1 refused false"}},
		{"the wrong language", []string{german, good}, model, []string{"extract-candidates 1 unusable false", "extract-candidates 2 answered false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := script{find: c.find}
			e := enginetest.Open(t, engine.Options{LLM: s.llm(), Extraction: setup.Extraction{Timeout: setup.Duration(100 * time.Millisecond), PromptPrice: 1}})
			r := say(t, e, "c", "My favorite editor is Zed. That is what I have used for all of my work, and it is good to me.")
			if diff := cmp.Diff(c.want, outcomes(r.Drafts)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, r)
			}
			if diff := cmp.Diff(c.calls, calls(t, e)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if fell := r.Fallback != ""; fell != (len(c.want) > 0 && c.want[0] == rules[0]) {
				t.Errorf("fallback %q", r.Fallback)
			}
			if n := enginetest.Rows(t, e, "SELECT count(*) FROM model_calls WHERE prompt_tokens < 100 OR abs(cost - prompt_tokens / 1e6) > 1e-9")[0][0]; n != int64(0) {
				t.Errorf("%v calls without tokens or cost", n)
			}
		})
	}
}

// counting is a model that tells what it took.
type counting struct{ *enginetest.LLM }

func (c counting) CompleteCounted(ctx context.Context, system, prompt string, most int) (string, int, int, error) {
	answer, err := c.Complete(ctx, system, prompt, most)
	return answer, 321, 12, err
}

// TestModelSpending: what may be asked is bounded, and what was spent or refused is known after the file was closed.
func TestModelSpending(t *testing.T) {
	t.Parallel()
	nothing := `{"memories": []}`
	s := script{find: []string{nothing, nothing, "!401", "!401", nothing}}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	o := engine.Options{LLM: counting{s.llm()}, Extraction: setup.Extraction{MaxCalls: 2}, Conversation: setup.Conversation{BreakerThreshold: 2}, Now: func() time.Time { return now }}
	path := enginetest.NewFile(t)
	next := func(want string) {
		t.Helper()
		e := enginetest.OpenFile(t, path, o)
		now = now.Add(time.Second)
		if r := say(t, e, "c", "It rained all day."); !strings.Contains(r.Fallback, want) || want == "" && r.Fallback != "" {
			t.Errorf("fallback %q, want %q", r.Fallback, want)
		}
		enginetest.CloseFile(t, e)
	}
	next("")
	next("")
	next(conversation.ReasonSpent)
	now = now.Add(2 * time.Hour)
	next("401")
	next("401")
	o.Extraction.MaxCalls = 100
	next(conversation.ReasonOpen)
	now = now.Add(2 * time.Hour)
	next("")
	e := enginetest.OpenFile(t, path, o)
	want := []string{"extract-candidates 1 answered true", "extract-candidates 1 answered true", "extract-candidates 1 refused true", "extract-candidates 1 refused true",
		"extract-candidates 1 answered true"}
	if diff := cmp.Diff(want, calls(t, e)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
