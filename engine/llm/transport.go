package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// An answer longer than maxBody is refused; of a failure's body no more than maxFailureBody is read.
const (
	maxBody         = 8 << 20
	maxFailureBody  = 64 << 10
	maxMessageRunes = 300
)

// transport is the way of both SDKs to the server. It reads every body itself, within bounds, and turns whatever isn't a JSON
// object into an *Error, so that the SDKs see only answers that they can read, and failures are judged in one place.
type transport struct {
	provider, model, key string
	client               *http.Client
}

// Do makes one request.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	response, err := t.client.Do(request)
	if err != nil {
		// Without its wrapper, which repeats the address.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, t.fail(0, "", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		// The status counts, even if the body breaks off.
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxFailureBody))
		failure := t.fail(response.StatusCode, serverMessage(body), nil)
		failure.RetryAfter = retryAfter(response.Header.Get("Retry-After"))
		return nil, failure
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, t.fail(0, "answer broke off", err)
	}
	if len(body) > maxBody {
		return nil, t.fail(response.StatusCode, fmt.Sprintf("answer is longer than %d MiB", maxBody>>20), nil)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || !json.Valid(body) {
		return nil, t.fail(response.StatusCode, "answer is no JSON object", nil)
	}
	// Gateways report the failure of the server behind them with status 200, and its status in the body.
	if status, message := reportedFailure(body); message != "" {
		return nil, t.fail(max(status, response.StatusCode), message, nil)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.Header.Set("Content-Type", "application/json")
	return response, nil
}

// fail describes a failure in one line, without the key.
func (t *transport) fail(status int, message string, err error) *Error {
	// A shorter key is a placeholder for servers that want none.
	if len(t.key) >= 4 {
		message = strings.ReplaceAll(message, t.key, "[key]")
		if err != nil && strings.Contains(err.Error(), t.key) {
			err = errors.New(strings.ReplaceAll(err.Error(), t.key, "[key]"))
		}
	}
	message = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(message, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(message); len(runes) > maxMessageRunes {
		message = string(runes[:maxMessageRunes-1]) + "…"
	}
	return &Error{Provider: t.provider, Model: t.model, Status: status, Message: message, Err: err}
}

// serverMessage finds the sentence in a failure's body: the usual places of JSON, else the text itself.
func serverMessage(body []byte) string {
	if _, message := reportedFailure(body); message != "" {
		return message
	}
	var flat struct {
		Message, Detail json.RawMessage
	}
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

// reportedFailure reads {"error": {"message": …, "code": …}} and {"error": "…"}. The status is 0 unless code is an HTTP error.
func reportedFailure(body []byte) (status int, message string) {
	var envelope struct{ Error json.RawMessage }
	if json.Unmarshal(body, &envelope) != nil {
		return 0, ""
	}
	if json.Unmarshal(envelope.Error, &message) == nil {
		return 0, message
	}
	var failure struct {
		Message string
		Code    json.RawMessage
	}
	if json.Unmarshal(envelope.Error, &failure) != nil {
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
