package lookup

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
)

// maxGrepWords is how many different words a pattern may have: each is a bit of a mask.
const maxGrepWords = 60

// grepWords is a pattern of words.
type grepWords struct {
	terms []string // by their number
	units []grepUnit
	all   bool // a hit has all units, not just one
}

// grepUnit is a word, a phrase, or a run of a script without spaces.
type grepUnit struct {
	masks  []int64 // of the words that it needs, one way or another
	phrase string  // that must stand in a text; "": none
}

// grepWords takes a pattern apart; nil when it has no words. Words that say nothing are left out where others are.
func (ts *Tools) grepWords(pattern string, all bool) (*grepWords, error) {
	w := &grepWords{all: all}
	q := text.ParseGrep(pattern)
	for _, phrase := range q.Phrases {
		var mask int64
		for _, token := range plainTokens(ts.index.Analyzer.Tokens(phrase)) {
			mask |= w.bit(token.Term)
		}
		w.add(grepUnit{masks: []int64{mask}, phrase: phrase})
	}
	words := slices.DeleteFunc(slices.Clone(q.Words), ts.says)
	if len(words) == 0 && len(w.units) == 0 {
		words = q.Words
	}
	for _, word := range words {
		w.addWord(ts.index.Analyzer.Tokens(word))
	}
	if len(w.terms) > maxGrepWords {
		return nil, fault.Invalid("pattern", pattern, fmt.Sprintf("at most %d different words", maxGrepWords))
	}
	if len(w.units) == 0 {
		return nil, nil
	}
	return w, nil
}

// says reports a word that says nothing: all its words are stop words.
func (ts *Tools) says(word string) bool {
	return !slices.ContainsFunc(ts.index.Analyzer.Tokens(word), func(t text.Token) bool { return !ts.index.Analyzer.IsStop(t.Surface) })
}

func (w *grepWords) add(u grepUnit) {
	if u.masks[0] != 0 {
		w.units = append(w.units, u)
	}
}

// bit is the mask of a term.
func (w *grepWords) bit(term string) int64 {
	i := slices.Index(w.terms, term)
	if i < 0 {
		i = len(w.terms)
		w.terms = append(w.terms, term)
	}
	return 1 << min(i, 62)
}

// longestRun is up to how many characters a run of a script without spaces must stand as it is. Of a longer one so many in a row are
// enough, and where any word is, two.
const longestRun = 4

// addWord adds the units of what stands between spaces: a word, or runs of characters, which the index has by pairs.
func (w *grepWords) addWord(tokens []text.Token) {
	var run []int64 // the masks of consecutive pairs
	flush := func() {
		width := longestRun - 1
		if !w.all {
			width = 1
		}
		var u grepUnit
		for i := range max(1, len(run)-width+1) {
			var mask int64
			for _, pair := range run[i:min(i+width, len(run))] {
				mask |= pair
			}
			u.masks = append(u.masks, mask)
		}
		run = nil
		w.add(u)
	}
	end := -1 // of the last pair
	for i, t := range tokens {
		switch {
		case contains(tokens, i): // a pair
			if len(run) > 0 && t.Start >= end {
				flush()
			}
			run, end = append(run, w.bit(t.Term)), t.End
		case t.Start >= end && (i+1 == len(tokens) || tokens[i+1].Start > t.Start): // a word, or a character on its own
			if len(run) > 0 {
				flush()
			}
			w.add(grepUnit{masks: []int64{w.bit(t.Term)}})
		}
	}
	if len(run) > 0 {
		flush()
	}
}

// contains reports whether a token has another within it.
func contains(tokens []text.Token, i int) bool {
	t := tokens[i]
	within := func(j int) bool {
		return j >= 0 && j < len(tokens) && tokens[j].Start >= t.Start && tokens[j].End <= t.End && tokens[j].End-tokens[j].Start < t.End-t.Start
	}
	return within(i-1) || within(i+1)
}

// plainTokens leaves out those that have others within them.
func plainTokens(tokens []text.Token) (plain []text.Token) {
	for i, t := range tokens {
		if !contains(tokens, i) {
			plain = append(plain, t)
		}
	}
	return plain
}

// must is the words without which nothing is a hit.
func (w *grepWords) must() (mask int64) {
	if !w.all && len(w.units) > 1 {
		return 0
	}
	for _, u := range w.units {
		if len(u.masks) == 1 {
			mask |= u.masks[0]
		}
	}
	return mask
}

// simple reports whether the masks that SQL compares decide.
func (w *grepWords) simple() bool {
	return !slices.ContainsFunc(w.units, func(u grepUnit) bool { return u.phrase != "" || w.all && len(u.masks) > 1 })
}

