package conversation

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// Message is one turn of a conversation.
type Message struct {
	ID             string    `json:"id"`
	ConversationID string    `json:"conversation_id"`
	Seq            int       `json:"seq"`               // from 1 within the conversation
	Key            string    `json:"key,omitempty"`     // the caller's own: one that the conversation has already is not stored again; empty: none
	Session        string    `json:"session,omitempty"` // the host's own
	Role           string    `json:"role"`              // user (default), assistant, system or tool
	Speaker        string    `json:"speaker,omitempty"`
	Text           string    `json:"text"`              // what was said; of Blocks, the texts of those that are text
	Caption        string    `json:"caption,omitempty"` // of what was shown with it
	SaidAt         time.Time `json:"said_at"`           // default when it is appended
	RecordedAt     time.Time `json:"recorded_at,omitzero"`
	// Blocks are what the message is made of, when that is more than its text: thinking, tools, files.
	Blocks []Block `json:"blocks,omitempty"`
	// Tokens is what the message costs in a context, as the conversation's estimator counts: text, caption, the calls of tools and
	// their results, and 1,600 for each image.
	Tokens int `json:"tokens"`
	// SetAside says why the message left the context without a summary; empty: it did not. Append takes AsideNew, AsideHeartbeat,
	// AsideOffBranch and AsideEvent for what is not to enter it.
	SetAside   SetAside  `json:"set_aside,omitempty"`
	SetAsideAt time.Time `json:"set_aside_at,omitzero"`
	// ReplyTo is the message that it answers: its id, or its Key in the same conversation. Nothing is wrong with one that is not known.
	ReplyTo string `json:"reply_to,omitempty"`
	// SourceKind is what brought it about, in a word of the host's such as email, scheduled or heartbeat: at most 64 of a-z, 0-9, _ and -. Empty: plain talk.
	SourceKind string `json:"source_kind,omitempty"`
	// Withheld keeps it from models: it is stored and can be recalled, but no context shows it. Mark changes that.
	Withheld bool `json:"withheld,omitempty"`
	// Fallback is true of what a host said because its model failed.
	Fallback bool `json:"fallback,omitempty"`
	// Usage is what the provider counted for it; nil: unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Actions are what was done on the way to it, a line each.
	Actions []string `json:"actions,omitempty"`
	// Raw is what the host wrote, byte for byte; kept, not shown.
	Raw []byte `json:"-"`
}

// SetAside says why a message is not in the context, although no summary stands for it.
type SetAside string

// The reasons.
const (
	AsideNew       SetAside = "new"        // a new session began
	AsideReset     SetAside = "reset"      // the conversation was archived
	AsideHeartbeat SetAside = "heartbeat"  // a poll of the host and its acknowledgement
	AsideOffBranch SetAside = "off_branch" // edited away or rolled back
	AsideEvent     SetAside = "event"      // a record of the host, no turn of talk
	AsideRetracted SetAside = "retracted"  // withdrawn, with all that descends from it: the text stays, and nothing finds it
	AsidePurged    SetAside = "purged"     // removed for good: number, role and time are all that is left of it
)

// SetAsides lists the reasons.
func SetAsides() []SetAside {
	return []SetAside{AsideNew, AsideReset, AsideHeartbeat, AsideOffBranch, AsideEvent, AsideRetracted, AsidePurged}
}

// Recallable reports whether what is set aside so can be recalled.
func (s SetAside) Recallable() bool {
	return s != AsideHeartbeat && s != AsideEvent && s != AsideRetracted && s != AsidePurged
}

// Roles lists who may have said a message.
func Roles() []string { return kinds.Roles() }

// fields is what the index holds of a message: who said it and when, what was said and what was shown, and what tools were given and gave.
func (m *Message) fields() []index.Field {
	return []index.Field{{Text: m.Speaker, Weight: 1}, {Text: Day(m.SaidAt), Weight: 1}, {Text: standin.IndexedText(m.Text), Weight: 1}, {Text: m.Caption, Weight: 1}, {Text: m.ToolText(), Weight: 1}}
}

