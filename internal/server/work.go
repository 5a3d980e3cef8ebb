package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// workList lists work, of every tracker: what is not closed; all of it; what is
// ready; what waits.
func (s *server) workList(req *http.Request, _ Caller) (any, error) {
	q := req.URL.Query()
	chosen, err := workChoice(q.Get("which"), q.Get("tracker"))
	if err != nil {
		return nil, badInput(err)
	}
	all, _, err := s.Records.Records(req.Context())
	if err != nil {
		return nil, err
	}
	seen, err := s.Records.Work(req.Context())
	if err != nil {
		return nil, err
	}
	out := api.WorkList{At: s.Now().Wall.UTC(), Work: []api.Work{}, Next: []api.Hint{}}
	for _, w := range workViews(all, seen) {
		if chosen(w) && cmp.Or(q.Get("project"), w.Project) == w.Project && cmp.Or(q.Get("agent"), w.Agent) == w.Agent {
			out.Work = append(out.Work, w)
		}
	}
	if len(all.Work) == 0 && len(seen) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos work add 'TITLE'", What: "write some down"})
	}
	return out, nil
}

// workChoice says which work is asked for.
func workChoice(which, tracker string) (func(api.Work) bool, error) {
	trackers := []string{string(fleet.TrackerOwn), string(fleet.TrackerIssue), string(fleet.TrackerPull), string(fleet.TrackerBeads)}
	if tracker != "" && !slices.Contains(trackers, tracker) {
		return nil, fmt.Errorf("cannot list work: there is no tracker %q%s", fleet.Line(tracker, 40), nearest.Hint(tracker, trackers))
	}
	if !slices.Contains([]string{"", "all", "ready", "blocked"}, which) {
		return nil, fmt.Errorf("cannot list work: %q is none of all, ready, blocked", fleet.Line(which, 40))
	}
	return func(w api.Work) bool {
		open := which == "all" || w.State != string(fleet.WorkClosed)
		return open && (which != "ready" || w.Ready) && (which != "blocked" || len(w.BlockedBy) > 0 || w.Held != "") && cmp.Or(tracker, w.Tracker) == w.Tracker
	}, nil
}

// workViews is every piece of work there is: of the ledger, closed or not, then of
// other trackers.
func workViews(all fleet.Records, seen []fleet.WorkFacts) (out []api.Work) {
	facts := map[fleet.Ref]fleet.WorkFacts{}
	for _, w := range seen {
		facts[w.Ref] = w
	}
	for _, w := range all.Work {
		f := facts[w.Ref()]
		f.Ref = w.Ref()
		out = append(out, workView(all, &w, f))
	}
	for _, w := range seen {
		if w.Tracker != fleet.TrackerOwn {
			out = append(out, workView(all, nil, w))
		}
	}
	return out
}

func workView(all fleet.Records, own *fleet.WorkItem, f fleet.WorkFacts) api.Work {
	v := api.Work{Ref: string(f.Ref), Tracker: string(f.Tracker), Title: f.Title, Project: f.Project, Priority: string(f.Priority), Agent: f.Agent, Gone: f.State.Or("") == fleet.WorkTaken && !f.Alive.Or(true),
		State: string(f.State.Or("unknown")), Why: f.State.Why(), Ready: f.Ready.Or(false), BlockedBy: names(f.BlockedBy), Unseen: names(f.Unseen), Cycle: names(f.Cycle), Held: f.Held}
	if own != nil {
		v.Tracker, v.Title, v.Body, v.Project, v.Role, v.Labels = string(fleet.TrackerOwn), own.Title, own.Body, own.Project, own.Role, own.Labels
		v.Priority, v.State, v.Why, v.Outcome, v.Agent = string(own.Priority), string(own.State), own.Why, own.Outcome, own.Agent
		v.By, v.At, v.Since = own.By, own.At.Wall.UTC(), own.Since.Wall.UTC()
	}
	for _, d := range all.Dependencies {
		if d.Needs == f.Ref && d.State == fleet.DependencyWaits {
			v.Blocks = append(v.Blocks, string(d.Of))
		}
	}
	return v
}

func names[T ~string](list []T) (out []string) {
	for _, n := range list {
		out = append(out, string(n))
	}
	return out
}

func (s *server) workShown(req *http.Request, _ Caller) (any, error) {
	return s.findWork(req.Context(), req.PathValue("ref"))
}

