package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// InProcess returns a transport that asks a handler of this very process, so
// that a command without a daemon takes the same road as one with it.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ handler http.Handler }

// RoundTrip runs the handler to its end and returns what it wrote. When the
// request is cut short meanwhile, what was only looked at is dropped, as the
// look may be half of one; but of what was done the answer is returned: nothing
// else will say it.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	defer req.Body.Close()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	served := req.Clone(req.Context())
	served.RequestURI = req.URL.RequestURI()
	w := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, served)
	if err := req.Context().Err(); err != nil && (req.Method == http.MethodGet || w.status >= http.StatusBadRequest) {
		return nil, cut{err}
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}, nil
}

// cut is the error of a question that this process had begun to answer when it was cut
// short: what it asks for may be done.
type cut struct{ error }

// Unwrap returns what cut it short.
func (c cut) Unwrap() error { return c.error }

func isCut(err error) bool {
	var c cut
	return errors.As(err, &c)
}

type answer struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}
