package loop_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// wire is the way to servers by their hosts, without a socket: a bubble of synctest
// waits for none. Each request takes a while, and an answer that promises more than
// it holds breaks off, as on a real wire.
type wire map[string]http.Handler

// latency never adds up to whole seconds within a day, so that what is asked and
// what happens at a full minute always come in the same order.
const latency = 23 * time.Millisecond

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	server := w[req.URL.Host]
	if server == nil {
		return nil, fmt.Errorf("there is no %s", req.URL.Host)
	}
	time.Sleep(latency) // fake
	sent := req.Clone(req.Context())
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, sent)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	resp := answer.Result()
	resp.Body = io.NopCloser(broken(answer))
	return resp, nil
}

// broken is the body of an answer, with an error where less came than was promised.
func broken(answer *httptest.ResponseRecorder) io.Reader {
	body := answer.Body.Bytes()
	promised, err := strconv.Atoi(answer.Header().Get("Content-Length"))
	if err != nil || promised <= len(body) {
		return bytes.NewReader(body)
	}
	return io.MultiReader(bytes.NewReader(body), cut{})
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
