package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// moody is a model that fails at random, in as many ways as models do. It answers with the numbers of the messages that it is shown, behind those that the older
// summary has: so a summary says which messages it was made from, and how often. The caller asks one question at a time.
type moody struct {
	rng   *rand.Rand
	fails float64
}

func (m *moody) Model() string { return "moody" }

func (m *moody) Complete(_ context.Context, _, prompt string, _ int) (string, error) {
	if m.rng.Float64() < m.fails {
		ways := []error{enginetest.ErrDown, enginetest.Refused{}, context.DeadlineExceeded, errors.New("429 rate limit"), errors.New("prompt is too long"), nil}
		if err := ways[m.rng.IntN(len(ways))]; err != nil {
			return "", err
		}
		return " ", nil
	}
	var told []string
	if _, rest, ok := strings.Cut(prompt, "<previous-"); ok {
		before, _, _ := strings.Cut(rest, "</previous-")
		if _, text, ok := strings.Cut(before, "\n"); ok && !strings.Contains(text, "(none)") {
			told = strings.Fields(text)
		}
	}
	for _, line := range strings.Split(prompt, "\n") {
		if _, rest, ok := strings.Cut(line, ": saying "); ok {
			number, _, _ := strings.Cut(rest, " ")
			told = append(told, number)
		}
	}
	return strings.Join(told, " "), nil
}

// chaosOptions compact often, and let a summary name thousands of messages.
func chaosOptions(m *moody, now func() time.Time) engine.Options {
	most, off := 30, false
	return engine.Options{LLM: m, Now: now, Rolling: setup.Rolling{MaxMessages: &most, MinMessages: 6, PreferCheckpoint: &off},
		Conversation: setup.Conversation{Policy: setup.PolicyRolling, LeafTargetTokens: 100_000, SummaryMaxCalls: 1 << 20, BreakerThreshold: 1 << 20}}
}

// turn says two messages, and does what a host does after an answer. What the model failed in is no error.
func chaosTurn(ctx context.Context, e *engine.Engine, rng *rand.Rand, n int) error {
	said := func(no int) string { return fmt.Sprintf("saying %d %s", no, strings.Repeat("of many words ", 3)) }
	_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Key: fmt.Sprint(2*n - 1), Role: "user", Text: said(2*n - 1)}, {Key: fmt.Sprint(2 * n), Role: "assistant", Text: said(2 * n)}}})
	if err != nil {
		return err
	}
	if _, err := e.MaybeCheckpoint(ctx, checkpoint.Request{Conversation: "talk", Budget: 5000}); err != nil && !errors.Is(err, chain.ErrUnanswered) {
		return err
	}
	if _, err := e.Compact(ctx, compact.Request{Conversation: "talk", Budget: 5000}); err != nil {
		return err
	}
	if rng.IntN(4) == 0 {
		if _, err := e.RetryPending(ctx); err != nil && !errors.Is(err, chain.ErrUnanswered) {
			return err
		}
	}
	return nil
}

