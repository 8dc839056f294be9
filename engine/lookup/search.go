package lookup

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// Match says what makes something a hit of a Search.
type Match string

// The matches.
const (
	// HybridMatch is by words and meaning, each with half of the score: the cosine, and BM25 as s/(1+s); and another half for what says the text word for word.
	HybridMatch Match = "hybrid"
	// SemanticMatch is by meaning alone: the score is the cosine.
	SemanticMatch Match = "semantic"
	// ExactMatch is what has the text in it, letter for letter but in any case, the newest first.
	ExactMatch Match = "exact"
	// RecentMatch is whatever was said, the newest first; no text is asked.
	RecentMatch Match = "recent"
)

// Matches lists them all.
func Matches() []Match { return []Match{HybridMatch, SemanticMatch, ExactMatch, RecentMatch} }

// The least scores of a hit.
const (
	leastSemantic = 0.3
	leastHybrid   = 0.1
)

// spread is how many candidates each channel of a Search gives for each hit that is wanted.
const spread = 4

// SearchRequest asks for what was said.
type SearchRequest struct {
	Text  string
	Match Match // default hybrid, which without a model goes by words alone
	// Kinds that are searched: messages, or notes, summaries and memories. Who said it, and what brought it about, is asked of messages alone. Default messages.
	Kinds []kinds.Kind
	Said
	// WordsOnly has the hybrid match go by words alone, also where there is a model.
	WordsOnly bool
	Limit     int      // of the hits; 1 to 200, default 10
	MinScore  *float64 // the least score of a hit, 0 to 1; default 0.3 by meaning, 0.1 by both, and none for the rest
}

// SearchResult is what a Search found.
type SearchResult struct {
	Hits    []SearchHit `json:"hits"`
	Match   Match       `json:"match"`
	Notices []string    `json:"notices,omitempty"`
	// Truncated: the time ran out before everything was searched.
	Truncated bool `json:"truncated,omitempty"`
}

// SearchHit is what was said, with as much of it as fits into 200 characters.
type SearchHit struct {
	Kind           kinds.Kind `json:"kind"`
	ID             string     `json:"id"`
	ConversationID string     `json:"conversation_id,omitempty"`
	Seq            int        `json:"seq,omitempty"`
	Role           string     `json:"role,omitempty"`
	Speaker        string     `json:"speaker,omitempty"`
	SourceKind     string     `json:"source_kind,omitempty"` // empty: talk
	At             time.Time  `json:"at"`
	Snippet        string     `json:"snippet"`
	Score          float64    `json:"score,omitempty"` // by both from 0 to 1.5; what is found letter for letter, or as the newest, has none
	Cosine         *float64   `json:"cosine,omitempty"`
	BM25           *float64   `json:"bm25,omitempty"`
	Verbatim       bool       `json:"verbatim,omitempty"`
	Path           string     `json:"path,omitempty"` // of the file that a note is from, with its lines
	FirstLine      int        `json:"first_line,omitempty"`
	LastLine       int        `json:"last_line,omitempty"`
}

