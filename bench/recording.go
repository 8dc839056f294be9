package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

const (
	// walkLimit is how many turns are recalled to find ten distinct sessions among them.
	walkLimit = 300
	// askers is how many questions are under way at once where no time is taken.
	askers = 2
	// sampleSeed chooses the questions that are timed, and the copies of their conversations.
	sampleSeed = 1
)

// recording is a data set in a file of its own, open to be asked any number of times.
type recording struct {
	config    LocomoConfig
	data      string // the name of the data set
	engine    *engine.Engine
	talks     []talk
	questions []placed
	positions []map[string]int // of turns by message id, per talk; of the first copy
	turns     int              // of all copies
	appending time.Duration    // what storing them took
	walked    walked
}

// walked is what each question recalls with the weights that were asked last, when nothing is reranked: positions of turns; nil: it was not asked yet.
type walked struct {
	weights recall.Weights // their own rerank left out
	turns   [][]int
}

// placed is a question and the talk it is about.
type placed struct {
	question
	talk int
}

// record stores each data set in a new file of its own, lets do work on it and removes it, one after another.
func record(ctx context.Context, c LocomoConfig, do func(*recording) error) error {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return err
	}
	for _, path := range c.Data {
		if err := recordOne(ctx, c, path, do); err != nil {
			return err
		}
	}
	return nil
}

func recordOne(ctx context.Context, c LocomoConfig, path string, do func(*recording) error) (err error) {
	r := &recording{config: c, data: strings.TrimSuffix(filepath.Base(path), ".json")}
	if r.talks, err = readTalks(path); err != nil {
		return err
	}
	for i, t := range r.talks {
		for _, q := range t.questions {
			r.questions = append(r.questions, placed{q, i})
		}
	}
	folder, err := os.MkdirTemp("", "mallard-locomo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	options := engine.Options{Embedder: c.Embedder, Related: c.Related, ResidentMB: residentWhole, Reranker: c.Reranker}
	if c.BySQL {
		options.ResidentMB = noResident
	}
	if r.engine, err = engine.Open(ctx, filepath.Join(folder, "locomo.db"), options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	if err := r.appendAll(ctx); err != nil {
		return err
	}
	if !c.BySQL {
		if err := untilResident(ctx, r.engine); err != nil {
			return err
		}
	}
	return do(r)
}

// copyName is what copy n of a conversation is called; the first has the data set's name.
func copyName(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s.copy-%d", name, n+1)
}

func (r *recording) appendAll(ctx context.Context) error {
	for n := range r.config.Scale {
		for i, t := range r.talks {
			ids, err := r.append(ctx, t, copyName(t.name, n))
			if err != nil {
				return err
			}
			if n == 0 {
				positions := map[string]int{}
				for at, id := range ids {
					positions[id] = at
				}
				r.positions = append(r.positions, positions)
			}
			r.turns += len(ids)
			r.config.Progress("conversations", n*len(r.talks)+i+1, r.config.Scale*len(r.talks))
		}
	}
	return nil
}

// append stores a talk under a name, all of it at once, and gives the ids of its turns.
func (r *recording) append(ctx context.Context, t talk, name string) (ids []string, err error) {
	messages := make([]conversation.Message, len(t.turns))
	for i, v := range t.turns {
		messages[i] = conversation.Message{Session: v.session, Role: v.role(), Speaker: v.speaker, Text: v.text, Caption: v.caption, SaidAt: v.at}
	}
	began := time.Now()
	appended, err := r.engine.Append(ctx, conversation.AppendRequest{Conversation: name, Scope: "custom:" + name, Messages: messages})
	r.appending += time.Since(began)
	if err != nil {
		return nil, err
	}
	return appended.IDs, appended.VectorErr
}

// query asks a question with a set of weights, of all conversations.
func (r *recording) query(q placed, set WeightSet) recall.Query {
	mode := recall.LexicalMode
	if r.config.Embedder != nil {
		mode = recall.Hybrid // by name: a model that fails must not pass for one that answers badly
	}
	return recall.Query{Text: q.text, Mode: mode, Kinds: []kinds.Kind{kinds.Message}, Weights: &set.Weights, Rerank: set.rerank()}
}

// answers asks every question within the first copy of its conversation, and compares what came with its gold turns.
func (r *recording) answers(ctx context.Context, set WeightSet) ([]Answer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answers := make([]Answer, len(r.questions))
	weights := set.Weights
	weights.Rerank = ""
	if r.walked.weights != weights {
		r.walked = walked{weights, make([][]int, len(r.questions))}
	}
	var lock sync.Mutex // of next, and of what happens to be done about an answer
	next, done := 0, 0
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for ctx.Err() == nil {
				lock.Lock()
				i := next
				next++
				lock.Unlock()
				if i >= len(answers) {
					return
				}
				a, err := r.answer(ctx, i, set)
				if err != nil {
					stop(err)
					return
				}
				lock.Lock()
				answers[i] = a
				done++
				r.config.Progress("questions, "+set.Name, done, len(answers))
				lock.Unlock()
			}
		})
	}
	group.Wait()
	return answers, context.Cause(ctx)
}

