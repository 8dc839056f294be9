package recall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// often is what is done most.
var often = []string{"remember", "remember", "update", "update", "append", "append", "append", "forget", "supersede", "purge", "clock", "cancel"}

// acts are what may be done to the file. An error is that it could not be, as things are.
func (s *residentSimulation) acts() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"remember": s.remember, "remember while the model is down": s.rememberDown, "import": s.importMemories, "update": s.update, "forget": s.forget, "purge": s.purge,
		"supersede": s.supersede, "append": s.append, "compact": s.compact, "rewrite": s.rewrite, "dissolve": s.dissolve, "purge messages": s.purgeMessages,
		"purge conversation": s.purgeConversation, "reset session": s.resetSession, "rebuild": s.rebuild, "rebuild vectors": s.rebuildVectors, "other model": s.otherModel,
		"shred": s.shred, "clock": s.turnClock, "reopen": s.reopen, "kill": s.kill, "roll back": s.rollBack, "fail to commit": s.failCommit, "cancel": s.cancel,
	}
}

func (s *residentSimulation) request() memory.RememberRequest {
	r := memory.RememberRequest{Text: s.words(12), Scope: []string{"global", "user:ines", ""}[s.rng.IntN(3)], Category: s.category(), Tier: s.tier(),
		ValidFrom: s.moment(), ValidUntil: s.moment(), TemporalType: []string{"", "dynamic", "static"}[s.rng.IntN(3)]}
	r.Extra = randomExtra(s.rng)
	if s.rng.IntN(5) == 0 {
		r.Text = s.words(100) + ".\n\n" + s.words(400)
	}
	if s.rng.IntN(2) == 0 {
		r.SourceSession = fmt.Sprint("noted ", s.rng.IntN(4))
	}
	if s.rng.IntN(4) == 0 {
		r.FactKey = fmt.Sprint("harbour:", s.rng.IntN(5))
	}
	if s.rng.IntN(5) == 0 {
		r.State = memory.States()[s.rng.IntN(len(memory.States()))]
	}
	if s.rng.IntN(4) == 0 {
		r.L0, r.L1, r.L2 = s.words(3), s.words(6), s.words(20)
	}
	return r
}

func (s *residentSimulation) remember(ctx context.Context) error {
	many := make([]memory.RememberRequest, 1+s.rng.IntN(4))
	for i := range many {
		many[i] = s.request()
	}
	_, err := s.e.RememberMany(ctx, many)
	return err
}

// rememberDown leaves a document without a vector, which the next rebuild makes.
func (s *residentSimulation) rememberDown(ctx context.Context) error {
	s.models[0].down.Store(true)
	_, err := s.e.Remember(ctx, s.request())
	s.models[0].down.Store(false)
	return err
}

func (s *residentSimulation) importMemories(ctx context.Context) error {
	memories := randomMemories(80)
	var b strings.Builder
	for range 1 + s.rng.IntN(5) {
		m := memories[s.rng.IntN(len(memories))]
		m.ID, m.ValidFrom = fmt.Sprintf("mem_%03d", s.rng.IntN(300)), m.CreatedAt
		line, err := json.Marshal(m)
		if err != nil {
			s.t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	_, err := s.e.Import(ctx, strings.NewReader(b.String()), interchange.ImportRequest{})
	return err
}

func (s *residentSimulation) memory() string { return s.one("SELECT id FROM memories") }

func (s *residentSimulation) update(ctx context.Context) error {
	u := memory.UpdateRequest{ID: s.memory()}
	text, scope, state := s.words(12), []string{"global", "user:ines"}[s.rng.IntN(2)], memory.States()[s.rng.IntN(len(memory.States()))]
	category, tier, importance, until := s.category(), s.tier(), s.rng.Float64(), s.moment()
	for _, set := range []func(){func() { u.Text = &text }, func() { u.Scope = &scope }, func() { u.State = &state }, func() { u.Category = &category },
		func() { u.Tier = &tier }, func() { u.Importance = &importance }, func() { u.ValidUntil = &until }} {
		if s.rng.IntN(3) == 0 {
			set()
		}
	}
	_, err := s.e.Update(ctx, u)
	return err
}

func (s *residentSimulation) forget(ctx context.Context) error {
	_, err := s.e.Forget(ctx, memory.ForgetRequest{ID: s.memory()})
	return err
}

func (s *residentSimulation) purge(ctx context.Context) error {
	_, err := s.e.Purge(ctx, memory.PurgeRequest{ID: s.memory()})
	return err
}

func (s *residentSimulation) supersede(ctx context.Context) error {
	_, err := s.e.Supersede(ctx, memory.SupersedeRequest{ID: s.memory(), By: s.request()})
	return err
}

func (s *residentSimulation) talk() string { return fmt.Sprint("talk ", s.rng.IntN(4)) }

func (s *residentSimulation) append(ctx context.Context) error {
	r := conversation.AppendRequest{Conversation: s.talk()}
	said := s.now().Add(-time.Duration(s.rng.IntN(200)) * time.Hour)
	for range 1 + s.rng.IntN(6) {
		said = said.Add([]time.Duration{time.Minute, 7 * time.Hour, -time.Hour}[s.rng.IntN(3)])
		m := conversation.Message{Text: s.words(15), SaidAt: said, Speaker: []string{"Ines", "Teo", "Inés Pilot", ""}[s.rng.IntN(4)]}
		if s.rng.IntN(8) == 0 {
			m.Text = s.words(100) + ". " + s.words(400)
		}
		if s.rng.IntN(6) == 0 {
			m.Caption = s.words(3)
		}
		if s.rng.IntN(3) == 0 {
			m.Session = fmt.Sprint("host ", s.rng.IntN(3))
		}
		if s.rng.IntN(8) == 0 {
			m.SetAside = conversation.AsideEvent
		}
		r.Messages = append(r.Messages, m)
	}
	_, err := s.e.Append(ctx, r)
	return err
}

func (s *residentSimulation) compact(ctx context.Context) error {
	c, err := s.e.Compact(ctx, compact.Request{Conversation: s.talk(), Force: true})
	if err == nil && !c.Changed {
		return errors.New("there is nothing to compact")
	}
	return err
}

// summary is one that stands in a context.
func (s *residentSimulation) summary() string {
	return s.one("SELECT id FROM summaries WHERE id NOT IN (SELECT source FROM summary_sources)")
}

func (s *residentSimulation) rewrite(ctx context.Context) error {
	_, err := s.e.RewriteSummary(ctx, compact.RewriteRequest{ID: s.summary(), Text: s.words(4)})
	return err
}

func (s *residentSimulation) dissolve(ctx context.Context) error {
	_, err := s.e.DissolveSummary(ctx, compact.DissolveRequest{ID: s.summary()})
	return err
}

func (s *residentSimulation) purgeMessages(ctx context.Context) error {
	talk := s.talk()
	id := s.one("SELECT m.id FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id WHERE c.name = '" + talk + "'")
	_, err := s.e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: talk, IDs: []string{id}})
	return err
}

