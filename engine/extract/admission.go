package extract

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/setup"
)

// matchFrom is the cosine from which a memory counts as one that speaks of the same.
const matchFrom = 0.55

// Admission is what the gate thought of a draft.
type Admission struct {
	Preset   string  `json:"preset"`
	Rejected bool    `json:"rejected,omitempty"`
	Hint     string  `json:"hint,omitempty"` // add or update_or_merge
	Score    float64 `json:"score"`
	// Features are utility, confidence, novelty, recency and type_prior.
	Features      map[string]float64 `json:"features"`
	Greatest      float64            `json:"greatest_similarity"`
	Matched       []string           `json:"matched,omitempty"`
	Compared      []string           `json:"compared,omitempty"`
	Reason        string             `json:"reason"`
	UtilityReason string             `json:"utility_reason,omitempty"`

	gate setup.Gate
	at   time.Time
}

// admit judges whether a draft is worth a verdict. The pool is what is near, of its own category where there is such.
func (x *run) admit(ctx context.Context, c *candidate, near []*candidate, said string) (*Admission, error) {
	g, d := x.opts.Extraction.Admission.Gate(), c.draft
	pool := slices.DeleteFunc(slices.Clone(near), func(n *candidate) bool { return n.memory.Category != d.Category })
	if len(pool) == 0 {
		pool = slices.Clone(near)
	}
	slices.SortStableFunc(pool, func(a, b *candidate) int { return cmp.Compare(b.cosine, a.cosine) })
	pool = pool[:min(len(pool), g.Pool)]
	a := &Admission{Preset: g.Preset, Features: map[string]float64{setup.Utility: 0.5, setup.TypePrior: g.Priors[string(d.Category)]}, gate: g, at: x.file.Now()}
	if g.AskUtility && x.modelled() {
		utility, reason, err := x.utility(ctx, c, said)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			a.Features[setup.Utility], a.UtilityReason = utility, reason
		}
	}
	a.Features[setup.Confidence] = borneOut(d.Text+"\n"+d.Content, said)
	newest := time.Time{}
	for _, n := range pool {
		a.Compared = append(a.Compared, n.id)
		if n.memory.CreatedAt.After(newest) {
			newest = n.memory.CreatedAt
		}
		if a.Greatest = max(a.Greatest, n.cosine); n.cosine >= matchFrom {
			a.Matched = append(a.Matched, n.id)
		}
	}
	a.Features[setup.Novelty] = novelty(a.Greatest)
	a.Features[setup.Recency] = recency(newest, a.at, g.HalfLife)
	a.judge()
	return a, nil
}

// judge settles score and decision by the features.
func (a *Admission) judge() {
	a.Score = scoreOf(a.gate.Weights, a.Features)
	switch {
	case a.gate.Veto > 0 && a.Features[setup.Utility] <= a.gate.Veto:
		a.Rejected, a.Reason = true, fmt.Sprintf("its use, %.2f, is no more than %.2f", a.Features[setup.Utility], a.gate.Veto)
	case a.Score < a.gate.Reject:
		a.Rejected, a.Reason = true, fmt.Sprintf("score %.2f is below %.2f", a.Score, a.gate.Reject)
	case a.Score >= a.gate.Admit && a.Greatest < matchFrom:
		a.Hint, a.Reason = "add", fmt.Sprintf("score %.2f, and nothing speaks of the same", a.Score)
	default:
		a.Hint, a.Reason = "update_or_merge", fmt.Sprintf("score %.2f", a.Score)
	}
}

// scoreOf is the weighted sum of features.
func scoreOf(weights, features map[string]float64) (score float64) {
	for _, name := range []string{setup.Utility, setup.Confidence, setup.Novelty, setup.Recency, setup.TypePrior} {
		score += weights[name] * features[name]
	}
	return score
}

// novelty is how little a draft is like what it was compared with.
func novelty(greatest float64) float64 { return min(max(1-max(greatest, 0), 0), 1) }

// recency is how long nothing like it was said: 0 just now, a half after so many days, 1 never.
func recency(newest, now time.Time, halfLife int) float64 {
	if newest.IsZero() {
		return 1
	}
	days := max(now.Sub(newest).Hours()/24, 0)
	return 1 - math.Exp(-math.Ln2*days/float64(halfLife))
}

// borneOut is how well talk bears a statement out: by the stretch of it that has most of the statement's words in their order, and by how many of them it has.
func borneOut(statement, said string) float64 {
	words := tokensOf(statement)
	if len(words) == 0 {
		return 0
	}
	best := 0.0
	for _, span := range spansOf(said) {
		best = max(best, alike(words, tokensOf(span)))
	}
	spoken := map[string]bool{}
	for _, word := range tokensOf(said) {
		spoken[word] = true
	}
	distinct, covered := map[string]bool{}, 0
	for _, word := range words {
		if !distinct[word] && spoken[word] {
			covered++
		}
		distinct[word] = true
	}
	return supported(best, float64(covered)/float64(len(distinct)))
}

// supported weighs the likeness of the best stretch against the share of words that were said at all.
func supported(best, coverage float64) float64 {
	return min(max(0.7*best+0.3*coverage-0.25*(1-coverage), 0), 1)
}

// spansOf are the lines of a text, and their sentences of four characters or more; a full stop parts none.
func spansOf(said string) (spans []string) {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		spans = append(spans, line)
		for _, piece := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("。！？!?", r) }) {
			if piece = strings.TrimSpace(piece); piece != line && utf8.RuneCountInString(piece) >= 4 {
				spans = append(spans, piece)
			}
		}
	}
	return spans
}

