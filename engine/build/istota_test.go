package build_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// pairs makes n pairs of prompt and result, a minute apart.
func pairs(n int) (all []conversation.Message) {
	for i := range n {
		at := enginetest.Noon.Add(time.Duration(i) * time.Minute)
		all = append(all, conversation.Message{Text: fmt.Sprintf("prompt %d", i), SaidAt: at}, conversation.Message{Role: "assistant", Text: fmt.Sprintf("result %d", i), SaidAt: at})
	}
	return all
}

// shownPairs are the pairs that are shown, by their numbers.
func shownPairs(b *build.Built) string {
	var all []string
	for _, it := range b.Items {
		if _, n, ok := strings.Cut(it.Text, "prompt "); ok && it.Kept && it.Section == "history" {
			all = append(all, strings.Fields(n)[0])
		}
	}
	return strings.Join(all, " ")
}

// answering is an engine whose model answers so; an answer of an error is one.
func answering(t testing.TB, answer any) (*engine.Engine, *enginetest.LLM) {
	t.Helper()
	llm := enginetest.Answers(answer, answer, answer)
	return open(t, engine.Options{LLM: llm}), llm
}

// TestIstotaPromise1: the newest pairs are looked at, twenty-five unless the preset says otherwise.
func TestIstotaPromise1(t *testing.T) {
	t.Parallel()
	e, _ := answering(t, `{"relevant_ids":[0]}`)
	say(t, e, pairs(40)...)
	if got, want := shownPairs(built(t, e, build.Request{Preset: "istota", Input: "now"})), "15 35 36 37 38 39"; got != want {
		t.Errorf("pairs %s, want the oldest of 25 and the newest five, %s", got, want)
	}
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Window.Pairs = 3; p.Guarantee.Previous = 0 })})
	if got := shownPairs(b); got != "37 38 39" || b.Selection.Outcome != build.Skipped {
		t.Errorf("pairs %s, %+v", got, b.Selection)
	}
}

// TestIstotaPromise2: the window of time counts from the newest, and leaves so many in any case.
func TestIstotaPromise2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at    string
		hours float64
		least int
		want  string
	}{
		{"08:00 09:00 11:30 11:45 12:00", 1, 3, "2 3 4"}, {"08:00 10:30 11:00 11:30 12:00", 2, 2, "1 2 3 4"},
		{"08:00 09:00 11:30 11:45 12:00", 0, 3, "0 1 2 3 4"}, {"08:00 09:00 12:00", 1, 0, "2"}, {"08:00 12:00", 1, 2, "0 1"},
	} {
		e := open(t)
		all := pairs(len(strings.Fields(c.at)))
		for i, at := range strings.Fields(c.at) {
			parsed, err := time.Parse("15:04", at)
			if err != nil {
				t.Fatal(err)
			}
			all[2*i].SaidAt = enginetest.Noon.Truncate(24 * time.Hour).Add(time.Duration(parsed.Hour())*time.Hour + time.Duration(parsed.Minute())*time.Minute)
			all[2*i+1].SaidAt = all[2*i].SaidAt
		}
		say(t, e, all...)
		b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) {
			p.Filter.Recency, p.Filter.Least, p.Select.By = setup.Duration(c.hours*float64(time.Hour)), c.least, ""
		})})
		if got := shownPairs(b); got != c.want {
			t.Errorf("%q, %v h, %d: %s, want %s", c.at, c.hours, c.least, got, c.want)
		}
	}
}

// TestIstotaPromise3: up to three pairs are all shown, and nobody is asked.
func TestIstotaPromise3(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 2: "0 1", 3: "0 1 2", 4: "0 1 2 3"} {
		e, llm := answering(t, errors.New("never asked"))
		if n == 0 {
			say(t, e, conversation.Message{Text: "withheld", Withheld: true})
		}
		say(t, e, pairs(n)...)
		b := built(t, e, build.Request{Preset: "istota", Input: "now"})
		if got := shownPairs(b); got != want || len(llm.Calls()) != 0 {
			t.Errorf("%d pairs: %q, %d calls; want %q, none", n, got, len(llm.Calls()), want)
		}
	}
	e, llm := answering(t, errors.New("never asked"))
	say(t, e, pairs(20)...)
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Select.By = "" })})
	if b.Counts.Messages != 40 || len(llm.Calls()) != 0 || b.Selection != nil {
		t.Errorf("without a selector: %d messages, %d calls", b.Counts.Messages, len(llm.Calls()))
	}
}

