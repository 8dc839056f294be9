package build

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// recordedPointers reads what a snapshot points at, as it is now.
func (g *building) recordedPointers(ctx context.Context) (pointers []pointer, err error) {
	recorded := slices.DeleteFunc(slices.Clone(g.replay.Items), func(it SnapshotItem) bool { return !(&Item{Kind: it.Kind}).recalled() })
	ids := make([]string, len(recorded))
	for i, it := range recorded {
		ids[i] = it.ID
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found := map[string]pointer{} // by kind and name: notes of one text and place share an id
	err = g.builder.file.Read(ctx, "hints", func(c *duck.Conn) error {
		memories, err := memoriesNow(ctx, c, ids, memory.Full)
		for id, hit := range memories {
			found[memoryItem+" "+id] = pointerTo(hit, &g.preset.Hints, "")
		}
		if err != nil {
			return err
		}
		for name, kind := range map[string]kinds.Kind{"build_pointed_notes": kinds.Note, "build_pointed_messages": kinds.Message, "build_pointed_summaries": kinds.Summary} {
			err := c.Each(ctx, name, func(rows *sql.Rows) error {
				hit := recall.Hit{Kind: kind}
				var talk, caption string
				err := rows.Scan(&hit.ID, &hit.Text, &hit.Scope, &hit.CreatedAt, duck.TextOf(&talk), &hit.Seq, duck.TextOf(&hit.Role), duck.TextOf(&hit.Speaker), duck.TextOf(&caption),
					duck.TextOf(&hit.Path), &hit.FirstLine, &hit.LastLine)
				if caption != "" {
					hit.Text += " [" + caption + "]"
				}
				p := pointerTo(hit, &g.preset.Hints, talk)
				found[p.kind+" "+p.name] = p
				return err
			}, sql.Named("ids", ids))
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, it := range recorded {
		p, ok := found[it.Kind+" "+it.Name]
		switch {
		case !ok || strings.TrimSpace(p.said) == "":
			g.notice("%s %s is gone", it.Kind, it.Name)
			continue
		case it.Passage == nil || it.Passage[0] < 0 || it.Passage[1] > len(p.said) || it.Passage[0] > it.Passage[1]:
			g.notice("%s %s is another text now", it.Kind, it.Name)
			p.from, p.to = around(p.said, 0, g.preset.Hints.Snippet, 0)
		default:
			p.from, p.to = it.Passage[0], it.Passage[1]
		}
		pointers = append(pointers, p)
	}
	return pointers, err
}

// memoriesNow reads what memories say, by their ids.
func memoriesNow(ctx context.Context, c *duck.Conn, ids []string, level memory.Level) (map[string]recall.Hit, error) {
	found := map[string]recall.Hit{}
	err := c.Each(ctx, "build_memories", func(rows *sql.Rows) error {
		h := recall.Hit{Kind: kinds.Memory}
		var m memory.Memory
		err := rows.Scan(&h.ID, &m.Text, duck.TextOf(&m.L0), duck.TextOf(&m.L1), duck.TextOf(&m.L2), &h.Scope, duck.TextOf(&h.Category), &h.CreatedAt)
		h.Text = m.Level(level)
		found[h.ID] = h
		return err
	}, sql.Named("ids", ids))
	if err != nil {
		return nil, fmt.Errorf("memories: %w", err)
	}
	return found, nil
}
