package faulttest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// rare are the verbs that all others wait for.
var rare = []string{"Check", "Snapshot", "RebuildIndex"}

// verbs are all that callers do.
var verbs = map[string]func(c *caller, ctx context.Context) error{
	"Remember": func(c *caller, ctx context.Context) error {
		return c.remember(ctx, c.request(c.name("")))
	},
	"RememberMany": func(c *caller, ctx context.Context) error {
		requests := make([]memory.RememberRequest, 1+c.rng.IntN(40))
		for i := range requests {
			requests[i] = c.request(c.name(fmt.Sprint("_", i)))
		}
		results, err := c.engine.RememberMany(ctx, requests)
		for i, r := range results {
			if err == nil && r.Err == nil && r.Created {
				c.memories[requests[i].ID] = requests[i].Text
			}
			err = errors.Join(err, r.Err)
		}
		return err
	},
	"Update": func(c *caller, ctx context.Context) error {
		id, own := c.memory()
		text := c.words()
		_, err := c.engine.Update(ctx, memory.UpdateRequest{ID: id, Text: &text})
		if err == nil && own {
			c.memories[id] = text
		}
		return err
	},
	"Supersede": func(c *caller, ctx context.Context) error {
		id, _ := c.memory()
		by := c.request(c.name(""))
		_, err := c.engine.Supersede(ctx, memory.SupersedeRequest{ID: id, By: by})
		if err == nil {
			c.memories[by.ID] = by.Text
		}
		return err
	},
	"Forget": func(c *caller, ctx context.Context) error {
		id, own := c.memory()
		_, err := c.engine.Forget(ctx, memory.ForgetRequest{ID: id, Reason: "over"})
		if err == nil && own {
			c.memories[id] = "forgotten"
		}
		return err
	},
	"Purge": func(c *caller, ctx context.Context) error {
		id, own := c.memory()
		_, err := c.engine.Purge(ctx, memory.PurgeRequest{ID: id})
		if err == nil && own {
			delete(c.memories, id)
		}
		return err
	},
	"Append": func(c *caller, ctx context.Context) error {
		r := conversation.AppendRequest{Conversation: c.talk()}
		key := strings.ReplaceAll(c.name(""), "mem_of_", "of ")
		for i := range 1 + c.rng.IntN(4) {
			r.Messages = append(r.Messages, conversation.Message{Key: fmt.Sprint(key, " ", i), Role: []string{"user", "assistant"}[i%2], Text: c.words()})
		}
		_, err := c.engine.Append(ctx, r)
		for _, m := range r.Messages {
			if err == nil {
				c.messages[m.Key] = m.Text
			}
		}
		return err
	},
	"Compact": func(c *caller, ctx context.Context) error {
		_, err := c.engine.Compact(ctx, compact.Request{Conversation: c.talk(), Budget: 2000})
		return err
	},
	"SetWeights": func(c *caller, ctx context.Context) error {
		return c.engine.SetWeights(ctx, fmt.Sprint("of-", c.n), recall.MemoryWeights())
	},
	"WeightSets": func(c *caller, ctx context.Context) error {
		_, err := c.engine.WeightSets(ctx)
		return err
	},
	"Recall": func(c *caller, ctx context.Context) error { return c.recall(ctx, "", kinds.Memory) },
	"Recall by vectors": func(c *caller, ctx context.Context) error {
		return c.recall(ctx, recall.VectorMode, kinds.Memory)
	},
	"Recall by words": func(c *caller, ctx context.Context) error {
		return c.recall(ctx, recall.LexicalMode, kinds.Memory)
	},
	"Recall messages": func(c *caller, ctx context.Context) error { return c.recall(ctx, "", kinds.Message) },
	"Recall messages by words": func(c *caller, ctx context.Context) error {
		return c.recall(ctx, recall.LexicalMode, kinds.Message)
	},
	"Recall all by vectors": func(c *caller, ctx context.Context) error {
		return c.recall(ctx, recall.VectorMode, kinds.All()...)
	},
	"List": func(c *caller, ctx context.Context) error {
		_, err := c.engine.List(ctx, memory.ListRequest{Standing: "any", Limit: 50})
		return err
	},
	"Get": func(c *caller, ctx context.Context) error {
		id, _ := c.memory()
		_, err := c.engine.Get(ctx, memory.GetRequest{ID: id})
		return err
	},
	"Messages": func(c *caller, ctx context.Context) error {
		_, err := c.engine.Messages(ctx, conversation.MessagesRequest{Conversation: c.talk(), Limit: 30})
		return err
	},
	"Assemble": func(c *caller, ctx context.Context) error {
		_, err := c.engine.Assemble(ctx, assemble.Request{Conversation: c.talk(), Budget: 1000})
		return err
	},
	"Grep": func(c *caller, ctx context.Context) error {
		modes := []lookup.GrepMode{lookup.GrepText, lookup.GrepRegex, lookup.GrepBoth}
		_, err := c.engine.Grep(ctx, lookup.GrepRequest{Conversation: c.talk(), Mode: modes[c.rng.IntN(len(modes))], Pattern: fmt.Sprint("word", c.rng.IntN(60))})
		return err
	},
	"Describe": func(c *caller, ctx context.Context) error {
		id, err := c.summary(ctx)
		if err == nil {
			_, err = c.engine.Describe(ctx, lookup.DescribeRequest{ID: id})
		}
		return err
	},
	"Expand": func(c *caller, ctx context.Context) error {
		id, err := c.summary(ctx)
		if err == nil {
			_, err = c.engine.Expand(ctx, lookup.ExpandRequest{IDs: []string{id}, Messages: true})
		}
		return err
	},
	"ExpandQuery": func(c *caller, ctx context.Context) error {
		_, err := c.engine.ExpandQuery(ctx, lookup.ExpandQueryRequest{Conversation: c.talk(), Prompt: c.words()})
		return err
	},
	"Query": func(c *caller, ctx context.Context) error {
		_, err := c.engine.Query(ctx, "SELECT term, documents FROM report.terms ORDER BY documents DESC", 10)
		return err
	},
	"Stats": func(c *caller, ctx context.Context) error {
		_, err := c.engine.Stats(ctx)
		return err
	},
	"Check": func(c *caller, ctx context.Context) error {
		faults, err := c.engine.Check(ctx)
		if len(faults) > 0 {
			return fmt.Errorf("%d faults, such as %s", len(faults), faults[0])
		}
		return err
	},
	"Snapshot": func(c *caller, ctx context.Context) error {
		name := filepath.Join(c.folder, fmt.Sprint("copy", c.copies.Add(1), ".db"))
		if err := c.engine.Snapshot(ctx, name); err != nil {
			return err
		}
		return c.compare(name)
	},
	"RebuildIndex": func(c *caller, ctx context.Context) error {
		_, err := c.engine.RebuildIndex(ctx, index.RebuildRequest{Vectors: c.rng.IntN(2) == 0})
		return err
	},
}
