package conversation_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/standin"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// largeAtTwenty makes everything of 20 tokens or more a large file.
var largeAtTwenty = engine.Options{Conversation: setup.Conversation{LargeFileTokens: 20}}

func TestLargeContentsAreKeptApart(t *testing.T) {
	enginetest.Alone(t)
	body := strings.Repeat("word\n", 40)
	brief := "a few words"
	for _, test := range []struct {
		name    string
		message conversation.Message
		files   []conversation.LargeFile
		shows   string // the text or output that stands in the message; %s: reference to the first file
		output  bool   // it is the output of the last block
		file    bool   // it is the text of the first block
		raw     bool   // what the user wrote, tags and all, is kept beside
		says    string // in the summary of the file
	}{
		{name: "T1 a file in a user's text", message: conversation.Message{Text: `see <file name="notes.md" mime="text/markdown">` + body + `</file> please`},
			files: []conversation.LargeFile{{Name: "notes.md", MIME: "text/markdown", Bytes: 200, Lines: 40}}, shows: "see %s please", raw: true, says: "40 words, 41 lines"},
		{name: "T1 as a block, with quotes of every sort", message: conversation.Message{Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "<FILE\nMIME=text/x-go name='a > b.go'>" + body + "</File>\n<file name=c.txt>" + brief + "</file>"}}},
			files: []conversation.LargeFile{{Name: "a > b.go", MIME: "text/x-go", Bytes: 200, Lines: 40}}, shows: "%s\n<file name=c.txt>" + brief + "</file>", raw: true},
		{name: "a file that came as text, with another in it", message: conversation.Message{Blocks: []conversation.Block{{Type: conversation.FileBlock, FileName: "a", MIME: "application/json", Text: `["<file>` + strings.Repeat("x", 183) + `</file>"]`}}},
			files: []conversation.LargeFile{{Name: "a", MIME: "application/json", Bytes: 200, Lines: 1}}, shows: "%s", file: true, says: "JSON, array"},
		{name: "a small file", message: conversation.Message{Text: "see <file>" + brief + "</file>"}, shows: "see <file>" + brief + "</file>"},
		{name: "a file in an assistant's text", message: conversation.Message{Role: "assistant", Text: "<file name='a'>" + body + "</file>"},
			files: []conversation.LargeFile{{Name: "message.txt", MIME: "text/plain", Bytes: 222, Lines: 41}}, shows: "%s"},
		{name: "U1 what a tool gave", message: conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "read", Output: body, IsError: true}}},
			files: []conversation.LargeFile{{Name: "read.txt", MIME: "text/plain", Bytes: 200, Lines: 40}}, shows: "%s", output: true},
		{name: "U2 the same as plain text", message: conversation.Message{Role: "tool", Text: body},
			files: []conversation.LargeFile{{Name: "tool.txt", MIME: "text/plain", Bytes: 200, Lines: 40}}, shows: "%s"},
		{name: "the same as a block of text", message: conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1"}, {Type: conversation.TextBlock, Text: body}}},
			files: []conversation.LargeFile{{Name: "tool.txt", MIME: "text/plain", Bytes: 200, Lines: 40}}, shows: "%s"},
		{name: "what the describing tool gave", message: conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Tool: "mallard_describe", Output: body}}},
			shows: body, output: true},
		{name: "a user's own words", message: conversation.Message{Text: body}, files: []conversation.LargeFile{{Name: "message.txt", MIME: "text/plain", Bytes: 200, Lines: 40}}, shows: "%s"},
		{name: "a text beside a call", message: conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: body}, {Type: conversation.ToolCallBlock, CallID: "t"}}}, shows: body},
		{name: "a text beside a thought", message: conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: body}, {Type: conversation.TextBlock, Text: body}}}, shows: body},
		{name: "just below", message: conversation.Message{Text: strings.Repeat("x", 76)}, shows: strings.Repeat("x", 76)},
		{name: "just enough", message: conversation.Message{Text: strings.Repeat("x", 77)}, files: []conversation.LargeFile{{Name: "message.txt", MIME: "text/plain", Bytes: 77, Lines: 1}}, shows: "%s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, largeAtTwenty)
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{test.message}})
			files, contents := enginetest.LargeFiles(t, e, "c")
			var got []conversation.LargeFile
			for i, f := range files {
				got = append(got, *f)
				if f.Bytes == 200 && contents[i] != body && !test.file {
					t.Errorf("%s holds %q", f.ID, contents[i])
				}
			}
			if diff := cmp.Diff(test.files, got, cmpopts.IgnoreFields(conversation.LargeFile{}, "ID", "ConversationID", "MessageID", "SHA256", "Summary", "CreatedAt")); diff != "" {
				t.Fatalf("files (-want +got):\n%s", diff)
			}
			m := enginetest.Messages(t, e, "c")[0]
			shown, want := m.Text, test.shows
			if test.output {
				shown = m.Blocks[len(m.Blocks)-1].Output
			}
			if test.file {
				shown = m.Blocks[0].Text
			}
			if len(files) > 0 {
				f, reference := files[0], ""
				if m.Role == "tool" {
					tool := ""
					if test.output {
						tool = "read"
					}
					reference = standin.ToolReference(f.ID, tool, f.Bytes, f.Summary, "Read it with describe "+f.ID+".")
				} else {
					reference = standin.FileReference(f.ID, f.Name, f.MIME, f.Bytes, f.Summary)
				}
				want = fmt.Sprintf(test.shows, reference)
				if f.MessageID != m.ID || f.ConversationID != m.ConversationID || len(f.SHA256) != 64 || f.Summary == "" || !strings.Contains(f.Summary, test.says) {
					t.Errorf("%+v", f)
				}
			}
			if shown != want {
				t.Errorf("the message shows\n%s\nwant\n%s", shown, want)
			}
			if test.raw {
				all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c", Raw: true})
				if err != nil {
					t.Fatal(err)
				}
				was, raw := test.message.Text, all[0].Raw
				if len(test.message.Blocks) > 0 {
					was, raw = test.message.Blocks[0].Text, all[0].Blocks[0].Raw
				}
				if string(raw) != was {
					t.Errorf("of the tags is left %q", raw)
				}
			}
			for i, b := range test.message.Blocks {
				got := m.Blocks[i]
				if len(files) > 0 && b.Type == conversation.ToolResultBlock && b.Output != "" && got.FileID != files[0].ID || got.CallID != b.CallID || got.Tool != b.Tool || got.IsError != b.IsError {
					t.Errorf("block %d: %+v", i, got)
				}
			}
			if estimator := (text.Estimator{}); m.Tokens != estimator.Tokens(shown) && len(m.Blocks) < 2 {
				t.Errorf("%d tokens, want those of what is shown", m.Tokens)
			}
		})
	}
}

