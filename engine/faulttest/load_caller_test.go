package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// caller is one of many who use an engine at once. Some memories and messages are its own, so it knows what must be in the file: by id or key, the
// text. What is common to all it changes too.
type caller struct {
	*load
	n        int
	rng      *rand.Rand
	made     int
	memories map[string]string
	messages map[string]string
}

// call does one thing. Its error must be that of the context or one that the verb has.
func (c *caller) call(ctx context.Context, verb string) {
	began := time.Now()
	err := verbs[verb](c, ctx)
	took := time.Since(began)
	allowed := []error{engine.ErrNotFound, engine.ErrConflict} // somebody else purged it, or compacts it
	if verb == "Supersede" {
		allowed = append(allowed, engine.ErrInvalid) // superseded before
	}
	if why := ctx.Err(); why != nil {
		allowed = append(allowed, why)
	}
	c.mu.Lock()
	switch {
	case err == nil:
		c.done[verb]++
		if _, patient := ctx.Deadline(); !patient {
			c.slowest[verb] = max(c.slowest[verb], took)
		}
	case ctx.Err() != nil:
		c.gaveUp++
	}
	c.mu.Unlock()
	if err != nil && !slices.ContainsFunc(allowed, func(want error) bool { return errors.Is(err, want) }) {
		c.fault("%s: %v (of its context: %v)", verb, err, ctx.Err())
	}
}

// impatient is a context that ends after microseconds or tens of milliseconds, by itself or by somebody's hand.
func (c *caller) impatient(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := 10 * time.Microsecond << c.rng.IntN(14)
	if c.rng.IntN(2) == 0 {
		return context.WithTimeout(ctx, patience)
	}
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(patience, cancel)
	return ctx, cancel
}

// compare looks whether a copy that was just made has what the caller knows, and removes it.
func (c *caller) compare(name string) error {
	defer os.Remove(name)
	ctx := context.Background()
	e, err := engine.Open(ctx, name, engine.Options{ReadOnly: true, Threads: 1})
	if err != nil {
		return err
	}
	defer e.Close()
	if fault := holdsOwn(ctx, e, c); fault != "" {
		return errors.New("the copy: " + fault)
	}
	return nil
}

func (c *caller) remember(ctx context.Context, r memory.RememberRequest) error {
	_, err := c.engine.Remember(ctx, r)
	if err == nil {
		c.memories[r.ID] = r.Text
	}
	return err
}

// name is one that nobody has used.
func (c *caller) name(ending string) string {
	if ending == "" || ending == "_0" {
		c.made++
	}
	return fmt.Sprintf("mem_of_%02d_%d%s", c.n, c.made, ending)
}

func (c *caller) request(id string) memory.RememberRequest {
	return memory.RememberRequest{ID: id, Text: c.words()}
}

// words are a sentence that the caller has not said before.
func (c *caller) words() string { return sentence(fmt.Sprint(c.n, " ", c.rng.Uint32())) }

// talk is a conversation.
func (c *caller) talk() string { return c.talks[c.rng.IntN(len(c.talks))] }

// memory is one of the caller's own, or a common one.
func (c *caller) memory() (id string, own bool) {
	if len(c.memories) == 0 || c.rng.IntN(3) == 0 {
		return memoryID(fmt.Sprint("common ", c.rng.IntN(300))), false
	}
	for id = range c.memories { // any
		return id, true
	}
	return id, true
}

// summary is one of the context of a conversation.
func (c *caller) summary(ctx context.Context) (string, error) {
	items, err := c.engine.Context(ctx, compact.ContextRequest{Conversation: c.talk()})
	if err == nil && (len(items) == 0 || items[0].Kind != kinds.Summary) {
		err = fmt.Errorf("%w: no summary", engine.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	return items[0].Ref, nil
}

func (c *caller) recall(ctx context.Context, mode recall.Mode, kinds ...kinds.Kind) error {
	_, err := c.engine.Recall(ctx, recall.Query{Text: c.words(), Mode: mode, Kinds: kinds})
	return err
}
