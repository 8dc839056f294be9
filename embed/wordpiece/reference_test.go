package wordpiece_test

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

// TestReference holds the ids to the original's on made-up texts.
func TestReference(t *testing.T) {
	tokenizers := map[string]*wordpiece.Tokenizer{
		"":      bert(t, wordpiece.Options{}),
		"cased": bert(t, wordpiece.Options{KeepCase: true, KeepAccents: true}),
		"raw":   bert(t, wordpiece.Options{KeepControls: true, KeepTogether: true, KeepAccents: true}),
	}
	type line struct {
		Text, Pair, Options string
		Limit               int
		IDs, Types          []int32
	}
	in := json.NewDecoder(unzip(t, "testdata/reference.jsonl.gz"))
	var e wordpiece.Encoding
	plain := 0
	for n := 1; ; n++ {
		var want line
		if err := in.Decode(&want); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch tokenizer := tokenizers[want.Options]; {
		case want.Types != nil:
			tokenizer.EncodePair(&e, want.Text, want.Pair, want.Limit)
			if diff := cmp.Diff(want.Types, e.Types); diff != "" {
				t.Errorf("line %d: types of %q and %q (-want +got):\n%s", n, want.Text, want.Pair, diff)
			}
		case want.Limit > 0:
			tokenizer.Encode(&e, want.Text, want.Limit)
		default:
			plain++
			tokenizer.Tokenize(&e, want.Text, 0)
		}
		if diff := cmp.Diff(want.IDs, append([]int32{}, e.IDs...)); diff != "" {
			t.Errorf("line %d: %s ids of %q (-want +got):\n%s", n, want.Options, want.Text, diff)
		}
	}
	if plain < 10_000 {
		t.Fatalf("the reference has %d texts: want at least 10000", plain)
	}
}

// TestCodePoints holds every code point of Unicode to the original.
func TestCodePoints(t *testing.T) {
	sums, err := os.ReadFile("testdata/codepoints.bin")
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 * 0x110000 / 256; len(sums) != want {
		t.Fatalf("codepoints.bin has %d bytes: want %d", len(sums), want)
	}
	tokenizer := bert(t, wordpiece.Options{})
	var e wordpiece.Encoding
	for page := range 0x110000 / 256 {
		var ids []byte
		for c := rune(page * 256); c < rune(page+1)*256; c++ {
			if c >= 0xd800 && c < 0xe000 {
				continue
			}
			tokenizer.Tokenize(&e, "a"+string(c)+"b c", 0)
			for _, id := range e.IDs {
				ids = binary.LittleEndian.AppendUint32(ids, uint32(id))
			}
		}
		if got, want := crc32.ChecksumIEEE(ids), binary.LittleEndian.Uint32(sums[4*page:]); got != want {
			t.Errorf("U+%04X to U+%04X: other ids than the original", page*256, page*256+255)
		}
	}
}

func bert(t testing.TB, options wordpiece.Options) *wordpiece.Tokenizer {
	t.Helper()
	tokenizer, err := wordpiece.New(vocab(t), options)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func vocab(t testing.TB) []string {
	t.Helper()
	content, err := io.ReadAll(unzip(t, "testdata/vocab.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return wordpiece.Lines(content)
}

func unzip(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return z
}
