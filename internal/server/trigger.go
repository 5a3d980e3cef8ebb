package server

import (
	"net/http"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// trigger writes down that something happened outside. Anybody may tell, in its own
// name.
func (s *server) trigger(req *http.Request, c Caller) (any, error) {
	var r api.TriggerRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.writer(req.Context(), c)
	if err != nil {
		return nil, err
	}
	made, err := s.edit(req.Context(), func(fleet.Records) (fleet.Records, error) {
		t, err := ledger.AddTrigger(fleet.Trigger{Head: fleet.Head{Key: asked(r.Key)}, Name: r.Name, Text: r.Text}, by, s.Now())
		return fleet.Records{Triggers: []fleet.Trigger{t}}, err
	})
	if err != nil {
		return nil, err
	}
	t := made.Triggers[0]
	return api.Trigger{ID: t.ID, Name: t.Name, Text: t.Text, By: t.By, At: t.At.Wall.UTC()}, nil
}
