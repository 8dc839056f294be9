package extract

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text/capture"
)

// conversation reads a conversation window by window.
func (x *run) conversation(ctx context.Context) error {
	var v *conversation.Conversation
	cursor := -1
	err := x.file.Read(ctx, "extract", func(c *duck.Conn) (err error) {
		if v, err = x.conversations.Readable(ctx, c, x.request.Conversation, x.request.Agent); err != nil || x.request.From > 0 || x.request.To > 0 {
			return err
		}
		cursor, err = readCursor(ctx, c, v.ID)
		return err
	})
	if err != nil {
		return err
	}
	if x.scope, err = x.scopes.Now().ForWriting(x.request.Agent, cmp.Or(x.request.Scope, v.Scope)); err != nil {
		return err
	}
	x.report.Conversation, x.report.ConversationID = v.Name, v.ID
	for from := max(cursor+1, x.request.From, 1); ; {
		messages, err := x.conversations.Messages(ctx, conversation.MessagesRequest{Conversation: v.ID, Agent: x.request.Agent, From: from, Limit: windowMessages})
		if err != nil {
			return err
		}
		messages = slices.DeleteFunc(messages, func(m *conversation.Message) bool { return x.request.To > 0 && m.Seq > x.request.To })
		if len(messages) == 0 {
			return nil
		}
		w := x.next(v.ID, messages, cursor)
		if err := x.window(ctx, w); err != nil {
			return err
		}
		if x.report.From == 0 {
			x.report.From = w.from
		}
		x.report.To = w.to
		x.report.Messages += len(w.turns)
		if from = w.to + 1; cursor >= 0 {
			cursor = w.to
		}
		if len(messages) > windowMessages/2 || x.request.DryRun {
			x.opts.Progress("messages", w.to, v.NextSeq-1)
		}
	}
}

// mostUnread is how many messages Unread gives.
const mostUnread = 500

// Unread gives messages of a conversation that no extraction has read yet, oldest first, at most 500. Errors: those of Messages.
func (ex *Extractor) Unread(ctx context.Context, name, agent string) ([]*conversation.Message, error) {
	from := 0
	var id string
	err := ex.file.Read(ctx, "extract", func(c *duck.Conn) error {
		v, err := ex.conversations.Readable(ctx, c, name, agent)
		if err != nil {
			return err
		}
		id = v.ID
		from, err = readCursor(ctx, c, v.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ex.conversations.Messages(ctx, conversation.MessagesRequest{Conversation: id, Agent: agent, From: from + 1, Limit: mostUnread})
}

// next is the window that begins with the first of these messages: all of them, or for a model as many as it is shown.
func (x *run) next(conversationID string, messages []*conversation.Message, cursor int) *window {
	w := &window{conversationID: conversationID, from: messages[0].Seq, cursor: cursor}
	room := x.opts.Extraction.MaxChars
	for _, m := range messages {
		said := m.Role == "user" && m.SetAside.Recallable()
		if x.modelled() && !x.opts.Extraction.Compress && len(w.turns) > 0 && said && len(m.Text) > room {
			break
		}
		w.to = m.Seq
		if said && strings.TrimSpace(m.Text) != "" {
			room -= len(m.Text)
			w.turns = append(w.turns, turn{m.ID, m.Session, speaker(m.Speaker), m.Text, m.Seq, m.SaidAt})
		}
	}
	return w
}

// speaker is a name that tells somebody from others; empty: it does not.
func speaker(name string) string {
	name = strings.TrimSpace(name)
	switch strings.ToLower(name) {
	case "user", "human", "me", "you":
		return ""
	}
	return name
}

func readCursor(ctx context.Context, c *duck.Conn, conversationID string) (seq int, err error) {
	_, err = c.One(ctx, "extract_cursor", []any{&seq}, sql.Named("conversation_id", conversationID))
	return seq, err
}

// byRules gives the statements that rules find in a window, without those that they found before.
func (x *run) byRules(ctx context.Context, w *window) (drafts []*Draft, err error) {
	known, err := x.known(ctx, w)
	if err != nil {
		return nil, err
	}
	for n, t := range w.turns {
		for _, f := range capture.Find(t.text) {
			if known[place{t.seq, f.Rule, f.Start}] {
				x.report.Known++
				continue
			}
			drafts = append(drafts, x.ofRule(f, w, n))
		}
	}
	return drafts, nil
}

// place is where a rule found something.
type place struct {
	seq   int
	rule  string
	start int
}

func (x *run) known(ctx context.Context, w *window) (map[place]bool, error) {
	known := map[place]bool{}
	if w.conversationID == "" {
		return known, nil
	}
	return known, x.file.Read(ctx, "extract", func(c *duck.Conn) error {
		return c.Each(ctx, "extract_known", func(rows *sql.Rows) error {
			var p place
			err := rows.Scan(&p.seq, &p.rule, &p.start)
			known[p] = true
			return err
		}, sql.Named("conversation_id", w.conversationID), sql.Named("from", int32(w.from)), sql.Named("to", int32(w.to)))
	})
}

// ofRule is the draft of a statement.
func (x *run) ofRule(f capture.Draft, w *window, n int) *Draft {
	t := w.turns[n]
	category := memory.Category(f.Category)
	d := &Draft{ConversationID: w.conversationID, FirstSeq: t.seq, LastSeq: t.seq, Start: f.Start, End: f.End, Scope: x.scope, Category: category, Rule: f.Rule,
		Language: f.Language, Text: f.Abstract(), Context: f.Context, Importance: importanceOf(category), Confidence: f.Sure, SaidAt: t.at, MadeAt: x.file.Now(), at: n,
		found: found{old: f.Old, slotBrand: f.Slot.Brand, slotItem: f.Slot.Item, negative: f.Negative, corrects: f.Corrects}}
	if t.id != "" {
		d.MessageIDs = []string{t.id}
	}
	sentence := f.Text
	if t.speaker != "" {
		sentence = t.speaker + " says “" + f.Text + "”"
		if f.Topic == "" {
			d.Text = sentence
		} else {
			d.Text = t.speaker + "'s " + d.Text
		}
	}
	if f.Topic == "" {
		return d
	}
	d.Content = sentence
	topic, _, _ := strings.Cut(d.Text, ":")
	d.FactKey = keyOf(category, topic)
	d.found.topicKey = keyOf(category, strings.TrimSuffix(topic, " ("+f.Context+")"))
	return d
}

// keyOf is the fact key of a topic. A profile has one as well, within extraction: who moves has one home.
func keyOf(category memory.Category, topic string) string {
	if category == memory.Profile {
		return strings.Replace(memory.FactKey(memory.Entity, topic), "entities:", "profile:", 1)
	}
	return memory.FactKey(category, topic)
}

// date says of a memory how soon it will be out of date, and when, where the options want that of its category.
func (x *run) date(r *memory.RememberRequest, d *Draft) {
	said := cmp.Or(d.Content, d.Text)
	r.TemporalType = capture.Temporal(said)
	if lasts := capture.Lasts(said); lasts > 0 && slices.Contains(x.opts.Extraction.Expires, string(d.Category)) {
		r.ValidUntil = d.SaidAt.Add(lasts)
	}
}