func (r *recording) answer(ctx context.Context, i int, set WeightSet) (Answer, error) {
	q := r.questions[i]
	t := &r.talks[q.talk]
	query := r.query(q, set)
	query.Conversations = []string{t.name}
	var recalled []int
	var err error
	if query.Rerank != recall.NoRerank {
		if recalled, err = r.recall(ctx, q, query); err != nil {
			return Answer{}, err
		}
	}
	if r.walked.turns[i] == nil {
		query.Limit, query.Rerank = walkLimit, recall.NoRerank
		if r.walked.turns[i], err = r.recall(ctx, q, query); err != nil {
			return Answer{}, err
		}
	}
	reranked := recalled
	for _, at := range r.walked.turns[i] {
		if !slices.Contains(reranked, at) {
			recalled = append(recalled, at)
		}
	}
	a := t.answer(q.question, recalled)
	a.Data = r.data
	return a, nil
}

// recall asks a question and gives the positions of the turns that come, best first.
func (r *recording) recall(ctx context.Context, q placed, query recall.Query) ([]int, error) {
	result, err := r.engine.Recall(ctx, query)
	if err != nil {
		return nil, err
	}
	if done := result.Trace.Reranking; done != nil && done.Failure != "" {
		return nil, fmt.Errorf("%q: the reranker %s: %s", q.text, done.Model, done.Failure) // else it would pass for one that changes nothing
	}
	recalled := make([]int, len(result.Hits))
	for i, hit := range result.Hits {
		position, ok := r.positions[q.talk][hit.ID]
		if !ok {
			return nil, fmt.Errorf("%q recalled %s, which is not of %s", q.text, hit.ID, r.talks[q.talk].name)
		}
		recalled[i] = position
	}
	return recalled, nil
}

// times asks a sample of the questions one after another, each with all sets in turn, within any copy of their conversation or across all, and gives how
// long each took, by set. Some are asked before, untimed: they prepare the statements.
func (r *recording) times(ctx context.Context, sets []WeightSet, step string, all bool) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(sets))
	if len(r.questions) == 0 {
		return times, nil
	}
	random := rand.New(rand.NewPCG(sampleSeed, 0))
	order := random.Perm(len(r.questions))
	most := min(r.config.Queries, len(order))
	for i := -warmUps; i < most; i++ {
		q := r.questions[order[(i+len(order)*warmUps)%len(order)]]
		name := copyName(r.talks[q.talk].name, random.IntN(r.config.Scale))
		for n, set := range sets {
			query := r.query(q, set)
			if !all {
				query.Conversations = []string{name}
			}
			began := time.Now()
			_, err := r.engine.Recall(ctx, query)
			took := time.Since(began)
			if err != nil {
				return nil, err
			}
			if i >= 0 {
				times[n] = append(times[n], took)
			}
		}
		if i >= 0 {
			r.config.Progress(step, i+1, most)
		}
	}
	return times, nil
}
