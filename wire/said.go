package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// mostSaid is how many characters of a message are told.
const mostSaid = 300

// line is a message of others as one line of bounded length.
func line(message string) string {
	message = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(message, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(message); len(runes) > mostSaid {
		message = string(runes[:mostSaid-1]) + "…"
	}
	return message
}

// ServerMessage finds the sentence in a failure's body: the usual places of JSON, else the text itself.
func ServerMessage(body []byte) string {
	if _, message := reportedFailure(body); message != "" {
		return message
	}
	var flat struct{ Message, Detail json.RawMessage }
	if json.Unmarshal(body, &flat) == nil {
		for _, place := range []json.RawMessage{flat.Message, flat.Detail} {
			var message string
			if json.Unmarshal(place, &message) == nil && message != "" {
				return message
			}
		}
	}
	if text := string(bytes.TrimSpace(body)); !strings.HasPrefix(text, "<") {
		return text
	}
	return "a page of HTML"
}

// reportedFailure reads {"error": {"message": …, "code": …}} and {"error": "…"}, which Gemini puts into an array. The status is 0 unless code is an HTTP error.
func reportedFailure(body []byte) (status int, message string) {
	type envelope struct{ Error json.RawMessage }
	var said envelope
	if json.Unmarshal(body, &said) != nil {
		var all []envelope
		if json.Unmarshal(body, &all) != nil || len(all) == 0 {
			return 0, ""
		}
		said = all[0]
	}
	if json.Unmarshal(said.Error, &message) == nil {
		return 0, message
	}
	var failure struct {
		Message string
		Code    json.RawMessage
	}
	if json.Unmarshal(said.Error, &failure) != nil {
		return 0, ""
	}
	if code, err := strconv.Atoi(string(failure.Code)); err == nil && code >= 400 && code <= 599 {
		status = code
	}
	return status, failure.Message
}

// retryAfter reads the header of that name: seconds, or a date. 0: absent, over, or neither.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
