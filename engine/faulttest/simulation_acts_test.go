package faulttest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// say appends to the actor's conversation.
func (a *actor) say() act {
	r := conversation.AppendRequest{Conversation: a.name, Cursor: &conversation.Cursor{Path: "/" + a.name, Host: "h", Lines: int64(a.Number*1000 + a.made)}}
	made := act{name: "append", passes: true, changed: content{"cursor /" + a.name: fmt.Sprint(r.Cursor.Lines)}}
	seq := 0
	for key := range a.Is {
		if strings.HasPrefix(key, "message "+a.name) {
			seq++
		}
	}
	for range 1 + a.rng.IntN(8) {
		a.made++
		seq++
		m := conversation.Message{Key: fmt.Sprintf("%s %04d_%d", a.name, a.Number, a.made), Role: []string{"user", "assistant"}[a.rng.IntN(2)], SaidAt: a.now()}
		m.Text = sentence(m.Key)
		r.Messages = append(r.Messages, m)
		made.changed["message "+m.Key] = fmt.Sprintf("%s|%d|%s|%s|%d", a.name, seq, m.Role, m.Text, m.SaidAt.UnixMicro())
	}
	made.do = func(ctx context.Context) error {
		_, err := a.engine.Append(ctx, r)
		return err
	}
	return made
}

func (a *actor) compact() act {
	return act{name: "compact", passes: true, do: func(ctx context.Context) error {
		_, err := a.engine.Compact(ctx, compact.Request{Conversation: a.name, Force: true})
		return unless(err, engine.ErrNotFound)
	}}
}

// weigh stores a set of weights, or removes it.
func (a *actor) weigh() act {
	name := "of-" + a.name
	if _, ok := a.Is["weights:"+name]; ok && a.rng.IntN(2) == 0 {
		return act{name: "reset weights", changed: content{"weights:" + name: ""}, do: func(ctx context.Context) error { return a.engine.ResetWeights(ctx, name) }}
	}
	w := recall.MemoryWeights()
	w.Pool = 100 + a.rng.IntN(900)
	return act{name: "set weights", changed: content{"weights:" + name: fmt.Sprint(w.Pool)}, do: func(ctx context.Context) error { return a.engine.SetWeights(ctx, name, w) }}
}

func (a *actor) define() act {
	a.made++
	team := fmt.Sprint("team ", a.Number, " ", a.made)
	return act{name: "set scopes", changed: content{"scopes": team}, do: func(ctx context.Context) error {
		return a.engine.SetScopes(ctx, scope.Scopes{Definitions: map[string]string{"team": team}})
	}}
}

// grant lets somebody expand the conversation, and takes that back.
func (a *actor) grant() act {
	return act{name: "grant", do: func(ctx context.Context) error {
		g, err := a.engine.CreateGrant(ctx, lookup.GrantRequest{Conversations: []string{a.name}})
		if err != nil {
			return unless(err, engine.ErrNotFound)
		}
		if held, err := a.engine.Grant(g.ID); err != nil || held.Revoked || held.TokenCap != g.TokenCap {
			return fmt.Errorf("%w: grant %+v, %w", errWrong, held, err)
		}
		if err := a.engine.RevokeGrant(g.ID); err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
		if held, err := a.engine.Grant(g.ID); err != nil || !held.Revoked {
			return fmt.Errorf("%w: revoked grant %+v, %w", errWrong, held, err)
		}
		return nil
	}}
}

func (a *actor) snapshot() act {
	a.made++
	name := fmt.Sprintf("copy-%04d_%d.db", a.Number, a.made)
	return act{name: copying + name, do: func(ctx context.Context) error {
		return a.engine.Snapshot(ctx, filepath.Join(filepath.Dir(a.path), name))
	}}
}

// copying is how the name of an act begins that makes a copy.
const copying = "copy to "

// unless is err, unless it is that one.
func unless(err, that error) error {
	if errors.Is(err, that) {
		return nil
	}
	return err
}
