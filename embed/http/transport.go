package remote

import (
	"bytes"
	"context"
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

// Of a failure's body no more than maxFailureBody is read. An answer may have leastBody, and numberBytes for each number that was asked for.
const (
	maxFailureBody  = 64 << 10
	leastBody       = 1 << 20
	numberBytes     = 32
	maxMessageRunes = 300
)

// transport makes single requests, and judges their answers.
type transport struct {
	shape   shape
	config  Config
	address string
	client  http.Client
}

func newTransport(s shape, config Config) *transport {
	t := &transport{shape: s, config: config, address: s.url(config)}
	if config.HTTPClient != nil {
		t.client = *config.HTTPClient
	}
	if t.client.CheckRedirect == nil {
		t.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return t
}

// ask makes one request within the timeout, for the vectors of n texts.
func (t *transport) ask(ctx context.Context, key string, body []byte, n int) ([][]float32, *Error) {
	limited, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	vectors, failure := t.request(limited, key, body, n)
	if failure != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, t.fail(0, fmt.Sprintf("no answer within %v", t.config.Timeout), limited.Err())
	}
	return vectors, failure
}

func (t *transport) request(ctx context.Context, key string, body []byte, n int) ([][]float32, *Error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address, bytes.NewReader(body))
	if err != nil {
		return nil, t.fail(0, "", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	switch {
	case key == "":
	case t.shape.keyHeader != "":
		request.Header.Set(t.shape.keyHeader, key)
	default:
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := t.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
			err = wrapped.Err
		}
		return nil, t.fail(0, "", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxFailureBody)) // the status counts, even if the body breaks off
		failure := t.fail(response.StatusCode, serverMessage(said), nil)
		failure.RetryAfter = retryAfter(response.Header.Get("Retry-After"))
		failure.judge()
		return nil, failure
	}
	most := leastBody + int64(n)*int64(t.config.Dims)*numberBytes
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, t.fail(0, "answer broke off", err)
	case int64(len(answer)) > most:
		return nil, t.fail(response.StatusCode, fmt.Sprintf("answer is longer than %d MiB, for %d vectors", most>>20, n), nil)
	}
	// Gateways report the failure of the server behind them with status 200, and its status in the body.
	if status, message := reportedFailure(answer); message != "" {
		failure := t.fail(max(status, response.StatusCode), message, nil)
		failure.judge()
		return nil, failure
	}
	vectors, err := read(answer, t.shape.rows, n, t.config.Dims)
	if err != nil {
		return nil, t.fail(response.StatusCode, err.Error(), nil)
	}
	return vectors, nil
}

// fail describes a failure in one line, without the keys.
func (t *transport) fail(status int, message string, err error) *Error {
	for _, key := range t.config.Keys {
		if len(key) < 4 { // a placeholder for servers that want none
			continue
		}
		message = strings.ReplaceAll(message, key, "[key]")
		if err != nil && strings.Contains(err.Error(), key) {
			err = errors.New(strings.ReplaceAll(err.Error(), key, "[key]"))
		}
	}
	message = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(message, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(message); len(runes) > maxMessageRunes {
		message = string(runes[:maxMessageRunes-1]) + "…"
	}
	return &Error{Provider: t.config.Provider, Model: t.config.Model, Status: status, Message: message, Err: err}
}

// serverMessage finds the sentence in a failure's body: the usual places of JSON, else the text itself.
func serverMessage(body []byte) string {
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
