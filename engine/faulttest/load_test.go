package faulttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestLoad lets 64 callers do everything to one engine at once, half of them giving up at any moment, at the default limits and at the least memory
// that is allowed. The engine lives on, every error is one that its caller has to expect, what was acknowledged is there, and what failed is not.
func TestLoad(t *testing.T) {
	for _, megabytes := range []int{0, 192} {
		t.Run(fmt.Sprintf("memory limit %d", megabytes), func(t *testing.T) {
			takes := time.Second
			if enginetest.Long("faults") {
				takes = 10 * time.Minute
			}
			seed := strconv.FormatUint(seeded(t), 10)
			play(t, takes, "load", scratch(t), strconv.Itoa(megabytes), takes.String(), seed).report(t)
		})
	}
}

// callers are as many as use the engine at once.
const callers = 64

// load is an engine under load, and what all callers know of it.
type load struct {
	engine *engine.Engine
	folder string
	talks  []string // ids of conversations
	copies atomic.Int64
	over   atomic.Bool

	mu      sync.Mutex
	done    map[string]int // by verb
	gaveUp  int
	slowest map[string]time.Duration // of those who did not give up
	faults  int
}

// underLoad is the child that lives through it: in a folder, with so much memory, for so long.
func underLoad(args []string) (err error) {
	megabytes, err1 := strconv.Atoi(args[1])
	takes, err2 := time.ParseDuration(args[2])
	seed, err3 := strconv.ParseUint(args[3], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	ctx, before := context.Background(), goleak.IgnoreCurrent()
	l := &load{folder: args[0], done: map[string]int{}, slowest: map[string]time.Duration{}}
	path, o := filepath.Join(l.folder, fileName), newLife("").options()
	o.Threads, o.Now, o.NewID, o.MemoryLimit = 0, nil, nil, megabytes
	if l.engine, err = engine.Open(ctx, path, o); err != nil {
		return err
	}
	if err := l.furnish(ctx); err != nil {
		return fmt.Errorf("before the load: %w", err)
	}
	all := l.storm(ctx, takes, seed)
	l.calm(ctx)
	l.judge(ctx, all)
	if err := l.engine.Close(); err != nil {
		return err
	}
	runtime.GC()
	if err := goleak.Find(before); err != nil {
		l.fault("after Close: %v", err)
	}
	if l.engine, err = engine.Open(ctx, path, o); err != nil {
		return fmt.Errorf("after the load: %w", err)
	}
	l.judge(ctx, all)
	return l.engine.Close()
}

// furnish gives the callers something to begin with.
func (l *load) furnish(ctx context.Context) error {
	requests := make([]memory.RememberRequest, 300)
	for i := range requests {
		requests[i] = memory.RememberRequest{ID: memoryID(fmt.Sprint("common ", i)), Text: sentence(fmt.Sprint("common ", i))}
	}
	if _, err := l.engine.RememberMany(ctx, requests); err != nil {
		return err
	}
	for n := range 4 {
		r := conversation.AppendRequest{Conversation: fmt.Sprint("talk ", n)}
		for i := range 40 {
			key := fmt.Sprint("common ", n, " ", i)
			r.Messages = append(r.Messages, conversation.Message{Key: key, Role: []string{"user", "assistant"}[i%2], Text: sentence(key)})
		}
		appended, err := l.engine.Append(ctx, r)
		if err != nil {
			return err
		}
		if _, err := l.engine.Compact(ctx, compact.Request{Conversation: r.Conversation, Force: true}); err != nil {
			return err
		}
		l.talks = append(l.talks, appended.ConversationID)
	}
	return nil
}

// storm has all callers at work for so long. The first thing that each does is another one, and nobody gives it up.
func (l *load) storm(ctx context.Context, takes time.Duration, seed uint64) (all []*caller) {
	time.AfterFunc(takes, func() { l.over.Store(true) })
	verbs := slices.Sorted(maps.Keys(verbs))
	var group sync.WaitGroup
	for n := range callers {
		c := &caller{load: l, n: n, rng: rand.New(rand.NewPCG(seed, uint64(n))), memories: map[string]string{}, messages: map[string]string{}}
		all = append(all, c)
		group.Go(func() {
			for first := true; first || !l.over.Load(); first = false {
				if first {
					c.call(ctx, verbs[n%len(verbs)])
					continue
				}
				verb := verbs[c.rng.IntN(len(verbs))]
				if slices.Contains(rare, verb) && c.rng.IntN(20) > 0 {
					continue
				}
				if c.rng.IntN(2) == 0 {
					c.call(ctx, verb)
					continue
				}
				impatient, cancel := c.impatient(ctx)
				c.call(impatient, verb)
				cancel()
			}
		})
	}
	group.Wait()
	return all
}

// calm is what must work at once when the storm is over.
func (l *load) calm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := l.engine.Remember(ctx, memory.RememberRequest{ID: "mem_after", Text: "the zeppelin came after the storm"}); err != nil {
		l.fault("remember after the storm: %v", err)
	}
	found, err := l.engine.Recall(ctx, recall.Query{Text: "zeppelin"})
	if err != nil || len(found.Hits) == 0 || found.Hits[0].ID != "mem_after" {
		l.fault("recall after the storm: %+v, %v", found, err)
	}
	s, err := l.engine.Stats(ctx)
	if err != nil || s.Reopened > 0 {
		l.fault("the database was opened anew: %+v, %v", s, err)
	}
	for verb := range verbs {
		if l.done[verb] == 0 {
			l.fault("%s never succeeded", verb)
		}
	}
	var lines []string
	calls := 0
	for _, verb := range slices.Sorted(maps.Keys(l.done)) {
		calls += l.done[verb]
		lines = append(lines, fmt.Sprintf("%s %d (%v)", verb, l.done[verb], l.slowest[verb].Round(time.Millisecond)))
	}
	tell(mark{Note: fmt.Sprintf("%d calls were done, and %d given up; each verb, and its slowest: %s", calls, l.gaveUp, strings.Join(lines, ", "))})
}

// judge compares the file with what the callers were told.
func (l *load) judge(ctx context.Context, all []*caller) {
	if fault := holdsOwn(ctx, l.engine, all...); fault != "" {
		l.fault("%s", fault)
	}
}

// holdsOwn says what is wrong with a file that these callers wrote to.
func holdsOwn(ctx context.Context, e *engine.Engine, all ...*caller) string {
	const most = 1_000_000
	want, numbers := content{}, map[string]bool{}
	for _, c := range all {
		maps.Copy(want, c.memories)
		maps.Copy(want, c.messages)
		numbers[fmt.Sprintf("%02d", c.n)] = true
	}
	table, err := e.Query(ctx, `SELECT id[8:9], id, CASE WHEN retired_at IS NULL THEN text ELSE 'forgotten' END FROM memories WHERE starts_with(id, 'mem_of_')
		UNION ALL SELECT caller_key[4:5], caller_key, text FROM messages WHERE starts_with(caller_key, 'of ')`, most)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	got := content{}
	for _, row := range table.Rows {
		if numbers[row[0].(string)] {
			got[row[1].(string)] = row[2].(string)
		}
	}
	if fault := (expected{before: want}).fault(got); fault != "" {
		return fmt.Sprintf("of %d rows: %s", len(want), fault)
	}
	faults, err := e.Check(ctx)
	if err != nil || len(faults) > 0 {
		return fmt.Sprintf("check: %v, %v", faults, err)
	}
	return ""
}

// fault tells what must not be; of many, the first.
func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 10
	if l.faults++; l.faults <= most {
		tell(mark{Fault: fmt.Sprintf(format, args...)})
	}
}
