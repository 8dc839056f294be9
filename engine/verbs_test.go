package engine_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// writeVerbs are the methods of an Engine that change its file, or write another.
var writeVerbs = map[string]bool{
	"Remember": true, "RememberMany": true, "Update": true, "Forget": true, "Purge": true, "Supersede": true, "Append": true,
	"Import": true, "ImportMessages": true, "RebuildIndex": true, "SetScopes": true, "SetWeights": true, "ResetWeights": true,
	"Snapshot": true, "Extract": true, "ForgetNotes": true, "AddModel": true, "UseModel": true, "DropModel": true,
}

// allVerbs calls every method that uses the file, which was stocked, and gives their errors by name.
func allVerbs(ctx context.Context, e *engine.Engine, out string) map[string]error {
	text, id := "something new", "mem_none"
	if all, err := e.List(ctx, memory.ListRequest{Standing: "current"}); err == nil && len(all) > 0 {
		id = all[0].ID
	}
	request := memory.RememberRequest{Text: text}
	errs := map[string]error{
		"SetScopes":    e.SetScopes(ctx, scope.Scopes{}),
		"SetWeights":   e.SetWeights(ctx, "own", recall.MemoryWeights()),
		"ResetWeights": e.ResetWeights(ctx, "own"),
		"Snapshot":     e.Snapshot(ctx, out),
	}
	_, errs["Remember"] = e.Remember(ctx, request)
	_, errs["RememberMany"] = e.RememberMany(ctx, []memory.RememberRequest{request})
	_, errs["UnusedScopes"] = e.UnusedScopes(ctx, []string{"global"})
	_, errs["Get"] = e.Get(ctx, memory.GetRequest{ID: id})
	_, errs["List"] = e.List(ctx, memory.ListRequest{})
	_, errs["Update"] = e.Update(ctx, memory.UpdateRequest{ID: id, Text: &text})
	_, errs["Supersede"] = e.Supersede(ctx, memory.SupersedeRequest{ID: id, By: request})
	_, errs["Forget"] = e.Forget(ctx, memory.ForgetRequest{ID: id})
	_, errs["Purge"] = e.Purge(ctx, memory.PurgeRequest{ID: id})
	_, errs["Append"] = e.Append(ctx, conversation.AppendRequest{Conversation: "breakfast", Messages: []conversation.Message{{Text: text}}})
	_, errs["Conversations"] = e.Conversations(ctx, "")
	_, errs["Messages"] = e.Messages(ctx, conversation.MessagesRequest{Conversation: "breakfast"})
	_, errs["Describe"] = e.Describe(ctx, lookup.DescribeRequest{ID: id})
	_, errs["Expand"] = e.Expand(ctx, lookup.ExpandRequest{IDs: []string{"sum_none"}})
	_, errs["ExpandQuery"] = e.ExpandQuery(ctx, lookup.ExpandQueryRequest{Prompt: text, Conversation: "breakfast"})
	_, errs["Search"] = e.Search(ctx, lookup.SearchRequest{Text: text})
	_, errs["Gaps"] = e.Gaps(ctx, lookup.GapsRequest{})
	_, errs["Tally"] = e.Tally(ctx, lookup.TallyRequest{})
	_, errs["SyncNotes"] = e.SyncNotes(ctx, note.SyncRequest{Folder: filepath.Dir(out)})
	_, errs["NoteFiles"] = e.NoteFiles(ctx, note.FilesRequest{})
	_, errs["ForgetNotes"] = e.ForgetNotes(ctx, note.ForgetRequest{Path: "MEMORY.md"})
	_, errs["Related"] = e.Related(ctx, memory.RelatedRequest{ID: id})
	_, errs["Grep"] = e.Grep(ctx, lookup.GrepRequest{Pattern: text, AllConversations: true})
	_, errs["CreateGrant"] = e.CreateGrant(ctx, lookup.GrantRequest{Conversations: []string{"breakfast"}})
	_, errs["Recall"] = e.Recall(ctx, recall.Query{Text: text})
	_, errs["WeightSets"] = e.WeightSets(ctx)
	_, errs["Language"] = e.Language(ctx)
	_, errs["Check"] = e.Check(ctx)
	_, errs["Stats"] = e.Stats(ctx)
	_, errs["Export"] = e.Export(ctx, io.Discard, memory.ExportRequest{})
	_, errs["Import"] = e.Import(ctx, strings.NewReader(`{"text":"imported"}`), interchange.ImportRequest{})
	_, errs["ImportMessages"] = e.ImportMessages(ctx, strings.NewReader(`{"conversation":"c","text":"imported"}`), interchange.ImportRequest{})
	_, errs["AddModel"] = e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Words{N: 8}})
	_, errs["Models"] = e.Models(ctx)
	_, errs["EmbedMissing"] = e.EmbedMissing(ctx)
	_, errs["UseModel"] = e.UseModel(ctx, index.UseModelRequest{Model: "1"})
	_, errs["DropModel"] = e.DropModel(ctx, index.DropModelRequest{Model: "2"})
	_, errs["RebuildIndex"] = e.RebuildIndex(ctx, index.RebuildRequest{})
	_, errs["Extract"] = e.Extract(ctx, extract.Request{Text: "My favorite editor is Zed."})
	_, errs["Drafts"] = e.Drafts(ctx, extract.DraftsRequest{})
	_, errs["Query"] = e.Query(ctx, "SELECT 1", 0)
	return errs
}