// selecting changes istota's preset to so many recent pairs.
func selecting(t *testing.T, recent int) *build.Preset {
	return preset(t, "istota", func(p *build.Preset) { p.Guarantee.Recent = recent })
}

// TestIstotaPromise4: the newest pairs are shown whatever the model answers.
func TestIstotaPromise4(t *testing.T) {
	t.Parallel()
	e, _ := answering(t, `{"relevant_ids": []}`)
	say(t, e, pairs(9)...)
	b := built(t, e, build.Request{Preset: "istota", Input: "now"})
	if got := shownPairs(b); got != "4 5 6 7 8" {
		t.Errorf("pairs %s", got)
	}
	if it := item(t, b, "history", "#18"); it.Reason != build.ReasonRecent {
		t.Errorf("the newest is shown because it is %q", it.Reason)
	}
	if it := item(t, b, "history", "#1"); it.Kept || it.Reason != build.DroppedChoice || it.Text != "" {
		t.Errorf("the oldest: %+v", it)
	}
}

// TestIstotaPromise5: the engine's own model is asked about the older ones, numbered from 0, each cut short.
func TestIstotaPromise5(t *testing.T) {
	t.Parallel()
	e, llm := answering(t, `{"relevant_ids":[1]}`)
	all := pairs(8)
	all[0].Text += strings.Repeat(" long", 1000)
	all[3].Actions = []string{"read a.txt", "wrote b.txt"}
	say(t, e, all...)
	b := built(t, e, build.Request{Preset: "istota", Input: "What about prompt one?"})
	if got := shownPairs(b); got != "1 3 4 5 6 7" {
		t.Errorf("pairs %s", got)
	}
	calls := llm.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls", len(calls))
	}
	for _, want := range []string{`id="0"`, `id="2"`, "prompt 1", "result 1", "[did: read a.txt | wrote b.txt]", "What about prompt one?", "come 5 newer turns"} {
		if !strings.Contains(calls[0].Prompt, want) {
			t.Errorf("the model is not told %q:\n%s", want, calls[0].Prompt)
		}
	}
	if strings.Contains(calls[0].Prompt, `id="3"`) || strings.Contains(calls[0].Prompt, "prompt 3") || len(calls[0].Prompt) > 6000 {
		t.Errorf("the model is told too much, %d bytes", len(calls[0].Prompt))
	}
}

// TestIstotaPromise6: without a model all older ones stay.
func TestIstotaPromise6(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, pairs(9)...)
	b := built(t, e, build.Request{Preset: "istota", Input: "now"})
	if got := shownPairs(b); got != "0 1 2 3 4 5 6 7 8" || b.Selection.Outcome != build.Failed || len(b.Notices) != 1 {
		t.Errorf("pairs %s, %+v, %v", got, b.Selection, b.Notices)
	}
}

// TestIstotaPromise7: what is chosen and what is recent stand in the order they were said, whatever the answer's form.
func TestIstotaPromise7(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, recent int
		answer    string
		want      string
	}{
		{5, 2, `{"relevant_ids":[0]}`, "0 3 4"}, {5, 2, `{"relevant_ids":[]}`, "3 4"}, {8, 2, `{"relevant_ids":[4,1,3]}`, "1 3 4 6 7"},
		{5, 2, "Here it is:\n```json\n{\"relevant_ids\": [1]}\n```\nDone {x}", "1 3 4"}, {5, 2, "I think {\"relevant_ids\": [2]} will do.", "2 3 4"},
		{5, 2, `{"relevant_ids":[0,5,-1]}`, "0 3 4"}, {5, 2, `{"relevant_ids":["zero",0,null]}`, "0 3 4"}, {5, 2, `{"relevant_ids":["zero",99]}`, "3 4"},
		{5, 2, `{"relevant_ids":[2,2,2]}`, "2 3 4"}, {5, 2, `{"relevant_ids":[true,false,1.5]}`, "3 4"},
	} {
		e, _ := answering(t, c.answer)
		say(t, e, pairs(c.n)...)
		b := built(t, e, build.Request{Custom: selecting(t, c.recent), Input: "now"})
		if got := shownPairs(b); got != c.want || b.Selection.Outcome != build.Chosen {
			t.Errorf("%s: pairs %s, want %s; %+v", c.answer, got, c.want, b.Selection)
		}
	}
}

