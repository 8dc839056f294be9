package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/mallardmem/mallard/wire"
)

// maxBody is what an answer may have.
const maxBody = 8 << 20

// transport is the way of both SDKs to the server. It reads every body itself, within bounds, and turns whatever isn't a JSON
// object into an *Error, so that the SDKs see only answers that they can read, and failures are judged in one place.
type transport struct{ *wire.Service }

// Do makes one request.
func (t transport) Do(request *http.Request) (*http.Response, error) {
	response, body, failure := t.Send(request, maxBody, "")
	if failure == nil {
		if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || !json.Valid(body) {
			failure = t.Fail(response.StatusCode, "answer is no JSON object", nil)
		} else {
			failure = t.Reported(response.StatusCode, body)
		}
	}
	if failure != nil {
		return nil, &Error{*failure}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.Header.Set("Content-Type", "application/json")
	return response, nil
}
