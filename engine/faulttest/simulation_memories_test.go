package faulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// fresh is a memory that is not there yet.
func (a *actor) fresh() (r memory.RememberRequest, m kept) {
	a.made++
	id := fmt.Sprintf("mem_%s_%04d_%d", a.name, a.Number, a.made)
	m = kept{text: a.unique(id) + " " + sentence(id), importance: 10 + a.rng.IntN(90), createdAt: a.now().UnixMicro()}
	importance := float64(m.importance) / 100
	return memory.RememberRequest{ID: id, Text: m.text, Importance: &importance, CreatedAt: time.UnixMicro(m.createdAt).UTC()}, m
}

// unique is a word that no other text has.
func (a *actor) unique(id string) string { return "q" + strings.ReplaceAll(id, "_", "q") }

func (a *actor) remember() act {
	r, m := a.fresh()
	return act{name: "remember", changed: content{"memory " + r.ID: m.String()}, do: func(ctx context.Context) error {
		_, err := a.engine.Remember(ctx, r)
		return err
	}}
}

func (a *actor) rememberMany() act {
	made := act{name: "remember many", changed: content{}}
	requests := make([]memory.RememberRequest, 2+a.rng.IntN(60))
	for i := range requests {
		var m kept
		requests[i], m = a.fresh()
		made.changed["memory "+requests[i].ID] = m.String()
	}
	made.do = func(ctx context.Context) error {
		results, err := a.engine.RememberMany(ctx, requests)
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		return err
	}
	return made
}

// some is a memory of the actor's that fits, or none.
func (a *actor) some(fits func(kept) bool) (id string, m kept) {
	var ids []string
	for key, row := range a.Is {
		if strings.HasPrefix(key, "memory mem_"+a.name) && fits(readMemory(row)) {
			ids = append(ids, key)
		}
	}
	if len(ids) == 0 {
		return "", m
	}
	slices.Sort(ids)
	key := ids[a.rng.IntN(len(ids))]
	return strings.TrimPrefix(key, "memory "), readMemory(a.Is[key])
}

func known(m kept) bool   { return !m.forgotten }
func current(m kept) bool { return !m.forgotten && m.supersededBy == "" }
func anyOne(kept) bool    { return true }

func (a *actor) update() act {
	id, m := a.some(known)
	if id == "" {
		return act{}
	}
	a.made++
	m.text = fmt.Sprint(a.unique(id), " ", sentence(fmt.Sprint(id, " ", a.Number, " ", a.made)))
	return act{name: "update", changed: content{"memory " + id: m.String()}, do: func(ctx context.Context) error {
		_, err := a.engine.Update(ctx, memory.UpdateRequest{ID: id, Text: &m.text})
		return err
	}}
}

func (a *actor) supersede() act {
	id, old := a.some(current)
	if id == "" {
		return act{}
	}
	r, m := a.fresh()
	old.supersededBy, m.supersedes = r.ID, id
	return act{name: "supersede", changed: content{"memory " + id: old.String(), "memory " + r.ID: m.String()}, do: func(ctx context.Context) error {
		_, err := a.engine.Supersede(ctx, memory.SupersedeRequest{ID: id, By: r})
		return err
	}}
}

func (a *actor) forget() act {
	id, m := a.some(known)
	if id == "" {
		return act{}
	}
	m.forgotten = true
	return act{name: "forget", changed: content{"memory " + id: m.String()}, do: func(ctx context.Context) error {
		_, err := a.engine.Forget(ctx, memory.ForgetRequest{ID: id, Reason: "over"})
		return err
	}}
}

// purge also takes the memory out of what others say of it.
func (a *actor) purge() act {
	id, m := a.some(anyOne)
	if id == "" {
		return act{}
	}
	changed := content{"memory " + id: ""}
	for _, key := range []string{"memory " + m.supersedes, "memory " + m.supersededBy} {
		if row, ok := a.Is[key]; ok {
			other := readMemory(row)
			if other.supersededBy == id {
				other.supersededBy = ""
			}
			if other.supersedes == id {
				other.supersedes = ""
			}
			changed[key] = other.String()
		}
	}
	return act{name: "purge", changed: changed, do: func(ctx context.Context) error {
		_, err := a.engine.Purge(ctx, memory.PurgeRequest{ID: id})
		return err
	}}
}

// recall finds a memory that the actor knows by its word.
func (a *actor) recall() act {
	id, _ := a.some(func(m kept) bool { return current(m) && m.createdAt <= a.now().UnixMicro() })
	if id == "" {
		return act{}
	}
	return act{name: "recall", do: func(ctx context.Context) error {
		found, err := a.engine.Recall(ctx, recall.Query{Text: a.unique(id)})
		if err == nil && !slices.ContainsFunc(found.Hits, func(h recall.Hit) bool { return h.ID == id }) {
			err = fmt.Errorf("%w: %s among %d hits", errWrong, id, len(found.Hits))
		}
		return err
	}}
}

// look gets a memory, whatever became of it.
func (a *actor) look() act {
	id, m := a.some(anyOne)
	if id == "" {
		return act{}
	}
	return act{name: "get", do: func(ctx context.Context) error {
		got, err := a.engine.Get(ctx, memory.GetRequest{ID: id})
		if err == nil && (got.Text != m.text || got.RetiredAt.IsZero() == m.forgotten || got.SupersededBy != m.supersededBy) {
			err = fmt.Errorf("%w: %+v, not %v", errWrong, got, m)
		}
		return err
	}}
}
