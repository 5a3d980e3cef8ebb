package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/terminal"
	"custos/internal/terminal/live"
)

// asItComes is the header of a stream that asks a proxy to keep nothing of it: each event goes on
// as it comes, and who does not read is found out here, and dropped.
func asItComes() (name, value string) { return "X-Accel-Buffering", "no" }

// sheet are the looks of terminals, as they are computed.
func sheet() http.HandlerFunc {
	text := terminal.Sheet()
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(text)) // the reader is gone when this fails
	}
}

// ofTerminal is the page of an agent, of the address of its terminal; "" for any other.
func ofTerminal(path string) string {
	if agent, ok := strings.CutSuffix(path, "/terminal"); ok && strings.Count(agent, "/") == 2 {
		return agent
	}
	return ""
}

// unread is how long a browser may not read before it is dropped, and knownFor how long its
// session is taken to be as it was.
const (
	unread   = 10 * time.Second
	knownFor = time.Second
)

// terminal streams what an agent shows as server-sent events, for as long as the session is
// good: whole frames, and what changes from one to the next.
func (s *site) terminal(w http.ResponseWriter, r *http.Request) {
	session, name := sessionOf(r), r.PathValue("name")
	v, err := s.api.Agent(s.Peers.Looks(r.Context()), name)
	switch {
	case err != nil:
		s.fail(w, r, err)
		return
	case !session.Terminal || !session.showsRow(v.Agent):
		s.refuse(w, r, http.StatusForbidden, "This link shows no terminal of that agent.", session.begins())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set(asItComes())
	out := &frames{w: w, rc: http.NewResponseController(w), good: func() bool { _, ok := s.known(r); return ok }, now: s.Now, known: s.Now()}
	if out.say("retry: 500\n\n") != nil {
		return
	}
	_ = s.Terminals.Look(r.Context(), name, r.Header.Get("Last-Event-ID"), out.tell) // it ends with its reader
}

// frames is a stream that breaks off when its session has ended, or its reader does not read.
type frames struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	good  func() bool
	now   func() time.Time
	known time.Time // when the session was good last
}

func (f *frames) tell(e live.Event) error {
	if now := f.now(); now.Sub(f.known).Abs() >= knownFor {
		if !f.good() {
			return errors.New("cannot go on: the session has ended")
		}
		f.known = now
	}
	switch {
	case e.Kind == "":
		return f.say("event: same\ndata: {}\n\n") // a comment would not reach the page's script
	case e.ID == "":
		return f.say(fmt.Sprintf("event: %s\ndata: %s\n\n", e.Kind, e.Data))
	}
	return f.say(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, e.Data))
}

func (f *frames) say(text string) error {
	if err := f.rc.SetWriteDeadline(time.Now().Add(unread)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := f.w.Write([]byte(text)); err != nil {
		return err
	}
	return f.rc.Flush()
}

// keyboard is taken, typed on and given back by a person. It answers the script of the page,
// which has no other page to go to.
func (s *site) keyboard(w http.ResponseWriter, r *http.Request) {
	ctx, err := s.person(r)
	if err != nil {
		s.refuse(w, r, http.StatusForbidden, sentence(err), "/")
		return
	}
	out, err := s.typed(ctx, r)
	switch {
	case errors.Is(err, live.ErrElsewhere): // from which it may be taken over
		http.Error(w, err.Error(), http.StatusLocked)
	case errors.Is(err, live.ErrNotYours):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		e := api.ErrorOf(api.AsBadInput(err))
		http.Error(w, e.Message, e.HTTPStatus())
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the reader is gone when this fails
	}
}

// held names what a person has taken over.
type held struct {
	Hold   string `json:"hold,omitempty"`
	Number int    `json:"n,omitempty"` // of those that there were, as the stream tells it
}

// mostKeys is how many bytes the keys of one request may have, as they are spelled: a paste
// of 64 KiB, each byte of it six.
const mostKeys = 512 << 10

func (s *site) typed(ctx context.Context, r *http.Request) (held, error) {
	if err := r.ParseForm(); err != nil {
		return held{}, fmt.Errorf("cannot read the form: %w", err)
	}
	session, agent, hold := sessionOf(r), r.PathValue("name"), r.PostForm.Get("hold")
	switch r.PathValue("do") {
	case "take":
		view := r.PostForm.Get("view")
		if !isView(view) {
			return held{}, errors.New("cannot take over: it is not as this page sends it; load it again")
		}
		id, number, err := s.Terminals.Take(ctx, agent, live.Who{Session: session.ID, View: view, By: session.By}, r.PostForm.Get("over") != "")
		if err != nil && !errors.Is(err, live.ErrElsewhere) {
			err = fmt.Errorf("%w: %w", live.ErrNotYours, err)
		}
		return held{id, number}, err
	case "keys":
		turn, err := strconv.ParseInt(r.PostForm.Get("turn"), 10, 64)
		var strokes []terminal.Stroke
		if keys := r.PostForm.Get("keys"); err == nil && len(keys) <= mostKeys {
			err = json.Unmarshal([]byte(keys), &strokes)
		}
		if err != nil || turn < 1 {
			return held{}, errors.New("cannot type: it is not as this page sends it")
		}
		return held{}, s.Terminals.Type(ctx, agent, hold, session.ID, turn, strokes)
	case "release":
		s.Terminals.Release(agent, hold, session.ID)
		return held{}, nil
	}
	return held{}, errors.New("cannot do that with a terminal")
}

// isView says whether a text is what a page calls itself in one window: 32 hexadecimal digits.
func isView(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}
