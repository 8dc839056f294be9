package recall_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// cranes is a talk of two sessions of six messages each, in which the odd ones speak of cranes, and a leaf for the first three messages. It gives
// the ids of the messages and that of the leaf.
func cranes(t *testing.T, e *engine.Engine) (ids []string, leaf string) {
	t.Helper()
	var messages []conversation.Message
	for i := range 12 {
		m := conversation.Message{Text: fmt.Sprintf("nothing of note at %d", i), Session: "s" + fmt.Sprint(i/6), SaidAt: enginetest.Noon.Add(time.Duration(i) * time.Minute)}
		if i%2 == 0 {
			m.Text = fmt.Sprintf("the crane number %d", i)
		}
		messages = append(messages, m)
	}
	ids = enginetest.Append(t, e, conversation.AppendRequest{Conversation: "dock", Messages: messages}).IDs
	made, err := enginetest.AddSummaries(t.Context(), e, "dock", func([]string) enginetest.Made {
		return enginetest.Made{Text: "Cranes were counted.", Tokens: 5, Sources: ids[:3]}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, made[0]
}

func TestLift(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	ids, leaf := cranes(t, e)
	lifted := func(q recall.Query) []recall.Hit {
		t.Helper()
		q.Text, q.Weights = "crane", enginetest.PlainWeights()
		if q.Kinds == nil {
			q.Kinds = onlyMessages
		}
		result, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range result.Hits {
			if i > 0 && h.Score > result.Hits[i-1].Score || h.Lifted != nil && h.Kind == kinds.Message && h.Lifted.From[0] != (recall.LiftedFrom{ID: h.ID, Seq: h.Seq, Score: h.Score}) {
				t.Errorf("hit %d: %+v", i, h)
			}
		}
		return result.Hits
	}
	from := func(h recall.Hit) map[string]bool {
		all := map[string]bool{}
		if h.Lifted != nil {
			for _, f := range h.Lifted.From {
				all[f.ID] = true
			}
		}
		return all
	}
	if hits := lifted(recall.Query{}); len(hits) != 6 || hits[0].Lifted != nil {
		t.Errorf("without a lift: %+v", hits)
	}

	sessions := lifted(recall.Query{Lift: recall.LiftToSession})
	if len(sessions) != 2 {
		t.Fatalf("%d sessions: %+v", len(sessions), sessions)
	}
	for _, h := range sessions {
		first := (h.Seq-1)/6*6 + 1
		want := map[string]bool{ids[first-1]: true, ids[first+1]: true, ids[first+3]: true}
		if diff := cmp.Diff(want, from(h)); diff != "" || h.Lifted.FirstSeq != first || h.Lifted.LastSeq != first+5 || h.Lifted.To != recall.LiftToSession {
			t.Errorf("session of %d: %+v (-want +got):\n%s", h.Seq, h.Lifted, diff)
		}
	}
	if one := lifted(recall.Query{Lift: recall.LiftToSession, Limit: 1}); len(one) != 1 || one[0].ID != sessions[0].ID {
		t.Errorf("limit 1: %+v", one)
	}

	for _, among := range [][]kinds.Kind{onlyMessages, {kinds.Message, kinds.Summary}} {
		hits := lifted(recall.Query{Lift: recall.LiftToSummary, Kinds: among, Limit: 100})
		summaries := 0
		for _, h := range hits {
			if h.Kind != kinds.Summary {
				if h.Lifted != nil || h.ID == ids[0] || h.ID == ids[2] {
					t.Errorf("message %s: %+v", h.ID, h.Lifted)
				}
				continue
			}
			summaries++
			if diff := cmp.Diff(map[string]bool{ids[0]: true, ids[2]: true}, from(h)); diff != "" || h.ID != leaf || h.Text != "Cranes were counted." || h.Lifted.LastSeq != 3 {
				t.Errorf("kinds %v: %+v %+v (-want +got):\n%s", among, h, h.Lifted, diff)
			}
		}
		if summaries != 1 || len(hits) != 5 {
			t.Errorf("kinds %v: %d hits, %d summaries", among, len(hits), summaries)
		}
	}
	for _, q := range []recall.Query{
		{Lift: "tower", Kinds: onlyMessages}, {Lift: recall.LiftToSession}, {Lift: recall.LiftToSession, Kinds: onlyMessages, Explain: true},
		{Lift: recall.LiftToSummary, Kinds: onlyMessages, WhyNot: ids[0]}, {Lift: recall.LiftToSummary, Kinds: onlyMessages, Limit: 1001},
	} {
		q.Text = "crane"
		if _, err := e.Recall(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v: want ErrInvalid", q, err)
		}
	}
}

// TestRecallOfSummaries: a summary is found like any document, and tells which messages it stands for.
func TestRecallOfSummaries(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	_, leaf := cranes(t, e)
	result, err := e.Recall(t.Context(), recall.Query{Text: "Which cranes were counted?", Kinds: []kinds.Kind{kinds.Summary}, Explain: true})
	if err != nil || len(result.Hits) != 1 || result.Hits[0].ID != leaf || result.Hits[0].Text != "Cranes were counted." || result.Hits[0].Seq != 1 {
		t.Fatalf("%+v, %v", result.Hits, err)
	}
	if result.Hits[0].Explanation == nil {
		t.Error("no explanation")
	}
	missed, err := e.Recall(t.Context(), recall.Query{Text: "crane", WhyNot: leaf})
	if err != nil || missed.WhyNot == nil || !cmp.Equal(missed.WhyNot.Filters, []string{"kind"}) {
		t.Errorf("%+v, %v: want that its kind was not asked", missed.WhyNot, err)
	}
	if _, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: leaf, Text: "Cranes of proj:quay."}); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]int{"proj:Quay": 1, "proj:dock": 0} {
		if got := enginetest.RecallIDs(t, e, recall.Query{Text: tag + " cranes", Kinds: []kinds.Kind{kinds.Summary}}); len(got) != want {
			t.Errorf("%s: %d summaries, want %d", tag, len(got), want)
		}
	}
}
