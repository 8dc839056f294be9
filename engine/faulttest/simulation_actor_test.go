package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// actor is one who uses the file. What is its own has its name, so it knows what is in the file whatever others do.
type actor struct {
	*phase
	name string
	rng  *rand.Rand
	made int
	story
}

// act is something that an actor does, with what it makes of the file.
type act struct {
	name    string
	changed content
	passes  bool // it also changes rows that the engine makes by itself
	do      func(ctx context.Context) error
}

// next is what the actor does now.
func (a *actor) next() act {
	kinds := []func() act{a.remember, a.remember, a.rememberMany, a.update, a.update, a.supersede, a.forget, a.purge, a.say, a.say, a.say, a.compact, a.weigh, a.recall, a.look, a.grant}
	if a.Kind != crowded {
		kinds = append(kinds, a.snapshot, a.define)
	}
	made := kinds[a.rng.IntN(len(kinds))]()
	if made.do == nil { // there is nothing to do it to
		made = a.remember()
	}
	return a.named(made)
}

// named gives an act a name of its own.
func (a *actor) named(made act) act {
	a.made++
	made.name = fmt.Sprintf("%s %04d_%d %s", a.name, a.Number, a.made, made.name)
	return made
}

// play does an act, tells of it, and says what is wrong with the file then.
func (a *actor) play(ctx context.Context, made act) (fault string) {
	say := func(s step) {
		tell(s)
		a.hear(s)
	}
	say(step{mark: mark{Begin: made.name, Changed: made.changed, Passes: made.passes}})
	err := made.do(ctx)
	switch {
	case err == nil:
		say(step{mark: mark{Done: made.name}})
	case errors.Is(err, errWrong) || !a.Faulty && (ctx.Err() == nil || !errors.Is(err, ctx.Err())):
		return made.name + ": " + err.Error()
	default:
		say(step{mark: mark{Failed: err.Error()}, Act: made.name, Unknown: strings.Contains(err.Error(), "is not known before")})
	}
	ctx = context.WithoutCancel(ctx)
	got, err := contentAs(ctx, a.engine, modelled)
	if err != nil && a.Faulty && len(a.Pending) == 0 {
		return "" // it is looked at later
	}
	if err != nil {
		if got, err = a.read(ctx); err != nil {
			return made.name + ", and it can't be read: " + err.Error()
		}
	}
	if a.Kind == crowded {
		got = own(got, a.name)
	}
	was := a.Is
	if fault := a.settle(got); fault != "" {
		return fmt.Sprintf("after %s: %s", made.name, fault)
	}
	say(step{mark: mark{Changed: was.changes(got)}, Act: made.name})
	return ""
}

// errWrong is wrapped by an error that no fault excuses.
var errWrong = errors.New("wrong")
