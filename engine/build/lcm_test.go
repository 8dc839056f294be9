package build_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestLCMIsAssemble: the preset lcm chooses and renders what Assemble does, at any budget and for any prompt.
func TestLCMIsAssemble(t *testing.T) {
	t.Parallel()
	e := busy(t)
	for i := range 30 {
		say(t, e, conversation.Message{Text: fmt.Sprintf("question %d %s", i, strings.Repeat("word ", i))})
		say(t, e, did(fmt.Sprint("d", i), "look", strings.Repeat("seen ", 3*i))...)
		say(t, e, conversation.Message{Role: "assistant", Text: fmt.Sprintf("answer %d about crane %d", i, i)})
	}
	say(t, e, conversation.Message{Text: "not for models", Withheld: true})
	for _, r := range []assemble.Request{{}, {Budget: 200}, {Budget: 600}, {Budget: 1500}, {Budget: 50}, {Budget: 900, PromptAware: true, Prompt: "crane 3"}} {
		r.Conversation = "c"
		want, err := e.Assemble(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		b := built(t, e, build.Request{Preset: "lcm", Budget: r.Budget, Prompt: r.Prompt})
		var ids, got []string
		for _, it := range want.Items {
			ids = append(ids, it.ID)
		}
		for _, it := range b.Items {
			if it.Kept && (it.Kind == "message" || it.Kind == "summary") {
				got = append(got, it.ID)
			}
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("%+v: items (-assemble +build):\n%s", r, diff)
		}
		if diff := cmp.Diff(want.OpenAI(), b.OpenAI()); !strings.Contains(diff, "system") && diff != "" {
			t.Errorf("%+v: messages (-assemble +build):\n%s", r, diff)
		}
		if !strings.Contains(b.SystemText, want.Guidance) || b.OverBudget != want.OverBudget {
			t.Errorf("%+v: system %q, over %v", r, b.SystemText, b.OverBudget)
		}
		if strings.Contains(b.Text(), "not for models") {
			t.Error("what is withheld is shown")
		}
	}
}

// TestGoClawPromise1: system, then the summary of the last compaction, then all that was said since.
func TestGoClawPromise1(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Preset: "goclaw", Input: "and now?", Texts: map[string]string{"system": "You are Claw."}})
	var names []string
	for _, s := range b.Sections {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "system summary history input"; got != want || seqs(b) != "3 4 5 6 7 8" {
		t.Errorf("sections %s, messages %s", got, seqs(b))
	}
	openAI := b.OpenAI()
	var roles []string
	for _, m := range openAI {
		roles = append(roles, m.Role)
	}
	if got, want := strings.Join(roles, " "), "system user assistant tool user assistant user"; got != "system user assistant assistant tool user assistant user" && got != want {
		t.Errorf("roles %s, want %s", got, want)
	}
	if first, ok := openAI[1].Content.(string); !ok || !strings.Contains(first, "They spoke of u1.") || !strings.Contains(first, "u2") {
		t.Errorf("the first message says %v", openAI[1].Content)
	}
	if last := openAI[len(openAI)-1]; last.Content != "and now?" {
		t.Errorf("the last message says %v", last.Content)
	}
}

// TestGoClawPromise22: how full the window is stands in the system prompt, as the provider counted, with a warning above half.
func TestGoClawPromise22(t *testing.T) {
	t.Parallel()
	e := busy(t)
	for used, want := range map[int]string{45_000: "Context: 45k of 200k tokens used, 22 % (counted).", 100_000: "50 % (counted). Half full.", 150_000: "75 % (counted). Filling up", 185_000: "92 % (counted). Almost full", 0: "(estimated)."} {
		if b := built(t, e, build.Request{Preset: "goclaw", Used: used}); !strings.Contains(section(b, "system"), want) {
			t.Errorf("%d: %q, want %q", used, section(b, "system"), want)
		}
	}
	stored := open(t)
	say(t, stored, conversation.Message{Text: "hi"}, conversation.Message{Role: "assistant", Text: "hello", Usage: &conversation.Usage{Input: 119_000, Output: 1000}})
	b := built(t, stored, build.Request{Custom: preset(t, "goclaw", func(p *build.Preset) { p.Window.From = build.FromMessages })})
	if !strings.Contains(section(b, "system"), "120k of 200k tokens used, 60 % (counted)") {
		t.Errorf("%q", section(b, "system"))
	}
}