// ToolText is what tools were given and gave, a line for each.
func (m *Message) ToolText() string {
	var lines []string
	for i := range m.Blocks {
		if s := m.Blocks[i].searchable(); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// embedded is the text that stands for the message in vector space; what tools said only where nothing else was.
func (m *Message) embedded() string {
	if s := strings.TrimSpace(standin.IndexedText(m.Text) + " " + m.Caption); s != "" {
		return s
	}
	const most = 2000 // bytes, far more than any embedding model reads
	s := strings.TrimSpace(m.ToolText())
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// recallable reports whether the index has the message.
func (m *Message) recallable() bool { return m.SetAside.Recallable() && m.embedded() != "" }

// Count settles what the message costs in a context.
func (m *Message) Count(estimator text.Estimator) {
	m.Tokens = estimator.Tokens(m.Text) + estimator.Tokens(m.Caption)
	for i := range m.Blocks {
		m.Tokens += m.Blocks[i].Tokens(estimator)
	}
}

// row gives the message as the columns of the table messages, in their order.
func (m *Message) row(docNo int32, at index.Stand, raw payload.Raw) []driver.Value {
	return append([]driver.Value{m.ID, docNo, m.ConversationID, int32(m.Seq), duck.NullText(m.Key), duck.NullText(m.Session), m.Role, duck.NullText(m.Speaker),
		m.Text, duck.NullText(m.Caption), m.SaidAt, m.RecordedAt, at.SessionNo, at.Place,
		int32(m.Tokens), duck.NullText(string(m.SetAside)), duck.NullTime(m.SetAsideAt), duck.NullBytes(raw.Inline), duck.NullText(raw.SHA256)}, m.markColumns()...)
}

// ScanMessage reads a row of the query message_list.
func ScanMessage(rows *sql.Rows, more ...any) (*Message, int32, index.Stand, error) {
	var m Message
	var docNo int32
	var at index.Stand
	var marks marksScan
	dest := []any{&m.ID, &docNo, &m.ConversationID, &m.Seq, duck.TextOf(&m.Key), duck.TextOf(&m.Session), &m.Role, duck.TextOf(&m.Speaker),
		&m.Text, duck.TextOf(&m.Caption), &m.SaidAt, &m.RecordedAt, &at.SessionNo, &at.Place,
		&m.Tokens, duck.TextOf(&m.SetAside), duck.TimeOf(&m.SetAsideAt)}
	err := rows.Scan(slices.Concat(dest, marks.dest(&m), more)...)
	return &m, docNo, at, cmp.Or(err, marks.put(&m))
}

// normalise fills defaults and reports what can't be mended. at is the time of the write.
func (m *Message) normalise(at time.Time) error {
	if err := duck.CheckClock(at); err != nil {
		return err
	}
	if m.Blocks != nil {
		m.Blocks = append([]Block{}, m.Blocks...)
		if err := m.readBlocks(); err != nil {
			return err
		}
	} else if strings.TrimSpace(m.Text) == "" && strings.TrimSpace(m.Caption) == "" {
		return fault.Invalid("text", m.Text, "what was said, or a caption of what was shown, or blocks")
	}
	m.Role = cmp.Or(m.Role, "user")
	m.SaidAt = duck.OrTime(duck.UTC(m.SaidAt), at)
	m.RecordedAt = at
	m.SetAsideAt = time.Time{}
	if m.SetAside != "" {
		m.SetAsideAt = at
		if err := fault.Member("set_aside", m.SetAside, []SetAside{AsideNew, AsideHeartbeat, AsideOffBranch, AsideEvent}); err != nil {
			return err
		}
	}
	return cmp.Or(fault.CheckTime("said_at", m.SaidAt), fault.CheckText("text", m.Text), fault.CheckText("caption", m.Caption), fault.CheckText("speaker", m.Speaker),
		fault.CheckText("session", m.Session), fault.CheckText("key", m.Key), fault.Member("role", m.Role, Roles()), m.checkMarks())
}

// readBlocks makes the message's text that of its blocks. A text beside blocks that say nothing becomes the first of them.
func (m *Message) readBlocks() error {
	if err := takeBlocks(m.Blocks); err != nil {
		return err
	}
	said := saidIn(m.Blocks)
	switch {
	case strings.TrimSpace(m.Text) == "":
		m.Text = said
	case said == "":
		m.Blocks = append([]Block{{Type: TextBlock, Text: m.Text}}, m.Blocks...)
	case m.Text != said:
		return fault.Invalid("text", m.Text, "the texts of its blocks, or none")
	}
	return nil
}

// takeBlocks makes blocks ones that can be stored, or says why one can't.
func takeBlocks(blocks []Block) error {
	for i := range blocks {
		if err := blocks[i].validate(); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		blocks[i].Clean()
		blocks[i].FileID = ""
	}
	return nil
}

// saidIn is the text of blocks, a line for each.
func saidIn(blocks []Block) string {
	var lines []string
	for i := range blocks {
		if s := blocks[i].Said(); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}