func TestFilesThatCameAsBytes(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	picture, page := []byte("\x89PNG\r\n\x1a\n\xff\x00"), []byte("a,b\n1,2\n")
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Blocks: []conversation.Block{
		{Type: conversation.ImageBlock, MIME: "image/png", Data: picture}, {Type: conversation.FileBlock, FileName: "heron.csv", Data: page, FileID: "file_mine"},
		{Type: conversation.ImageBlock, Text: "https://example.org/a.png"}}}}})
	files, contents := enginetest.LargeFiles(t, e, "c")
	if diff := cmp.Diff([]string{string(picture), string(page)}, contents); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	m := enginetest.Messages(t, e, "c")[0]
	for i, f := range files {
		if b := m.Blocks[i]; b.FileID != f.ID || !strings.Contains(b.Text, f.ID) || b.Data != nil {
			t.Errorf("block %d: %+v", i, b)
		}
	}
	if files[0].Summary != "No text: image/png." || !strings.Contains(m.Blocks[1].Text, "heron.csv") {
		t.Errorf("%+v, %+v", files[0], m.Blocks[1])
	}
	if want := 2*1600 + (text.Estimator{}).Tokens(m.Blocks[1].Text); m.Tokens != want || m.Text != "" {
		t.Errorf("%d tokens of %q, want %d", m.Tokens, m.Text, want)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "heron", Kinds: []kinds.Kind{kinds.Message}}); len(got) != 1 {
		t.Errorf("recall of a file by its name: %v", got)
	}
}

