package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// life is what is done to a file, deed by deed. Every id and time follows from the number of the deed, so that a deed done again, or in
// another process, leaves the same rows.
type life struct {
	path   string
	engine *engine.Engine // nil: closed
	deed   int
	given  map[string]int // ids of the deed, by prefix
}

func newLife(folder string) *life { return &life{path: filepath.Join(folder, fileName)} }

// fileName and copyName are the file in its folder, and its snapshot.
const (
	fileName = "mallard.db"
	copyName = "copy.db"
)

// deed is one thing that is done to the file.
type deed struct {
	name   string
	passes bool // it has several transactions, and a part of them may be done
	do     func(ctx context.Context, l *life) error
}

// begin is said of each deed before it is done.
func (l *life) begin(n int) { l.deed, l.given = n, map[string]int{} }

func (l *life) options() engine.Options {
	return engine.Options{
		Embedder: enginetest.Words{}, Threads: 1,
		Now: func() time.Time { return time.Date(2026, 6, 15, 12, 0, l.deed, 0, time.UTC) },
		NewID: func(prefix string, _ time.Time) string {
			l.given[prefix]++
			return fmt.Sprintf("%s%03d_%05d", prefix, l.deed, l.given[prefix])
		},
		Conversation: setup.Conversation{FreshTailCount: 4, LeafChunkTokens: 400, LeafTargetTokens: 60, CondensedTargetTokens: 60, LeafMinFanout: 3, CondensedMinFanout: 3},
	}
}

func (l *life) open(ctx context.Context) (err error) {
	l.engine, err = engine.Open(ctx, l.path, l.options())
	return err
}

// close closes the engine; one whose Close fails is closed too.
func (l *life) close() error {
	if l.engine == nil {
		return nil
	}
	e := l.engine
	l.engine = nil
	return e.Close()
}

// opening is the first deed of every life.
var opening = deed{name: "open", do: func(ctx context.Context, l *life) error { return l.open(ctx) }}

// closing ends it.
var closing = deed{name: "close", do: func(_ context.Context, l *life) error { return l.close() }}

// reopening makes a checkpoint.
var reopening = deed{name: "reopen", do: func(ctx context.Context, l *life) error {
	if err := l.close(); err != nil {
		return err
	}
	return l.open(ctx)
}}

// wholeLife is everything that writes to a file, with checkpoints between, and transactions so large that rows go into the file before they
// are committed.
func wholeLife() []deed {
	all := []deed{opening, remember("one"), remember("two"), remember("three"), update("one"), reopening, forget("two"), supersede("three", "four"),
		remember("five"), purge("five"), say("talk", 1), say("talk", 1), say("talk", 30), compactAll("talk"), reopening, say("yard", 3), withRaw("yard"), update("four")}
	for n := range 5 {
		name := fmt.Sprint("early ", n)
		all = append(all, remember(name), say("talk", 2), update(name), reopening)
	}
	all = append(all, rememberMany("crowd", 1500, 1), remember("six"), forget("crowd 7"), reopening, update("crowd 9"), say("talk", 1200), remember("seven"), compactAll("talk"),
		purgeFirst("talk"), reopening, rebuild, snapshot, remember("eight"), purgeAll("yard"), shred, say("yard", 2))
	for n := range 3 {
		name := fmt.Sprint("late ", n)
		all = append(all, remember(name), update(name), say("yard", 1), reopening)
	}
	return append(all, remember("last"), closing)
}

// shortLife is a little of it, for what is tried at every call. Of its crowd, too, rows go into the file before they are committed: it has more
// words than a row group has rows.
func shortLife() []deed {
	return []deed{opening, remember("one"), remember("two"), update("one"), say("talk", 2), reopening, forget("two"), supersede("one", "three"), say("talk", 20),
		rememberMany("crowd", 80, 20), purge("crowd 3"), reopening, update("three"), withRaw("yard"), purgeAll("yard"), snapshot, shred, remember("last"), closing}
}

// afterlife is what is done to a file that a crash left.
func afterlife() []deed {
	return []deed{opening, remember("again"), reopening, remember("once more"), say("after", 2), closing}
}

// lives are all of them, by what a child is told.
var lives = map[string]struct {
	deeds func() []deed
	first int // number, so that a life on top of another has ids of its own
}{"whole": {wholeLife, 0}, "short": {shortLife, 0}, "after": {afterlife, 500}}

func memoryID(name string) string { return "mem_" + strings.ReplaceAll(name, " ", "_") }

func remember(name string) deed {
	return deed{name: "remember " + name, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Remember(ctx, memory.RememberRequest{ID: memoryID(name), Text: sentence(name)})
		return err
	}}
}

