package ask

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"custos/internal/api"
)

// run answers one question, from finding out who asks to the last part.
func (s *server) run(a *answer, m *nats.Msg, c call) {
	defer s.remove(a)
	defer a.close()
	defer a.recovered()
	from, err := s.Authenticate(m.Subject, m.Header, m.Data)
	if err == nil && from != a.from {
		err = fmt.Errorf("host %s asks under the name of host %s", from, a.from)
	}
	if err != nil {
		s.Counts.Refused.Add(1)
		a.replace(&api.Error{Kind: api.Forbidden, Message: fmt.Sprintf("host %s does not answer: %v", s.host, err)})
		return
	}
	req, err := request(a.ctx, from, c)
	if err != nil {
		s.Counts.Malformed.Add(1)
		a.replace(&api.Error{Kind: api.BadInput, Message: err.Error()})
		return
	}
	late := time.AfterFunc(s.HeadWithin, a.late)
	defer late.Stop()
	s.handler(from).ServeHTTP(a, req)
	a.finish()
}

// request is what a handler is given; its remote address is the name of the host that asks.
func request(ctx context.Context, from string, c call) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, "http://custos"+c.Path, bytes.NewReader(c.Body))
	if err != nil {
		return nil, fmt.Errorf("cannot read a question: %w", err)
	}
	if req.Header, err = kept(c.Header, isAsked); err != nil {
		return nil, fmt.Errorf("cannot read a question: %w", err)
	}
	req.RequestURI, req.RemoteAddr = c.Path, from
	return req, nil
}

// recovered makes a panic of a handler one answer that failed: it must not end the daemon.
func (a *answer) recovered() {
	p := recover()
	if p == nil {
		return
	}
	a.server.Counts.Panics.Add(1)
	a.server.Log.Error("cannot answer another host", "host", a.from, "path", a.path, "panic", fmt.Sprint(p))
	a.replace(&api.Error{Kind: api.Internal, Message: fmt.Sprintf("cannot answer %s: a fault of Custos", a.path)})
}