// TestLargeResultsNameTheirTool: the one of the call that they answer, where they don't say it themselves.
func TestLargeResultsNameTheirTool(t *testing.T) {
	enginetest.Alone(t)
	body := strings.Repeat("word\n", 40)
	call := func(id, tool string) conversation.Message {
		return conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: tool, Input: "{}"}}}
	}
	gives := func(id string) conversation.Message {
		return conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Output: body}}}
	}
	e := enginetest.Open(t, largeAtTwenty)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{call("a", "exec"), call("d", "mallard_describe"), call("m", "read")}})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{gives("a"), gives("d"), call("b", "grep"), gives("b"), gives("z")}})
	longer := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "tool", Text: "more"}}}).IDs[0]
	_, err := e.AddBlocks(t.Context(), conversation.AddBlocksRequest{Conversation: "c", MessageID: longer, Blocks: gives("m").Blocks})
	if err != nil {
		t.Fatal(err)
	}
	var names, tools []string
	files, _ := enginetest.LargeFiles(t, e, "c")
	for _, f := range files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if want := []string{"exec.txt", "grep.txt", "read.txt", "tool.txt"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	for _, m := range enginetest.Messages(t, e, "c") {
		for _, b := range m.Blocks {
			if _, tool, found := strings.Cut(b.Output, " | tool="); found {
				tool, _, _ = strings.Cut(tool, " ")
				tools = append(tools, tool)
			} else if b.Output != "" {
				tools = append(tools, "whole")
			}
		}
	}
	if want := []string{"exec", "whole", "grep", "unknown", "read"}; !slices.Equal(tools, want) {
		t.Errorf("references of %v, want %v", tools, want)
	}
}

func TestReferencesAreFoundByTheirSummary(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, largeAtTwenty)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "zebra things " + strings.Repeat("and more ", 30)}}})
	for range 2 {
		for word, found := range map[string]bool{"zebra": true, "exploration": false} {
			result, err := e.Recall(t.Context(), recall.Query{Text: word, Kinds: []kinds.Kind{kinds.Message}})
			if err != nil || (len(result.Hits) == 1) != found {
				t.Errorf("SE8, recall of %s: %+v, %v", word, result.Hits, err)
			}
		}
		if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadLargeFile(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, largeAtTwenty)
	body := "één\nтри\n日本語\n𝄞𝄞𝄞\n\nlast line, with no end" + strings.Repeat(".", 60)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: body}}})
	files, _ := enginetest.LargeFiles(t, e, "c")
	id := files[0].ID
	for _, test := range []struct {
		request conversation.ReadLargeFileRequest
		want    string
		more    bool
	}{
		{conversation.ReadLargeFileRequest{ID: id}, body, false},
		{conversation.ReadLargeFileRequest{ID: id[len(id)-8:], From: 1000}, "", false},
		{conversation.ReadLargeFileRequest{ID: id, MaxBytes: 4}, "éé", true},
		{conversation.ReadLargeFileRequest{ID: id, MaxBytes: 8}, "één\nт", true},
		{conversation.ReadLargeFileRequest{ID: id, From: 1, MaxBytes: 4}, "én", true}, // the second halves of two characters are left to others
		{conversation.ReadLargeFileRequest{ID: id, From: 7, MaxBytes: 4}, "р", true},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 2, EndLine: 2}, "три\n", false},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 3, EndLine: 5}, "日本語\n𝄞𝄞𝄞\n\n", false},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 3, EndLine: 5, MaxBytes: 14}, "日本語\n𝄞", true},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 6}, body[strings.Index(body, "last"):], false},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 6, EndLine: 99}, body[strings.Index(body, "last"):], false},
		{conversation.ReadLargeFileRequest{ID: id, StartLine: 7}, "", false},
	} {
		piece := enginetest.ReadLargeFile(t, e, test.request)
		if string(piece.Content) != test.want || piece.More != test.more || piece.To-piece.From != int64(len(test.want)) {
			t.Errorf("%+v: %q (more: %v), want %q (%v)", test.request, piece.Content, piece.More, test.want, test.more)
		}
	}
	for most := 4; most < 12; most++ {
		var whole bytes.Buffer
		for from := int64(0); ; {
			piece := enginetest.ReadLargeFile(t, e, conversation.ReadLargeFileRequest{ID: id, From: from, MaxBytes: most})
			if piece.From != from || !utf8.Valid(piece.Content) {
				t.Fatalf("pieces of %d bytes: %q from %d", most, piece.Content, piece.From)
			}
			whole.Write(piece.Content)
			if from = piece.To; !piece.More {
				break
			}
		}
		if whole.String() != body {
			t.Errorf("pieces of %d bytes make %q", most, whole.String())
		}
	}
	for _, r := range []conversation.ReadLargeFileRequest{{ID: id, MaxBytes: 3}, {ID: id, MaxBytes: 1 << 25}, {ID: id, From: -1}, {ID: id, StartLine: -1}, {ID: id, EndLine: 3},
		{ID: id, StartLine: 3, EndLine: 2}, {ID: "\xff"}} {
		if _, err := e.ReadLargeFile(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", r, err)
		}
	}
	for _, r := range []conversation.ReadLargeFileRequest{{ID: "file_none"}, {ID: id[len(id)-5:]}, {}} {
		if _, err := e.ReadLargeFile(t.Context(), r); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", r, err)
		}
	}
}