func (s *residentSimulation) purgeConversation(ctx context.Context) error {
	_, err := s.e.PurgeConversation(ctx, s.talk(), "")
	return err
}

func (s *residentSimulation) resetSession(ctx context.Context) error {
	_, err := s.e.ResetSession(ctx, conversation.ArchiveRequest{Conversation: s.talk()})
	return err
}

func (s *residentSimulation) rebuild(ctx context.Context) error {
	_, err := s.e.RebuildIndex(ctx, index.RebuildRequest{})
	return err
}

// rebuildVectors has an index of the old vectors, and something written, before the new ones are there.
func (s *residentSimulation) rebuildVectors(ctx context.Context) error {
	s.models[0].before = func() {
		if _, err := enginetest.Index(s.e).AwaitResident(s.t.Context()); err != nil {
			s.t.Error(err)
		}
		if err := s.remember(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}
	defer func() { s.models[0].before = nil }()
	_, err := s.e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true})
	return err
}

func (s *residentSimulation) shred(ctx context.Context) error {
	_, err := s.e.Shred(ctx)
	return err
}

// otherModel gives the file the other model. Before it is the file's, the index still has the vectors of the first.
func (s *residentSimulation) otherModel(ctx context.Context) error {
	enginetest.CloseFile(s.t, s.e)
	slices.Reverse(s.models)
	s.open(true)
	return s.rebuildVectors(ctx)
}

// turnClock lets memories begin and end, or goes back behind that.
func (s *residentSimulation) turnClock(context.Context) error {
	s.clock.Add(int64(s.rng.IntN(60*24*3600) - 20*24*3600))
	return nil
}

func (s *residentSimulation) reopen(context.Context) error {
	enginetest.CloseFile(s.t, s.e)
	s.open(false)
	return nil
}

func (s *residentSimulation) kill(context.Context) error {
	killed := enginetest.KilledCopy(s.t, s.e)
	enginetest.CloseFile(s.t, s.e)
	s.path = killed
	s.open(false)
	return nil
}

// rollBack takes documents out, and leaves the transaction with an error.
func (s *residentSimulation) rollBack(ctx context.Context) error {
	rows := enginetest.Rows(s.t, s.e, "SELECT doc_no FROM documents WHERE live AND kind = 'memory' ORDER BY doc_no")
	broken := errors.New("broken off")
	err := enginetest.File(s.e).Write(ctx, "test", func(tx *duck.Write) error {
		for _, row := range rows {
			if err := enginetest.Index(s.e).DeleteDocument(ctx, tx, kinds.Memory, row[0].(int32)); err != nil {
				return err
			}
		}
		return broken
	})
	if !errors.Is(err, broken) {
		s.t.Fatal(err)
	}
	return nil
}

// failCommit loses a write after its COMMIT.
func (s *residentSimulation) failCommit(ctx context.Context) error {
	enginetest.Still(s.e, func() { enginetest.FailCommit(s.e, errors.New("the disk failed")) })
	if err := s.remember(ctx); err == nil {
		s.t.Fatal("a write succeeded whose COMMIT failed")
	}
	enginetest.HealNotBefore(s.e, time.Time{}) // the next one need not wait
	return nil
}

// cancel breaks another act off before one of its statements.
func (s *residentSimulation) cancel(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e, left := s.e, 1+s.rng.IntN(25)
	enginetest.Still(e, func() {
		enginetest.BeforeStatements(e, func() {
			if left--; left == 0 {
				stop()
			}
		})
	})
	all := map[string]func(context.Context) error{"remember": s.remember, "update": s.update, "forget": s.forget, "purge": s.purge, "supersede": s.supersede, "append": s.append,
		"compact": s.compact, "import": s.importMemories, "purge messages": s.purgeMessages, "rebuild": s.rebuild, "rebuild vectors": s.rebuildVectors}
	names := slices.Sorted(maps.Keys(all))
	err := all[names[s.rng.IntN(len(names))]](ctx)
	enginetest.Still(e, func() { enginetest.BeforeStatements(e, nil) })
	if !errors.Is(err, context.Canceled) {
		return errors.New("it was done before")
	}
	return nil
}
