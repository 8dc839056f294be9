package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// format is the version of what is hashed: it changes when labels, estimators or the order of what is rendered do.
const format = 1

// seal gives every item its hash, and the context and its preset theirs.
func (g *building) seal() error {
	var items []any
	for i := range g.built.Items {
		it := &g.built.Items[i]
		if !it.Kept {
			continue
		}
		if it.Hash == "" {
			it.Hash = digest(it.Text)
		}
		items = append(items, shownItem{it.Section, it.Name, it.Hash})
	}
	config, err := configOf(g.preset)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := canonical(&text, config); err != nil {
		return err
	}
	g.built.ConfigHash = half(text.String())
	g.built.Hash, err = Hash(written(text.String()), items)
	return err
}

// Hash is that of a context: of its configuration, and of its items in order, each a map of s (section), id (name) and h (SHA-256 of the text). It is ctx_ and the
// first 32 hexadecimal digits of the SHA-256 over canonical JSON: UTF-8, keys in the order of their code points, no white space, nothing escaped that need
// not be, whole numbers as they are and others as strings, and no nulls.
func Hash(config any, items []any) (string, error) {
	if items == nil {
		items = []any{}
	}
	sum, err := hashOf(map[string]any{"v": format, "cfg": config, "items": items})
	return "ctx_" + sum, err
}

// hashOf is half the SHA-256 of a value as canonical JSON.
func hashOf(v any) (string, error) {
	var b strings.Builder
	if err := canonical(&b, v); err != nil {
		return "", err
	}
	return half(b.String()), nil
}

// half is the first half of the digest of a text.
func half(s string) string { return digest(s)[:32] }

// written is a value as canonical JSON already.
type written string

// shownItem is an item as Hash takes it: a map of s, id and h.
type shownItem struct{ section, name, hash string }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// configOf is a preset as it is hashed: without what has no say in the context.
func configOf(p Preset) (any, error) {
	p.Snapshot = ""
	if !p.Hints.On { // then it says nothing
		p.Hints = Hints{}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v map[string]any
	err = d.Decode(&v)
	delete(v, "snapshot")
	v["preset"] = v["name"]
	delete(v, "name")
	return v, err
}

// canonical writes a value of maps, lists, texts, numbers and truths.
func canonical(b *strings.Builder, v any) error {
	switch v := v.(type) {
	case written:
		b.WriteString(string(v))
	case shownItem:
		b.WriteString(`{"h":`)
		quote(b, v.hash)
		b.WriteString(`,"id":`)
		quote(b, v.name)
		b.WriteString(`,"s":`)
		quote(b, v.section)
		b.WriteByte('}')
	case map[string]any:
		b.WriteByte('{')
		first := true
		for _, key := range slices.Sorted(maps.Keys(v)) { // of UTF-8 the order of bytes is that of code points
			if v[key] == nil {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			quote(b, key)
			b.WriteByte(':')
			if err := canonical(b, v[key]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := canonical(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case string:
		quote(b, v)
	case bool, int:
		fmt.Fprint(b, v)
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			quote(b, v.String())
		} else {
			b.WriteString(v.String())
		}
	default:
		return fmt.Errorf("%T has no canonical form", v)
	}
	return nil
}

// quote writes a text as JSON does that escapes only what it must.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' }) {
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
