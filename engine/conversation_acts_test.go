package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

type conversationOptions = setup.Conversation

// acts shows of every key of the options that it acts: what is seen without it, on top of from, and with it.
var acts = []struct {
	key           string
	from, with    func(*conversationOptions)
	see           func(*testing.T, conversationOptions) string
	without, then string
}{
	{"ignore_session_patterns", nil, func(o *conversationOptions) { o.IgnoreSessions = []string{"cron:*"} }, skipped, "", "session excluded"},
	{"stateless_session_patterns", nil, func(o *conversationOptions) { o.StatelessSessions = []string{"cron:*"} }, skipped, "", "stateless session"},
	{"skip_stateless_sessions", func(o *conversationOptions) { o.StatelessSessions = []string{"cron:*"} },
		func(o *conversationOptions) { o.SkipStateless = enginetest.Pointer(false) }, skipped, "stateless session", ""},
	{"estimator", nil, func(o *conversationOptions) { o.Estimator = "weighted" }, func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{Conversation: o})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "今天下雨"}}})
		return fmt.Sprint(enginetest.Messages(t, e, "talk")[0].Tokens > 1)
	}, "false", "true"},
	{"timezone", nil, func(o *conversationOptions) { o.Timezone = "Asia/Tokyo" }, inPrompt(`\d\d:\d\d (UTC|JST)\]`), "12:00 UTC]", "21:00 JST]"},
	{"custom_instructions", nil, func(o *conversationOptions) { o.Instructions = "Name every heron." }, inPrompt(`Name every heron\.`), "", "Name every heron."},
	{"context_threshold", func(o *conversationOptions) { o.LeafChunkTokens = 100 }, func(o *conversationOptions) { o.ContextThreshold = 1 },
		context10(compact.Request{Budget: 100}), "L(5) m9 m10", "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
	{"compaction_policy", nil, func(o *conversationOptions) { o.Policy = setup.PolicyRolling }, context10(forced), // which keeps twenty messages at least
		"L(5) L(5) m9 m10", "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
	{"fresh_tail_count", nil, func(o *conversationOptions) { o.FreshTailCount = 4 }, context10(forced), "L(5) L(5) m9 m10", "L(5) L(5) m7 m8 m9 m10"},
	{"fresh_tail_max_tokens", func(o *conversationOptions) { o.FreshTailCount = 8 }, func(o *conversationOptions) { o.FreshTailMaxTokens = 30 }, context10(forced),
		"L(5) m3 m4 m5 m6 m7 m8 m9 m10", "L(5) L(5) m8 m9 m10"},
	{"leaf_chunk_tokens", nil, func(o *conversationOptions) { o.LeafChunkTokens = 80 }, context10(forced), "L(5) L(5) m9 m10", "L(5) m9 m10"},
	{"leaf_target_tokens", func(o *conversationOptions) { o.LeafChunkTokens = 2000 }, func(o *conversationOptions) { o.LeafTargetTokens = 300 }, lengths(2000), "700", "300"},
	{"condensed_target_tokens", func(o *conversationOptions) {
		o.LeafChunkTokens, o.LeafMinFanout, o.CondensedTargetTokens = 1000, 2, 10
	},
		func(o *conversationOptions) { o.CondensedTargetTokens = 600 }, lengths(1000, 1000), "350 350 512", "350 350 600"},
	{"leaf_min_fanout", func(o *conversationOptions) { o.CondensedTargetTokens = 5 }, func(o *conversationOptions) { o.LeafMinFanout = 2 }, context10(forced),
		"L(5) L(5) m9 m10", "D1(3) m9 m10"},
	{"condensed_min_fanout", incremental, func(o *conversationOptions) { o.CondensedMinFanout = 3 }, bySteps, "D2(3) m9", "D1(3) D1(3) m9"},
	{"incremental_max_depth", incremental, func(o *conversationOptions) { o.IncrementalMaxDepth = enginetest.Pointer(0) }, bySteps, "D2(3) m9", "L(5) L(5) L(5) L(5) m9"},
	{"condensed_min_fanout_hard", func(o *conversationOptions) { o.CondensedTargetTokens = 5 }, func(o *conversationOptions) { o.CondensedMinFanoutHard = 3 },
		context10(compact.Request{Mode: compact.Under, Budget: 25}), "D1(3) m9 m10", "L(5) L(5) m9 m10"},
	{"summary_max_overage_factor", func(o *conversationOptions) { o.LeafChunkTokens, o.LeafTargetTokens = 600, 100 },
		func(o *conversationOptions) { o.SummaryMaxOverage = 2 }, tokensOf(enginetest.Answers(strings.Repeat("gist", 500))), "300 tokens", "200 tokens"},
	{"fallback_max_tokens", func(o *conversationOptions) { o.LeafChunkTokens = 600 }, func(o *conversationOptions) { o.FallbackMaxTokens = 64 },
		tokensOf(enginetest.Answers(enginetest.ErrDown)), "481 tokens", "57 tokens"},
	{"summary_timeout", func(o *conversationOptions) { o.SweepDeadline = day }, func(o *conversationOptions) { o.SummaryTimeout = minutes(20) }, deadline(compact.Sweep), "1m0s", "20m0s"},
	{"sweep_deadline", func(o *conversationOptions) { o.SummaryTimeout, o.UntilUnderDeadline = day, day }, func(o *conversationOptions) { o.SweepDeadline = minutes(20) },
		deadline(compact.Sweep), "2m0s", "20m0s"},
	{"compact_until_under_deadline", func(o *conversationOptions) { o.SummaryTimeout, o.SweepDeadline = day, day }, func(o *conversationOptions) { o.UntilUnderDeadline = minutes(20) },
		deadline(compact.Under), "5m0s", "20m0s"},
	{"max_sweep_iterations", nil, func(o *conversationOptions) { o.SweepMaxPasses = 1 }, context10(forced), "L(5) L(5) m9 m10", "L(5) m6 m7 m8 m9 m10"},
	{"summary_max_calls_per_window", func(o *conversationOptions) { o.ContextThreshold = 0.5 }, func(o *conversationOptions) { o.SummaryMaxCalls = 1 },
		context10(compact.Request{Budget: 105}),
		"L(5) L(5) m9 m10", "L(5) m6 m7 m8 m9 m10"},
	{"summary_call_window", func(o *conversationOptions) { o.SummaryMaxCalls, o.SummarySpendBackoff = 1, minutes(1) }, func(o *conversationOptions) { o.SummaryCallWindow = minutes(1) },
		callsAt(enginetest.Answers(enginetest.Tokens(5)), 2*time.Minute), "1", "2"},
	{"summary_spend_backoff", func(o *conversationOptions) { o.SummaryMaxCalls, o.SummaryCallWindow = 1, minutes(3) }, func(o *conversationOptions) { o.SummarySpendBackoff = minutes(1) },
		callsAt(enginetest.Answers(enginetest.Tokens(5)), time.Minute, 4*time.Minute), "1", "2"},
	{"circuit_breaker_threshold", nil, func(o *conversationOptions) { o.BreakerThreshold = 2 }, callsAt(enginetest.Answers(enginetest.Refused{}), 1, 1, 1), "4", "2"},
	{"circuit_breaker_cooldown", func(o *conversationOptions) { o.BreakerThreshold = 1 }, func(o *conversationOptions) { o.BreakerCooldown = minutes(1) },
		callsAt(enginetest.Answers(enginetest.Refused{}), 2*time.Minute), "1", "2"},
	{"deferred_compaction", nil, func(o *conversationOptions) { o.Deferred = true }, context10(compact.Request{Budget: 100}),
		"L(5) m6 m7 m8 m9 m10", "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"},
	{"max_assembly_token_budget", nil, func(o *conversationOptions) { o.MaxAssemblyTokens = 40 }, func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		a, err := e.Assemble(t.Context(), assemble.Request{Conversation: "talk", Budget: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(a.Tokens)
	}, "100", "40"},
	{"max_expand_tokens", nil, func(o *conversationOptions) { o.MaxExpandTokens = 20 }, func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 3), Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		c := enginetest.Compact(t, e, forced)
		x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: []string{c.Passes[0].SummaryID}, Messages: true})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(x.Tokens)
	}, "50", "20"},
	{"large_file_token_threshold", nil, func(o *conversationOptions) { o.LargeFileTokens = 100 }, explored, "0 files, 0 calls", "1 files, 0 calls"},
	{"summarize_large_files", func(o *conversationOptions) { o.LargeFileTokens = 100 }, func(o *conversationOptions) { o.SummarizeFiles = true }, explored, "1 files, 0 calls", "1 files, 1 calls"},
	{"bootstrap_max_tokens", nil, func(o *conversationOptions) { o.BootstrapMaxTokens = 70 }, func(t *testing.T, o conversationOptions) string {
		budget, _ := enginetest.Open(t, engine.Options{Conversation: o}).Bootstrap()
		return strconv.Itoa(budget)
	}, "6000", "70"},
	{"new_session_retain_depth", nil, func(o *conversationOptions) { o.NewSessionRetainDepth = enginetest.Pointer(0) }, func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 3), Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		enginetest.Compact(t, e, forced)
		if _, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "talk"}); err != nil {
			t.Fatal(err)
		}
		return enginetest.ContextTokens(t, e, "talk")
	}, "", "L(5) L(5)"},
	{"prune_heartbeat_ok", nil, func(o *conversationOptions) { o.PruneHeartbeats = true }, func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{Conversation: o})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Dialogue("u "+enginetest.HeartbeatPoll, "a HEARTBEAT_OK")})
		return enginetest.ContextTokens(t, e, "talk")
	}, "m1 m2", ""},
}