// TestGoClawPromise23: compaction takes no message from the file: a window of messages shows them as before.
func TestGoClawPromise23(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Tools.View = build.ViewFull })})
	if got := seqs(b); got != "1 2 3 4 5 6 7 8" {
		t.Errorf("messages %s", got)
	}
}

// TestGoClawOverBudget: it trims nothing, and says that compaction is due.
func TestGoClawOverBudget(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Custom: preset(t, "goclaw", func(p *build.Preset) { p.Budget.Reserve = 10 }), Budget: 60})
	if !b.OverBudget || seqs(b) != "3 4 5 6 7 8" || len(b.Notices) != 1 || !strings.Contains(b.Notices[0], "compaction is due") {
		t.Errorf("over %v, messages %s, %v", b.OverBudget, seqs(b), b.Notices)
	}
}

// TestToolsWhole: a window that would begin with the result of a tool begins with its call; what has to be shortened is what tools gave.
func TestToolsWhole(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1")...)
	say(t, e, did("c1", "find", strings.Repeat("found ", 200))...)
	say(t, e, talk("a1 u2")...)
	whole := func(change func(*build.Preset)) *build.Preset {
		return preset(t, "openboa", func(p *build.Preset) {
			p.Sections, p.Tools.View, p.Window, p.Snapshot = []string{"history", "input"}, build.ViewFull, build.Window{Tokens: 303}, ""
			change(p)
		})
	}
	b := built(t, e, build.Request{Custom: whole(func(p *build.Preset) {})})
	if got := seqs(b); got != "2 3 4 5" {
		t.Errorf("messages %s, want the call too", got)
	}
	b = built(t, e, build.Request{Custom: whole(func(p *build.Preset) {
		p.Budget.Max, p.Budget.Reduce = 120, []string{build.ReduceTools, build.ReduceHistory}
	})})
	if got := seqs(b); got != "2 3 4 5" || b.Counts.Cost > 120 || len(b.Trim.Cut) != 1 {
		t.Errorf("messages %s, cost %d, %+v", got, b.Counts.Cost, b.Trim)
	}
	b = built(t, e, build.Request{Custom: whole(func(p *build.Preset) { p.Budget.Max = 120 })})
	if got := seqs(b); got != "4 5" {
		t.Errorf("messages %s, want none of a call without its result", got)
	}
	for _, m := range b.OpenAI() {
		if m.Role == "tool" {
			t.Errorf("a result without its call: %+v", m)
		}
	}
}

// TestRecallDoesNotRepeat: a memory that was made from a message that is shown is not shown beside it.
func TestRecallDoesNotRepeat(t *testing.T) {
	t.Parallel()
	e := open(t)
	ids := say(t, e, conversation.Message{Text: "The gantry crane stands at berth four."}, conversation.Message{Role: "assistant", Text: "Noted."})
	m := enginetest.Remember(t, e, rememberFrom("The gantry crane stands at berth four.", ids[0]))
	other := enginetest.Remember(t, e, rememberFrom("The gantry crane was painted yellow."))
	b := built(t, e, build.Request{Preset: "openboa", Input: "Where does the gantry crane stand?"})
	if it := item(t, b, "memory", m.ID); it.Kept || it.Reason != build.DroppedKnown {
		t.Errorf("what is in the window already: %+v", it)
	}
	if it := item(t, b, "memory", other.ID); !it.Kept || it.Reason != build.ReasonRecalled {
		t.Errorf("what is not: %+v", it)
	}
}
