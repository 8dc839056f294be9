package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// simulationSeed repeats a simulation that failed.
const simulationSeed = "MALLARD_SIMULATION_SEED"

// simulations run side by side, each with a file of its own.
const simulations = 2

// TestSimulation does five hundred things (ten thousand, if long) at random to conversations, among them what goes wrong: models that fail, answer nothing or too
// much, calls that are cancelled, and crashes. What each does to its conversation is compared with a model in memory of what must hold, and four times on the
// way and at the end the whole file is.
func TestSimulation(t *testing.T) {
	operations := 500 / simulations
	switch {
	case enginetest.Long("simulation"):
		operations = 10_000 / simulations
	case testing.Short():
		operations = 300 / simulations
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(simulationSeed); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", simulationSeed, seed)
	for n := range simulations {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, uint64(n))), clock: &enginetest.Clock{At: enginetest.Noon}, folder: t.TempDir(), did: map[string]int{}}
			s.path = filepath.Join(s.folder, "0.db")
			s.open()
			for _, name := range []string{"north", "south", "east"} {
				s.all = append(s.all, newSimulated(name))
			}
			s.run(operations)
			t.Log(s.summary())
			enginetest.CloseFile(t, s.engine)
		})
	}
}

// simulation is one run: the file, the model of what is in it, and the language model's mood.
type simulation struct {
	t      *testing.T
	rng    *rand.Rand
	clock  *enginetest.Clock
	folder string
	path   string
	engine *engine.Engine
	all    []*simulated
	keys   int
	mood   string // of the language model; empty: another for each question
	did    map[string]int
	giveUp func() // when the clock was read so often
	left   int
}

// run does so many things, looks at the whole file now and then, and in the end compacts as far as that goes.
func (s *simulation) run(operations int) {
	for n := range operations {
		s.step()
		if n%(operations/4) == operations/4-1 {
			s.check()
		}
	}
	for _, d := range s.all {
		s.exhaust(d)
	}
	s.check()
}

// now tells the time, and lets the host give up when its patience ends.
func (s *simulation) now() time.Time {
	if s.left--; s.left == 0 && s.giveUp != nil {
		s.giveUp()
	}
	return s.clock.At
}

func (s *simulation) summary() string {
	messages, summaries := 0, 0
	for _, d := range s.all {
		messages += len(d.said)
	}
	for _, row := range enginetest.Rows(s.t, s.engine, "SELECT count(*) FROM summaries") {
		summaries = int(row[0].(int64))
	}
	words := []string{fmt.Sprintf("%d messages, %d summaries:", messages, summaries)}
	for _, name := range slices.Sorted(maps.Keys(s.did)) {
		words = append(words, fmt.Sprintf("%s %d", name, s.did[name]))
	}
	return strings.Join(words, " ")
}

func (s *simulation) open() {
	s.engine = enginetest.OpenFile(s.t, s.path, engine.Options{Threads: 1, Now: s.now, LLM: &enginetest.LLM{Answer: s.answer}, Conversation: setup.Conversation{
		FreshTailCount: 6, LeafChunkTokens: 120, LeafTargetTokens: 40, CondensedTargetTokens: 40, LeafMinFanout: 3, CondensedMinFanout: 3,
		SweepMaxPasses: 1000, SummaryMaxCalls: 1 << 20, BreakerThreshold: 1 << 20, FallbackMaxTokens: 64,
	}})
}

// moods of the language model. Most of its answers are good ones.
var moods = []string{"good", "good", "good", "good", "blank", "echo", "long", "endless", "down", "refused"}

func (s *simulation) answer(_ context.Context, _, prompt string, maxTokens int) (string, error) {
	mood := s.mood
	if mood == "" {
		mood = moods[s.rng.IntN(len(moods))]
	}
	switch mood {
	case "blank":
		return " \n", nil
	case "echo":
		return prompt, nil
	case "long":
		return enginetest.Tokens(3 * maxTokens), nil
	case "endless":
		return enginetest.Tokens(100_000), nil
	case "down":
		return "", enginetest.ErrDown
	case "refused":
		return "", enginetest.Refused{}
	}
	return fmt.Sprintf("Gist %d. Expand for details about: pier %d", len(prompt), len(prompt)%7), nil
}

