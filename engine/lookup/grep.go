package lookup

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// GrepMode says how a pattern is read.
type GrepMode string

// The modes.
const (
	GrepText  GrepMode = "text"  // words and quoted phrases, as the index has them
	GrepRegex GrepMode = "regex" // a regular expression in the syntax of RE2
	GrepBoth  GrepMode = "both"  // either finds
)

// GrepModes lists them all.
func GrepModes() []GrepMode { return []GrepMode{GrepText, GrepRegex, GrepBoth} }

// GrepWords says which words of a pattern a hit must have.
type GrepWords string

// The choices.
const (
	AnyWord  GrepWords = "any"
	AllWords GrepWords = "all"
)

// GrepOrder says which hits come first, and are given when there are more than the limit.
type GrepOrder string

// The orders.
const (
	ByRelevance GrepOrder = "relevance"
	ByNewest    GrepOrder = "newest"
)

// GrepRequest asks for what was said, or summarised, with certain words. Searched are texts, captions, what tools were given and gave, and
// files as far as they stand in a message, but not what a model thought. Words find a message by the name of its speaker, too.
type GrepRequest struct {
	// Pattern: words, of which those in quotation marks or joined by punctuation must stand side by side; or a regular expression, in which
	// . matches no newline. A blank one finds nothing.
	Pattern string
	Mode    GrepMode     // default text
	Kinds   []kinds.Kind // default messages and summaries; nil is the default, empty finds nothing
	// Conversation, by name or id, with all others of its session key, archived ones too.
	Conversation string
	// AllConversations that the agent may read, instead of one.
	AllConversations bool
	Words            GrepWords // default any
	// Order: default relevance for words, and newest for a regular expression, which knows no relevance.
	Order      GrepOrder
	IgnoreCase bool // of a regular expression; the case of words never counts
	// Roles and Speakers are who said it, the speakers in any case of letters. With either, only messages are searched.
	Roles, Speakers []string
	// SourceKinds and NotSourceKinds are what brought a message about, as in recall.Query: one of the former, none of the latter. Only messages are searched, too.
	SourceKinds, NotSourceKinds []string
	// Since and Before bound the time: of a message when it was said, of a summary when the newest of its messages was, of a memory when it
	// was created.
	Since, Before time.Time
	Limit         int           // of the hits of each kind; 1 to 200, default 50
	Deadline      time.Duration // after which the hits so far are given; default 2 s
	Agent         string        // empty: an internal caller
}

// GrepResult is what a Grep found.
type GrepResult struct {
	Hits []GrepHit `json:"hits"`
	// Truncated: the deadline came before everything was searched.
	Truncated bool `json:"truncated,omitempty"`

	request  GrepRequest
	location *time.Location
}

// GrepHit is a message, summary, memory or note in which the pattern stands.
type GrepHit struct {
	Kind           kinds.Kind            `json:"kind"`
	ID             string                `json:"id"`
	ConversationID string                `json:"conversation_id,omitempty"`
	Seq            int                   `json:"seq,omitempty"` // of a summary that of the first message it stands for
	Role           string                `json:"role"`          // of a message; leaf or condensed; the category of a memory
	Speaker        string                `json:"speaker,omitempty"`
	SourceKind     string                `json:"source_kind,omitempty"` // of a message; empty: talk
	At             time.Time             `json:"at"`
	Snippet        string                `json:"snippet"`        // one line with the match
	Spans          []Span                `json:"spans"`          // of the matches in the snippet
	Score          float64               `json:"score"`          // BM25 by the rarity of the words among the documents asked; 0: only the regular expression found it
	Path           string                `json:"path,omitempty"` // of the file that a note is from, with its lines
	FirstLine      int                   `json:"first_line,omitempty"`
	LastLine       int                   `json:"last_line,omitempty"`
	SetAside       conversation.SetAside `json:"set_aside,omitempty"`
	Summary        string                `json:"summary,omitempty"` // the leaf that stands for the message
}