// TestIstotaPromise8: where the model fails all stay, or only the recent ones where the preset says so.
func TestIstotaPromise8(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{"", "  \n", errors.New("down"), "no JSON", `[0,1]`, `{"relevant_ids": 3}`, `{"ids":[0]}`, `{"relevant_ids": [0`} {
		e, _ := answering(t, answer)
		say(t, e, pairs(8)...)
		if b := built(t, e, build.Request{Preset: "istota", Input: "now"}); shownPairs(b) != "0 1 2 3 4 5 6 7" || b.Selection.Outcome != build.Failed {
			t.Errorf("%v: pairs %s, %+v", answer, shownPairs(b), b.Selection)
		}
		recent := preset(t, "istota", func(p *build.Preset) { p.Select.OnError = build.KeepRecent })
		if b := built(t, e, build.Request{Custom: recent, Input: "now"}); shownPairs(b) != "3 4 5 6 7" {
			t.Errorf("%v, keep_recent: pairs %s", answer, shownPairs(b))
		}
	}
	slow := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		<-ctx.Done()
		return `{"relevant_ids":[]}`, nil
	}}
	e := open(t, engine.Options{LLM: slow})
	say(t, e, pairs(8)...)
	began := time.Now()
	told := 0
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Select.Timeout, p.Select.Tries = setup.Duration(50*time.Millisecond), 5 }), Input: "now",
		Counted: func(int, int) error { told++; return errors.New("no book") }})
	if shownPairs(b) != "0 1 2 3 4 5 6 7" || len(slow.Calls()) != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("pairs %s after %d calls in %v, want all after one", shownPairs(b), len(slow.Calls()), time.Since(began))
	}
}

// TestIstotaBudgetOfSelection: who counts what the model took is told, and its failing changes nothing.
func TestIstotaBudgetOfSelection(t *testing.T) {
	t.Parallel()
	e, llm := answering(t, `{"relevant_ids":[1]}`)
	say(t, e, pairs(8)...)
	asked, answered := 0, 0
	b := built(t, e, build.Request{Preset: "istota", Input: "now", Counted: func(p, a int) error {
		asked, answered = p, a
		return errors.New("no book")
	}})
	if shownPairs(b) != "1 3 4 5 6 7" || asked < 100 || answered != 5 || len(llm.Calls()) != 1 {
		t.Errorf("pairs %s, told of %d and %d tokens", shownPairs(b), asked, answered)
	}
}

// TestIstotaPromise9: what is answered stays in, wherever it is and whatever the model says; ids and keys are never taken for each other.
func TestIstotaPromise9(t *testing.T) {
	t.Parallel()
	e, _ := answering(t, `{"relevant_ids":[]}`)
	all := pairs(40)
	all[4].Key = "chat-77"
	ids := say(t, e, all...)
	for _, c := range []struct{ reply, want string }{
		{ids[0], "0 35 36 37 38 39"}, {ids[1], "0 35 36 37 38 39"}, {"chat-77", "2 35 36 37 38 39"}, {ids[2*20], "20 35 36 37 38 39"},
		{"77", "35 36 37 38 39"}, {"1", "35 36 37 38 39"}, {"#1", "35 36 37 38 39"}, {"msg_unknown", "35 36 37 38 39"},
	} {
		b := built(t, e, build.Request{Preset: "istota", Input: "now", ReplyTo: c.reply, Quote: "quoted words"})
		if got := shownPairs(b); got != c.want || strings.Count(b.Text(), "quoted words") != 1 {
			t.Errorf("in answer to %s: pairs %s, want %s; the quotation %d times", c.reply, got, c.want, strings.Count(b.Text(), "quoted words"))
		}
	}
	first := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Guarantee.ReplyFirst = true }), ReplyTo: ids[2*30], Input: "now"})
	if got := shownPairs(first); got != "30 35 36 37 38 39" {
		t.Errorf("the answered first: %s", got)
	}
	yes := true
	if _, err := e.Mark(t.Context(), conversation.MarkRequest{Conversation: "c", IDs: ids[:2], Withheld: &yes}); err != nil {
		t.Fatal(err)
	}
	if b := built(t, e, build.Request{Preset: "istota", Input: "now", ReplyTo: ids[0], Quote: "prompt 0 as it was"}); shownPairs(b) != "35 36 37 38 39" || strings.Count(b.Text(), "prompt 0") != 1 {
		t.Errorf("in answer to what is withheld: pairs %s", shownPairs(b))
	}
	stored := say(t, e, conversation.Message{Text: "and this one?", ReplyTo: "chat-77", Key: "now"})
	if b := built(t, e, build.Request{Preset: "istota", InputID: stored[0]}); shownPairs(b) != "2 35 36 37 38 39" || strings.Count(b.Text(), "and this one?") != 1 || section(b, "input") != "and this one?" {
		t.Errorf("the stored input answers by itself: pairs %s:\n%s", shownPairs(b), b.Text())
	}
}