func TestLargeFilesOfOthers(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, largeAtTwenty)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{{Text: strings.Repeat("secret ", 40)}}})
	files, _ := enginetest.LargeFiles(t, e, "c")
	if _, err := e.LargeFile(t.Context(), files[0].ID, "scout"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
	if _, err := e.LargeFiles(t.Context(), "c", "scout"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
	f, err := e.LargeFile(t.Context(), files[0].ID, "system")
	if diff := cmp.Diff(files[0], f); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTheLargestLieInTheFolder has a text of twenty megabytes.
func TestTheLargestLieInTheFolder(t *testing.T) {
	enginetest.Alone(t)
	path := filepath.Join(t.TempDir(), "mallard.db")
	e := enginetest.OpenAt(t, path, engine.Options{})
	body := strings.Repeat("twenty megabytes of reed\n", 20<<20/25)
	say := conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Role: "tool", Key: "k", Raw: []byte(body), Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Tool: "cat", Output: body, Raw: []byte(body)}}}}}
	enginetest.Append(t, e, say)
	if again := enginetest.Append(t, e, say); again.Added != 0 {
		t.Errorf("%+v", again)
	}
	entries, err := os.ReadDir(path + ".files")
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	files, _ := enginetest.LargeFiles(t, e, "c")
	if piece := enginetest.ReadLargeFile(t, e, conversation.ReadLargeFileRequest{ID: files[0].ID, StartLine: 800_000, EndLine: 800_000}); string(piece.Content) != "twenty megabytes of reed\n" || piece.From != 799_999*25 {
		t.Errorf("%+v", piece)
	}
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c", Raw: true})
	if err != nil || string(all[0].Raw) != body || string(all[0].Blocks[0].Raw) != body {
		t.Errorf("raw is not read back: %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	second := enginetest.OpenAt(t, copied, engine.Options{ReadOnly: true})
	if piece := enginetest.ReadLargeFile(t, second, conversation.ReadLargeFileRequest{ID: files[0].ID, From: 20<<20 - 30}); len(piece.Content) == 0 {
		t.Error("the copy has no payloads")
	}
	if err := os.Remove(filepath.Join(path+".files", files[0].SHA256)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ReadLargeFile(t.Context(), conversation.ReadLargeFileRequest{ID: files[0].ID}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	state, err := e.CheckPayloadFiles(t.Context(), false)
	if diff := cmp.Diff(&payload.Files{Orphans: []string{}, Missing: []string{files[0].SHA256}}, state); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	enginetest.Append(t, e, say)
	if state, err := e.CheckPayloadFiles(t.Context(), false); err != nil || len(state.Missing) != 0 {
		t.Errorf("what is given again is there again: %+v, %v", state, err)
	}
}

// TestASecondCopy: what is left beside a copy that was deleted is not written through, for it is the original.
func TestASecondCopy(t *testing.T) {
	enginetest.Alone(t)
	folder := t.TempDir()
	path, copied := filepath.Join(folder, "mallard.db"), filepath.Join(folder, "copy.db")
	e := enginetest.OpenAt(t, path, engine.Options{})
	big := strings.Repeat("x", 17<<20)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: big}}})
	files, err := e.LargeFiles(t.Context(), "c", "")
	if err != nil {
		t.Fatal(err)
	}
	content, beside := filepath.Join(path+".files", files[0].SHA256), filepath.Join(copied+".files", files[0].SHA256)
	for _, left := range []int64{-1, 17 << 20, 100} { // bytes that are left of the earlier copy's
		if err := os.RemoveAll(copied); err != nil {
			t.Fatal(err)
		}
		if left == 100 {
			if err := errors.Join(os.Remove(beside), os.WriteFile(beside, []byte(big[:left]), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Snapshot(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{content, beside} {
			if info, err := os.Stat(name); err != nil || info.Size() != 17<<20 {
				t.Fatalf("%d bytes were left: %v, %v", left, info, err)
			}
		}
	}
	if err := errors.Join(os.Rename(content, content+".gone"), os.Remove(copied), os.Remove(beside)); err != nil {
		t.Fatal(err)
	}
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Errorf("a content that is gone: %v", err)
	}
	second, err := engine.Open(t.Context(), copied, engine.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	want := []upkeep.Fault{{Fault: "content that is missing", Subject: files[0].SHA256}}
	if faults, err := second.Check(t.Context()); err != nil || !cmp.Equal(want, faults) {
		t.Errorf("the copy: %v, %v, want %v", faults, err, want)
	}
	if err := os.Rename(content+".gone", content); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsPutBesideAFileThatIsOnlyRead(t *testing.T) {
	enginetest.Alone(t)
	path := filepath.Join(t.TempDir(), "mallard.db")
	if err := enginetest.OpenAt(t, path, engine.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenAt(t, path, engine.Options{ReadOnly: true})
	_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: strings.Repeat("x", 17<<20)}}})
	if _, found := os.Stat(path + ".files"); !errors.Is(err, engine.ErrReadOnly) || !errors.Is(found, os.ErrNotExist) {
		t.Errorf("%v, %v, want ErrReadOnly and no folder", err, found)
	}
}

func TestOrphans(t *testing.T) {
	enginetest.Alone(t)
	path := filepath.Join(t.TempDir(), "mallard.db")
	e := enginetest.OpenAt(t, path, engine.Options{})
	if state, err := e.CheckPayloadFiles(t.Context(), true); err != nil || len(state.Orphans)+len(state.Missing) != 0 {
		t.Errorf("no folder: %+v, %v", state, err)
	}
	big := strings.Repeat("x", 17<<20)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: big}}})
	folder := path + ".files"
	for _, name := range []string{"orphan", ".new-being-written"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := &payload.Files{Orphans: []string{filepath.Join(folder, "orphan")}, Missing: []string{}}
	for _, remove := range []bool{false, true} {
		state, err := e.CheckPayloadFiles(t.Context(), remove)
		if diff := cmp.Diff(want, state); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	memory, err := engine.Open(t.Context(), ":memory:", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	enginetest.Append(t, memory, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: big}}})
	if _, contents := enginetest.LargeFiles(t, memory, "c"); len(contents[0]) != 1<<24 {
		t.Errorf("in memory: %d bytes", len(contents[0]))
	}
	if _, err := os.Stat(":memory:.files"); err == nil {
		t.Error("a folder for what is in memory")
	}
}
