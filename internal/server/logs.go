package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"custos/internal/api"
	"custos/internal/fleet"
)

// linesOfLog is how many lines of a log are told unless somebody asks for more, up to
// linesOfLogAtMost.
const (
	linesOfLog       = 200
	linesOfLogAtMost = 10000
)

// LogAsk says what of an agent's output is asked for.
type LogAsk struct {
	Agent    string
	Instance string // the newest one
	Errors   bool   // what it wrote to its standard error
	After    string // Next of the answer before; "": from the end
}

func (s *server) log(req *http.Request, _ Caller) (any, error) {
	name, q := req.PathValue("name"), req.URL.Query()
	lines, err := linesAsked(q, linesOfLog, linesOfLogAtMost)
	if err != nil {
		return nil, err
	}
	r, err := s.registration(req.Context(), name)
	if err != nil {
		return nil, err
	}
	if why := s.noLog(req.Context(), name, r); why != nil {
		return nil, why
	}
	ask := LogAsk{Agent: name, Instance: r.Instance, Errors: q.Get("errors") == "true", After: q.Get("after")}
	l, err := s.Screens.Log(req.Context(), ask)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noLogOf(name, "what it wrote is not kept any more", "custos why agent/"+name)
	case errors.Is(err, fs.ErrInvalid):
		return nil, badInput(err)
	case err != nil:
		return nil, cannotLook(err)
	}
	l.Agent, l.At, l.Errors = name, s.Now().Wall.UTC(), ask.Errors
	return redacted(l, ask.After == "", lines), nil
}

// redacted cuts after it has redacted: half of a secret would not be known for one.
func redacted(l api.Log, fromTheEnd bool, lines int) api.Log {
	l.Text, l.Rest = fleet.Redact(fleet.Text(l.Text)), fleet.Redact(fleet.Text(l.Rest))
	if fromTheEnd {
		l.Text = lastLines(l.Text, lines)
	}
	return l
}

func lastLines(text string, n int) string {
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-n):], "") + text[len(strings.TrimSuffix(text, "\n")):]
}

// noLog says why nothing is kept of what an agent writes; nil where something is.
func (s *server) noLog(ctx context.Context, name string, r *fleet.Registration) error {
	switch {
	case r == nil:
		if err := s.known(ctx, "show the log of", name); err != nil {
			return err
		}
		return noLogOf(name, "Custos did not start it, and keeps nothing of what it writes", "custos peek "+name)
	case r.Owner == fleet.OwnerAdopted:
		return noLogOf(name, "Custos did not start it, and keeps nothing of what it writes", "custos peek "+name)
	case r.Instance == "":
		return noLogOf(name, "no instance of it has begun", "custos why agent/"+name)
	case r.Where != fleet.WhereHeadless:
		return noLogOf(name, "it runs in tmux, which keeps only what is on its screen", "custos peek "+name)
	}
	return nil
}

func noLogOf(name, why, hint string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot show the log of %q: %s", fleet.Line(name, 100), why), Hint: hint}
}

// linesAsked is how many lines a query asks for.
func linesAsked(q url.Values, usual, most int) (int, error) {
	text := q.Get("lines")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, badInput(fmt.Errorf("cannot show %q lines: want 1 to %d", fleet.Line(text, 20), most))
	}
	return n, nil
}
