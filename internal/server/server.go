package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

// Options are the ports, all of which must be set unless said otherwise.
type Options struct {
	Cycle     Cycle
	Explainer Explainer
	HookFiles HookFiles
	// Control does what is asked of records.
	Control *control.Control
	Metrics http.Handler // the page of metrics; nil where no daemon runs
	Now     func() fleet.Instant

	// Hooks takes hook events that are posted over HTTP. Without it there is no
	// such route.
	Hooks Hooks
	// Whose says whose such an event is. Nil: as its header says.
	Whose Whose
	// Changes is told of what people and agents do here, and tells who streams. Nil: one that
	// is told of nothing else.
	Changes *Changes
	// Down stops the daemon. Without it, "down" is an error: there is none.
	Down func()
	// Become has the daemon go on as the program that lies in the place of its own, when that is
	// the one that is named. Without it, "become" is an error, as without Down.
	Become func(program string) error
	// AgentOf names the agent a caller belongs to, "" for a person. An error
	// means that it is not known, which counts as an agent. Nil: no caller is one.
	AgentOf func(ctx context.Context, c Caller) (string, error)
	// Hub is the way to another host of the hub; nil: none was joined.
	Hub func(host string) (http.RoundTripper, error)
	// InProcess says that the handler is called by this very process: the
	// caller is then the process itself.
	InProcess bool
	Log       *slog.Logger // nil: nothing is logged
}

type server struct{ Options }

// New returns the handler of every route.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changes == nil {
		o.Changes = NewChanges()
	}
	s := &server{o}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.pattern, s.serve(r))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find %s %s: there is no such route", r.Method, r.URL.Path)})
	})
	if o.Hub != nil {
		return s.forward(o.Hub, mux)
	}
	return mux
}

// serve wraps a route: who asks, what they may, and how the answer is written.
func (s *server) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer s.recovered(w, req)
		caller, err := s.admit(req, r.access)
		if err != nil {
			s.fail(w, req, err)
			return
		}
		req.Body = http.MaxBytesReader(w, req.Body, r.maxBody)
		if r.stream != nil {
			r.stream(s, w, req)
			return
		}
		v, err := r.handle(s, req, caller)
		if err != nil {
			s.fail(w, req, err)
			return
		}
		s.answer(w, req, v)
	})
}

// recovered turns a panic of a handler into an answer: one bad view must not
// end the daemon.
func (s *server) recovered(w http.ResponseWriter, req *http.Request) {
	if p := recover(); p != nil {
		s.fail(w, req, &api.Error{Kind: api.Internal, Message: fmt.Sprintf("cannot answer %s: a fault of Custos: %v", req.URL.Path, p)})
	}
}

func (s *server) answer(w http.ResponseWriter, req *http.Request, v any) {
	b, raw := v.([]byte)
	if !raw {
		var err error
		if b, err = json.Marshal(v); err != nil {
			s.fail(w, req, fmt.Errorf("cannot write the answer: %w", err))
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(b); err != nil {
		s.Log.Debug("answer lost", "path", req.URL.Path, "err", err)
	}
}

func (s *server) fail(w http.ResponseWriter, req *http.Request, err error) {
	e := advised(api.ErrorOf(err), req.URL.Path)
	if e.Kind == api.Internal && !s.InProcess { // else who asks sees it, once
		s.Log.Error("cannot answer", "path", req.URL.Path, "err", e.Message)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.HTTPStatus())
	_ = json.NewEncoder(w).Encode(e) // the caller is gone when this fails
}

// advised names the command that finds out what a fault of the installation is,
// unless that is the one that was asked.
func advised(e *api.Error, path string) *api.Error {
	if e.Kind != api.Internal || e.Hint != "" || strings.Contains(path, "doctor") {
		return e
	}
	hinted := *e
	hinted.Hint = "custos doctor"
	return &hinted
}

// decode reads the request's body into v, strictly. No body at all leaves v as
// it is.
func decode(req *http.Request, v any) error {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = api.CheckUTF8("request", string(body)) // else read as other characters than were sent
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err == nil {
		err = d.Decode(v)
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return api.AsBadInput(fmt.Errorf("cannot read the request: %w", err))
	}
	return nil
}

// self is the caller of an in-process handler.
func self() Caller { return Caller{UID: os.Getuid(), PID: os.Getpid()} }