// step does one thing.
func (s *simulation) step() {
	s.clock.Advance(time.Duration(s.rng.IntN(90)) * time.Second)
	s.mood = ""
	d := s.all[s.rng.IntN(len(s.all))]
	if d.id == "" || s.rng.IntN(100) < 60 && !d.past {
		s.do("append", d, s.append)
		return
	}
	type op struct {
		name  string
		share int
		do    func(*simulated)
	}
	ops := []op{
		{"compact", 240, s.compact}, {"assemble", 240, s.assemble}, {"expand", 100, s.expand}, {"rewrite", 50, s.rewrite}, {"dissolve", 40, s.dissolve},
		{"adopt", 40, s.adopt}, {"retry", 40, s.retry}, {"add blocks", 70, s.addBlocks}, {"branch", 50, s.branch}, {"heartbeats", 50, s.heartbeats},
		{"purge", 25, s.purge}, {"prune", 10, s.prune}, {"new session", 20, s.newSession}, {"end", 20, s.end}, {"purge conversation", 10, s.purgeConversation},
		{"checkpoint", 20, s.checkpoint}, {"rebuild", 5, s.rebuild}, {"reopen", 10, s.reopen}, {"crash", 10, s.crash}, {"exhaust", 10, s.exhaust},
	}
	all := 0
	for _, op := range ops {
		all += op.share
	}
	dice := s.rng.IntN(all)
	for _, op := range ops {
		if dice -= op.share; dice < 0 {
			s.do(op.name, d, op.do)
			return
		}
	}
}

func (s *simulation) do(name string, d *simulated, do func(*simulated)) {
	s.did[name]++
	do(d)
	if s.t.Failed() {
		s.t.Fatalf("%s of %s", name, d.name)
	}
}

// check looks at the whole file.
func (s *simulation) check() {
	enginetest.Check(s.t, s.engine)
	for _, d := range s.all {
		d.see(s.t, s.engine)
		d.whole(s.t, s.engine)
	}
}

// append says something new, and sometimes again what was said, under the same keys.
func (s *simulation) append(d *simulated) {
	var r conversation.AppendRequest
	r.Conversation = d.name
	again := []int{} // seqs
	for seq := max(1, len(d.said)-9); seq <= len(d.said); seq++ {
		if d.said[seq-1].Key != "" && s.rng.IntN(20) == 0 {
			again = append(again, seq)
		}
	}
	for _, seq := range again {
		r.Messages = append(r.Messages, conversation.Message{Key: d.said[seq-1].Key, Text: "never stored"})
	}
	for range 1 + s.rng.IntN(2) {
		r.Messages = append(r.Messages, s.message(d))
	}
	result, err := s.engine.Append(s.t.Context(), r)
	if err != nil || result.Added != len(r.Messages)-len(again) {
		s.t.Fatalf("append %+v: %+v, %v", r, result, err)
	}
	d.id = result.ConversationID
	for i, m := range r.Messages {
		if i < len(again) {
			if want := d.ids[again[i]-1]; result.IDs[i] != want {
				s.t.Fatalf("the key %s gives %s, want %s", m.Key, result.IDs[i], want)
			}
			continue
		}
		d.hear(m, result.IDs[i])
	}
	if s.rng.IntN(10) == 0 {
		d.see(s.t, s.engine)
	}
}

