package note

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// TestGoClaw3GNotesAreLines: up to 1600 bytes, up to 320 of them the end of the note before; the id says the text and the lines.
func TestGoClaw3GNotesAreLines(t *testing.T) {
	line := func(n int) string { return fmt.Sprintf("%03d ", n) + strings.Repeat("x", 95) } // 99 bytes, and a newline
	var all []string
	for i := range 40 {
		all = append(all, line(i+1))
	}
	notes := divide(all)
	want := [][2]int{{1, 16}, {14, 29}, {27, 40}}
	if len(notes) != len(want) {
		t.Fatalf("%d notes, want %d", len(notes), len(want))
	}
	for i, n := range notes {
		text := strings.Join(all[n.FirstLine-1:n.LastLine], "\n")
		sum := sha256.Sum256([]byte(text))
		id := fmt.Sprintf("%s:%d:%d", hex.EncodeToString(sum[:])[:16], n.FirstLine, n.LastLine)
		if n.FirstLine != want[i][0] || n.LastLine != want[i][1] || n.Text != text || n.ID != id {
			t.Errorf("note %d is %s, lines %d to %d, want %s, lines %d to %d", i, n.ID, n.FirstLine, n.LastLine, id, want[i][0], want[i][1])
		}
		if len(n.Text) > noteBytes {
			t.Errorf("note %d has %d bytes", i, len(n.Text))
		}
	}
}

func TestDivide(t *testing.T) {
	long := strings.Repeat("y", 5000)
	for _, test := range []struct {
		name, content string
		want          string // of each note the lines
	}{
		{"nothing", "", ""}, {"a newline", "\n", ""}, {"blank lines", "\n \n\t\n", ""}, {"a line", "one", "1-1"}, {"a line with an end", "one\n", "1-1"},
		{"two", "one\r\ntwo\r\n", "1-2"}, {"a long one alone", long, "1-1"}, {"a long one between", "one\n" + long + "\ntwo\n", "1-1 2-2 3-3"},
		{"long ones", long + "\n" + long, "1-1 2-2"},
		{"just as long", strings.Repeat("z", 1599), "1-1"}, {"and one more", strings.Repeat("z", 1599) + "\na", "1-1 2-2"},
		{"short lines", strings.Repeat("a\n", 2000), "1-800 641-1440 1281-2000"},
	} {
		var got []string
		for _, n := range divide(lines(test.content)) {
			got = append(got, fmt.Sprintf("%d-%d", n.FirstLine, n.LastLine))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.name, got, test.want)
		}
	}
}

func FuzzDivide(f *testing.F) {
	for _, s := range []string{"", "\n", "one\ntwo\r\n\n", strings.Repeat("a b\n", 1000), strings.Repeat("x", 4000) + "\n\ny"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all := lines(s)
		covered, last := make([]bool, len(all)), 0
		for _, n := range divide(all) {
			if n.FirstLine < 1 || n.LastLine < n.FirstLine || n.LastLine > len(all) || n.FirstLine <= last-len(all) || n.LastLine <= last {
				t.Fatalf("%q: lines %d to %d after %d of %d", s, n.FirstLine, n.LastLine, last, len(all))
			}
			if last = n.LastLine; n.Text != strings.Join(all[n.FirstLine-1:n.LastLine], "\n") {
				t.Fatalf("%q: %q is not lines %d to %d", s, n.Text, n.FirstLine, n.LastLine)
			}
			if len(n.Text) > noteBytes && n.FirstLine != n.LastLine {
				t.Fatalf("%q: lines %d to %d have %d bytes", s, n.FirstLine, n.LastLine, len(n.Text))
			}
			for i := n.FirstLine - 1; i < n.LastLine; i++ {
				covered[i] = true
			}
		}
		for i, line := range all {
			if strings.TrimSpace(line) != "" && !covered[i] {
				t.Fatalf("%q: line %d is in no note", s, i+1)
			}
		}
	})
}
