package engine

import (
	"database/sql"
	"database/sql/driver"
	"strings"
	"time"
)

// Message is one turn of a conversation.
type Message struct {
	ID             string    `json:"id"`
	ConversationID string    `json:"conversation_id"`
	Seq            int       `json:"seq"` // from 1 within the conversation
	Key            string    `json:"key,omitempty"`
	Session        string    `json:"session,omitempty"` // the host's own
	Role           string    `json:"role"`
	Speaker        string    `json:"speaker,omitempty"`
	Text           string    `json:"text"`
	Caption        string    `json:"caption,omitempty"` // of what was shown with it
	SaidAt         time.Time `json:"said_at"`
	RecordedAt     time.Time `json:"recorded_at"`
}

// Roles lists who may have said a message.
func Roles() []string { return []string{"user", "assistant", "system", "tool"} }

// fields is what the index holds of a message: who said it and when, what was said and what was shown.
func (m *Message) fields() []field {
	return []field{{m.Speaker, 1}, {m.SaidAt.Format("2 January 2006"), 1}, {m.Text, 1}, {m.Caption, 1}}
}

// embedded is the text that stands for the message in vector space.
func (m *Message) embedded() string {
	return strings.TrimSpace(m.Text + " " + m.Caption)
}

// row gives the message as the columns of the table messages, in their order.
func (m *Message) row(docNo int32, at stand) []driver.Value {
	return []driver.Value{m.ID, docNo, m.ConversationID, int32(m.Seq), nullText(m.Key), nullText(m.Session), m.Role, nullText(m.Speaker),
		m.Text, nullText(m.Caption), m.SaidAt, m.RecordedAt, at.sessionNo, at.place}
}

// scanMessage reads a row of the query message_list.
func scanMessage(rows *sql.Rows, more ...any) (*Message, int32, stand, error) {
	var m Message
	var docNo int32
	var at stand
	dest := []any{&m.ID, &docNo, &m.ConversationID, &m.Seq, textOf(&m.Key), textOf(&m.Session), &m.Role, textOf(&m.Speaker),
		&m.Text, textOf(&m.Caption), &m.SaidAt, &m.RecordedAt, &at.sessionNo, &at.place}
	err := rows.Scan(append(dest, more...)...)
	return &m, docNo, at, err
}

// normalise fills defaults and reports what can't be mended. at is the time of the write.
func (m *Message) normalise(at time.Time) error {
	if strings.TrimSpace(m.Text) == "" && strings.TrimSpace(m.Caption) == "" {
		return invalid("text", m.Text, "what was said, or a caption of what was shown")
	}
	m.Role = or(m.Role, "user")
	m.SaidAt = orTime(utc(m.SaidAt), at)
	m.RecordedAt = at
	return firstError(checkTime("said_at", m.SaidAt), checkText("text", m.Text), checkText("caption", m.Caption), checkText("speaker", m.Speaker),
		checkText("session", m.Session), checkText("key", m.Key), member("role", m.Role, Roles()))
}
