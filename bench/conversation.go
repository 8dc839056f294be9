package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// ConversationConfig is what RunConversation needs. Only Messages is required.
type ConversationConfig struct {
	Messages int // in one conversation before anything is measured, 1000 or more
	// Embedder makes the vectors of messages and summaries. Nil: there are none.
	Embedder setup.Embedder
	Queries  int // calls of each sort that are timed. Default 100
	Live     int // messages appended one at a time. Default 500
	Seed     uint64
	// Folder is where the file is made, and removed afterwards. Default the system's for temporary files.
	Folder string
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

func (c ConversationConfig) withDefaults() ConversationConfig {
	if c.Queries == 0 {
		c.Queries = 100
	}
	if c.Live == 0 {
		c.Live = 500
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c ConversationConfig) validate() error {
	for _, f := range []struct {
		name               string
		value, least, most int
	}{{"messages", c.Messages, 1000, 10_000_000}, {"queries", c.Queries, 1, 100_000}, {"live", c.Live, 1, 100_000}} {
		if err := within(f.name, f.value, f.least, f.most); err != nil {
			return err
		}
	}
	return nil
}

// RunConversation makes up one long conversation in a new file and measures what a host does with it: appending, assembling, compacting,
// searching and expanding. Summaries cost nothing to write. The file is gone afterwards.
func RunConversation(ctx context.Context, c ConversationConfig) (*ConversationReport, error) {
	report, err := runConversation(ctx, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("bench conversation: %w", err)
	}
	return report, nil
}

func runConversation(ctx context.Context, c ConversationConfig) (_ *ConversationReport, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(c.Folder, "mallard-conversation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	r := &conversationRun{config: c, chat: newChat(c.Seed), report: &ConversationReport{Model: modelName(c.Embedder), Messages: c.Messages}}
	if err := r.open(ctx, filepath.Join(folder, "conversation.db"), freeSummariser{}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	for _, measure := range []func(context.Context) error{r.ingest, r.append, r.assembleRaw} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.compactCopy(ctx, filepath.Join(folder, "copy.db")); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) error{r.compact, r.assembleCompacted, r.grep, r.regex, r.expand} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	r.report.PeakMB, err = peakMemory()
	return r.report, err
}

// freeSummariser writes every summary at once, and all alike.
type freeSummariser struct{}

func (freeSummariser) Model() string { return "free" }

func (freeSummariser) Complete(context.Context, string, string, int) (string, error) {
	return freeSummary(), nil
}

// freeSummary has about 300 tokens. It is made when it is first asked for: every call of memctl would wait for it.
var freeSummary = sync.OnceValue(func() string {
	c := newCorpus(0)
	text := ""
	for i := 0; len(text) < 1200; i++ {
		text += c.text(i) + ".\n"
	}
	return text[:1200]
})

const (
	chatName    = "bench"
	chatBatch   = 1000    // messages appended at once
	chatBudget  = 128_000 // tokens of Assemble
	expandCap   = 4000    // tokens of Expand
	mostRounds  = 1000    // of a compaction to the end
	noDeadline  = setup.Duration(24 * time.Hour)
	noMoreCalls = 1 << 30
)

// conversationRun is one run on its way.
type conversationRun struct {
	config ConversationConfig
	chat   *chat
	engine *engine.Engine
	report *ConversationReport
	passes func() // told of every pass of a compaction
}

func (r *conversationRun) open(ctx context.Context, file string, llm setup.LLM) (err error) {
	r.engine, err = engine.Open(ctx, file, r.options(llm))
	return err
}

// options are those of an engine whose compactions have no bounds but their own end.
func (r *conversationRun) options(llm setup.LLM) engine.Options {
	return engine.Options{
		Embedder: r.config.Embedder, LLM: llm,
		Progress: func(string, int, int) {
			if r.passes != nil {
				r.passes()
			}
		},
		Conversation: setup.Conversation{SweepMaxPasses: noMoreCalls, SummaryMaxCalls: noMoreCalls, SweepDeadline: noDeadline},
	}
}

func (r *conversationRun) ingest(ctx context.Context) error {
	var took time.Duration
	for from := 0; from < r.config.Messages; from += chatBatch {
		to := min(from+chatBatch, r.config.Messages)
		messages := r.chat.messages(from, to)
		began := time.Now()
		err := r.appends(ctx, messages)
		took += time.Since(began)
		if err != nil {
			return err
		}
		r.config.Progress("messages in bulk", to, r.config.Messages)
	}
	r.report.IngestPerSecond = float64(r.config.Messages) / took.Seconds()
	return nil
}

func (r *conversationRun) appends(ctx context.Context, messages []conversation.Message) error {
	result, err := r.engine.Append(ctx, conversation.AppendRequest{Conversation: chatName, Messages: messages})
	if err != nil {
		return err
	}
	return result.VectorErr
}

func (r *conversationRun) append(ctx context.Context) error {
	return r.times(ctx, "single messages", r.config.Live, &r.report.AppendP50, func(i int) error {
		return r.appends(ctx, r.chat.messages(r.config.Messages+i, r.config.Messages+i+1))
	})
}

// times calls do so often, and some times before for the statements to be prepared, and gives the middle of what it took.
func (r *conversationRun) times(ctx context.Context, step string, n int, p50 *float64, do func(i int) error) error {
	times := make([]time.Duration, 0, n)
	for i := range warmUps + n {
		if err := ctx.Err(); err != nil {
			return err
		}
		began := time.Now()
		err := do(i)
		took := time.Since(began)
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		if i >= warmUps {
			times = append(times, took)
			r.config.Progress(step, len(times), n)
		}
	}
	*p50 = milliseconds(percentile(times, 50))
	return nil
}

func (r *conversationRun) assembleRaw(ctx context.Context) error {
	return r.assemble(ctx, "contexts, nothing compacted", &r.report.AssembleRawP50)
}

func (r *conversationRun) assembleCompacted(ctx context.Context) error {
	return r.assemble(ctx, "contexts, compacted", &r.report.AssembleCompactedP50)
}

func (r *conversationRun) assemble(ctx context.Context, step string, p50 *float64) error {
	return r.times(ctx, step, r.config.Queries, p50, func(int) error {
		v, err := r.engine.Assemble(ctx, assemble.Request{Conversation: chatName, Budget: chatBudget})
		if err == nil && v.Left.Items > 0 && v.Tokens < chatBudget*9/10 {
			err = fmt.Errorf("%d items were left out although %d tokens are all that is shown", v.Left.Items, v.Tokens)
		}
		return err
	})
}

// grep asks natural questions, each about one of the messages.
func (r *conversationRun) grep(ctx context.Context) error {
	found := 0
	err := r.times(ctx, "searches for words", r.config.Queries, &r.report.GrepP50, func(i int) error {
		question, about := r.chat.question(i, r.config.Messages)
		result, err := r.engine.Grep(ctx, lookup.GrepRequest{Conversation: chatName, Pattern: question})
		if err != nil || i < warmUps {
			return err
		}
		for _, hit := range result.Hits {
			if hit.Kind == kinds.Message && hit.Seq == about+1 {
				found++
			}
		}
		return nil
	})
	r.report.GrepFound = float64(found) / float64(r.config.Queries)
	return err
}

// regex looks for error numbers, few of which are there, so that everything is searched.
func (r *conversationRun) regex(ctx context.Context) error {
	return r.times(ctx, "searches for a pattern", r.config.Queries, &r.report.RegexP50, func(i int) error {
		result, err := r.engine.Grep(ctx, lookup.GrepRequest{Conversation: chatName, Pattern: fmt.Sprintf(`ERR-%02d\d+`, i%100), Mode: lookup.GrepRegex})
		if err == nil && result.Truncated {
			err = errors.New("the deadline came before everything was searched")
		}
		return err
	})
}

// expand walks down from summaries of the context to their messages.
func (r *conversationRun) expand(ctx context.Context) error {
	items, err := r.engine.Context(ctx, compact.ContextRequest{Conversation: chatName})
	if err != nil {
		return err
	}
	var ids []string
	for _, item := range items {
		if item.Kind == kinds.Summary {
			ids = append(ids, item.Ref)
		}
	}
	if len(ids) == 0 {
		return errors.New("nothing was compacted")
	}
	return r.times(ctx, "expansions", r.config.Queries, &r.report.ExpandP50, func(i int) error {
		x, err := r.engine.Expand(ctx, lookup.ExpandRequest{IDs: ids[i%len(ids) : i%len(ids)+1], Depth: 10, Messages: true, TokenCap: expandCap})
		if err == nil && len(x.Items) == 0 {
			err = fmt.Errorf("nothing below %s", ids[i%len(ids)])
		}
		return err
	})
}
