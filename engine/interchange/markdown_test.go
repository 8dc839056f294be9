package interchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/interchange"
)

// TestEachBullet: what a bullet says, and what stands around it.
func TestEachBullet(t *testing.T) {
	t.Parallel()
	type said = map[string]any
	for _, test := range []struct {
		name, file, in string
		want           []said // and at, where it begins
	}{
		{"every mark", "", "- first one\n* second one\n+ third one\n-none here\n1. nor here", []said{
			{"at": "line 1", "text": "first one"}, {"at": "line 2", "text": "second one"}, {"at": "line 3", "text": "third one -none here"},
		}},
		{"five characters say something", "", "- four\n- fünfe\n-\n- \n- [ ]\n", []said{{"at": "line 2", "text": "fünfe"}}},
		{"headings", "MEMORY.md", "# People\n## Ines ##\n- drinks tea\n# Places\n- the pier\n### Deep\n- down here\n#hash tag\n", []said{
			{"at": "line 3", "text": "drinks tea", "heading": "People > Ines", "file": "MEMORY.md"},
			{"at": "line 5", "text": "the pier", "heading": "Places", "file": "MEMORY.md"},
			{"at": "line 7", "text": "down here #hash tag", "heading": "Places > Deep", "file": "MEMORY.md"},
		}},
		{"headings by a line below them", "", "People\n===\n- drinks tea\n\nPlaces\n---\n- the pier", []said{
			{"at": "line 3", "text": "drinks tea", "heading": "People"}, {"at": "line 7", "text": "the pier", "heading": "People > Places"},
		}},
		{"a daily note", "2026-03-14.md", "- drinks tea", []said{
			{"at": "line 1", "text": "drinks tea", "file": "2026-03-14.md", "date": "2026-03-14", "created_at": "2026-03-14T00:00:00Z"},
		}},
		{"a heading's date comes before the file's", "2026-03-14-tea.md", "## 2026-03-15 Sunday\n- drinks tea\n## 2026-13-01\n- the pier", []said{
			{"at": "line 2", "text": "drinks tea", "file": "2026-03-14-tea.md", "heading": "2026-03-15 Sunday", "date": "2026-03-15", "created_at": "2026-03-15T00:00:00Z"},
			{"at": "line 4", "text": "the pier", "file": "2026-03-14-tea.md", "heading": "2026-13-01", "date": "2026-03-14", "created_at": "2026-03-14T00:00:00Z"},
		}},
		{"lines that go on", "", "- Ines drinks\n  green tea,\nnever coffee\n\n  Not even at noon.\n\nNothing of that.\n- the pier\n  1. is long\n  > is old", []said{
			{"at": "line 1", "text": "Ines drinks green tea, never coffee\n\nNot even at noon."}, {"at": "line 8", "text": "the pier\n1. is long\n> is old"},
		}},
		{"bullets in bullets", "", "- Ines\n  - drinks tea\n\t- green tea\n- the pier", []said{
			{"at": "line 2", "text": "drinks tea", "under": "Ines"},
			{"at": "line 3", "text": "green tea", "under": "Ines > drinks tea"},
			{"at": "line 4", "text": "the pier"},
		}},
		{"a parent takes up what is written below its parts", "", "- Ines says\n  - drinks tea\n\n  and cake\n", []said{
			{"at": "line 1", "text": "Ines says\n\nand cake"}, {"at": "line 2", "text": "drinks tea", "under": "Ines says"},
		}},
		{"check boxes", "", "- [ ] buy tea\n- [x] sell tea\n- [X] drink tea\n- [link](x) stays", []said{
			{"at": "line 1", "text": "buy tea", "done": false}, {"at": "line 2", "text": "sell tea", "done": true},
			{"at": "line 3", "text": "drink tea", "done": true}, {"at": "line 4", "text": "[link](x) stays"},
		}},
		{"code", "", "- how to row:\n  ```sh\n  - not a bullet\n    # no heading\n  ```\n- the pier\n```\n- not a bullet\n~~~\n```\n~~~~ x\n- nor this\n~~~\n~~~~\n```inline``` is text\n- the end", []said{
			{"at": "line 1", "text": "how to row:\n```sh\n- not a bullet\n  # no heading\n```"}, {"at": "line 6", "text": "the pier"}, {"at": "line 16", "text": "the end"},
		}},
		{"no bullets", "", "---\ntags:\n- not a bullet\n---\n***\n* * *\n- - -\n<!-- \n- not a bullet\n-->\n> - not a bullet\n\n**Bold** text\n", nil},
		{"a byte order mark and the line ends of Windows", "", "\ufeff- drinks tea\r\n  at noon\r\n", []said{{"at": "line 1", "text": "drinks tea at noon"}}},
		{"a code block without an end", "", "- drinks tea\n```\n- the pier", []said{
			{"at": "line 1", "text": "drinks tea"}, {"at": "line 2", "broken": "invalid request: a code block that never ends; nothing is read from here on"},
		}},
		{"a comment without an end", "", "<!-- so\n- the pier", []said{{"at": "line 1", "broken": "invalid request: a comment that never ends; nothing is read from here on"}}},
		{"bytes that are no text", "", "- drinks tea\n- the caf\xe9", []said{
			{"at": "line 1", "text": "drinks tea"}, {"at": "line 2", "broken": `invalid request: text is "the caf\xe9"; allowed: valid UTF-8`},
		}},
		{"nothing", "", "", nil},
	} {
		var got []said
		err := interchange.EachBullet(strings.NewReader(test.in), test.file, func(r interchange.Row) error {
			row := said{}
			if r.Broken != nil {
				row["broken"] = r.Broken.Error()
			} else if err := json.Unmarshal(r.JSON, &row); err != nil {
				t.Error(err)
			}
			row["at"] = r.Position.String()
			got = append(got, row)
			return nil
		})
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestIsNotes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"MEMORY.md": true, "memory.MD": true, "2026-03-14.md": true, "2026-03-14-tea.md": true, "2026-03-14.txt": false, "2026-13-14.md": false, "README.md": false, "md": false,
	} {
		if got := interchange.IsNotes(name); got != want {
			t.Errorf("IsNotes(%q) = %v", name, got)
		}
	}
}
