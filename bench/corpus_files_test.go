package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

// TestCorpusFiles writes the memories and questions of the recall bench as files, for bench/peers: as many of both as MALLARD_CORPUS_N and
// MALLARD_CORPUS_QUESTIONS say, into the folder MALLARD_CORPUS. Without a folder it writes a few and reads them.
func TestCorpusFiles(t *testing.T) {
	folder, n, questions := os.Getenv("MALLARD_CORPUS"), 120, 9
	if folder != "" {
		var errs [2]error
		n, errs[0] = strconv.Atoi(os.Getenv("MALLARD_CORPUS_N"))
		questions, errs[1] = strconv.Atoi(os.Getenv("MALLARD_CORPUS_QUESTIONS"))
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
	} else {
		folder = t.TempDir()
	}
	config := RecallConfig{Memories: n, Seed: 1}.withDefaults()
	model, c := newClusters(config.Dims), newCorpus(config.Seed)
	analyzer, err := text.NewAnalyzer("english")
	if err != nil {
		t.Fatal(err)
	}
	memories, asked := newCorpusFiles(t, folder, "memories"), newCorpusFiles(t, folder, "questions")
	for i := range n {
		of := c.text(i)
		memories.write(map[string]any{"text": of}, model.vector(of))
	}
	for i := range questions {
		of, _ := c.question(i, n)
		words := []string{}
		for _, token := range analyzer.QueryTokens(of) {
			words = append(words, token.Surface)
		}
		asked.write(map[string]any{"text": of, "words": words}, model.vector(of))
	}
	for _, f := range []struct {
		files *corpusFiles
		rows  int
	}{{memories, n}, {asked, questions}} {
		f.files.close()
		content, err := os.ReadFile(f.files.lines.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(content, []byte("\n")); got != f.rows {
			t.Errorf("%s has %d lines, want %d", f.files.lines.Name(), got, f.rows)
		}
		info, err := os.Stat(f.files.vectors.Name())
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(f.rows * config.Dims * 4); info.Size() != want {
			t.Errorf("%s has %d bytes, want %d", f.files.vectors.Name(), info.Size(), want)
		}
	}
}

// corpusFiles are texts as JSON Lines, and beside them their vectors, number after number in four bytes, lowest first.
type corpusFiles struct {
	t                *testing.T
	lines, vectors   *os.File
	toLines, toBytes *bufio.Writer
}

func newCorpusFiles(t *testing.T, folder, name string) *corpusFiles {
	t.Helper()
	lines, err := os.Create(filepath.Join(folder, name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := os.Create(filepath.Join(folder, name+".f32"))
	if err != nil {
		t.Fatal(err)
	}
	return &corpusFiles{t, lines, vectors, bufio.NewWriter(lines), bufio.NewWriter(vectors)}
}

func (f *corpusFiles) write(line map[string]any, vector []float32) {
	f.t.Helper()
	if err := errors.Join(json.NewEncoder(f.toLines).Encode(line), binary.Write(f.toBytes, binary.LittleEndian, vector)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *corpusFiles) close() {
	f.t.Helper()
	if err := errors.Join(f.toLines.Flush(), f.toBytes.Flush(), f.lines.Close(), f.vectors.Close()); err != nil {
		f.t.Fatal(err)
	}
}
