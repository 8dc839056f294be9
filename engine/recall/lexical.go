package recall

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// lexicalTolerance is how far two scores of a document may be apart, relative to the greater.
const lexicalTolerance = 1e-6

// CheckLexicalRequest says what to compare the lexical backends on.
type CheckLexicalRequest struct {
	// Questions to ask of every kind. Default: made from the file, of each kind from as many documents as Sample says: the
	// rarest terms of a document, and its most frequent one.
	Questions []string
	// Sample is 1 to 1000. Default 25.
	Sample int
}

// LexicalCheck is how far the lexical backends agree.
type LexicalCheck struct {
	Questions  int     `json:"questions"`  // asked of a kind
	Documents  int     `json:"documents"`  // that were hit, each counted once
	Scores     int     `json:"scores"`     // compared: one for each question and document hit
	Difference float64 `json:"difference"` // the greatest between two scores, relative to the greater; 1: one backend lacks a hit
	// Differing are the scores that differ by more than a millionth, the first hundred of them.
	Differing []LexicalDifference `json:"differing"`
	// Reordered are the questions whose first ten documents differ in their order, other than by equal scores.
	Reordered []string `json:"reordered"`
	// Built is whether the index of the extension was missing or stale, and was made for this.
	Built        bool          `json:"built"`
	PostingsTime time.Duration `json:"postings_ns"` // of all questions
	FTSTime      time.Duration `json:"fts_ns"`
}

// LexicalDifference is a document on whose score the backends do not agree.
type LexicalDifference struct {
	Question string     `json:"question"`
	Kind     kinds.Kind `json:"kind"`
	ID       string     `json:"id"`
	Postings float64    `json:"postings"` // raw BM25, natural logarithm; 0: not hit
	FTS      float64    `json:"fts"`
}

// Agree reports whether nothing differs.
func (x *LexicalCheck) Agree() bool { return len(x.Differing) == 0 && len(x.Reordered) == 0 }

// CheckLexical asks both lexical backends the same questions and compares the raw scores of all documents, with the weights k1 and b
// of the sets memory and transcript. It makes the index of the text extension first where that is missing or stale. Errors:
// ErrNoFTS, ErrInvalid, and ErrReadOnly where the index would have to be made.
func (rc *Recaller) CheckLexical(ctx context.Context, r CheckLexicalRequest) (*LexicalCheck, error) {
	const op = "check lexical"
	if r.Sample == 0 {
		r.Sample = 25
	}
	if r.Sample < 1 || r.Sample > 1000 {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("sample", r.Sample, "1 to 1000"))
	}
	if err := fault.CheckTexts("questions", r.Questions); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	built := false
	for {
		again, err := rc.index.RefreshFTS(ctx, op)
		if err != nil {
			return nil, err
		}
		built = built || again
		x := &lexicalComparison{recaller: rc, request: r, result: LexicalCheck{Built: built, Differing: []LexicalDifference{}, Reordered: []string{}}}
		fresh := false
		err = rc.file.Read(ctx, op, func(c *duck.Conn) error {
			index, err := rc.index.FTSState(ctx, c)
			if err != nil {
				return err
			}
			if fresh = index.Fresh(); !fresh && rc.opts.ReadOnly {
				return fmt.Errorf("%w, and the fts index is missing or stale; open the file for writing", fault.ErrReadOnly)
			}
			if !fresh { // somebody wrote after the index was made
				return nil
			}
			return x.run(ctx, c)
		})
		if err != nil || fresh {
			return &x.result, err
		}
	}
}

// lexicalComparison is one comparison of the backends on its way.
type lexicalComparison struct {
	recaller  *Recaller
	request   CheckLexicalRequest
	result    LexicalCheck
	documents map[int32]bool
}

// lexicalScores are raw scores by document.
type lexicalScores map[int32]float64

func (x *lexicalComparison) run(ctx context.Context, c *duck.Conn) error {
	x.documents = map[int32]bool{}
	for _, kind := range kinds.All() {
		questions, err := x.questions(ctx, c, kind)
		if err != nil {
			return err
		}
		w, err := x.recaller.weights(ctx, c, weightsFor([]kinds.Kind{kind}))
		if err != nil {
			return err
		}
		stmt, err := c.SQL.PrepareContext(ctx, strings.ReplaceAll(sqlfiles.Query("lexical_fts"), "{kind}", string(kind)))
		if err != nil {
			return duck.QueryError("lexical_fts", err)
		}
		err = x.compareAll(ctx, c, stmt, kind, w, questions)
		if err := errors.Join(err, stmt.Close()); err != nil {
			return err
		}
	}
	x.result.Documents = len(x.documents)
	return nil
}

