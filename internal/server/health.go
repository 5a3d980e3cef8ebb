package server

import (
	"fmt"
	"net/http"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

func (s *server) health(req *http.Request, _ Caller) (any, error) {
	maxAge := view.PassLate
	if text := req.URL.Query().Get("max_age"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot read max_age %q: want a time like 2m", fleet.Line(text, 40))}
		}
		if d > 0 {
			maxAge = d
		}
	}
	return view.Health(s.Vitals(req.Context()), s.Now(), maxAge), nil
}
