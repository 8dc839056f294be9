package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/session"
)

// TestPieces lets every transcript grow, by whole lines and by halves of them, and imports it after each step, if it is not long after every fourth one.
func TestPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	for _, path := range files(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			content := read(t, path)
			e := open(t)
			grown := filepath.Join(t.TempDir(), filepath.Base(path))
			step := 0
			for end := range cuts(content) {
				if step++; step%4 > 0 && end < len(content) && !enginetest.Long("growth") {
					continue
				}
				write(t, grown, content[:end])
				report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{grown}})
				if err != nil {
					t.Fatal(err)
				}
				if f := report.Files[0]; f.Error != "" && end > len(content)/2 {
					t.Fatalf("%d bytes: %s", end, f.Error)
				}
			}
			if diff := cmp.Diff(read(t, strings.TrimSuffix(path, ".jsonl")+".golden"), dump(t, e)); diff != "" {
				t.Errorf("in pieces it becomes something else (-whole +pieces):\n%s", diff)
			}
		})
	}
}

// cuts gives the ends of lines and the middles of some, and the whole.
func cuts(content string) func(func(int) bool) {
	return func(yield func(int) bool) {
		at := 0
		for n, l := 0, ""; at < len(content); n++ {
			l, _, _ = strings.Cut(content[at:], "\n")
			if n%3 == 1 && !yield(at+len(l)/2) {
				return
			}
			at += len(l) + 1
			if at > len(content) {
				break
			}
			if !yield(at - n%2) { // every other time without the newline
				return
			}
		}
		yield(len(content))
	}
}

// TestAgainFromTheBeginning forgets how far a transcript was read at some point of its growth, by giving it another name.
func TestAgainFromTheBeginning(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	for _, path := range files(t) {
		if filepath.Base(filepath.Dir(path)) == "plain" {
			continue // a plain file is known by its name
		}
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			content := read(t, path)
			lines := strings.SplitAfter(content, "\n")
			e := open(t)
			for i, n := range []int{len(lines) / 3, len(lines) / 2, len(lines)} {
				name := filepath.Join(t.TempDir(), fmt.Sprint(i), filepath.Base(path))
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				imported(t, e, write(t, name, strings.Join(lines[:n], "")))
			}
			if diff := cmp.Diff(read(t, strings.TrimSuffix(path, ".jsonl")+".golden"), dump(t, e)); diff != "" {
				t.Errorf("read again it becomes something else (-once +again):\n%s", diff)
			}
		})
	}
}

// TestPairs makes sessions with parallel calls, answers in many lines, edits and compactions, and sees that every result stays with
// its call, wherever they go.
func TestPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	seeds := uint64(4)
	if enginetest.Long("simulation") {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			content, results := madeUp(r)
			e := open(t)
			path := filepath.Join(t.TempDir(), "s.jsonl")
			for end := range cuts(content) {
				if r.IntN(12) == 0 || end == len(content) {
					imported(t, e, write(t, path, content[:end]))
				}
			}
			where := map[string]string{}
			for _, c := range rows(t, e, "SELECT id FROM conversations") {
				for id, place := range places(t, e, c[0]) {
					where[id] = place
				}
			}
			stored := rows(t, e, `SELECT r.call_id, r.message_id, r.seq, c.message_id, c.seq FROM main.parts AS r
				LEFT JOIN main.parts AS c ON c.call_id = r.call_id AND c.type = 'tool_call' WHERE r.type = 'tool_result'`)
			if len(stored) != results {
				t.Errorf("%d results are stored; the transcript has %d", len(stored), results)
			}
			for _, s := range stored {
				if where[s[1]] != where[s[3]] {
					t.Errorf("result of %s is %q, its call %q", s[0], where[s[1]], where[s[3]])
				}
			}
		})
	}
}

// madeUp is a session of Claude Code with tools.
func madeUp(r *rand.Rand) (content string, results int) {
	var b strings.Builder
	n, last := 0, ""
	add := func(kind, parent, rest string) string {
		n++
		id := fmt.Sprint("l", n)
		up := "null"
		if parent != "" {
			up = `"` + parent + `"`
		}
		fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"made-up","timestamp":"2026-01-02T03:%02d:%02dZ","cwd":"/w",%s}`+"\n", kind, id, up, n/60, n%60, rest)
		return id
	}
	said := func(words string) string { return fmt.Sprintf(`"message":{"role":"user","content":%q}`, words) }
	var turns []string
	for range 14 {
		if len(turns) > 2 && r.IntN(6) == 0 { // the user edits an earlier prompt
			last = turns[len(turns)-2]
		}
		if last != "" && r.IntN(6) == 0 {
			boundary := add("system", "", fmt.Sprintf(`"subtype":"compact_boundary","logicalParentUuid":%q`, last))
			last = add("user", boundary, `"isCompactSummary":true,`+said("what was before"))
		}
		turns = append(turns, last)
		last = add("user", last, said(fmt.Sprint("do it ", n)+strings.Repeat(" and well", r.IntN(3))))
		for range r.IntN(3) {
			answer := fmt.Sprint("m", n)
			var calls [][2]string
			for range 1 + r.IntN(3) {
				call := fmt.Sprint("t", n)
				last = add("assistant", last, fmt.Sprintf(`"message":{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Read","input":{}}]}`, answer, call))
				calls = append(calls, [2]string{last, call})
			}
			for _, c := range calls {
				last = add("user", c[0], fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, c[1], strings.Repeat("long ", r.IntN(3000))))
				results++
			}
		}
	}
	return b.String(), results
}
