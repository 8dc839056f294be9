package standin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text/standin"
)

const fileID = "file_01hq3v8k2m4n6p8r0s2t4v6w8x"

func TestReferences(t *testing.T) {
	file := standin.FileReference(fileID, "notes.md", "text/markdown", 1234567, "zebra things\n\nand more\n")
	if diff := cmp.Diff("[LCM File: "+fileID+" | notes.md | text/markdown | 1,234,567 bytes]\n\nExploration Summary:\nzebra things\n\nand more", file); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("[LCM File: "+fileID+" | notes.md | text/markdown | 1,234,567 bytes]\nzebra things\n\nand more", standin.IndexedText(file)); diff != "" {
		t.Error(diff)
	}
	tool := standin.ToolReference(fileID, "", 200, "zebra things\nLines: 3", "Read it with describe.")
	if diff := cmp.Diff("[LCM Tool Output: "+fileID+" | tool=unknown | 200 bytes]\n\nExploration Summary:\nzebra things\nLines: 3\n\nRead it with describe.", tool); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("[LCM Tool Output: "+fileID+" | tool=unknown | 200 bytes]\nzebra things\nLines: 3", standin.IndexedText(tool)); diff != "" {
		t.Error(diff)
	}
	if got := standin.ToolReference(fileID, "sh", 0, "x", ""); !strings.HasSuffix(got, "| 0 bytes]\n\nExploration Summary:\nx") {
		t.Errorf("no hint: %q", got)
	}
	if got := standin.FileReference(fileID, "a]\n[b|c", "", -1000, ""); !strings.HasPrefix(got, "[LCM File: "+fileID+" | a) (b/c | unknown | -1,000 bytes]\n") {
		t.Errorf("odd name: %q", got)
	}
	for _, s := range []string{"", "exploration\nExploration Summary:\nx", "[LCM File: without a summary", " " + file, "[LCM File: x]\nsays\nExploration Summary:\ny"} {
		if got := standin.IndexedText(s); got != s {
			t.Errorf("%q is indexed as %q", s, got)
		}
	}
	if diff := cmp.Diff([]string{fileID}, standin.ParseFileIDs(file+tool)); diff != "" {
		t.Error(diff)
	}
}

func TestParseFileIDs(t *testing.T) {
	const hex = "file_0123456789abcdef"
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"file_ _ file_x", nil},
		{hex, []string{hex}},
		{"FILE_0123456789ABCDEF, " + hex, []string{hex}},
		{fileID + "/" + hex + "." + fileID, []string{fileID, hex}},
		{"x" + hex, nil},
		{"_" + hex, nil},
		{hex + "0", nil},
		{hex + "_", nil},
		{"file_0123456789abcdeg", nil},
		{"file_01hq3v8k2m4n6p8r0s2t4v6w8u", nil},
		{"é" + hex + "é", []string{hex}},
		{"profile_0123456789abcdef", nil},
		{"_file_" + hex, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, standin.ParseFileIDs(test.in)); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
}

func TestStripMedia(t *testing.T) {
	blob := strings.Repeat("aB3/", 64)
	rows := strings.Repeat(strings.Repeat("aB3/", 19)+"\n", 4)
	tests := []struct{ name, in, want string }{
		{"nothing", "", "[Media attachment]"},
		{"text", "see this", "see this [with media attachment]"},
		{"once", "see this [with media attachment]", "see this [with media attachment]"},
		{"data URL", "see data:image/png;base64,iVBORw0KGgo= here", "see [embedded media omitted] here [with media attachment]"},
		{"only data URLs", "data:image/png;base64,iVBORw0KGgo=\nDATA:text/plain;charset=utf-8,abc", "[Media attachment]"},
		{"in markup", `![cat](data:image/gif;base64,R0lGOD) and "data:a/b,c"`, `![cat]([embedded media omitted]) and "[embedded media omitted]" [with media attachment]`},
		{"no data URL", "data: one, two", "data: one, two [with media attachment]"},
		{"media lines", "first\nMEDIA:/tmp/a b.png\n  MEDIA: /tmp/c.png\nlast", "first\nlast [with media attachment]"},
		{"no media line", "MEDIA:tmp and see MEDIA:/tmp", "MEDIA:tmp and see MEDIA:/tmp [with media attachment]"},
		{"base64", "before " + blob + " after", "before  after [with media attachment]"},
		{"padded", blob[:254] + "==", "[Media attachment]"},
		{"rows", "before\n" + rows + "after", "before\n\nafter [with media attachment]"},
		{"too short", blob[:252], blob[:252] + " [with media attachment]"},
		{"no multiple of four", blob + "x", blob + "x [with media attachment]"},
		{"other letters", strings.Repeat("aB-_", 64), strings.Repeat("aB-_", 64) + " [with media attachment]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := standin.StripMedia(test.in)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(got, standin.StripMedia(got)); diff != "" {
				t.Errorf("twice: %s", diff)
			}
		})
	}
}