// questions gives the terms of each question to a kind.
func (x *lexicalComparison) questions(ctx context.Context, c *duck.Conn, kind kinds.Kind) (all [][]string, err error) {
	for _, question := range x.request.Questions {
		all = append(all, x.recaller.understand(question).terms)
	}
	if x.request.Questions != nil {
		return all, nil
	}
	err = c.Each(ctx, "lexical_sample", func(rows *sql.Rows) error {
		var terms []any
		if err := rows.Scan(&terms); err != nil {
			return err
		}
		question := make([]string, len(terms))
		for i, term := range terms {
			question[i], _ = term.(string)
		}
		all = append(all, question)
		return nil
	}, sql.Named("kind", string(kind)), sql.Named("sample", int64(x.request.Sample)))
	return all, err
}

func (x *lexicalComparison) compareAll(ctx context.Context, c *duck.Conn, stmt *sql.Stmt, kind kinds.Kind, w Weights, questions [][]string) error {
	for i, terms := range questions {
		question := strings.Join(terms, " ")
		k1, b := sql.Named("k1", w.K1), sql.Named("b", w.B)
		start := time.Now()
		rows, err := c.Query(ctx, "lexical_postings", sql.Named("terms", append([]string{}, terms...)), sql.Named("kind", string(kind)), k1, b)
		if err != nil {
			return err
		}
		postings, err := scanScores(rows)
		if err != nil {
			return duck.QueryError("lexical_postings", err)
		}
		middle := time.Now()
		if rows, err = stmt.QueryContext(ctx, sql.Named("question", question), k1, b); err != nil {
			return duck.QueryError("lexical_fts", err)
		}
		fts, err := scanScores(rows)
		if err != nil {
			return duck.QueryError("lexical_fts", err)
		}
		x.result.PostingsTime += middle.Sub(start)
		x.result.FTSTime += time.Since(middle)
		x.result.Questions++
		if err := x.compare(ctx, c, kind, question, postings, fts); err != nil {
			return err
		}
		x.recaller.opts.Progress("questions", i+1, len(questions))
	}
	return nil
}

func scanScores(rows *sql.Rows) (lexicalScores, error) {
	defer rows.Close()
	scores := lexicalScores{}
	for rows.Next() {
		var doc int32
		var raw float64
		if err := rows.Scan(&doc, &raw); err != nil {
			return nil, err
		}
		scores[doc] = raw
	}
	return scores, rows.Err()
}

// compare notes where the scores of one question differ.
func (x *lexicalComparison) compare(ctx context.Context, c *duck.Conn, kind kinds.Kind, question string, postings, fts lexicalScores) error {
	var differing []int32
	both := postings.union(fts)
	for _, doc := range both {
		x.documents[doc] = true
		difference := relativeDifference(postings[doc], fts[doc])
		x.result.Difference = max(x.result.Difference, difference)
		if difference > lexicalTolerance {
			differing = append(differing, doc)
		}
	}
	x.result.Scores += len(both)
	if !sameOrder(postings, fts, 10) {
		x.result.Reordered = append(x.result.Reordered, question)
	}
	differing = differing[:min(len(differing), 100-len(x.result.Differing))]
	if len(differing) == 0 {
		return nil
	}
	return c.Each(ctx, "lexical_owners", func(rows *sql.Rows) error {
		var doc int32
		v := LexicalDifference{Question: question, Kind: kind}
		err := rows.Scan(&doc, &v.ID)
		v.Postings, v.FTS = postings[doc], fts[doc]
		x.result.Differing = append(x.result.Differing, v)
		return err
	}, sql.Named("doc_nos", differing))
}

// union gives the documents of either in their order.
func (s lexicalScores) union(other lexicalScores) []int32 {
	var all []int32
	for doc := range s {
		all = append(all, doc)
	}
	for doc := range other {
		if _, twice := s[doc]; !twice {
			all = append(all, doc)
		}
	}
	slices.Sort(all)
	return all
}

// best gives the n documents of the highest scores, best first.
func (s lexicalScores) best(n int) []int32 {
	all := s.union(nil)
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(s[b], s[a]) })
	return all[:min(n, len(all))]
}

// sameOrder reports whether the first n of both are the same, or differ only among scores as good as equal.
func sameOrder(a, b lexicalScores, n int) bool {
	first, second := a.best(n), b.best(n)
	if len(first) != len(second) {
		return false
	}
	for i := range first {
		if relativeDifference(a[first[i]], a[second[i]]) > lexicalTolerance {
			return false
		}
	}
	return true
}

func relativeDifference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(math.Abs(a), math.Abs(b))
}
