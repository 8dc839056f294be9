package engine_test

import (
	"context"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestFirst(t *testing.T) {
	ctx := context.Background()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	r, err := e.Remember(ctx, engine.RememberRequest{Text: "Ines prefers green tea in the morning", Category: engine.Preference})
	if err != nil {
		t.Fatal(err)
	}
	e.Remember(ctx, engine.RememberRequest{Text: "The harbour crane HB-412 was repaired in May", Category: engine.Event})
	if _, err := e.Append(ctx, engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Speaker: "Ines", Text: "I love tea"}, {Role: "assistant", Text: "Noted!"}}}); err != nil {
		t.Fatal(err)
	}
	res, err := e.Recall(ctx, engine.RecallQuery{Text: "what tea does Ines like?", Explain: true})
	t.Logf("%+v %v", res, err)
	if err != nil || len(res.Hits) == 0 || res.Hits[0].ID != r.ID {
		t.Fatal("not found")
	}
	res, err = e.Recall(ctx, engine.RecallQuery{Text: "what tea does Ines like?", Kinds: []engine.Kind{engine.MessageKind}})
	t.Logf("%+v %v", res, err)
	if _, err := e.Supersede(ctx, engine.SupersedeRequest{ID: r.ID, By: engine.RememberRequest{Text: "Ines prefers coffee now"}}); err != nil {
		t.Fatal(err)
	}
	text := "tea is what Ines loved"
	if _, err := e.Update(ctx, engine.UpdateRequest{ID: r.ID, Text: &text}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Forget(ctx, engine.ForgetRequest{ID: r.ID[len(r.ID)-8:], Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	l, err := e.List(ctx, engine.ListRequest{Standing: "any"})
	t.Log(len(l), err)
	if _, err := e.Purge(ctx, engine.ForgetRequest{ID: r.ID}); err != nil {
		t.Fatal(err)
	}
}
