package foreign

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/session"
)

// isGoClaw reports whether a database is GoClaw's, of any of its six schemas.
func isGoClaw(ctx context.Context, d *database) bool {
	return d.has(ctx, "messages", "session_key", "role", "content")
}

// goClawTalks reads the sessions of GoClaw: those that its table of sessions names, and those that only messages name.
func goClawTalks(ctx context.Context, d *database, report *session.FileReport, do func(*talk) error) error {
	ids := map[string]string{}
	var keys []string
	err := d.each(ctx, "sessions", "", "", func(r row) error {
		if key := r.of("key"); key == "" {
			report.Leave("sessions without a key", 1)
		} else if _, ok := ids[key]; !ok {
			ids[key], keys = r.of("id"), append(keys, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	others, err := d.distinct(ctx, "messages", "session_key")
	if err != nil {
		return err
	}
	for _, key := range others {
		if _, ok := ids[key]; !ok && key != "" {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		v, err := goClawTalk(ctx, d, report, key)
		if err != nil {
			return err
		}
		v.session = cmp.Or(ids[key], key)
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}

// goClaw is a session of GoClaw as it is read.
type goClaw struct {
	talk *talk
	open int               // the answer that further calls of tools belong to, or -1
	keys map[string]string // of messages, by the ids of their rows
}

func goClawTalk(ctx context.Context, d *database, report *session.FileReport, key string) (*talk, error) {
	g := &goClaw{talk: &talk{key: "goclaw:" + key, host: key}, open: -1, keys: map[string]string{}}
	var rows []row
	err := d.each(ctx, "messages", "session_key", key, func(r row) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Rows of one second stay as they were written: their ids are no order.
	slices.SortStableFunc(rows, func(a, b row) int { return a.time("timestamp").Compare(b.time("timestamp")) })
	for _, r := range rows {
		if r.of("id") == "" {
			report.Leave("messages without an id", 1)
			continue
		}
		g.message(r)
	}
	if err := g.compactions(ctx, d, report, key); err != nil {
		return nil, err
	}
	if err := g.checkpoints(ctx, d, report, key); err != nil {
		return nil, err
	}
	inOrder(g.talk.said)
	return g.talk, nil
}

// message takes a row. Calls of tools that follow each other, or an answer, are one message with it: a provider wants them together.
func (g *goClaw) message(r row) {
	id := r.of("id")
	key := "goclaw:" + id
	s := said{Message: conversation.Message{Key: key, Role: r.of("role"), SaidAt: r.time("timestamp"), SourceKind: word(r.of("source")), Raw: r.raw()}}
	if in, out := r.number("input_tokens"), r.number("output_tokens"); in+out > 0 {
		s.Usage = &conversation.Usage{Input: in, Output: out, Total: in + out}
	}
	if thought := r.of("thinking"); thought != "" {
		s.Blocks = append(s.Blocks, conversation.Block{Type: conversation.ThinkingBlock, Text: thought})
	}
	content := r.values["content"]
	switch role := r.of("role"); role {
	case "tool_use":
		call := conversation.Block{Type: conversation.ToolCallBlock, CallID: cmp.Or(r.of("tool_call_id"), id), Tool: r.of("tool_name"), Input: cmp.Or(r.of("tool_input"), "{}")}
		if strings.TrimSpace(content) != "" {
			s.Blocks = append(s.Blocks, conversation.Block{Type: conversation.TextBlock, Text: content})
		}
		if s.Blocks = append(s.Blocks, call); g.open >= 0 {
			g.join(&g.talk.said[g.open], &s, id)
			return
		}
		s.Role = "assistant"
		g.open = len(g.talk.said)
	case "tool_result":
		g.open = -1
		s.Role = "tool"
		s.Blocks = append(s.Blocks, conversation.Block{Type: conversation.ToolResultBlock, CallID: cmp.Or(r.of("tool_call_id"), id), Tool: r.of("tool_name"),
			Output: cmp.Or(r.values["tool_result"], content), IsError: r.is("tool_is_error")})
	case "user", "assistant", "system":
		g.open = -1
		if role == "user" {
			s.Speaker = r.of("user_id")
		}
		calls := callsIn(r.of("raw_json"))
		switch said := strings.TrimSpace(content) != ""; {
		case !said && len(s.Blocks)+len(calls) == 0:
			s = event(key, "empty", "", s.SaidAt, s.Raw)
			s.Role = role
		case len(s.Blocks)+len(calls) == 0:
			s.Text = content
		case said:
			s.Blocks = append(s.Blocks, conversation.Block{Type: conversation.TextBlock, Text: content})
		}
		if s.Blocks = append(s.Blocks, calls...); role == "assistant" && s.SetAside == "" {
			g.open = len(g.talk.said)
		}
	default:
		s = event(key, role, content, s.SaidAt, s.Raw)
	}
	g.keys[id] = key
	g.talk.said = append(g.talk.said, s)
}

// join adds a row of a call to the answer that it belongs to. Its blocks have keys, so that they can be added when the answer is stored already.
func (g *goClaw) join(to, s *said, id string) {
	g.keys[id] = to.Key
	call := s.Blocks[len(s.Blocks)-1].CallID
	if slices.ContainsFunc(to.Blocks, func(b conversation.Block) bool {
		return b.Type == conversation.ToolCallBlock && b.CallID == call
	}) {
		return
	}
	for n := range s.Blocks {
		s.Blocks[n].Key = revision(s.Key, n)
	}
	s.Blocks[0].Raw = s.Raw
	to.Blocks = append(to.blocks(), s.Blocks...)
	if s.Usage != nil {
		to.Usage = s.Usage
	}
}

// blocks are those of a message, also of one that is only a text.
func (s *said) blocks() []conversation.Block {
	if s.Blocks == nil {
		s.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: s.Text}}
		s.Text = ""
	}
	return s.Blocks
}

// callsIn are the calls of tools in a message that GoClaw took over from OpenClaw, which keeps them in its content: GoClaw's own columns have none of them.
func callsIn(raw string) (calls []conversation.Block) {
	var v struct {
		Content json.RawMessage `json:"content"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(raw), &v) != nil {
		return nil
	}
	content := v.Content
	if content == nil {
		content = v.Message.Content
	}
	_, blocks, err := conversation.ContentOf(content)
	if err != nil {
		return nil
	}
	for _, b := range blocks {
		if b.Type == conversation.ToolCallBlock {
			b.CallID, b.Tool, b.Raw = textOf(b.CallID), textOf(b.Tool), nil
			calls = append(calls, b)
		}
	}
	return calls
}

// compactions takes the host's summaries: each is kept as an event, and the newest that says something stands for what was before the first message that it
// keeps. One that still waits for its model says nothing yet.
func (g *goClaw) compactions(ctx context.Context, d *database, report *session.FileReport, key string) error {
	var newest row
	err := d.each(ctx, "compactions", "session_key", key, func(r row) error {
		text := strings.TrimSpace(r.values["summary"])
		if r.of("id") == "" {
			report.Leave("compactions without an id", 1)
			return nil
		}
		g.talk.said = append(g.talk.said, event("goclaw:compaction:"+r.of("id"), "compaction", text, r.time("timestamp"), r.raw()))
		switch {
		case r.is("needs_summary_retry"):
			report.Leave("summaries that wait for their model", 1)
		case text == "" || r.of("first_kept_entry_id") == "":
			report.Leave("summaries of nothing", 1)
		case newest.values == nil || !r.time("timestamp").Before(newest.time("timestamp")):
			newest = r
		}
		return nil
	})
	if err != nil || newest.values == nil {
		return err
	}
	g.talk.summary = &summary{key: "goclaw:summary:" + newest.of("id"), text: strings.TrimSpace(newest.values["summary"]), at: newest.time("timestamp"), firstKept: g.firstKept(newest)}
	return nil
}

// firstKept is the key of the first message that a compaction keeps, by its place in the talk: moved to an older one where a result would lose its call. Where that
// message is gone, it is the first one after the compaction.
func (g *goClaw) firstKept(r row) string {
	at := g.talk.index(g.keys[r.of("first_kept_entry_id")])
	if at < 0 {
		at = slices.IndexFunc(g.talk.said, func(s said) bool {
			return s.SetAside == "" && s.SaidAt.After(r.time("timestamp"))
		})
	}
	if at < 0 {
		return ""
	}
	return g.talk.said[g.talk.withCalls(at)].Key
}

// checkpoints takes the host's checkpoints, which are kept as events too.
func (g *goClaw) checkpoints(ctx context.Context, d *database, report *session.FileReport, key string) error {
	messages := slices.Clone(g.talk.said)
	err := d.each(ctx, "checkpoints", "session_key", key, func(r row) error {
		id, at := r.of("id"), r.time("timestamp")
		text := strings.TrimSpace(r.values["summary"])
		if id == "" || text == "" {
			report.Leave("checkpoints without an id or a summary", 1)
			return nil
		}
		g.talk.said = append(g.talk.said, event("goclaw:checkpoint:"+id, "checkpoint", text, at, r.raw()))
		c := checkpoint.AdoptRequest{Key: "goclaw:checkpoint:" + id, At: at, Summary: text, Topics: list(r.values["topics"]), Decisions: list(r.values["key_decisions"]),
			Questions: list(r.values["open_questions"]), TokensAt: min(r.number("tokens_at_checkpoint"), mostTokens), MessagesAt: min(r.number("message_count_at_checkpoint"), mostTokens), By: string(GoClaw)}
		for _, s := range messages {
			if s.SetAside == "" && !s.SaidAt.After(at) {
				c.After = s.Key
			}
		}
		if c.After == "" {
			report.Leave("checkpoints before every message", 1)
			return nil
		}
		g.talk.checkpoints = append(g.talk.checkpoints, c)
		return nil
	})
	slices.SortStableFunc(g.talk.checkpoints, func(a, b checkpoint.AdoptRequest) int { return a.At.Compare(b.At) })
	return err
}

// mostTokens is what a checkpoint may have counted.
const mostTokens = 1 << 30