// tokensOf are runs of letters and digits in lower case, and each Chinese character.
func tokensOf(s string) (tokens []string) {
	from := -1
	s = strings.ToLower(s)
	end := func(at int) {
		if from >= 0 {
			tokens = append(tokens, s[from:at])
			from = -1
		}
	}
	for i, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			end(i)
			tokens = append(tokens, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if from < 0 {
				from = i
			}
		default:
			end(i)
		}
	}
	end(len(s))
	return tokens
}

// alike is the F1 of the longest common subsequence of words.
func alike(a, b []string) float64 {
	row := make([]int, len(b)+1)
	for _, word := range a {
		diagonal := 0
		for j, other := range b {
			above := row[j+1]
			if word == other {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], above)
			}
			diagonal = above
		}
	}
	if len(a)+len(b) == 0 {
		return 0
	}
	return 2 * float64(row[len(b)]) / float64(len(a)+len(b))
}

// mostUtility is how much of the talk a model is shown to judge a draft's use.
const mostUtility = 3000

// utility asks the model how useful a draft is.
func (x *run) utility(ctx context.Context, c *candidate, said string) (float64, string, error) {
	var got struct {
		Utility *float64 `json:"utility"`
		Reason  string   `json:"reason"`
	}
	prompt := prompts.Utility(prompts.UtilityInput{Draft: statementOf(c.memory), Conversation: tailOf(said, mostUtility)})
	err := x.ask(ctx, c.draft.ConversationID, "admission-utility", prompt, func(answer string) error { return decode(answer, &got, "utility") })
	if err != nil {
		return 0, "", err
	}
	return min(max(*got.Utility, 0), 1), oneLine(got.Reason), nil
}

// row gives the admission as the columns of the table admissions, in their order.
func (a *Admission) row(draftID string) ([]driver.Value, error) {
	weights, err := json.Marshal(a.gate.Weights)
	if err != nil {
		return nil, err
	}
	decision := "admitted"
	if a.Rejected {
		decision = "rejected"
	}
	f := a.Features
	return []driver.Value{draftID, a.Preset, decision, duck.NullText(a.Hint), a.Score, a.gate.Reject, a.gate.Admit, f[setup.Utility], f[setup.Confidence], f[setup.Novelty],
		f[setup.Recency], f[setup.TypePrior], json.RawMessage(weights), a.Greatest, append([]string{}, a.Matched...), append([]string{}, a.Compared...),
		a.Reason, duck.NullText(a.UtilityReason), a.at}, nil
}

// AdmissionStatsRequest says whose drafts are counted.
type AdmissionStatsRequest struct {
	Agent  string // empty: an internal caller
	Scopes []string
}

// AdmissionCount is how many drafts were admitted and rejected.
type AdmissionCount struct {
	Admitted int `json:"admitted"`
	Rejected int `json:"rejected"`
}

func (c *AdmissionCount) add(rejected bool, n int) {
	if rejected {
		c.Rejected += n
	} else {
		c.Admitted += n
	}
}

// AdmissionStats counts what admission decided.
type AdmissionStats struct {
	All        AdmissionCount             `json:"all"`
	LastDay    AdmissionCount             `json:"last_24_hours"`
	LastWeek   AdmissionCount             `json:"last_7_days"`
	ByCategory map[string]*AdmissionCount `json:"by_category"`
	ByScope    map[string]*AdmissionCount `json:"by_scope"`
	// Reasons are the five most frequent ones of rejections, with # for their digits.
	Reasons []AdmissionReason `json:"reasons"`
}

// AdmissionReason is how often drafts were rejected for one reason.
type AdmissionReason struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// AdmissionStats counts what admission decided. Errors: ErrInvalid.
func (ex *Extractor) AdmissionStats(ctx context.Context, r AdmissionStatsRequest) (*AdmissionStats, error) {
	s := &AdmissionStats{ByCategory: map[string]*AdmissionCount{}, ByScope: map[string]*AdmissionCount{}, Reasons: []AdmissionReason{}}
	scopes, _ := ex.scopes.Now().ForReading(r.Agent, r.Scopes)
	now, reasons := ex.file.Now(), map[string]int{}
	err := ex.file.Read(ctx, "admission stats", func(c *duck.Conn) error {
		return c.Each(ctx, "extract_admissions", func(rows *sql.Rows) error {
			var rejected bool
			var category, scope, reason string
			var all, day, week int
			if err := rows.Scan(&rejected, &category, &scope, &reason, &all, &day, &week); err != nil {
				return err
			}
			s.All.add(rejected, all)
			s.LastDay.add(rejected, day)
			s.LastWeek.add(rejected, week)
			for name, counts := range map[string]map[string]*AdmissionCount{category: s.ByCategory, scope: s.ByScope} {
				if counts[name] == nil {
					counts[name] = &AdmissionCount{}
				}
				counts[name].add(rejected, all)
			}
			if rejected {
				reasons[reason] += all
			}
			return nil
		}, sql.Named("scopes", duck.ListArg(scopes)), sql.Named("day", now.Add(-24*time.Hour)), sql.Named("week", now.Add(-7*24*time.Hour)))
	})
	for reason, n := range reasons {
		s.Reasons = append(s.Reasons, AdmissionReason{reason, n})
	}
	slices.SortFunc(s.Reasons, func(a, b AdmissionReason) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Reason, b.Reason)) })
	s.Reasons = s.Reasons[:min(len(s.Reasons), 5)]
	return s, err
}
