package conversation

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/payload"
)

// intake is a message on its way to the file: all that takes long is done, without any lock.
type intake struct {
	message  *Message
	tools    map[string]string // as toolsOf gives them
	raw      payload.Raw
	parts    []payload.Raw // the Raw of its blocks
	files    []*LargeFile
	payloads payload.Pending
	document *index.Document
	err      error // why it can't go in
	// vectorErr is what is wrong with its vector.
	vectorErr error
}

// takeIn makes messages ready: what is large is put apart, words and vectors are made. A message that can't be recalled has neither. Those
// whose key is known stay as they are, without a document.
func (cs *Store) takeIn(ctx context.Context, messages []*Message, known, tools map[string]string) (all []*intake, vectorErr, err error) {
	var fresh []*intake
	for _, m := range messages {
		x := &intake{message: m, tools: tools, payloads: payload.Pending{}}
		all = append(all, x)
		if known[m.Key] != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		cs.keepLarge(ctx, x, m.Blocks)
		if x.err != nil {
			return nil, nil, x.err
		}
		x.keepRaw(m.Blocks)
		if err := cs.contents.PutAllApart(x.payloads); err != nil {
			return nil, nil, err
		}
		fresh = append(fresh, x)
	}
	vectorErr, err = cs.document(ctx, fresh)
	return all, vectorErr, err
}

// keepRaw decides where the host's own writing is kept.
func (x *intake) keepRaw(blocks []Block) {
	x.raw = x.payloads.Keep(x.message.Raw)
	x.parts = make([]payload.Raw, len(blocks))
	for i := range blocks {
		x.parts[i] = x.payloads.Keep(blocks[i].Raw)
	}
}

// document analyses messages on all processors, and embeds them unless that takes too long. Where vectors are unusable, err is an *index.Unusable
// and everything else is done.
func (cs *Store) document(ctx context.Context, all []*intake) (vectorErr, err error) {
	var texts []string
	var live []*intake
	var documents []*index.Document
	for _, x := range all {
		x.message.Count(cs.estimator)
		x.document = &index.Document{Kind: kinds.Message, Retired: !x.message.recallable()}
		if !x.document.Retired {
			texts, live, documents = append(texts, x.message.embedded()), append(live, x), append(documents, x.document)
		}
	}
	var analysed sync.WaitGroup
	for part := range slices.Chunk(all, len(all)/cs.opts.Threads+1) {
		analysed.Go(func() {
			for _, x := range part {
				x.document.Read(x.message.Text, cs.index.Analyzer)
				if !x.document.Retired {
					x.document.Words = cs.index.Analyse(x.message.fields())
				}
			}
		})
	}
	vectorErr = cs.index.EmbedDocuments(ctx, documents, texts)
	analysed.Wait()
	if index.EmbeddingFailed(ctx, vectorErr) {
		return vectorErr, nil
	}
	var bad *index.Unusable
	if errors.As(vectorErr, &bad) {
		for i, x := range live {
			x.vectorErr = bad.Of[i]
		}
	}
	return nil, vectorErr
}

// messageRows is what messages are in the tables, but for their documents.
type messageRows struct {
	messages, parts, items, files [][]driver.Value
	payloads                      payload.Pending
}

// add takes a message that has its id and its place.
func (r *messageRows) add(x *intake, docNo int32, at index.Stand) {
	m := x.message
	r.messages = append(r.messages, m.row(docNo, at, x.raw))
	if m.SetAside == "" {
		r.items = append(r.items, []driver.Value{m.ConversationID, int32(m.Seq), string(kinds.Message), m.ID, int32(m.Tokens)})
	}
	if !m.plain() {
		r.addParts(x, m.Blocks, 0)
	}
	r.addContents(x)
}

// addParts takes blocks of a message, of which the first has this ordinal.
func (r *messageRows) addParts(x *intake, blocks []Block, ordinal int) {
	for i := range blocks {
		r.parts = append(r.parts, blocks[i].partRow(x.message, ordinal+i, x.parts[i]))
	}
}

// addContents takes what lies apart of a message.
func (r *messageRows) addContents(x *intake) {
	for _, f := range x.files {
		r.files = append(r.files, f.row(x.message))
	}
	if r.payloads == nil {
		r.payloads = payload.Pending{}
	}
	for name, content := range x.payloads {
		r.payloads[name] = content
	}
}

// insertRows writes them.
func (cs *Store) insertRows(ctx context.Context, tx *duck.Write, r *messageRows) error {
	if err := cs.contents.PutPayloads(ctx, tx, r.payloads); err != nil {
		return err
	}
	return cmp.Or(tx.AppendRows("messages", r.messages), tx.AppendRows("parts", r.parts), tx.AppendRows("context_items", r.items),
		tx.AppendRows("large_files", r.files))
}

// describeMessage fills in what recall filters by, but for what the text tells (index.Document.Read).
func (cs *Store) describeMessage(d *index.Document, m *Message, scope string, docNo int32, at index.Stand) {
	d.No, d.OwnerID, d.Scope, d.ConversationID, d.CreatedAt = docNo, m.ID, scope, m.ConversationID, m.SaidAt
	d.Stand, d.Speaker, d.Role, d.SourceKind = at, m.Speaker, m.Role, cmp.Or(m.SourceKind, kinds.Talk)
}