// findWork is one piece of work of the ledger, or what its tracker shows of it.
func (s *server) findWork(ctx context.Context, name string) (api.Work, error) {
	ref := fleet.Ref(name)
	all, _, err := s.Records.Records(ctx)
	if err != nil {
		return api.Work{}, err
	}
	own := ledger.Work(all, ref)
	if tracker := ref.Tracker(); tracker == fleet.TrackerUnknown || tracker == fleet.TrackerOwn && own == nil {
		hint := nearest.Hint(name, each(all.Work, func(w fleet.WorkItem) string { return w.ID }))
		return api.Work{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find work %q%s", fleet.Line(name, 80), hint), Hint: "custos work list --all"}
	}
	seen, err := s.Records.Work(ctx, ref)
	if err != nil {
		return api.Work{}, err
	}
	return workView(all, own, seen[0]), nil
}

// addWork writes new work down. Anybody may, in its own name.
func (s *server) addWork(req *http.Request, c Caller) (any, error) {
	var r api.WorkRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.writer(req.Context(), c)
	if err != nil {
		return nil, err
	}
	w := fleet.WorkItem{Head: fleet.Head{Key: asked(r.Key)}, Title: r.Title, Body: r.Body, Project: fleet.Line(r.Project, 200), Role: fleet.Line(r.Role, 80),
		Labels: r.Labels, Priority: fleet.Priority(r.Priority), Agent: fleet.Line(r.Agent, 200)}
	made, err := s.edit(req.Context(), func(all fleet.Records) (fleet.Records, error) {
		for _, need := range r.Needs { // before anything is written down
			if err := ledger.MayNeed(all, fleet.Ref(need)); err != nil {
				return fleet.Records{}, err
			}
		}
		w, err := ledger.AddWork(w, by, s.Now())
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	})
	if err != nil {
		return nil, err
	}
	ref := made.Work[0].Ref()
	for _, need := range r.Needs {
		if err := s.depend(req.Context(), ref, fleet.Ref(need), by); err != nil {
			return nil, badInput(fmt.Errorf("work %s is written down, but does not wait for %s: %w", ref, fleet.Line(need, 80), err))
		}
	}
	return s.findWork(req.Context(), string(ref))
}

func (s *server) depend(ctx context.Context, of, needs fleet.Ref, by string) error {
	_, err := s.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		d, err := ledger.AddDependency(all, of, needs, by, s.Now())
		return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
	})
	return err
}

// changeWork changes one piece of work.
func (s *server) changeWork(req *http.Request, c Caller) (any, error) {
	var r api.WorkChange
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	by, err := s.writer(req.Context(), c)
	if err != nil {
		return nil, err
	}
	ref := fleet.Ref(req.PathValue("ref"))
	if isMove(ref, r.Do) {
		return s.moveWork(req.Context(), ref, r, by)
	}
	if _, err := s.edit(req.Context(), func(all fleet.Records) (fleet.Records, error) { return s.workEdit(all, ref, r, by) }); err != nil {
		return nil, err
	}
	return s.findWork(req.Context(), string(ref))
}

func (s *server) workEdit(all fleet.Records, ref fleet.Ref, r api.WorkChange, by string) (out fleet.Records, err error) {
	var d fleet.Dependency
	switch r.Do {
	case "needs":
		d, err = ledger.AddDependency(all, ref, fleet.Ref(r.Needs), by, s.Now())
	case "needs-not":
		d, err = ledger.DropDependency(all, ref, fleet.Ref(r.Needs), by, s.Now())
	default:
		w, err := s.workChanged(all, ref, r, by)
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	}
	return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
}

func (s *server) workChanged(all fleet.Records, ref fleet.Ref, r api.WorkChange, by string) (fleet.WorkItem, error) {
	found := ledger.Work(all, ref)
	if found == nil {
		return fleet.WorkItem{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find work %q in the ledger", fleet.Line(string(ref), 80)), Hint: "custos work list --all"}
	}
	agent, _ := fleet.AgentOf(by)
	switch r.Do {
	case "take":
		return ledger.TakeWork(*found, cmp.Or(fleet.Line(r.Agent, 200), agent), by, s.Now())
	case "release":
		return ledger.ReleaseWork(*found, r.Why, by, s.Now())
	case "close":
		return ledger.CloseWork(*found, r.Outcome, r.Why, by, s.Now())
	case "reopen":
		return ledger.ReopenWork(*found, r.Why, s.Now())
	}
	return *found, badInput(fmt.Errorf("cannot change work: nothing is called %q", fleet.Line(r.Do, 40)))
}
