package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"sync/atomic"
)

// maxAnswer caps what is read of an answer: a recording of 10 000 agents is
// about 30 MB.
const maxAnswer = 256 << 20

// twice says what comes of a question that is asked two times.
type twice int

const (
	once  twice = iota // it may be done two times: it is never asked again by itself
	same               // it is done once: it carries an ID or a key, or sets what is set already
	looks              // nothing: it changes nothing
)

// keyed is a question that is one and the same again where it carries a key.
func keyed(key string) twice {
	if key == "" {
		return once
	}
	return same
}

// question is one request.
type question struct {
	method, path string
	body         []byte
	twice        twice
}

// mostAsks is how often a question is asked whose answer is lost, where asking again
// does nothing twice.
const mostAsks = 3

// do asks, and returns the body of a good answer. The error is always an *Error
// or the context's. What cannot have been read is asked again; what may have been
// read, and was not answered, only where that does nothing twice.
func (c *Client) do(ctx context.Context, q question) ([]byte, error) {
	ctx, done := c.attend(ctx)
	defer done()
	read := false // by a server whose answer is lost
	for n := 1; ; n++ {
		b, said, err := c.ask(ctx, q)
		read = read || said
		var e *Error
		switch {
		case err == nil:
			return b, nil
		case ctx.Err() != nil:
			return nil, unanswered(q, read, givenUp(ctx))
		case errors.As(err, &e) && said: // it is the answer
			return nil, e
		case e != nil, n == mostAsks, said && q.twice == once:
			return nil, unanswered(q, read, err)
		}
	}
}

// ask asks once. said is whether the question may have been read.
func (c *Client) ask(ctx context.Context, q question) (_ []byte, said bool, _ error) {
	var sent traffic
	req, err := http.NewRequestWithContext(sent.watched(ctx), q.method, "http://custos"+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, false, &Error{Kind: BadInput, Message: fmt.Sprintf("cannot ask: %v", err)}
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		cause := errors.Unwrap(err)
		return nil, sent.any() || isCut(cause), cause
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("its answer breaks off: %w", err)
	case len(b) > maxAnswer:
		return nil, true, &Error{Kind: Internal, Message: "cannot read the answer of Custos: it is larger than 256 MiB"}
	case resp.StatusCode < 300:
		return b, true, nil
	}
	return nil, true, errorOf(resp.StatusCode, b)
}

// unanswered is the error of a question that got no answer: who may have read it
// may have done what it asks for.
func unanswered(q question, read bool, cause error) error {
	var e *Error
	isError := errors.As(cause, &e)
	switch {
	case read && q.twice != looks:
		return lost(q, cause)
	case errors.Is(cause, context.Canceled): // who asks wants no answer any more
		return cause
	case isError:
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return cause
	}
	return &Error{Kind: Unreachable, Message: fmt.Sprintf("cannot ask Custos: %v", cause)}
}

// lost is the error of a question that may have been done, and whose answer did not come.
func lost(q question, cause error) error {
	why := "the answer was lost: " + cause.Error()
	switch {
	case errors.Is(cause, context.Canceled):
		why = "its answer was not waited for: interrupted"
	case errors.Is(cause, context.DeadlineExceeded):
		why = "no answer came in time"
	}
	return &Error{Kind: Lost, Again: q.twice == same, Hint: "custos feed", cause: cause,
		Message: "cannot tell what became of it: it may have been taken, and " + why}
}

// givenUp is why an answer was not waited for any longer: no server is there that could
// give it, or who asks wants it no more.
func givenUp(ctx context.Context) error {
	var e *Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	return ctx.Err()
}

// errorOf reads the error an answer carries.
func errorOf(status int, body []byte) error {
	var e Error
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		return &e
	}
	return &Error{Kind: Internal, Message: fmt.Sprintf("cannot get an answer: status %d", status)}
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return send[T](ctx, c, question{http.MethodGet, path, nil, looks})
}

func post[T any](ctx context.Context, c *Client, again twice, path string, order any) (T, error) {
	var zero T
	if err := checkTexts("request", reflect.ValueOf(order)); err != nil {
		return zero, err
	}
	body, err := json.Marshal(order)
	if err != nil {
		return zero, fmt.Errorf("cannot write the request: %w", err)
	}
	return send[T](ctx, c, question{http.MethodPost, path, body, again})
}

func send[T any](ctx context.Context, c *Client, q question) (out T, err error) {
	b, err := c.do(ctx, q)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, &Error{Kind: Internal, Message: fmt.Sprintf("cannot read the answer of Custos: %v", err)}
	}
	return out, nil
}

// counted is a connection that counts what was said on it: where nothing was, none
// can have been read.
type counted struct {
	net.Conn
	said atomic.Int64
}

// Counted is a connection of which a client knows whether anything was said on it.
func Counted(c net.Conn) net.Conn { return &counted{Conn: c} }

// Write counts what the other end may read.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.said.Add(int64(n))
	return n, err
}

// traffic is the connections that one question went over, and how much had been said
// on each before.
type traffic struct {
	conns  []*counted
	before []int64
}

// watched returns a context that notes each connection a question is given.
func (t *traffic) watched(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if conn, ok := i.Conn.(*counted); ok {
			t.conns, t.before = append(t.conns, conn), append(t.before, conn.said.Load())
		}
	}})
}

// any says whether anything was said.
func (t *traffic) any() bool {
	for i, conn := range t.conns {
		if conn.said.Load() > t.before[i] {
			return true
		}
	}
	return false
}