var forced = compact.Request{Force: true}

const day = setup.Duration(24 * time.Hour)

func minutes(n int) setup.Duration { return setup.Duration(time.Duration(n) * time.Minute) }

// incremental condenses as soon as it can, down to any depth.
func incremental(o *conversationOptions) {
	o.LeafChunkTokens, o.CondensedTargetTokens, o.FreshTailCount, o.LeafMinFanout, o.CondensedMinFanout, o.IncrementalMaxDepth = 20, 4, 1, 2, 2, enginetest.Pointer(-1)
}

// skipped appends to a session and tells what its gate says.
func skipped(t *testing.T, o conversationOptions) string {
	return enginetest.Append(t, enginetest.Open(t, engine.Options{Conversation: o}), conversation.AppendRequest{SessionKey: "cron:1", Messages: enginetest.Sayings(1)}).Skipped
}

// context10 compacts ten messages of ten tokens, and gives the context.
func context10(r compact.Request) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 3), Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		enginetest.Compact(t, e, r)
		return enginetest.ContextTokens(t, e, "talk")
	}
}

// bySteps compacts nine messages of ten tokens leaf by leaf, and gives the context.
func bySteps(t *testing.T, o conversationOptions) string {
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 3), Conversation: o})
	enginetest.Say(t, e, "talk", enginetest.Times(9, 10)...)
	for range 4 {
		enginetest.Compact(t, e, compact.Request{Mode: compact.Leaf, Force: true})
	}
	return enginetest.ContextTokens(t, e, "talk")
}

