package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"custos/internal/api"
	"custos/internal/fleet"
)

// linesShown is how much of a screen is shown unless somebody asks for more, up
// to linesAtMost.
const (
	linesShown  = 50
	linesAtMost = 2000
)

func (s *server) screen(req *http.Request, _ Caller) (any, error) {
	name := req.PathValue("name")
	lines, err := linesAsked(req.URL.Query(), linesShown, linesAtMost)
	if err != nil {
		return nil, err
	}
	text, err := s.Screens.Screen(req.Context(), name, lines)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.nothingShown(req.Context(), name)
	case err != nil:
		return nil, cannotLook(err)
	}
	return api.Screen{Agent: name, At: s.Now().Wall.UTC(), Text: fleet.Redact(fleet.Text(text))}, nil
}

// nothingShown says why there is nothing to look at of an agent.
func (s *server) nothingShown(ctx context.Context, name string) error {
	a, err := s.known(ctx, "look at", name)
	switch {
	case err != nil:
		return err
	case a.TerminalStopped != 0:
		return &api.Error{Kind: api.CannotLook, Message: fmt.Sprintf("cannot look at %q: %s", fleet.Line(name, 100), stoppedTerminal(a)), Hint: goOn(a)}
	}
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot look at %q: it has no terminal and no output of its own", fleet.Line(name, 100)),
		Hint: "custos why agent/" + name}
}

// stoppedTerminal says why nobody sees or reaches an agent whose terminal server is stopped.
func stoppedTerminal(a fleet.Agent) string {
	return fmt.Sprintf("its terminal server (process %d) is stopped by a signal", a.TerminalStopped)
}

// goOn is the command that has that server go on.
func goOn(a fleet.Agent) string { return api.Typed("kill", "-CONT", strconv.Itoa(a.TerminalStopped)) }

// known is an agent; an error where there is none of a name, or that cannot be told; verb
// is what cannot be done then.
func (s *server) known(ctx context.Context, verb, name string) (fleet.Agent, error) {
	pass, err := s.Cycle.Look(ctx, glance)
	if err != nil {
		return fleet.Agent{}, cannotLook(err)
	}
	registered, err := s.registration(ctx, name)
	if err = unlessForgotten(pass.Past, err); err != nil {
		return fleet.Agent{}, err
	}
	return findAgent(verb, name, &pass.Snapshot, registered)
}
