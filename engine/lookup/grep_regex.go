package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// grepRegex is a regular expression, for Go and for the database.
type grepRegex struct {
	compiled *regexp.Regexp
	pattern  string // as the database is given it: with every flag spelled out
}

// newGrepRegex compiles a pattern. Errors: ErrInvalid, which says what is wrong with it.
func newGrepRegex(pattern string, ignoreCase bool) (*grepRegex, error) {
	written := pattern
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, fmt.Errorf("%w: pattern is %s: %s; allowed: a regular expression in the syntax of RE2, which has no look-around and no back-references",
			fault.ErrInvalid, fault.Quote(written), reason)
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w: pattern is %s: %w", fault.ErrInvalid, fault.Quote(written), err)
	}
	return &grepRegex{compiled, tree.String()}, nil
}

// matches reports whether one of some texts does.
func (x *grepRegex) matches(texts []string) bool {
	return slices.ContainsFunc(texts, x.compiled.MatchString)
}

// byRegex looks through the texts themselves, the newest first. The database refuses a pattern that would take too much memory.
func (g *grep) byRegex(ctx context.Context, c *duck.Conn) error {
	err := g.matchAll(ctx, c)
	if err != nil && duck.TooLarge(err) {
		return fault.Invalid("pattern", g.request.Pattern, "a regular expression with fewer repetitions of large classes")
	}
	return err
}

func (g *grep) matchAll(ctx context.Context, c *duck.Conn) error {
	asked := g.asked()
	for _, kind := range g.request.Kinds {
		var err error
		switch kind {
		case kinds.Message:
			err = g.messagesByRegex(ctx, c, asked)
		case kinds.Summary:
			_, err = g.take(ctx, c, kind, "grep_summaries", append(asked, g.matching()...))
		case kinds.Note:
			_, err = g.take(ctx, c, kind, "grep_notes", append(asked[1:], append(g.matching(), sql.Named("scopes", duck.ListArg(g.scopes)))...))
		case kinds.Memory:
			_, err = g.take(ctx, c, kind, "grep_memories", append(asked[1:], append(g.matching(), sql.Named("scopes", duck.ListArg(g.scopes)), sql.Named("at", g.tools.file.Now()))...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *grep) matching() []any {
	return []any{sql.Named("pattern", g.regex.pattern), sql.Named("limit", int64(g.request.Limit))}
}

// messagesByRegex looks through messages piece by piece, until there are enough that no older piece could have newer ones.
func (g *grep) messagesByRegex(ctx context.Context, c *duck.Conn, asked []any) error {
	type slice struct {
		from, to int32
		newest   time.Time
	}
	slicesOf, err := duck.List(ctx, c, "grep_slices", func(rows *sql.Rows, s *slice) error {
		return rows.Scan(&s.from, &s.to, &s.newest)
	}, asked...)
	if err != nil {
		return err
	}
	var withParts bool
	if _, err := c.One(ctx, "grep_parts_any", []any{&withParts}); err != nil {
		return err
	}
	var times []time.Time // of what was found, the newest first
	for _, s := range slicesOf {
		if len(times) >= g.request.Limit && times[g.request.Limit-1].After(s.newest) {
			return nil
		}
		args := append(append([]any{sql.Named("from", s.from), sql.Named("to", s.to)}, asked...), append(g.said(), g.matching()...)...)
		for _, query := range []string{"grep_messages", "grep_parts"} {
			if query == "grep_parts" && !withParts {
				continue
			}
			found, err := g.take(ctx, c, kinds.Message, query, args)
			if err != nil {
				return err
			}
			times = append(times, found...)
		}
		slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	}
	return nil
}

// take runs a query for hits, keeps them and gives their times. Where the database finds a match in what is not searched, the frame of a
// reference, it goes on with the next rows.
func (g *grep) take(ctx context.Context, c *duck.Conn, kind kinds.Kind, query string, args []any) (times []time.Time, err error) {
	limit := g.request.Limit
	for skip, fit := 0, 0; fit < limit; skip += limit {
		some, err := duck.List(ctx, c, query, func(rows *sql.Rows, h *candidateHit) error {
			var at time.Time
			h.kind = kind
			return rows.Scan(&h.docNo, &at)
		}, append(slices.Clip(args), sql.Named("skip", int64(skip)))...)
		if err != nil {
			return nil, err
		}
		if err := g.texts(ctx, c, some, func(h *candidateHit) bool { return !g.regex.matches(h.texts) }); err != nil {
			return nil, err
		}
		for i := range some {
			if err := ctx.Err(); err != nil {
				return times, err
			}
			if h := &some[i]; g.regex.matches(h.texts) {
				fit++
				g.showMatch(h)
				if g.keep(*h) {
					times = append(times, h.hit.At)
				}
			}
		}
		if len(some) < limit {
			break
		}
	}
	return times, nil
}