// TestIstotaReplyToNotification: who answers what nobody said is shown that alone, cut, and nothing where it says nothing.
func TestIstotaReplyToNotification(t *testing.T) {
	t.Parallel()
	e, llm := answering(t, `{"relevant_ids":[]}`)
	say(t, e, pairs(9)...)
	ids := say(t, e, conversation.Message{Role: "assistant", Text: "Briefing: " + strings.Repeat("x", 3000), SourceKind: "briefing"},
		conversation.Message{Role: "assistant", SourceKind: "scheduled", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, Tool: "look", CallID: "1"}}})
	say(t, e, pairs(9)...)
	b := built(t, e, build.Request{Preset: "istota", Input: "thanks", ReplyTo: ids[0]})
	if got := section(b, "history"); b.Counts.Messages != 1 || !strings.Contains(got, "Briefing: ") || len(got) > 2200 || len(llm.Calls()) != 0 {
		t.Errorf("%d messages, %d characters, %d calls", b.Counts.Messages, len(got), len(llm.Calls()))
	}
	if b := built(t, e, build.Request{Preset: "istota", Input: "thanks", ReplyTo: ids[1]}); section(b, "history") != "" {
		t.Errorf("in answer to nothing: %q", section(b, "history"))
	}
}

// TestIstotaPromise10: what was done stands below the answer, fifteen of it at most; labels, times and cut answers.
func TestIstotaPromise10(t *testing.T) {
	t.Parallel()
	e := open(t)
	var actions []string
	for i := range 20 {
		actions = append(actions, fmt.Sprintf("step %d", i))
	}
	at := time.Date(2026, 4, 26, 5, 36, 0, 0, time.UTC)
	say(t, e,
		conversation.Message{Text: "do it", Speaker: "ines", SaidAt: at}, conversation.Message{Role: "assistant", Text: "done, all of it", Actions: actions, SaidAt: at},
		conversation.Message{Text: "from outside", Speaker: "Ana <ana@example.com>", SourceKind: "email", SaidAt: at}, conversation.Message{Role: "assistant", Text: "ok", SaidAt: at},
		conversation.Message{Text: "nightly", SourceKind: "scheduled", Speaker: "cron", SaidAt: at}, conversation.Message{Role: "assistant", Text: "ran", SourceKind: "scheduled", SaidAt: at})
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Timezone, p.Labels.AnswerChars, p.Select.By = "America/Los_Angeles", 10, "" })})
	want := "[2026-04-25 22:36] ines: do it\n[2026-04-25 22:36] Bot: done, all [cut]\n[did: " + strings.Join(actions[:15], " | ") + " | +5 more]\n" +
		"[2026-04-25 22:36] Ana <ana@example.com>: from outside\n[2026-04-25 22:36] Bot: ok\n[2026-04-25 22:36] Scheduled: nightly\n[2026-04-25 22:36] Bot: ran"
	if got := section(b, "history"); got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
	tools := open(t)
	say(t, tools, conversation.Message{Text: "look"}, conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "1", Tool: "find", Input: `{"id":4}`}}},
		conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "1", Output: "pier 3"}}}, conversation.Message{Role: "assistant", Text: "at pier 3"})
	if got := section(built(t, tools, build.Request{Preset: "istota"}), "history"); !strings.HasSuffix(got, "Bot: at pier 3\n[did: find {\"id\":4}]") || strings.Contains(got, "Tool") {
		t.Errorf("history:\n%s", got)
	}
}