// message is a turn of talk, of an assistant that calls tools, or of the tools.
func (s *simulation) message(d *simulated) conversation.Message {
	m := conversation.Message{Role: "user", Text: s.words(2 + s.rng.IntN(40)), SaidAt: s.clock.At}
	if s.rng.IntN(2) == 0 {
		s.keys++
		m.Key = fmt.Sprint("key ", s.keys)
	}
	switch dice := s.rng.IntN(20); {
	case len(d.calls) > 0 && dice < 16:
		m.Role, m.Text, m.Blocks = "tool", "", nil
		for range 1 + s.rng.IntN(len(d.calls)) {
			call := d.calls[0]
			d.calls = d.calls[1:]
			m.Blocks = append(m.Blocks, conversation.Block{Type: conversation.ToolResultBlock, CallID: call.CallID, Tool: call.Tool, Output: s.words(s.rng.IntN(60)),
				IsError: s.rng.IntN(9) == 0})
		}
	case dice < 4:
		m.Role, m.Blocks = "assistant", []conversation.Block{{Type: conversation.ThinkingBlock, Text: s.words(9)}, {Type: conversation.TextBlock, Text: m.Text}}
		for range 1 + s.rng.IntN(3) {
			s.keys++
			call := conversation.Block{Type: conversation.ToolCallBlock, CallID: fmt.Sprint("call_", s.keys), Tool: "look", Input: `{"at": "` + s.words(3) + `"}`,
				Raw: []byte("\xff\x00 as the host wrote it")}
			m.Blocks, d.calls = append(m.Blocks, call), append(d.calls, call)
		}
	case dice < 8:
		m.Role, m.Speaker = "assistant", "Ines"
	case dice == 8:
		m.Caption = s.words(4)
	case dice == 9:
		m.SetAside = []conversation.SetAside{conversation.AsideEvent, conversation.AsideOffBranch}[s.rng.IntN(2)]
	case dice == 10:
		m.Role = "system"
	}
	return m
}

// words are some that are said often, and some that are hard to store or to cut.
func (s *simulation) words(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("word%d", s.rng.IntN(200))
		if s.rng.IntN(15) == 0 {
			all[i] = []string{"起重机在港口", "🏗️", "</summary>", "café.", "\"quoted\"", "DB-42?", "\n\n", "e\u0301"}[s.rng.IntN(8)]
		}
	}
	return "x" + strings.Join(all, " ")
}

// compact makes the context smaller, in one of all ways; now and then the host gives up meanwhile.
func (s *simulation) compact(d *simulated) {
	modes := compact.DAG.Modes()
	r := compact.Request{Conversation: d.named(), Mode: modes[s.rng.IntN(len(modes))], Budget: 50 << s.rng.IntN(7), Force: s.rng.IntN(3) == 0}
	if s.rng.IntN(4) == 0 {
		r.Live = s.rng.IntN(3000)
	}
	d.see(s.t, s.engine)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	if s.giveUp, s.left = cancel, 1000; s.rng.IntN(5) == 0 {
		s.left = 1 + s.rng.IntN(30)
	}
	c, err := s.engine.Compact(ctx, r)
	if c == nil {
		if ctx.Err() == nil {
			s.t.Fatalf("%+v: %v", r, err)
		}
		c = &compact.Compacted{}
	}
	s.survived(err, ctx)
	d.fold(s.t, s.engine, c)
}

// survived accepts no errors but those that the model makes and those of a host that gave up.
func (s *simulation) survived(err error, ctx context.Context) {
	s.t.Helper()
	var refused enginetest.Refused
	if err != nil && !errors.Is(err, enginetest.ErrDown) && !errors.As(err, &refused) && ctx.Err() == nil {
		s.t.Fatal(err)
	}
}

// exhaust forces compaction until nothing is left to do; then there really is nothing.
func (s *simulation) exhaust(d *simulated) {
	if d.id == "" {
		return
	}
	s.mood = "good"
	d.see(s.t, s.engine)
	for round := 0; ; round++ {
		c, err := s.engine.Compact(s.t.Context(), compact.Request{Conversation: d.named(), Force: true})
		if err != nil || round > 100 {
			s.t.Fatalf("%s: round %d of %+v, %v", d.name, round, c, err)
		}
		d.fold(s.t, s.engine, c)
		if !c.Changed {
			break
		}
	}
	before := d.context
	c, err := s.engine.Compact(s.t.Context(), compact.Request{Conversation: d.named(), Force: true})
	if err != nil || c.Changed {
		s.t.Fatalf("%s: %+v, %v where nothing was left", d.name, c, err)
	}
	d.see(s.t, s.engine)
	enginetest.Equal(s.t, "context", before, d.context)
}
