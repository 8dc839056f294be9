package recall_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// demoQuestion is a line of questions.jsonl.
type demoQuestion struct {
	Question     string       `json:"question"`
	Kinds        []kinds.Kind `json:"kinds"`
	Scope        string       `json:"scope"`
	Conversation string       `json:"conversation"`
	Gold         []string     `json:"gold"` // ids of memories, or conversation#seq
}

func demoQuestions(t *testing.T) (all []demoQuestion) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(enginetest.DemoFiles(t), "questions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		var q demoQuestion
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil || len(q.Gold) == 0 || len(q.Kinds) != 1 {
			t.Fatalf("%s: %+v, %v", lines.Text(), q, err)
		}
		all = append(all, q)
	}
	if len(all) == 0 {
		t.Fatal("no questions")
	}
	return all
}

// demoRanks asks a question and gives the rank of each gold document, 0 where it is not among the first 20.
func demoRanks(t *testing.T, e *engine.Engine, q demoQuestion, conversations map[string]string) []int {
	t.Helper()
	query := recall.Query{Text: q.Question, Kinds: q.Kinds, Limit: 20}
	if q.Scope != "" {
		query.Scopes = []string{q.Scope}
	}
	if q.Conversation != "" {
		query.Conversations = []string{q.Conversation}
	}
	result, err := e.Recall(t.Context(), query)
	if err != nil {
		t.Fatalf("%q: %v", q.Question, err)
	}
	var found []string
	for _, h := range result.Hits {
		if h.Kind == kinds.Message {
			h.ID = fmt.Sprintf("%s#%d", conversations[h.ConversationID], h.Seq)
		}
		found = append(found, h.ID)
	}
	ranks := make([]int, len(q.Gold))
	for i, gold := range q.Gold {
		ranks[i] = slices.Index(found, gold) + 1
	}
	return ranks
}

// rankingTable writes what a model makes of all questions: quality by kind, and every rank.
func rankingTable(t *testing.T, title string, model setup.Embedder, questions []demoQuestion) string {
	t.Helper()
	e := enginetest.OpenDemo(t, model)
	all, err := e.Conversations(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	conversations := map[string]string{}
	for _, c := range all {
		conversations[c.ID] = c.Name
	}
	var lines strings.Builder
	ranks := map[kinds.Kind][][]int{}
	for _, q := range questions {
		r := demoRanks(t, e, q, conversations)
		ranks[q.Kinds[0]] = append(ranks[q.Kinds[0]], r)
		fmt.Fprintf(&lines, "%-7s %-8s %s\n", q.Kinds[0], strings.ReplaceAll(strings.Trim(fmt.Sprint(r), "[]"), " ", ","), q.Question)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	for _, kind := range []kinds.Kind{kinds.Memory, kinds.Message} {
		fmt.Fprintf(&b, "%-7s %s\n", kind, quality(ranks[kind]))
	}
	return b.String() + "\n" + lines.String()
}

// quality sums up ranks: the share of gold within the first 1, 5 and 10, and the mean of one over the best rank.
func quality(ranks [][]int) string {
	within := map[int]float64{}
	reciprocal := 0.0
	for _, gold := range ranks {
		best := 0.0
		for _, r := range gold {
			for _, k := range []int{1, 5, 10} {
				if r > 0 && r <= k {
					within[k] += 1 / float64(len(gold))
				}
			}
			if r > 0 {
				best = max(best, 1/float64(r))
			}
		}
		reciprocal += best
	}
	n := float64(max(len(ranks), 1))
	return fmt.Sprintf("%d questions  recall@1 %.3f  @5 %.3f  @10 %.3f  MRR %.3f", len(ranks), within[1]/n, within[5]/n, within[10]/n, reciprocal/n)
}

// TestRanking compares the ranks of the demo history's answers with those of the last change that was meant. After another one,
// run it with -update and review the difference.
func TestRanking(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	questions := demoQuestions(t)
	got := "Ranks of the answers to the questions of testdata/demo; 0 is not among the first 20.\n\n" +
		rankingTable(t, "built-in model, default weights", static.New(), questions) + "\n" +
		rankingTable(t, "words only, default weights", nil, questions)
	golden.Check(t, filepath.Join("testdata", "ranking.golden"), got)
}
