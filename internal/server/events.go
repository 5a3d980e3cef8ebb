package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/view"
)

// eventsAtOnce is how many events one question to the log returns at most.
const eventsAtOnce = 500

// events streams the event log as server-sent events, from ?after=ID on
// (the newest only, without it): at once, and with each change. It ends when the caller
// goes away, or reads no more.
func (s *server) events(w http.ResponseWriter, req *http.Request) {
	after, err := s.eventsFrom(req)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	out := newStream(w)
	for {
		_, next := s.Changes.newest() // before the log is read, lest a change in between is missed
		if after, err = s.sendEvents(req.Context(), out, after); err == nil {
			err = out.say(": so far\n\n")
		}
		if err != nil {
			s.Log.Debug("event stream ended", "err", err)
			return
		}
		if !waited(req, nil, apart) || !waited(req, next, keepAlive) {
			return
		}
	}
}

func (s *server) eventsFrom(req *http.Request) (int64, error) {
	if text := req.URL.Query().Get("after"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			return 0, api.AsBadInput(fmt.Errorf("cannot stream events after %q: want an event's number", text))
		}
		return id, nil
	}
	newest, err := s.Control.Events(req.Context(), control.EventFilter{Limit: 1})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return newest[len(newest)-1].ID, nil
}

// sendEvents writes what is new and returns the last number it wrote.
func (s *server) sendEvents(ctx context.Context, w io.Writer, after int64) (int64, error) {
	list, err := s.Control.Events(ctx, control.EventFilter{After: after, Limit: eventsAtOnce})
	if err != nil {
		return after, err
	}
	for _, e := range list {
		b, err := json.Marshal(view.Event(e))
		if err != nil {
			return after, fmt.Errorf("cannot write event %d: %w", e.ID, err)
		}
		if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, fleet.Line(e.Kind, 40), b); err != nil {
			return after, err
		}
		after = e.ID
	}
	return after, nil
}