// satisfied reports whether a document with these words may be a hit, and whether its texts have to show it.
func (w *grepWords) satisfied(mask int64, inText func(phrase string) bool) bool {
	some := false
	for _, u := range w.units {
		fits := slices.ContainsFunc(u.masks, func(m int64) bool { return mask&m == m }) && (u.phrase == "" || inText(u.phrase))
		if w.all && !fits {
			return false
		}
		some = some || fits
	}
	return some
}

// byWords searches the index; then, where messages that it leaves out have words of the pattern too, once more with these among the others.
func (g *grep) byWords(ctx context.Context, c *duck.Conn) error {
	if err := g.best(ctx, c); err != nil || !slices.Contains(g.request.Kinds, kinds.Message) {
		return err
	}
	if err := g.readAside(ctx, c); err != nil || len(g.aside) == 0 {
		return err
	}
	return g.best(ctx, c)
}

// best finds the best, or the newest, of each kind.
func (g *grep) best(ctx context.Context, c *duck.Conn) error {
	page := g.request.Limit
	if !g.words.simple() {
		page = 4*page + 50
	}
	for ; ; page *= 4 {
		ranked, err := g.rank(ctx, c, page)
		if err != nil {
			return err
		}
		g.found = nil
		if full, err := g.verify(ctx, c, ranked, page); err != nil || full {
			return err
		}
	}
}

// rank gives the best of each kind, as the resident index finds them or the file.
func (g *grep) rank(ctx context.Context, c *duck.Conn, page int) (all []candidateHit, err error) {
	ok, err := g.tools.index.Resident(func() error { return c.See(ctx) }, func(x *resident.Index) error {
		for _, m := range x.Search(g.search(page)) {
			all = append(all, candidateHit{docNo: m.No, kind: m.Kind, score: m.Score, mask: m.Mask})
		}
		return nil
	})
	if ok || err != nil {
		return all, err
	}
	return g.rankFile(ctx, c, page)
}

// search is what the resident index is asked.
func (g *grep) search(page int) *resident.Search {
	r := g.request
	s := &resident.Search{K1: grepK1, B: grepB, Aside: g.aside, Must: g.words.must(), Most: page, Newest: r.Order == ByNewest}
	f := resident.Filter{Since: micros(r.Since, resident.Never), Until: micros(r.Before, resident.Always), AskedAt: g.tools.file.Now().UnixMicro(),
		SaidBy: resident.Always, Hidden: true, Roles: r.Roles, SourceKinds: r.SourceKinds, NotSourceKinds: r.NotSourceKinds}
	if r.Speakers != nil {
		f.Speakers = g.speakers()
	}
	for _, kind := range r.Kinds {
		asked := f
		if asked.Kinds = []kinds.Kind{kind}; kind == kinds.Memory || kind == kinds.Note {
			asked.Scopes = g.scopes
		} else if !g.everywhere {
			asked.Conversations = g.conversations
		}
		s.Among = append(s.Among, asked)
	}
	for _, term := range g.words.terms {
		word := resident.SearchWord{Hash: index.WordHash(term)}
		word.Year, word.Month, word.Day = g.tools.dateWord(term)
		s.Words = append(s.Words, word)
	}
	return s
}

func micros(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMicro()
}

// rankFile asks the file.
func (g *grep) rankFile(ctx context.Context, c *duck.Conn, page int) (all []candidateHit, err error) {
	r := g.request
	if err := askGrep(ctx, c); err != nil {
		return nil, err
	}
	for _, query := range []string{"grep_clear_asked", "grep_clear_words", "grep_clear_aside"} {
		if _, err := c.ExecTemp(ctx, query); err != nil {
			return nil, err
		}
	}
	words, aside := make([][]driver.Value, len(g.words.terms)), make([][]driver.Value, len(g.aside))
	for i, term := range g.words.terms {
		year, month, day := g.tools.dateWord(term)
		words[i] = []driver.Value{int32(i), term, part(year), part(int(month)), part(day)}
	}
	for i, a := range g.aside {
		aside[i] = []driver.Value{a.No, int32(a.Word), a.TF, a.Length, time.UnixMicro(a.SaidAt).UTC()}
	}
	if err := cmp.Or(c.AppendTemp("grep_words", words...), c.AppendTemp("grep_aside", aside...)); err != nil {
		return nil, err
	}
	among := slices.DeleteFunc(duck.FilterArg(r.Kinds), func(kind string) bool { return kind == string(kinds.Memory) || kind == string(kinds.Note) })
	err = c.AppendTemp("grep_asked", []driver.Value{g.everywhere, append([]string{}, g.conversations...), among, slices.Contains(r.Kinds, kinds.Memory), slices.Contains(r.Kinds, kinds.Note),
		duck.FilterArg(g.scopes), duck.FilterArg(r.Roles), g.speakers(), duck.FilterArg(r.SourceKinds), append([]string{}, r.NotSourceKinds...), g.tools.file.Now(), duck.OrTime(r.Since, duck.Year1), duck.OrTime(r.Before, duck.Year10000), g.words.must(), int64(page), r.Order == ByNewest})
	if err != nil {
		return nil, err
	}
	all, err = duck.List(ctx, c, "grep_rank", func(rows *sql.Rows, h *candidateHit) error {
		return rows.Scan(&h.docNo, &h.kind, &h.score, &h.mask)
	})
	return all, err
}

