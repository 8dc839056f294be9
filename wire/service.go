// Package wire asks the servers of models: JSON goes there and comes back over HTTP, within bounds. It is what embed/http, rerank/remote and engine/llm have in common; what
// requests and answers look like is theirs.
//
// A Service makes single requests, reads their answers to a limit, follows no redirect, and judges what fails (Failure). Ask goes on with the next key where one is refused or has
// no time, and tries again what may pass. The package reads no environment variable and writes no log, and no failure shows a key.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
)

// Service is one model of one server. It may be used by several goroutines, and is not for printing: it has the keys.
type Service struct {
	Provider, Model string
	Keys            []string          // none: none is sent
	KeyHeader       string            // that has the key by itself; "": it is a bearer token
	Headers         map[string]string // sent besides
	Client          *http.Client      // as Client makes it
	Patience        Patience

	turn atomic.Uint32 // whose turn among the keys it is
}

// Client is a copy of a client, nil for Go's own, that follows no redirect, as that would carry the key to another server; unless it says itself what to do with them.
func Client(of *http.Client) *http.Client {
	client := http.Client{}
	if of != nil {
		client = *of
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &client
}

// maxFailureBody is how much of a failure's body is read.
const maxFailureBody = 64 << 10

// Post sends JSON with a key, and gives the body of an answer of success, which may have most bytes; of is what for, for the message about one that has more.
func (s *Service) Post(ctx context.Context, address, key string, body []byte, most int64, of string) ([]byte, *Failure) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, s.Fail(0, "no request can be made", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for name, value := range s.Headers {
		request.Header.Set(name, value)
	}
	switch {
	case key == "":
	case s.KeyHeader != "":
		request.Header.Set(s.KeyHeader, key)
	default:
		request.Header.Set("Authorization", "Bearer "+key)
	}
	_, answer, failure := s.Send(request, most, of)
	return answer, failure
}

// Send makes one request, and reads the answer as Post does.
func (s *Service) Send(request *http.Request, most int64, of string) (*http.Response, []byte, *Failure) {
	response, err := s.Client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
			err = wrapped.Err
		}
		return nil, nil, s.Fail(0, "", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxFailureBody)) // the status counts, even if the body breaks off
		failure := s.Fail(response.StatusCode, ServerMessage(said), nil)
		failure.RetryAfter = retryAfter(response.Header.Get("Retry-After"))
		return nil, nil, failure
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, nil, s.Fail(0, "answer broke off", err)
	case int64(len(answer)) > most:
		return nil, nil, s.Fail(response.StatusCode, fmt.Sprintf("answer is longer than %d MiB%s", most>>20, of), nil)
	}
	return response, answer, nil
}

// Reported is the failure that an answer of success tells of: gateways report that of the server behind them with status 200, and its status in the body. nil: none.
func (s *Service) Reported(status int, answer []byte) *Failure {
	said, message := reportedFailure(answer)
	if message == "" {
		return nil
	}
	return s.Fail(max(said, status), message, nil)
}
