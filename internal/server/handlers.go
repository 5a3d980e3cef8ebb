package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/recording"
	"custos/internal/schema"
	"custos/internal/view"
)

func (s *server) patrol(req *http.Request, c Caller) (any, error) {
	var order api.PatrolOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if order.Apply {
		if err := s.personOnly(req.Context(), c); err != nil {
			return nil, err
		}
	}
	pass, err := s.Cycle.Patrol(req.Context(), fleet.PatrolOrder{Apply: order.Apply, By: c.Name()})
	if err != nil && (pass.Snapshot.At.IsZero() || req.Context().Err() != nil) {
		return nil, control.CannotLook(err)
	}
	report := view.PatrolReport(pass, order.Apply, s.Control.Teller)
	if err != nil { // what was seen is worth showing, all the more when the disk is what is wrong
		report.Unkept = fleet.Line(err.Error(), 500)
	}
	return report, nil
}

func (s *server) judge(req *http.Request, _ Caller) (any, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, api.AsBadInput(fmt.Errorf("cannot read the recording: %w", err))
	}
	r, err := recording.Decode(body, s.Control.Version)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	pass, err := s.Cycle.Judge(req.Context(), r)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	return view.Plan(pass, s.Control.Teller), nil
}

func (s *server) record(req *http.Request, _ Caller) (any, error) {
	pass, err := s.Cycle.Look(req.Context(), control.Whole)
	if err != nil {
		return nil, control.CannotLook(err)
	}
	return recording.Encode(fleet.Recording{
		Custos: s.Control.Version, Snapshot: pass.Snapshot, Past: pass.Past, Policy: pass.Policy, Rules: s.Control.Rules.TOML(),
	})
}

func (s *server) rules(*http.Request, Caller) (any, error) {
	return api.Rules{Rules: s.Control.Rules.Rules(), TOML: s.Control.Rules.TOML()}, nil
}

func (s *server) kinds(*http.Request, Caller) (any, error) { return s.Explainer.Kinds(), nil }

func (s *server) explain(req *http.Request, _ Caller) (any, error) {
	var order api.ExplainOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if strings.TrimSpace(order.Screen) == "" && order.Title == "" {
		return nil, api.AsBadInput(fmt.Errorf("cannot explain an empty screen"))
	}
	e, err := s.Explainer.Explain(order.Kind, order.Title, order.Screen)
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	return e, nil
}

func (s *server) down(*http.Request, Caller) (any, error) {
	if s.Down == nil {
		return nil, &api.Error{Kind: api.BadInput, Message: "cannot stop the daemon: none is running"}
	}
	s.Down()
	return struct{}{}, nil
}

func (s *server) become(req *http.Request, _ Caller) (any, error) {
	var order api.BecomeOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	if s.Down == nil || s.Become == nil {
		return nil, &api.Error{Kind: api.BadInput, Message: "cannot have the daemon go on as another program: none is running"}
	}
	if order.Try {
		return struct{}{}, nil
	}
	if err := s.Become(order.Program); err != nil {
		return nil, api.AsBadInput(err)
	}
	return struct{}{}, nil
}

func (s *server) schemas(*http.Request, Caller) (any, error) { return schema.Names(), nil }

func (s *server) schema(req *http.Request, _ Caller) (any, error) {
	return schema.Of(req.PathValue("name"))
}