// chaosOver wants every message there, each in the context or told of by the summary exactly once, in order, the ranges of compactions one after the other, and after a
// retry with a model that answers nothing owed.
func chaosOver(t *testing.T, e *engine.Engine, messages int) {
	t.Helper()
	for range 3 { // the last model may fail once more while the breaker and counters wear off
		if _, err := e.RetryPending(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := enginetest.Rows(t, e, "SELECT caller_key FROM messages ORDER BY seq")
	if len(all) != messages {
		t.Errorf("%d of %d messages", len(all), messages)
	}
	for i, row := range all {
		if row[0] != fmt.Sprint(i+1) {
			t.Fatalf("message %d is %v", i+1, row[0])
		}
	}
	if owed := enginetest.Rows(t, e, "SELECT id FROM compactions WHERE retry_from IS NOT NULL UNION ALL SELECT id FROM summaries WHERE fallback"); len(owed) != 0 {
		t.Errorf("owed: %v", owed)
	}
	next := int32(1)
	for _, row := range enginetest.Rows(t, e, "SELECT from_seq, first_kept_seq FROM compactions ORDER BY first_kept_seq") {
		if row[0] != next {
			t.Fatalf("a compaction begins at %v, the one before it ended at %d", row[0], next)
		}
		next = row[1].(int32)
	}
	var want []string
	for n := 1; n < int(next); n++ {
		want = append(want, strconv.Itoa(n))
	}
	if rows := enginetest.Rows(t, e, "SELECT text FROM summaries"); len(rows) != 1 || rows[0][0] != strings.Join(want, " ") {
		t.Errorf("the summary tells of %v, want each of %d messages once", rows, len(want))
	}
	if rest := enginetest.Rows(t, e, "SELECT count(*), min(position) FROM context_items WHERE kind = 'message'"); fmt.Sprint(rest) != fmt.Sprintf("[[%d %d]]", messages-len(want), next) {
		t.Errorf("in the context: %v", rest)
	}
}

// TestRollingChaos: a summariser that fails at random for many turns loses nothing, tells nothing twice, and in the end owes nothing.
func TestRollingChaos(t *testing.T) {
	enginetest.Alone(t)
	turns := 120
	switch {
	case enginetest.Long("kills"):
		turns = 1000
	case testing.Short():
		turns = 50
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 7))
	clock := &enginetest.Clock{At: enginetest.Noon}
	m := &moody{rng: rng, fails: 0.6}
	e := enginetest.Open(t, chaosOptions(m, clock.Now))
	for n := 1; n <= turns; n++ {
		clock.Advance(time.Minute)
		if err := chaosTurn(t.Context(), e, rng, n); err != nil {
			t.Fatalf("turn %d: %v", n, err)
		}
	}
	stubs := len(enginetest.Rows(t, e, "SELECT id FROM compactions WHERE attempts > 1"))
	m.fails = 0
	clock.Advance(time.Hour)
	chaosOver(t, e, 2*turns)
	if stubs == 0 {
		t.Error("no summary failed: the test tests nothing")
	}
}

// chaosForEver does turns until it is killed; it goes on where the file ends.
func chaosForEver(path string) error {
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	e, err := engine.Open(ctx, path, enginetest.Thrifty(chaosOptions(&moody{rng: rng, fails: 0.5}, time.Now)))
	if err != nil {
		return err
	}
	n := 1
	if v, err := e.Conversation(ctx, "talk", ""); err == nil {
		n = v.Messages/2 + 1
	}
	enginetest.Tell(enginetest.Report{Ready: true})
	for ; ; n++ {
		if err := chaosTurn(ctx, e, rng, n); err != nil {
			return err
		}
		enginetest.Tell(enginetest.Report{Done: &enginetest.Write{Op: "append", ID: strconv.Itoa(2 * n)}})
	}
}

// TestRollingKilled is the same while the process is killed at random moments.
func TestRollingKilled(t *testing.T) {
	enginetest.Alone(t)
	kills := 5
	switch {
	case enginetest.Long("kills"):
		kills = 60
	case testing.Short():
		kills = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 8))
	path := enginetest.NewFile(t)
	told := 0
	for range kills {
		c := enginetest.Spawn(t, "chaos", path, strconv.FormatUint(rng.Uint64()>>1, 10))
		var timer *time.Timer
		for {
			r, ok := c.Next(t)
			if !ok {
				break
			}
			switch {
			case r.Err != "":
				t.Fatal(r.Err)
			case r.Ready:
				timer = time.AfterFunc(time.Duration(rng.Int64N(int64(900*time.Millisecond))), func() { c.Cmd.Process.Kill() })
			case r.Done != nil:
				if n, err := strconv.Atoi(r.Done.ID); err == nil {
					told = n
				}
			}
		}
		timer.Stop()
		c.Kill()
		e := enginetest.OpenFile(t, path, engine.Options{})
		enginetest.Check(t, e)
		if n := len(enginetest.Rows(t, e, "FROM messages")); n < told || n%2 != 0 {
			t.Fatalf("%d messages, %d were acknowledged", n, told)
		}
		enginetest.CloseFile(t, e)
	}
	e := enginetest.OpenFile(t, path, chaosOptions(&moody{rng: rng}, time.Now))
	messages := len(enginetest.Rows(t, e, "FROM messages"))
	t.Logf("%d messages after %d kills", messages, kills)
	if messages == 0 {
		t.Fatal("no turn was done")
	}
	chaosOver(t, e, messages)
	enginetest.CloseFile(t, e)
}
