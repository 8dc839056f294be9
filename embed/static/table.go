package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// A table file, all numbers little-endian:
//
//	magic "mallardT", uint32 version, uint32 length of the header
//	header as JSON
//	vocabulary, a token per line, each ended by a line feed
//	tokens × float32, the scale of each row
//	tokens × dims × int8, the rows
//	uint32 CRC-32C of all before
const (
	magic         = "mallardT"
	version       = 1
	prefixLength  = len(magic) + 8
	maxHeader     = 1 << 20
	maxDims       = 1 << 14
	maxTokens     = 1 << 22
	minTableBytes = prefixLength + 4
)

// header is the JSON part of a table file.
type header struct {
	Name    string            `json:"name"`
	Dims    int               `json:"dims"`
	Tokens  int               `json:"tokens"`
	Vocab   int               `json:"vocab"` // bytes
	Options wordpiece.Options `json:"tokenizer"`
}

// Table is a vector per token, with what turns text into tokens.
type Table struct {
	Name      string
	Tokenizer *wordpiece.Tokenizer
	Rows      [][]float32 // one per token of the vocabulary, all of one length; a token's weight is its row's length
}

// Write writes a table as a file that Open reads, each row as int8 with a
// scale: 127 steps to the largest value in it.
func (t Table) Write(w io.Writer) error {
	vocab := t.Tokenizer.Vocab()
	if t.Name == "" || len(t.Rows) != len(vocab) || len(vocab) == 0 {
		return fmt.Errorf("static: write: table %q has %d rows for %d tokens: want a name and a row for each", t.Name, len(t.Rows), len(vocab))
	}
	dims := len(t.Rows[0])
	var scales, rows bytes.Buffer
	for i, row := range t.Rows {
		if len(row) != dims || dims < 1 || dims > maxDims {
			return fmt.Errorf("static: write: row %d has %d dimensions, row 0 has %d: want the same, 1 to %d", i, len(row), dims, maxDims)
		}
		scale, steps, err := quantise(row)
		if err != nil {
			return fmt.Errorf("static: write: row %d: %w", i, err)
		}
		scales.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale)))
		rows.Write(steps)
	}
	lines := strings.Join(vocab, "\n") + "\n"
	if strings.Count(lines, "\n") != len(vocab) {
		return errors.New("static: write: a token of the vocabulary has a line feed in it")
	}
	head, err := json.Marshal(header{t.Name, dims, len(vocab), len(lines), t.Tokenizer.Options()})
	if err != nil {
		return fmt.Errorf("static: write: %w", err)
	}
	content := []byte(magic)
	content = binary.LittleEndian.AppendUint32(content, version)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(head)))
	content = append(content, head...)
	content = append(content, lines...)
	content = append(content, scales.Bytes()...)
	content = append(content, rows.Bytes()...)
	content = binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("static: write: %w", err)
	}
	return nil
}

func quantise(row []float32) (float32, []byte, error) {
	var most float64
	for _, v := range row {
		most = max(most, math.Abs(float64(v))) // NaN stays
	}
	if math.IsNaN(most) || math.IsInf(most, 0) {
		return 0, nil, errors.New("has a value that is infinite or not a number")
	}
	steps := make([]byte, len(row))
	if most == 0 {
		return 0, steps, nil
	}
	for i, v := range row {
		steps[i] = byte(int8(math.Round(float64(v) / most * 127)))
	}
	return float32(most / 127), steps, nil
}

// parse checks a file and gives the model in it. Rows are read from content
// itself, which must not change.
func parse(content string) (*Model, error) {
	if len(content) < minTableBytes || !strings.HasPrefix(content, magic) {
		return nil, errors.New("not a token table")
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(content[at : at+4]))) }
	if v := number(len(magic)); v != version {
		return nil, fmt.Errorf("a token table of version %d: this program reads version %d", v, version)
	}
	size := number(len(magic) + 4)
	if size > maxHeader || size > len(content)-minTableBytes {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d: cut short or damaged", size, len(content))
	}
	var h header
	if err := json.Unmarshal([]byte(content[prefixLength:prefixLength+size]), &h); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if h.Name == "" || h.Dims < 1 || h.Dims > maxDims || h.Tokens < 1 || h.Tokens > maxTokens || h.Vocab < 1 || h.Vocab > len(content) {
		return nil, fmt.Errorf("header: name %q, %d dimensions, %d tokens in %d bytes: want a name, 1 to %d dimensions, 1 to %d tokens", h.Name, h.Dims, h.Tokens, h.Vocab, maxDims, maxTokens)
	}
	vocabAt := prefixLength + size
	scalesAt := vocabAt + h.Vocab
	rowsAt := scalesAt + 4*h.Tokens
	end := rowsAt + h.Tokens*h.Dims
	if len(content) != end+4 {
		return nil, fmt.Errorf("%d bytes, want %d for %d tokens of %d dimensions: cut short or damaged", len(content), end+4, h.Tokens, h.Dims)
	}
	if checksum(content[:end]) != uint32(number(end)) {
		return nil, errors.New("the checksum is wrong: damaged")
	}
	vocab := strings.Split(strings.TrimSuffix(content[vocabAt:scalesAt], "\n"), "\n")
	if len(vocab) != h.Tokens {
		return nil, fmt.Errorf("a vocabulary of %d tokens: want %d", len(vocab), h.Tokens)
	}
	tokenizer, err := wordpiece.New(vocab, h.Options)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(content[:rowsAt] + content[end:]))
	m := &Model{
		name:        h.Name,
		dims:        h.Dims,
		fingerprint: fmt.Sprintf("%x", hash[:12]),
		tokenizer:   tokenizer,
		rows:        content[rowsAt:end],
		scales:      make([]float32, h.Tokens),
	}
	for i := range m.scales {
		scale := math.Float32frombits(uint32(number(scalesAt + 4*i)))
		if !(scale >= 0) || math.IsInf(float64(scale), 0) {
			return nil, fmt.Errorf("row %d: its scale is %g", i, scale)
		}
		m.scales[i] = scale
	}
	m.lexicon = sync.OnceValue(m.newLexicon)
	return m, m.findFallback()
}

// checksum goes by blocks, as a string can't be summed without a copy.
func checksum(content string) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	var block [1 << 15]byte
	for len(content) > 0 {
		n := copy(block[:], content)
		sum = crc32.Update(sum, castagnoli, block[:n])
		content = content[n:]
	}
	return sum
}
