package server

import (
	"cmp"
	"errors"
	"net/http"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// report is the morning page.
func (s *server) report(req *http.Request, _ Caller) (any, error) {
	ctx := req.Context()
	from, err := sinceOf(cmp.Or(req.URL.Query().Get("since"), "12h"), s.Now())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	pass, err := s.Cycle.Look(ctx, stare)
	if err != nil {
		return nil, cannotLook(err)
	}
	events, err := s.Chronicle.Events(ctx, EventFilter{Limit: view.EventsAReport})
	if err != nil {
		return nil, err
	}
	failures, err := s.Failures.Failures(ctx, "", failuresAtMost)
	if err != nil {
		return nil, err
	}
	costs, err := s.Costs(ctx, from)
	if err != nil {
		return nil, err
	}
	out := view.Report(pass, from, events)
	out.Watched = !s.InProcess
	for _, c := range costs {
		view.AddCost(&out.Models, c)
	}
	out.Agents = view.AgentReports(&pass, from, func(top string) ([]string, bool, error) {
		if s.Made == nil {
			return nil, false, errors.New("nobody looks into worktrees here")
		}
		return s.Made(ctx, fleet.RawPath(top), from.Wall)
	})
	view.AddFailures(out.Agents, failures, from)
	out.Next = view.AfterReport(out)
	return out, nil
}
