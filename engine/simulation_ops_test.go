package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
)

// assemble shows the context within some budget.
func (s *simulation) assemble(d *simulated) {
	r := assemble.Request{Conversation: d.named(), Budget: 30 << s.rng.IntN(8)}
	if s.rng.IntN(4) == 0 {
		r.PromptAware, r.Prompt = true, s.words(4)
	}
	a, err := s.engine.Assemble(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	d.see(s.t, s.engine)
	d.shown(s.t, a)
}

// summaryIn gives a summary of the context, if it has one.
func (s *simulation) summaryIn(d *simulated) (at int, ok bool) {
	var all []int
	for i, item := range d.context {
		if item.Kind == kinds.Summary {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[s.rng.IntN(len(all))], true
}

// expand walks down from a summary, as far as some tokens last; what comes is the beginning of all that there is.
func (s *simulation) expand(d *simulated) {
	d.see(s.t, s.engine)
	at, ok := s.summaryIn(d)
	if !ok {
		return
	}
	r := lookup.ExpandRequest{IDs: []string{d.context[at].Ref}, Depth: 1 + s.rng.IntN(10), Messages: s.rng.IntN(2) == 0, TokenCap: 1 << 30}
	whole, err := s.engine.Expand(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	r.TokenCap = 1 + s.rng.IntN(2000)
	part, err := s.engine.Expand(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	if part.Tokens > r.TokenCap || part.Truncated != (part.Tokens < whole.Tokens || len(part.Items) < len(whole.Items)) {
		s.t.Fatalf("%+v: %d of %d tokens, truncated %v", r, part.Tokens, whole.Tokens, part.Truncated)
	}
	for i, item := range part.Items {
		if item.ID != whole.Items[i].ID {
			s.t.Fatalf("%+v: item %d is %s, and %s without a cap", r, i, item.ID, whole.Items[i].ID)
		}
	}
}

// rewrite gives a summary another text, by hand or by the model; everything else stays where it is.
func (s *simulation) rewrite(d *simulated) {
	d.see(s.t, s.engine)
	at, ok := s.summaryIn(d)
	if !ok {
		return
	}
	r := compact.RewriteRequest{ID: d.context[at].Ref}
	if s.rng.IntN(2) == 0 {
		r.Text = s.words(1 + s.rng.IntN(9))
	}
	before := d.context[at].Text
	written, err := s.engine.RewriteSummary(s.t.Context(), r)
	if err != nil && !errors.Is(err, engine.ErrInvalid) {
		s.survived(err, s.t.Context())
	}
	d.see(s.t, s.engine)
	want := before
	if err == nil {
		want = written.Text
	}
	enginetest.Equal(s.t, "text of the summary", want, d.context[at].Text)
}

// dissolve puts the sources of a summary back.
func (s *simulation) dissolve(d *simulated) {
	d.see(s.t, s.engine)
	at, ok := s.summaryIn(d)
	if !ok {
		return
	}
	var back []compact.ContextItem
	for _, row := range enginetest.Rows(s.t, s.engine, fmt.Sprintf(`SELECT coalesce(m.seq, s.first_seq)::BIGINT, f.source FROM summary_sources AS f
		LEFT JOIN messages AS m ON m.id = f.source LEFT JOIN summaries AS s ON s.id = f.source
		WHERE f.summary_id = '%s' ORDER BY f.ordinal`, d.context[at].Ref)) {
		back = append(back, compact.ContextItem{Position: int(row[0].(int64)), Ref: row[1].(string)})
	}
	if _, err := s.engine.DissolveSummary(s.t.Context(), compact.DissolveRequest{ID: d.context[at].Ref}); err != nil {
		s.t.Fatal(err)
	}
	d.context = slices.Replace(slices.Clone(d.context), at, at+1, back...)
	d.see(s.t, s.engine)
}

// adopt puts a host's summary in the place of all that comes before one of the messages.
func (s *simulation) adopt(d *simulated) {
	d.see(s.t, s.engine)
	var kept []int
	for i, item := range d.context {
		if item.Kind == kinds.Message && d.said[item.Position-1].Key != "" {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 || d.past {
		return
	}
	at := kept[s.rng.IntN(len(kept))]
	s.keys++
	r := compact.AdoptRequest{Conversation: d.named(), Key: fmt.Sprint("host ", s.keys), Text: s.words(12), FirstKept: d.said[d.context[at].Position-1].Key}
	made, changed, err := s.engine.AdoptSummary(s.t.Context(), r)
	if err != nil || changed != (at > 0) {
		s.t.Fatalf("adopt before item %d: %v, %v", at, changed, err)
	}
	if changed {
		first := compact.ContextItem{Position: d.context[0].Position, Kind: kinds.Summary, Ref: made.ID}
		d.context = append([]compact.ContextItem{first}, d.context[at:]...)
	}
	d.see(s.t, s.engine)
	if again, changed, err := s.engine.AdoptSummary(s.t.Context(), r); err != nil || changed || made.ID != "" && again.ID != made.ID {
		s.t.Fatalf("adopt again: %+v, %v, %v", again, changed, err)
	}
}

// retry makes summaries anew that were made without the model.
func (s *simulation) retry(d *simulated) {
	result, err := s.engine.RetryFallbacks(s.t.Context(), compact.RetryRequest{Conversation: d.named()})
	s.survived(err, s.t.Context())
	left := enginetest.Rows(s.t, s.engine, fmt.Sprintf("SELECT id FROM summaries WHERE fallback AND conversation_id = '%s'", d.id))
	if result.Left != len(left) || slices.ContainsFunc(left, func(row []any) bool { return slices.Contains(result.Rewritten, row[0].(string)) }) {
		s.t.Fatalf("%+v, where %v are fallbacks", result, left)
	}
	d.see(s.t, s.engine)
}

// reopen closes the file and opens it again.
func (s *simulation) reopen(*simulated) {
	enginetest.CloseFile(s.t, s.engine)
	s.open()
	s.compare()
}

// crash goes on with what a process that is killed now would leave: the file and its log as they are on disk.
func (s *simulation) crash(*simulated) {
	s.did["crashes"]++
	next := filepath.Join(s.folder, fmt.Sprint(s.did["crashes"], ".db"))
	for _, ending := range []string{"", ".wal"} {
		content, err := os.ReadFile(s.path + ending)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(next+ending, content, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	enginetest.CloseFile(s.t, s.engine)
	if err := os.Remove(s.path); err != nil {
		s.t.Fatal(err)
	}
	s.path = next
	s.open()
	s.compare()
}

// compare looks at every context after the file was opened again: texts and tokens are what they were, too.
func (s *simulation) compare() {
	for _, d := range s.all {
		before := d.context
		d.see(s.t, s.engine)
		for i := range before {
			if before[i].Text != "" && before[i] != d.context[i] {
				s.t.Fatalf("%s: %+v became %+v", d.name, before[i], d.context[i])
			}
		}
	}
}