// rememberMany stores so many in one transaction, each of so many sentences.
func rememberMany(name string, n, sentences int) deed {
	return deed{name: "remember many " + name, do: func(ctx context.Context, l *life) error {
		requests := make([]memory.RememberRequest, n)
		for i := range requests {
			each := fmt.Sprint(name, " ", i)
			text := ""
			for k := range sentences {
				text += sentence(fmt.Sprint(each, " ", k))
			}
			requests[i] = memory.RememberRequest{ID: memoryID(each), Text: text}
		}
		results, err := l.engine.RememberMany(ctx, requests)
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		return err
	}}
}

func update(name string) deed {
	return deed{name: "update " + name, do: func(ctx context.Context, l *life) error {
		text := sentence(name + " changed")
		_, err := l.engine.Update(ctx, memory.UpdateRequest{ID: memoryID(name), Text: &text})
		return err
	}}
}

func forget(name string) deed {
	return deed{name: "forget " + name, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Forget(ctx, memory.ForgetRequest{ID: memoryID(name), Reason: "over"})
		return err
	}}
}

func purge(name string) deed {
	return deed{name: "purge " + name, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Purge(ctx, memory.PurgeRequest{ID: memoryID(name)})
		return err
	}}
}

func supersede(name, by string) deed {
	return deed{name: "supersede " + name, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Supersede(ctx, memory.SupersedeRequest{ID: memoryID(name), By: memory.RememberRequest{ID: memoryID(by), Text: sentence(by)}})
		return err
	}}
}

// say appends so many messages in one transaction.
func say(talk string, n int) deed {
	return deed{name: "append to " + talk, do: func(ctx context.Context, l *life) error {
		messages := make([]conversation.Message, n)
		for i := range messages {
			key := fmt.Sprintf("%d %d", l.deed, i)
			messages[i] = conversation.Message{Key: key, Role: []string{"user", "assistant"}[i%2], Text: sentence(key), SaidAt: l.options().Now()}
		}
		_, err := l.engine.Append(ctx, conversation.AppendRequest{Conversation: talk, Messages: messages,
			Cursor: &conversation.Cursor{Path: "/" + talk, Host: "h", Lines: int64(l.deed)}})
		return err
	}}
}

// withRaw appends a message of blocks, with what the host wrote too long for its row.
func withRaw(talk string) deed {
	return deed{name: "append blocks to " + talk, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Append(ctx, conversation.AppendRequest{Conversation: talk, Messages: []conversation.Message{{Role: "assistant", SaidAt: l.options().Now(),
			Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "so it was", Raw: bytes.Repeat([]byte("raw "), 1<<15)}, {Type: conversation.ToolCallBlock, CallID: "c", Tool: "look", Input: "{}"}}}}})
		return err
	}}
}

func compactAll(conversation string) deed {
	return deed{name: "compact " + conversation, passes: true, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.Compact(ctx, compact.Request{Conversation: conversation, Force: true})
		return err
	}}
}

// purgeFirst removes the first two messages of a conversation for good.
func purgeFirst(talk string) deed {
	return deed{name: "purge messages of " + talk, do: func(ctx context.Context, l *life) error {
		page, err := l.engine.Messages(ctx, conversation.MessagesRequest{Conversation: talk, Limit: 2})
		if err != nil {
			return err
		}
		ids := []string{}
		for _, m := range page {
			ids = append(ids, m.ID)
		}
		_, err = l.engine.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: talk, IDs: ids})
		return err
	}}
}

func purgeAll(conversation string) deed {
	return deed{name: "purge conversation " + conversation, do: func(ctx context.Context, l *life) error {
		_, err := l.engine.PurgeConversation(ctx, conversation, "")
		return err
	}}
}

var rebuild = deed{name: "rebuild", passes: true, do: func(ctx context.Context, l *life) error {
	_, err := l.engine.RebuildIndex(ctx, index.RebuildRequest{Vectors: true})
	return err
}}

var shred = deed{name: "shred", passes: true, do: func(ctx context.Context, l *life) error {
	_, err := l.engine.Shred(ctx)
	return err
}}

var snapshot = deed{name: "snapshot", do: func(ctx context.Context, l *life) error {
	return l.engine.Snapshot(ctx, filepath.Join(filepath.Dir(l.path), copyName))
}}

// sentence is some words that follow from a name; of those that are said often there are some, and of those that are not.
func sentence(name string) string {
	seed := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		seed = (seed ^ uint64(b)) * 1099511628211
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	words := []string{name}
	for range 8 + rng.IntN(20) {
		words = append(words, fmt.Sprint("word", rng.IntN(60)*rng.IntN(60)))
	}
	return strings.Join(words, " ") + "."
}
