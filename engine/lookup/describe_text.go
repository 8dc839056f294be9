package lookup

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// mostManifest is how many nodes of a tree the text shows; the rest is in Manifest.
const mostManifest = 100

// Text renders a description for a model or a terminal.
func (d *Description) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", d.Kind, d.ID)
	if d.Conversation != nil && d.Kind != ConversationKind {
		fmt.Fprintf(&b, " of conversation %s (%s)", fault.Quote(d.Conversation.Name), d.Conversation.ID)
	}
	b.WriteByte('\n')
	if d.Kind != ConversationKind {
		b.WriteString(untrusted)
	}
	switch {
	case d.Summary != nil:
		d.summary(&b)
	case d.Message != nil:
		d.message(&b)
	case d.File != nil:
		f := d.File
		fmt.Fprintf(&b, "name %s, type %s, %s, %s, kept %s, of message %s\n", cmp.Or(f.Name, "-"), cmp.Or(f.MIME, "-"), counted(int(f.Bytes), "byte"),
			counted(int(f.Lines), "line"), conversation.Moment(f.CreatedAt, d.location), f.MessageID)
		fmt.Fprintf(&b, "\n%s\n", cmp.Or(f.Summary, "Nothing is known of what it holds."))
	case d.Memory != nil:
		m := d.Memory
		fmt.Fprintf(&b, "%s, scope %s, tier %s, state %s, since %s\n\n%s\n", m.Category, m.Scope, m.Tier, m.State, conversation.Moment(m.ValidFrom, d.location), m.Level(memory.Full))
	case len(d.Notes) > 0:
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "%s:%d-%d in %s, scope %s, of %s\n", n.Path, n.FirstLine, n.LastLine, n.Folder, n.Scope, conversation.Moment(n.ModifiedAt, d.location))
		}
		fmt.Fprintf(&b, "\n%s\n", d.Notes[0].Text)
	case d.Conversation != nil:
		d.conversation(&b)
	}
	return b.String()
}

func (d *Description) summary(b *strings.Builder) {
	s := d.Summary
	fmt.Fprintf(b, "%s of depth %d, %s; stands for %s (%d to %d, %s) and %s (%s); %s\n", s.Kind, s.Depth, counted(s.Tokens, "token"),
		counted(s.Messages, "message"), s.FirstSeq, s.LastSeq, counted(s.SourceTokens, "token"), thousands(s.Descendants)+" summaries below",
		counted(s.DescendantTokens, "token"), span(s.EarliestAt, s.LatestAt, d.location))
	fmt.Fprintf(b, "written by %s, level %s%s; %s\n", s.Model, s.Level, map[bool]string{true: ", a fallback"}[s.Fallback], d.standing())
	if len(s.Sources) > 0 && s.Sources[0].Kind == kinds.Summary {
		ids := make([]string, len(s.Sources))
		for i, source := range s.Sources {
			ids[i] = source.ID
		}
		fmt.Fprintf(b, "made from: %s\n", strings.Join(ids, ", "))
	}
	if len(d.ConsumedBy) > 0 {
		fmt.Fprintf(b, "went into: %s\n", strings.Join(d.ConsumedBy, ", "))
	}
	if len(s.FileIDs) > 0 {
		fmt.Fprintf(b, "files: %s\n", strings.Join(s.FileIDs, ", "))
	}
	fmt.Fprintf(b, "\ntree, and the tokens that expanding each node wholly would cost, without and with messages, of %s:\n", counted(d.TokenCap, "token"))
	for i, n := range d.Manifest {
		if i == mostManifest {
			fmt.Fprintf(b, "… and %s more; describe those above\n", thousands(len(d.Manifest)-i))
			break
		}
		fmt.Fprintf(b, "%s%s %s, %d sources, %s; costs %d%s, %d%s\n", strings.Repeat("  ", n.Distance), n.ID, n.Kind, n.Sources,
			span(n.EarliestAt, n.LatestAt, d.location), n.Cost, over(n.Fits), n.CostWithMessages, over(n.FitsWithMessages))
	}
	fmt.Fprintf(b, "\n%s\n", s.Text)
}

func over(fits bool) string {
	if fits {
		return ""
	}
	return " (too much)"
}

// standing says where a message or summary is.
func (d *Description) standing() string {
	switch {
	case d.InContext:
		return "in the context"
	case d.Message != nil && d.Message.SetAside != "":
		return "set aside: " + string(d.Message.SetAside)
	case len(d.Above) > 0:
		return "summarised by " + strings.Join(d.Above, ", then ")
	}
	return "no longer in the context"
}

func (d *Description) message(b *strings.Builder) {
	m := d.Message
	fmt.Fprintf(b, "number %d, %s%s, %s, %s; %s\n", m.Seq, m.Role, map[bool]string{true: " " + assemble.Byline(m.Speaker, "")}[m.Speaker != ""], conversation.Moment(m.SaidAt, d.location),
		counted(m.Tokens, "token"), d.standing())
	for i := range m.Blocks {
		block := &m.Blocks[i]
		fmt.Fprintf(b, "block %d: %s", i+1, block.Type)
		for _, of := range []struct{ what, value string }{{"", block.Tool}, {"call ", block.CallID}, {"", block.FileName}, {"", block.MIME}, {"", block.FileID}} {
			if of.value != "" {
				fmt.Fprintf(b, ", %s%s", of.what, of.value)
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "\n%s\n", m.Whole())
}

func (d *Description) conversation(b *strings.Builder) {
	v := d.Conversation
	fmt.Fprintf(b, "%s, scope %s, %s, begun %s", fault.Quote(v.Name), v.Scope, counted(v.Messages, "message"), conversation.Moment(v.CreatedAt, d.location))
	if !v.LastSaidAt.IsZero() {
		fmt.Fprintf(b, ", last message %s", conversation.Moment(v.LastSaidAt, d.location))
	}
	if !v.Active {
		fmt.Fprintf(b, "; archived: %s", cmp.Or(v.ArchiveCause, "-"))
	}
	b.WriteByte('\n')
	if v.Title != "" {
		fmt.Fprintf(b, "%s\n", v.Title)
	}
}