// inPrompt gives what of the first prompt fits an expression.
func inPrompt(expression string) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) string {
		llm := enginetest.Summing(5, 3)
		e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		enginetest.Compact(t, e, forced)
		return regexp.MustCompile(expression).FindString(llm.Calls()[0].Prompt)
	}
}

// lengths compacts messages of so many tokens, and gives how long summaries were asked for.
func lengths(tokens ...int) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) string {
		llm := enginetest.Summing(400, 30)
		e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: o})
		enginetest.Say(t, e, "talk", append(tokens, 1, 1)...)
		enginetest.Compact(t, e, forced)
		var all []string
		for _, c := range llm.Calls() {
			all = append(all, strconv.Itoa(c.MaxTokens))
		}
		return strings.Join(all, " ")
	}
}

// tokensOf compacts a message of 2,000 characters and more, and gives the tokens of the summary.
func tokensOf(llm *enginetest.LLM) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) string {
		e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: o})
		var long strings.Builder
		for i := range 80 {
			fmt.Fprintf(&long, "Heron%d met otter%d and beaver%d at pond%d. ", i, i, i, i)
		}
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: long.String()}, {Text: "and?"}, {Text: "so?"}}})
		enginetest.Compact(t, e, compact.Request{Force: true, Budget: 10_000})
		return fmt.Sprint(enginetest.Rows(t, e, "SELECT tokens FROM summaries")[0][0], " tokens")
	}
}

// deadline gives how long the model may take, to the minute.
func deadline(mode compact.Mode) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) (left string) {
		llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
			at, _ := ctx.Deadline()
			left = time.Until(at).Round(time.Minute).String()
			return enginetest.Tokens(5), nil
		}}
		e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
		enginetest.Compact(t, e, compact.Request{Mode: mode, Budget: 60})
		return left
	}
}

// callsAt compacts leaf by leaf, once and again after each of the times, and gives how often the model was asked.
func callsAt(llm *enginetest.LLM, after ...time.Duration) func(*testing.T, conversationOptions) string {
	return func(t *testing.T, o conversationOptions) string {
		before, clock := len(llm.Calls()), &enginetest.Clock{At: enginetest.Noon}
		e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: o})
		enginetest.Say(t, e, "talk", enginetest.Times(40, 10)...)
		for _, wait := range append([]time.Duration{0}, after...) {
			clock.Advance(wait)
			e.Compact(t.Context(), compact.Request{Conversation: "talk", Mode: compact.Leaf, Budget: 1000}) // a model that refuses is an error
		}
		return strconv.Itoa(len(llm.Calls()) - before)
	}
}

// explored appends a text of 500 tokens, and counts the files and the calls.
func explored(t *testing.T, o conversationOptions) string {
	llm := enginetest.Answers("in short")
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: o})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Blocks: []conversation.Block{
		{Type: conversation.TextBlock, Text: enginetest.Tokens(500)}}}}})
	files, _ := enginetest.LargeFiles(t, e, "talk")
	return fmt.Sprintf("%d files, %d calls", len(files), len(llm.Calls()))
}

func TestEveryConversationOptionActs(t *testing.T) {
	if testing.Short() {
		t.Skip("short: two files for every option")
	}
	t.Parallel()
	left := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[conversationOptions]()) {
		if f.IsExported() {
			left[f.Tag.Get("toml")] = true
		}
	}
	for n, test := range acts {
		delete(left, test.key)
		t.Run(test.key, func(t *testing.T) {
			o := enginetest.Small(2, 50)
			o.SweepMaxPasses, o.SummaryMaxCalls = 12, 24
			if test.from != nil {
				test.from(&o)
			}
			if n%6 == 0 || enginetest.Long("options") { // one that acts without being set would mostly be in the way of another
				if got := test.see(t, o); got != test.without {
					t.Errorf("without it %q, want %q", got, test.without)
				}
			}
			test.with(&o)
			if got := test.see(t, o); got != test.then {
				t.Errorf("with it %q, want %q", got, test.then)
			}
		})
	}
	for key := range left {
		t.Errorf("nothing shows that %s acts", key)
	}
}