// TestIstotaPromise12: mail that was answered is part of the room it came to, under the sender's label.
func TestIstotaPromise12(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, conversation.Message{Text: "Where is my order?", Speaker: "Ana", SourceKind: "email"}, conversation.Message{Role: "assistant", Text: "On its way.", SourceKind: "email"})
	if got := section(built(t, e, build.Request{Preset: "istota"}), "history"); !strings.Contains(got, "Ana: Where is my order?") || !strings.Contains(got, "Bot: On its way.") {
		t.Errorf("history:\n%s", got)
	}
}

// TestIstotaPromise13: what nobody said stays out, but for the newest three of any kind; subtasks and heartbeats always.
func TestIstotaPromise13(t *testing.T) {
	t.Parallel()
	e := open(t)
	all := pairs(14)
	for i, kind := range []string{"", "scheduled", "", "subtask", "", "briefing", "", "", "scheduled", "", "heartbeat", "briefing", "subtask", ""} {
		all[2*i].SourceKind = kind
	}
	say(t, e, all...)
	b := built(t, e, build.Request{Preset: "istota"})
	if got, want := shownPairs(b), "0 2 4 6 7 9 11 13"; got != want {
		t.Errorf("pairs %s, want %s", got, want)
	}
	if it := item(t, b, "history", "#23"); it.Reason != build.ReasonPrevious || !strings.Contains(it.Text, "Scheduled: ") {
		t.Errorf("the newest briefing: %+v", it)
	}
	if it := item(t, b, "history", "#21"); it.Kept || it.Reason != build.DroppedKind {
		t.Errorf("the heartbeat: %+v", it)
	}
}

// TestIstotaCap: what is recalled is cut first, what the user wrote never.
func TestIstotaCap(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, pairs(1)...)
	custom := preset(t, "istota", func(p *build.Preset) {
		p.Sections = []string{"user", "facts", "recalled", "history", "input"}
		p.Cap = build.Cap{Max: 100, Of: []string{"recalled", "facts", "user"}, Order: []string{"recalled", "facts"}}
	})
	texts := map[string]string{"recalled": strings.Repeat("r", 80), "facts": strings.Repeat("f", 30), "user": strings.Repeat("u", 40)}
	b := built(t, e, build.Request{Custom: custom, Texts: texts})
	if section(b, "recalled") != strings.Repeat("r", 30)+" [cut]" || section(b, "facts") != texts["facts"] || section(b, "user") != texts["user"] {
		t.Errorf("sections:\n%s", b.Text())
	}
	custom.Cap.Max = 60
	if b := built(t, e, build.Request{Custom: custom, Texts: texts}); section(b, "recalled") != "" || section(b, "facts") != strings.Repeat("f", 20)+" [cut]" || section(b, "user") != texts["user"] {
		t.Errorf("sections:\n%s", b.Text())
	}
}

// TestIstotaTalk: a window of messages in place of pairs.
func TestIstotaTalk(t *testing.T) {
	t.Parallel()
	e, llm := answering(t, `{"relevant_ids":[0]}`)
	say(t, e, pairs(25)...)
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) {
		p.Window, p.Guarantee.Recent, p.Guarantee.Previous, p.Filter = build.Window{Messages: 10}, 2, 0, build.Filter{}
	}), Input: "now"})
	if got := seqs(b); got != "41 49 50" {
		t.Errorf("messages %s", got)
	}
	if prompt := llm.Calls()[0].Prompt; !strings.Contains(prompt, `id="7"`) || strings.Contains(prompt, `id="8"`) || !strings.Contains(prompt, "prompt 20") || strings.Contains(prompt, "prompt 24") {
		t.Errorf("the model is told:\n%s", prompt)
	}
}

// TestSelectorsWithoutAModel: by the words of the input, and by a recall for it.
func TestSelectorsWithoutAModel(t *testing.T) {
	t.Parallel()
	e := open(t)
	all := pairs(12)
	all[4].Text = "prompt 2 about the gantry crane at berth four"
	say(t, e, all...)
	for _, by := range []string{build.SelectLexical, build.SelectRecall} {
		b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Select.By, p.Select.Most = by, 1 }), Input: "What happened to the gantry crane?"})
		if got := shownPairs(b); got != "2 7 8 9 10 11" || b.Selection.Outcome != build.Chosen || b.Selection.By != by {
			t.Errorf("%s: pairs %s, %+v", by, got, b.Selection)
		}
	}
}
