package engine_test

import (
	"context"
	"io"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/scope"
)

// writeVerbs are the methods of an Engine that change its file, or write another.
var writeVerbs = map[string]bool{
	"Remember": true, "RememberMany": true, "Update": true, "Forget": true, "Purge": true, "Supersede": true, "Append": true,
	"Import": true, "ImportMessages": true, "RebuildIndex": true, "SetScopes": true, "SetWeights": true, "ResetWeights": true,
	"Snapshot": true,
}

// allVerbs calls every method that uses the file, which was stocked, and gives their errors by name.
func allVerbs(ctx context.Context, e *engine.Engine, out string) map[string]error {
	text, id := "something new", "mem_none"
	if all, err := e.List(ctx, engine.ListRequest{Standing: "current"}); err == nil && len(all) > 0 {
		id = all[0].ID
	}
	request := engine.RememberRequest{Text: text}
	errs := map[string]error{
		"SetScopes":    e.SetScopes(ctx, scope.Scopes{}),
		"SetWeights":   e.SetWeights(ctx, "own", engine.MemoryWeights()),
		"ResetWeights": e.ResetWeights(ctx, "own"),
		"Snapshot":     e.Snapshot(ctx, out),
	}
	_, errs["Remember"] = e.Remember(ctx, request)
	_, errs["RememberMany"] = e.RememberMany(ctx, []engine.RememberRequest{request})
	_, errs["UnusedScopes"] = e.UnusedScopes(ctx, []string{"global"})
	_, errs["Get"] = e.Get(ctx, engine.GetRequest{ID: id})
	_, errs["List"] = e.List(ctx, engine.ListRequest{})
	_, errs["Update"] = e.Update(ctx, engine.UpdateRequest{ID: id, Text: &text})
	_, errs["Supersede"] = e.Supersede(ctx, engine.SupersedeRequest{ID: id, By: request})
	_, errs["Forget"] = e.Forget(ctx, engine.ForgetRequest{ID: id})
	_, errs["Purge"] = e.Purge(ctx, engine.ForgetRequest{ID: id})
	_, errs["Append"] = e.Append(ctx, engine.AppendRequest{Conversation: "breakfast", Messages: []engine.Message{{Text: text}}})
	_, errs["Conversations"] = e.Conversations(ctx, "")
	_, errs["Messages"] = e.Messages(ctx, engine.MessagesRequest{Conversation: "breakfast"})
	_, errs["Describe"] = e.Describe(ctx, engine.DescribeRequest{ID: id})
	_, errs["Expand"] = e.Expand(ctx, engine.ExpandRequest{IDs: []string{"sum_none"}})
	_, errs["ExpandQuery"] = e.ExpandQuery(ctx, engine.ExpandQueryRequest{Prompt: text, Conversation: "breakfast"})
	_, errs["Grep"] = e.Grep(ctx, engine.GrepRequest{Pattern: text, AllConversations: true})
	_, errs["CreateGrant"] = e.CreateGrant(ctx, engine.GrantRequest{Conversations: []string{"breakfast"}})
	_, errs["Recall"] = e.Recall(ctx, engine.RecallQuery{Text: text})
	_, errs["WeightSets"] = e.WeightSets(ctx)
	_, errs["Language"] = e.Language(ctx)
	_, errs["Check"] = e.Check(ctx)
	_, errs["Stats"] = e.Stats(ctx)
	_, errs["Export"] = e.Export(ctx, io.Discard, engine.ExportRequest{})
	_, errs["Import"] = e.Import(ctx, strings.NewReader(`{"text":"imported"}`), engine.ImportRequest{})
	_, errs["ImportMessages"] = e.ImportMessages(ctx, strings.NewReader(`{"conversation":"c","text":"imported"}`), engine.ImportRequest{})
	_, errs["RebuildIndex"] = e.RebuildIndex(ctx, engine.RebuildRequest{})
	_, errs["Query"] = e.Query(ctx, "SELECT 1", 0)
	return errs
}