// Search finds what was said, by Grep or Recall as the match wants it: what is found letter for letter or as the newest, the newest first; else the best. Nothing
// in the text is a wildcard. Errors: ErrInvalid, ErrNotFound, ErrNoEmbedder where meaning is asked without a model.
func (ts *Tools) Search(ctx context.Context, r SearchRequest) (*SearchResult, error) {
	const op = "search"
	setup.Preset(&r.Match, HybridMatch)
	setup.Preset(&r.Limit, 10)
	if r.Kinds == nil {
		r.Kinds = []kinds.Kind{kinds.Message}
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	x := &SearchResult{Hits: []SearchHit{}, Match: r.Match}
	var err error
	switch r.settle(ts.file.Now()); r.Match {
	case ExactMatch:
		err = ts.searchExact(ctx, r, x)
	case RecentMatch:
		err = ts.searchRecent(ctx, r, x)
	default:
		err = ts.searchRanked(ctx, r, x)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return x, nil
}

// longestSearch is how many bytes a text may have.
const longestSearch = 4000

func (r *SearchRequest) validate() error {
	if err := fault.Member("match", r.Match, Matches()); err != nil {
		return err
	}
	said := r.Roles != nil || r.Speakers != nil || r.SourceKinds != nil
	switch blank := strings.TrimSpace(r.Text) == ""; {
	case r.Match == RecentMatch && !blank:
		return fault.Invalid("text", r.Text, "none, for the newest")
	case r.Match != RecentMatch && blank:
		return fault.Invalid("text", r.Text, "what to look for")
	case len(r.Text) > longestSearch:
		return fault.Invalid("text", fmt.Sprintf("%d bytes long", len(r.Text)), fmt.Sprintf("at most %d", longestSearch))
	case r.Limit < 1 || r.Limit > 200:
		return fault.Invalid("limit", r.Limit, "1 to 200")
	case r.MinScore != nil && !(*r.MinScore >= 0 && *r.MinScore <= 1):
		return fault.Invalid("min_score", *r.MinScore, "0 to 1")
	case r.MinScore != nil && (r.Match == ExactMatch || r.Match == RecentMatch):
		return fault.Invalid("min_score", *r.MinScore, "nothing unless hits have a score: hybrid or semantic")
	case r.Match == RecentMatch && !slices.Equal(r.Kinds, []kinds.Kind{kinds.Message}):
		return fault.Invalid("kinds", fault.OneOf(r.Kinds), "message alone, for the newest")
	case said && !slices.Equal(r.Kinds, []kinds.Kind{kinds.Message}):
		return fault.Invalid("kinds", fault.OneOf(r.Kinds), "message alone, with roles, speakers or source kinds")
	}
	if err := fault.CheckText("text", r.Text); err != nil {
		return err
	}
	if err := fault.Members("kinds", r.Kinds, kinds.All()); err != nil {
		return err
	}
	return r.Said.validate()
}

// searchExact has Grep look for the text as it stands.
func (ts *Tools) searchExact(ctx context.Context, r SearchRequest, x *SearchResult) error {
	found, err := ts.Grep(ctx, GrepRequest{Pattern: regexp.QuoteMeta(strings.TrimSpace(r.Text)), Mode: GrepRegex, IgnoreCase: true, Kinds: r.Kinds, Conversation: r.Conversation,
		AllConversations: r.Conversation == "", Roles: r.Roles, Speakers: r.Speakers, SourceKinds: r.SourceKinds, NotSourceKinds: r.NotSourceKinds,
		Since: r.Since, Before: r.Before, Limit: r.Limit, Agent: r.Agent})
	if err != nil {
		return err
	}
	x.Truncated = found.Truncated
	for _, h := range found.Hits[:min(len(found.Hits), r.Limit)] {
		hit := SearchHit{Kind: h.Kind, ID: h.ID, ConversationID: h.ConversationID, Seq: h.Seq, Role: h.Role, Speaker: h.Speaker, SourceKind: h.SourceKind, At: h.At,
			Snippet: h.Snippet, Verbatim: true, Path: h.Path, FirstLine: h.FirstLine, LastLine: h.LastLine}
		x.Hits = append(x.Hits, hit)
	}
	return nil
}

// searchWeights are those of a Search by meaning, or by both.
func (r *SearchRequest) weights() *recall.Weights {
	w := recall.Weights{Pool: min(max(spread*r.Limit, 10), 2000), K1: grepK1, B: grepB, Counted: "kind", Normalise: "plain", Vector: 1, MinScore: leastSemantic,
		DateDays: 14, Rerank: "none", Decay: "none", MaxLife: 1, Diversity: 1}
	if r.Match == HybridMatch {
		w.Vector, w.Lexical, w.Verbatim, w.MinScore = 0.5, 0.5, 0.5, leastHybrid
	}
	if r.MinScore != nil {
		w.MinScore = *r.MinScore
	}
	return &w
}

// searchRanked has Recall find the best.
func (ts *Tools) searchRanked(ctx context.Context, r SearchRequest, x *SearchResult) error {
	q := recall.Query{Text: r.Text, Kinds: r.Kinds, Agent: r.Agent, Roles: r.Roles, Speakers: r.Speakers, SourceKinds: r.SourceKinds, NotSourceKinds: r.NotSourceKinds,
		Since: r.Since, Until: r.Before, Limit: r.Limit, Weights: r.weights(), TagPrefixes: []string{}}
	switch {
	case r.Match == SemanticMatch:
		q.Mode = recall.VectorMode
	case r.WordsOnly:
		q.Mode = recall.LexicalMode
	}
	if r.Conversation != "" {
		err := ts.file.Read(ctx, "search", func(c *duck.Conn) (err error) {
			q.Conversations, err = ts.family(ctx, c, r.Conversation, r.Agent)
			return err
		})
		if err != nil {
			return err
		}
	}
	found, err := ts.recaller.Recall(ctx, q)
	if err != nil {
		return err
	}
	x.Notices = found.Notices
	terms := map[string]bool{}
	for _, token := range ts.index.Analyzer.QueryTokens(r.Text) {
		terms[token.Term] = true
	}
	for _, h := range found.Hits {
		x.Hits = append(x.Hits, SearchHit{Kind: h.Kind, ID: h.ID, ConversationID: h.ConversationID, Seq: h.Seq, Role: h.Role, Speaker: h.Speaker, SourceKind: h.SourceKind, At: h.CreatedAt,
			Snippet: text.Snippet(h.Text, terms, ts.index.Analyzer, grepWidth), Score: h.Score, Cosine: h.Signals.Cosine, BM25: h.Signals.Raw, Verbatim: h.Signals.Verbatim,
			Path: h.Path, FirstLine: h.FirstLine, LastLine: h.LastLine})
	}
	return nil
}
