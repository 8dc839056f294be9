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

// An answer longer than maxBody is refused; of a failure's body no more than maxFailureBody is read.
const (
	maxBody         = 4 << 20
	maxFailureBody  = 64 << 10
	maxMessageRunes = 300
)

// sender makes the function that sends one request and fills in the scores of its answer. The key lives in it alone, so that no way of printing a Client
// shows it. Its error is an *Error.
func sender(config Config) func(ctx context.Context, body []byte, scores []float64) error {
	way := shapes[config.Provider]
	fail := func(why string, status int, message string, err error) *Error {
		// A shorter key is a placeholder for servers that want none.
		if len(config.Key) >= 4 {
			message = strings.ReplaceAll(message, config.Key, "[key]")
			if err != nil && strings.Contains(err.Error(), config.Key) {
				err = errors.New(strings.ReplaceAll(err.Error(), config.Key, "[key]"))
			}
		}
		return &Error{Provider: config.Provider, Model: config.Model, Why: why, Status: status, Message: line(message), Err: err}
	}
	// broken judges what ended a request before its answer was whole.
	broken := func(ctx context.Context, message string, err error) *Error {
		if ctx.Err() != nil {
			return fail(ReasonTimeout, 0, fmt.Sprintf("no answer within %v", config.Timeout), ctx.Err())
		}
		// Without its wrapper, which repeats the address.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return fail(ReasonRequestError, 0, message, err)
	}
	return func(ctx context.Context, body []byte, scores []float64) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, bytes.NewReader(body))
		if err != nil {
			return fail(ReasonRequestError, 0, "no request can be made", err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		for name, value := range way.headers {
			request.Header.Set(name, value)
		}
		switch {
		case config.Key == "":
		case way.header != "":
			request.Header.Set(way.header, config.Key)
		default:
			request.Header.Set("Authorization", "Bearer "+config.Key)
		}
		response, err := config.HTTPClient.Do(request)
		if err != nil {
			return broken(ctx, "", err)
		}
		defer response.Body.Close()
		if response.StatusCode < 200 || response.StatusCode > 299 {
			// The status counts, even if the body breaks off.
			text, _ := io.ReadAll(io.LimitReader(response.Body, maxFailureBody))
			failure := fail(ReasonHTTPError, response.StatusCode, serverMessage(text), nil)
			failure.RetryAfter = retryAfter(response.Header.Get("Retry-After"))
			return failure
		}
		answer, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
		if err != nil {
			return broken(ctx, "answer broke off", err)
		}
		if len(answer) > maxBody {
			return fail(ReasonInvalidResponse, response.StatusCode, fmt.Sprintf("answer is longer than %d MiB", maxBody>>20), nil)
		}
		if err := read(answer, scores); err != nil {
			return fail(ReasonInvalidResponse, response.StatusCode, answerMessage(answer, err), nil)
		}
		return nil
	}
}

// line is a message of others as one line of bounded length.
func line(message string) string {
	message = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(message, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if runes := []rune(message); len(runes) > maxMessageRunes {
		message = string(runes[:maxMessageRunes-1]) + "…"
	}
	return message
}

// serverMessage finds the sentence in a failure's body: the usual places of JSON, else the text itself.
func serverMessage(body []byte) string {
	var places struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &places) == nil {
		for _, place := range []json.RawMessage{places.Message, places.Detail, places.Error} {
			var message string
			var inner struct{ Message string }
			if json.Unmarshal(place, &message) == nil && message != "" {
				return message
			}
			if json.Unmarshal(place, &inner) == nil && inner.Message != "" {
				return inner.Message
			}
		}
	}
	if text := string(bytes.TrimSpace(body)); !strings.HasPrefix(text, "<") {
		return text
	}
	return "a page of HTML"
}

// answerMessage says what is wrong with an answer of success, and what the server says in it: gateways report the failure of the one behind them so.
func answerMessage(answer []byte, wrong error) string {
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) && json.Valid(answer) {
		if said := serverMessage(answer); !strings.HasPrefix(said, "{") {
			return wrong.Error() + ": " + said
		}
	}
	return wrong.Error()
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