// The numbers of BM25 in the query grep_rank.
const (
	grepK1 = 1.2
	grepB  = 0.75
)

// part is a part of a date for the file.
func part(n int) driver.Value {
	if n == 0 {
		return nil
	}
	return int32(n)
}

// dateWord says which part of a date a term is, as the index has dates; 0: it is not.
func (ts *Tools) dateWord(term string) (year int, month time.Month, day int) {
	if n, err := strconv.Atoi(term); err == nil && strconv.Itoa(n) == term {
		if n >= 1 && n <= 31 {
			day = n
		} else if n >= 1000 && n <= 9999 {
			year = n
		}
		return year, 0, day
	}
	for m := time.January; m <= time.December; m++ {
		if tokens := ts.index.Analyzer.Tokens(m.String()); len(tokens) == 1 && tokens[0].Term == term {
			return 0, m, 0
		}
	}
	return 0, 0, 0
}

// verify keeps those candidates that are hits, as far as the limit. full is whether more candidates could not add to them.
func (g *grep) verify(ctx context.Context, c *duck.Conn, ranked []candidateHit, page int) (full bool, err error) {
	const batch = 50 // of a kind, which are read together
	limit := g.request.Limit
	seen, kept := map[kinds.Kind]int{}, map[kinds.Kind]int{}
	var left []candidateHit
	for _, h := range ranked {
		seen[h.kind]++
		if g.words.satisfied(h.mask, func(string) bool { return true }) {
			left = append(left, h)
		}
	}
	for len(left) > 0 {
		var some, later []candidateHit
		taken := map[kinds.Kind]int{}
		for _, h := range left {
			if kept[h.kind] == limit {
				continue
			}
			if taken[h.kind]++; taken[h.kind] <= max(limit, batch) {
				some = append(some, h)
			} else {
				later = append(later, h)
			}
		}
		if err := g.texts(ctx, c, some, g.lacksWords); err != nil {
			return false, err
		}
		for i := range some {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			h := &some[i]
			if len(h.texts) > 0 && kept[h.kind] < limit && g.words.satisfied(h.mask, g.phraseIn(h.texts)) {
				g.showWords(h)
				g.keep(*h)
				kept[h.kind]++
			}
		}
		left = later
	}
	for kind, n := range seen {
		if kept[kind] < limit && n == page {
			return false, nil
		}
	}
	return true, nil
}

// lacksWords reports whether some of a document's words, or a phrase, stand in none of its texts that were read.
func (g *grep) lacksWords(h *candidateHit) bool {
	return h.mask&^g.maskOf(append(slices.Clone(h.texts), h.hit.Speaker)...) != 0 || !g.words.satisfied(h.mask, g.phraseIn(h.texts))
}

// phraseIn reports whether a phrase stands in one of some texts.
func (g *grep) phraseIn(texts []string) func(phrase string) bool {
	return func(phrase string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return g.tools.index.Analyzer.MatchPhrase(s, phrase) })
	}
}

// maskOf gives the pattern's words that stand in texts.
func (g *grep) maskOf(texts ...string) (mask int64) {
	for _, s := range texts {
		for _, token := range g.tools.index.Analyzer.Tokens(s) {
			if i := slices.Index(g.words.terms, token.Term); i >= 0 {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// readAside looks through the messages that are no talk, polls of the host and its records: which words of the pattern they have.
func (g *grep) readAside(ctx context.Context, c *duck.Conn) error {
	var some bool
	if _, err := c.One(ctx, "grep_aside_any", []any{&some}); err != nil || !some {
		return err
	}
	return c.Each(ctx, "grep_aside", func(rows *sql.Rows) error {
		var docNo int32
		var at time.Time
		var said string
		if err := rows.Scan(&docNo, &at, &said); err != nil {
			return err
		}
		tokens := g.tools.index.Analyzer.Tokens(said)
		counts := map[int]float32{}
		for _, token := range tokens {
			if i := slices.Index(g.words.terms, token.Term); i >= 0 {
				counts[i]++
			}
		}
		for i, n := range counts {
			g.aside = append(g.aside, resident.Aside{No: docNo, Word: i, TF: n, Length: float32(len(tokens)), SaidAt: at.UnixMicro()})
		}
		return nil
	}, append(g.asked(), g.said()...)...)
}
