package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func Example() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()}) // or a file such as "agent.db"
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, text := range []string{"Ines is allergic to penicillin.", "Teo repairs bicycles.", "The ferry leaves at noon."} {
		if _, err := e.Remember(ctx, memory.RememberRequest{Text: text, Scope: "user:ines"}); err != nil {
			log.Fatal(err)
		}
	}
	result, err := e.Recall(ctx, recall.Query{Text: "Which medicine is bad for Ines?", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range result.Hits {
		fmt.Println(hit.Scope, hit.Text)
	}
	// Output: user:ines Ines is allergic to penicillin.
}

func ExampleEngine_Remember() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for range 2 { // the key makes the second write harmless
		r, err := e.Remember(ctx, memory.RememberRequest{
			Text:     "Editor: Ines writes Go in Helix",
			Category: memory.Preference,
			Agent:    "scout",
			Key:      "profile/editor",
		})
		if err != nil {
			log.Fatal(err)
		}
		m, err := e.Get(ctx, memory.GetRequest{ID: r.ID})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Created, m.Scope, m.Tier, m.FactKey)
	}
	// Output:
	// true agent:scout working preferences:editor
	// false agent:scout working preferences:editor
}

// Without a model recall goes by words, and the result says so.
func ExampleEngine_Recall_wordsOnly() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	e.RememberMany(ctx, []memory.RememberRequest{{Text: "Ticket DB-42: the login fails on Mondays"}, {Text: "Ticket DB-43: the clock drifts"}})
	result, err := e.Recall(ctx, recall.Query{Text: "what was db-42 about?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Mode, result.Hits[0].Text)
	// Output: lexical Ticket DB-42: the login fails on Mondays
}

// Explain keeps every document that was considered, with its signals and what became of it.
func ExampleEngine_Recall_explain() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	e.RememberMany(ctx, []memory.RememberRequest{
		{ID: "tea", Text: "Ines drinks green tea"},
		{ID: "visit", Text: "Tea was served during the visit", ValidUntil: time.Now().Add(-time.Hour)},
		{ID: "crane", Text: "The crane was painted blue"},
	})
	result, err := e.Recall(ctx, recall.Query{Text: "tea", Explain: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Candidates {
		fmt.Printf("%-5s words %-5v dropped %q\n", c.ID, c.Raw != nil, c.Dropped)
	}
	for _, d := range result.Trace.Drops {
		fmt.Println(d.Stage, "dropped", d.Dropped, "of", d.Before)
	}
	// Output:
	// tea   words true  dropped ""
	// visit words true  dropped "expired"
	// crane words false dropped "chance"
	// chance dropped 1 of 3
	// expired dropped 1 of 2
}

func ExampleEngine_Append() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	_, err = e.Append(ctx, conversation.AppendRequest{Conversation: "planning", Messages: []conversation.Message{
		{Role: "user", Speaker: "Ines", Text: "The pilots asked for a later boarding."},
		{Role: "assistant", Speaker: "Scout", Text: "Then berth seven stays free until nine."},
		{Role: "user", Speaker: "Ines", Text: "Thanks, see you tomorrow."},
	}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := e.Recall(ctx, recall.Query{
		Text:          "Until when is the berth free?",
		Kinds:         []kinds.Kind{kinds.Message},
		Conversations: []string{"planning"},
		Limit:         1,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range result.Hits {
		fmt.Printf("%d %s: %s\n", hit.Seq, hit.Speaker, hit.Text)
	}
	// Output: 2 Scout: Then berth seven stays free until nine.
}

// A newer memory takes the place of an older one, which can still be recalled as of its time.
func ExampleEngine_Supersede() {
	ctx := context.Background()
	may := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	june := may.AddDate(0, 1, 0)
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	old, err := e.Remember(ctx, memory.RememberRequest{Text: "Ines drinks espresso in the morning", CreatedAt: may})
	if err != nil {
		log.Fatal(err)
	}
	_, err = e.Supersede(ctx, memory.SupersedeRequest{
		ID: old.ID,
		By: memory.RememberRequest{Text: "Ines drinks barley coffee in the morning", ValidFrom: june},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, at := range []time.Time{june, june.AddDate(0, 0, -1)} {
		result, err := e.Recall(ctx, recall.Query{Text: "What does Ines drink in the morning?", AsOf: at})
		if err != nil {
			log.Fatal(err)
		}
		for _, hit := range result.Hits {
			fmt.Println(at.Format("2 January"), hit.Text)
		}
	}
	// Output:
	// 1 June Ines drinks barley coffee in the morning
	// 31 May Ines drinks espresso in the morning
}

// Explain also says of every hit why it is one, and WhyNot what kept another document out.
func ExampleEngine_Recall_whyNot() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	e.RememberMany(ctx, []memory.RememberRequest{
		{ID: "tea", Text: "Ines drinks green tea", Scope: "user:ines"},
		{ID: "pot", Text: "The tea pot is cracked", Scope: "project:kitchen"},
	})
	result, err := e.Recall(ctx, recall.Query{Text: "green tea", Scopes: []string{"user:ines"}, Explain: true, WhyNot: "pot"})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range result.Hits[0].Explanation.Words {
		fmt.Printf("%s: in %d of %d\n", word.Word, word.Documents, word.Of)
	}
	for _, share := range result.Hits[0].Explanation.Shares {
		fmt.Printf("%-7s brings at most %.1f\n", share.Name, share.Weight)
	}
	fmt.Println(result.WhyNot.Stage, "–", result.WhyNot.Reason)
	// Output:
	// green: in 1 of 1
	// tea: in 1 of 1
	// vector  brings at most 0.7
	// lexical brings at most 0.3
	// date    brings at most 0.1
	// filter – Its scope project:kitchen was not asked, only user:ines.
}