// Span is a stretch of a text in bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Grep searches conversations for words or a regular expression. A search that takes longer than the deadline gives what it found, and
// says so. Errors: ErrInvalid, ErrNotFound.
func (ts *Tools) Grep(ctx context.Context, r GrepRequest) (*GrepResult, error) {
	const op = "grep"
	r = r.withDefaults()
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	g := &grep{tools: ts, request: r, result: &GrepResult{Hits: []GrepHit{}, request: r, location: ts.opts.Conversation.Location()}}
	if err := g.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	limited, cancel := context.WithTimeout(ctx, r.Deadline)
	defer cancel()
	err := g.run(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		g.result.Truncated, err = true, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	g.complete()
	return g.result, nil
}

func (r GrepRequest) withDefaults() GrepRequest {
	setup.Preset(&r.Mode, GrepText)
	setup.Preset(&r.Words, AnyWord)
	said := r.Roles != nil || r.Speakers != nil || r.SourceKinds != nil
	switch {
	case r.Kinds == nil && said:
		r.Kinds = []kinds.Kind{kinds.Message}
	case r.Kinds == nil:
		r.Kinds = []kinds.Kind{kinds.Message, kinds.Summary}
	}
	if r.Order == "" {
		if r.Order = ByRelevance; r.Mode == GrepRegex {
			r.Order = ByNewest
		}
	}
	setup.Preset(&r.Limit, 50)
	setup.Preset(&r.Deadline, 2*time.Second)
	r.Since, r.Before = duck.UTC(r.Since), duck.UTC(r.Before)
	return r
}

func (r GrepRequest) validate() error {
	const most = 10_000
	switch {
	case len(r.Pattern) > most:
		return fault.Invalid("pattern", fmt.Sprintf("%d bytes long", len(r.Pattern)), fmt.Sprintf("at most %d", most))
	case r.Conversation == "" && !r.AllConversations:
		return fault.Invalid("conversation", "", "a name or id, or all conversations")
	case r.Conversation != "" && r.AllConversations:
		return fault.Invalid("conversation", r.Conversation, "none beside all conversations")
	case r.Limit < 1 || r.Limit > 200:
		return fault.Invalid("limit", r.Limit, "1 to 200")
	case r.Deadline < 0:
		return fault.Invalid("deadline", r.Deadline, "a time such as 2s")
	case !r.Since.IsZero() && !r.Before.IsZero() && !r.Since.Before(r.Before):
		return fault.Invalid("since", r.Since.Format(time.RFC3339), "a time before "+r.Before.Format(time.RFC3339)+", which is before")
	case (r.Roles != nil || r.Speakers != nil || r.SourceKinds != nil) && !slices.Equal(r.Kinds, []kinds.Kind{kinds.Message}):
		return fault.Invalid("kinds", fault.OneOf(r.Kinds), "message alone, with roles, speakers or source kinds")
	case r.Mode == GrepRegex && r.Order == ByRelevance:
		return fault.Invalid("order", string(r.Order), "newest, for a regular expression")
	}
	return cmp.Or(fault.CheckText("pattern", r.Pattern), fault.CheckText("conversation", r.Conversation), fault.Member("mode", r.Mode, GrepModes()),
		fault.Member("words", r.Words, []GrepWords{AnyWord, AllWords}), fault.Member("order", r.Order, []GrepOrder{ByRelevance, ByNewest}),
		fault.Members("kinds", r.Kinds, kinds.All()),
		fault.CheckWords("source_kinds", r.SourceKinds), fault.CheckWords("not_source_kinds", r.NotSourceKinds), fault.Members("roles", r.Roles, kinds.Roles()), fault.CheckTexts("speakers", r.Speakers), fault.CheckTime("since", r.Since), fault.CheckTime("before", r.Before))
}

// grep is one Grep on its way.
type grep struct {
	tools   *Tools
	request GrepRequest
	result  *GrepResult

	words *grepWords       // nil: the pattern is no words, or blank
	aside []resident.Aside // of messages that the index leaves out
	regex *grepRegex       // nil: it is no regular expression

	conversations []string // ids of those asked
	everywhere    bool     // these are all there are
	scopes        []string // that the agent may read; nil: all
	found         []candidateHit
}

// candidateHit is what a search finds first: a document, before its text is read again.
type candidateHit struct {
	kind  kinds.Kind
	docNo int32
	score float64
	mask  int64 // of the pattern's words that it has
	texts []string
	hit   GrepHit
}

// read takes the pattern apart.
func (g *grep) read() (err error) {
	r := g.request
	if strings.TrimSpace(r.Pattern) == "" {
		return nil
	}
	if r.Mode != GrepRegex {
		if g.words, err = g.tools.grepWords(r.Pattern, r.Words == AllWords); err != nil {
			return err
		}
	}
	if r.Mode != GrepText {
		g.regex, err = newGrepRegex(r.Pattern, r.IgnoreCase)
	}
	return err
}

// run searches, and leaves in found what it has when it ends, or is ended.
func (g *grep) run(ctx context.Context) error {
	return g.tools.file.Lend(ctx, "read", func(c *duck.Conn) error {
		if err := c.Reading(ctx, func() error { return g.settle(ctx, c) }); err != nil {
			return err
		}
		return c.Reading(ctx, func() error {
			if g.words != nil {
				if err := g.byWords(ctx, c); err != nil {
					return err
				}
			}
			if g.regex != nil {
				return g.byRegex(ctx, c)
			}
			return nil
		})
	})
}

// settle finds the conversations that are asked.
func (g *grep) settle(ctx context.Context, c *duck.Conn) error {
	ts, r := g.tools, g.request
	g.scopes, _ = ts.scopes.Now().ForReading(r.Agent, nil)
	if r.AllConversations {
		g.everywhere = g.scopes == nil
		ids, err := duck.Column[string](ctx, c, "grep_conversations", sql.Named("scopes", duck.ListArg(g.scopes)))
		g.conversations = append([]string{}, ids...)
		return err
	}
	var err error
	g.conversations, err = ts.family(ctx, c, r.Conversation, r.Agent)
	return err
}

// asked is where and when to search, as the queries want it.
func (g *grep) asked() []any {
	return []any{sql.Named("conversations", g.conversations), sql.Named("since", duck.OrTime(g.request.Since, duck.Year1)),
		sql.Named("until", duck.OrTime(g.request.Before, duck.Year10000))}
}

// said is who said it, as the queries for messages want it.
func (g *grep) said() []any {
	return []any{sql.Named("roles", duck.FilterArg(g.request.Roles)), sql.Named("speakers", g.speakers()),
		sql.Named("source_kinds", duck.FilterArg(g.request.SourceKinds)), sql.Named("not_source_kinds", append([]string{}, g.request.NotSourceKinds...))}
}

// speakers are those asked, in lower case.
func (g *grep) speakers() []string {
	speakers := duck.FilterArg(g.request.Speakers)
	for i, name := range speakers {
		speakers[i] = strings.ToLower(name)
	}
	return speakers
}

// keep takes a hit unless it has been found before.
func (g *grep) keep(h candidateHit) bool {
	if slices.ContainsFunc(g.found, func(f candidateHit) bool { return f.docNo == h.docNo }) {
		return false
	}
	g.found = append(g.found, h)
	return true
}

// complete puts the hits into their order.
func (g *grep) complete() {
	slices.SortStableFunc(g.found, func(a, b candidateHit) int {
		newer := cmp.Or(b.hit.At.Compare(a.hit.At), cmp.Compare(a.kind, b.kind), cmp.Compare(b.docNo, a.docNo)) // a message before its summary
		if g.request.Order == ByRelevance {
			return cmp.Or(cmp.Compare(b.score, a.score), newer)
		}
		return newer
	})
	counts := map[kinds.Kind]int{}
	for _, f := range g.found {
		if counts[f.kind]++; counts[f.kind] <= g.request.Limit {
			g.result.Hits = append(g.result.Hits, f.hit)
		}
	}
}

// grepTables counts the searches since a connection's temporary tables of a search were made; 0: they are not.
type grepTables struct{ greps int }

// maxGreps is how many searches these tables last: rows that were deleted stay in them.
const maxGreps = 200

// askGrep makes the tables of a search anew, now and then.
func askGrep(ctx context.Context, c *duck.Conn) error {
	t := duck.Kept[grepTables](c)
	if t.greps%maxGreps == 0 {
		if err := c.MakeTables(ctx, "grep_tables"); err != nil {
			return err
		}
		*t = grepTables{}
	}
	t.greps++
	return nil
}
