package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Brakes stop every action, and let actions run again.
type Brakes interface {
	Freeze(by, why string) error
	// Thaw returns who had frozen and why, "" when nobody had.
	Thaw() (was string, err error)
}

// ErrUnseen is wrapped by AgentOf's error when agents are not seen at all now, so
// that no caller can be told from one.
var ErrUnseen = errors.New("agents are not seen now")

// brakeLook is how long who asks for a freeze may be looked for: it must not wait
// for a look that hangs.
const brakeLook = 2 * time.Second

// freeze is for whoever is not seen to be an agent. Where agents are not seen at all
// it goes ahead: it stops what acts, and a person needs it most when nothing works.
func (s *server) freeze(req *http.Request, c Caller) (any, error) {
	var q api.FreezeRequest
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), brakeLook)
	defer cancel()
	if err := s.personOnly(ctx, c); err != nil && !errors.Is(err, ErrUnseen) {
		return nil, err
	}
	why := fleet.Line(fleet.Redact(q.Why), 400)
	if err := s.Brakes.Freeze(c.Name(), why); err != nil {
		return nil, err
	}
	return api.Brake{Frozen: true, By: c.Name(), Why: why}, nil
}

func (s *server) thaw(*http.Request, Caller) (any, error) {
	was, err := s.Brakes.Thaw()
	if err != nil {
		return nil, err
	}
	return api.Brake{Was: was}, nil
}
