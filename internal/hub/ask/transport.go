package ask

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"

	"github.com/nats-io/nats.go"

	"custos/internal/api"
	"custos/internal/hub/protocol"
)

// Transport asks one host. It is an http.RoundTripper, safe for concurrent use.
type Transport struct {
	asker *Asker
	to    string
}

// To is the way to a host; nothing is asked yet.
func (a *Asker) To(host string) (*Transport, error) {
	if err := protocol.CheckHost(host); err != nil {
		return nil, err
	}
	return &Transport{a, host}, nil
}

// RoundTrip asks once and returns when the head of the answer is there: its body is read while it
// comes. Of the request go along method, path, query, the headers of a list, and a body of at most
// 1 MiB; of its address the scheme and the host do not count. It ends with the request's context.
// Errors: ErrNotThere and ErrNoHub, and others where it cannot be asked: nothing was done.
// ErrInDoubt: it may have been done. Whoever asks again does so by themselves.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	said := noted(req.Context())
	s, m, err := t.question(req)
	if err != nil {
		return nil, err
	}
	if err := t.ask(req.Context(), s, m); err != nil {
		return nil, err
	}
	head, err := s.answered()
	if err == nil || errors.Is(err, ErrInDoubt) {
		_, _ = said.Write([]byte{0})
	}
	if err != nil {
		return nil, err
	}
	return s.response(req, head)
}

// question writes a request as a message that is signed, and takes it up.
func (t *Transport) question(req *http.Request) (*stream, *nats.Msg, error) {
	in, err := contents(req)
	if err != nil {
		return nil, nil, err
	}
	header, err := kept(req.Header, isAsked)
	if err != nil {
		return nil, nil, badInput("cannot ask host %s: %v", t.to, err)
	}
	s := newStream(t.asker, t.to, rand.Text())
	s.heads = req.Method == http.MethodHead
	c := call{Kind: kindAsk, ID: s.id, Until: s.until, Method: req.Method, Path: req.URL.RequestURI(), Header: header, Inbox: s.inbox, Body: in}
	if c.Method == "" {
		c.Method = http.MethodGet
	}
	if err := c.check(); err != nil {
		return nil, nil, badInput("cannot ask host %s: %v", t.to, err)
	}
	m, err := t.signed(c)
	if err != nil {
		return nil, nil, err
	}
	m.Reply = s.reply()
	return s, m, nil
}

func (t *Transport) signed(c call) (*nats.Msg, error) {
	data, err := c.encode()
	if err != nil {
		return nil, badInput("cannot ask host %s: %v", t.to, err)
	}
	m := &nats.Msg{Subject: protocol.AskSubject(t.to, t.asker.from), Data: data}
	if m.Header, err = t.asker.sign(m.Subject, data); err != nil {
		return nil, fmt.Errorf("cannot ask host %s: the question cannot be signed: %w", t.to, err)
	}
	return m, nil
}

// ask sends a question that is taken up. With an error nobody has read it.
func (t *Transport) ask(ctx context.Context, s *stream, m *nats.Msg) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := t.asker.add(s)
	if err == nil {
		if err = t.asker.send(m); err != nil {
			t.asker.forget(s)
		}
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return badInput("cannot ask host %s: the hub takes messages of %d bytes, and this question is larger", t.to, t.asker.nc.MaxPayload())
	case err != nil:
		return noHub(t.to, err)
	}
	stop := context.AfterFunc(ctx, func() { s.give(context.Cause(ctx)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = func() { stop() }
	if s.err != nil {
		stop()
	}
	return nil
}

// contents reads the body of a request, which is closed; of one that is too large, enough to see that.
func contents(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }() // it was read
	b, err := io.ReadAll(io.LimitReader(req.Body, mostBody+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read what is to be asked: %w", err)
	}
	return b, nil
}

// response is an answer whose head has come.
func (s *stream) response(req *http.Request, head *part) (*http.Response, error) {
	header, err := kept(head.Header, isAnswered)
	if err != nil {
		s.give(err)
		return nil, inDoubt(s.to, err)
	}
	return &http.Response{
		StatusCode: head.Status, Status: strconv.Itoa(head.Status) + " " + http.StatusText(head.Status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body{s}, ContentLength: s.length(), Request: req,
	}, nil
}

// noted is a connection for whoever watches a request to know over which one it goes, and what was
// said there: the API's client asks again what nobody can have read (api.Client, traffic).
func noted(ctx context.Context) net.Conn {
	c := api.Counted(nowhere{})
	if t := httptrace.ContextClientTrace(ctx); t != nil && t.GotConn != nil {
		t.GotConn(httptrace.GotConnInfo{Conn: c})
	}
	return c
}

// nowhere is a connection that leads nowhere.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
