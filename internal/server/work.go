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

// workList lists work: what is not closed; all of it; or what is ready.
func (s *server) workList(req *http.Request, _ Caller) (any, error) {
	which := req.URL.Query().Get("which")
	all, facts, err := s.Records.Records(req.Context())
	if err != nil {
		return nil, err
	}
	out := api.WorkList{At: s.Now().Wall.UTC(), Work: []api.Work{}, Next: []api.Hint{}}
	for _, w := range workViews(all, facts) {
		if which == "all" || w.State != string(fleet.WorkClosed) && (which != "ready" || w.Ready) && (which != "blocked" || len(w.BlockedBy) > 0) {
			out.Work = append(out.Work, w)
		}
	}
	if len(all.Work) == 0 {
		out.Next = append(out.Next, api.Hint{Command: "custos work add 'TITLE'", What: "write some down"})
	}
	return out, nil
}

// workViews is every piece of work there is: of the ledger, then of other trackers
// where something depends on it.
func workViews(all fleet.Records, facts fleet.Coordination) (out []api.Work) {
	seen := map[fleet.Ref]fleet.WorkFacts{}
	for _, w := range facts.Work {
		seen[w.Ref] = w
	}
	for _, w := range all.Work {
		out = append(out, workView(all, &w, seen[w.Ref()]))
	}
	for _, w := range facts.Work {
		if w.Tracker != fleet.TrackerOwn {
			out = append(out, workView(all, nil, w))
		}
	}
	return out
}

func workView(all fleet.Records, own *fleet.WorkItem, f fleet.WorkFacts) api.Work {
	v := api.Work{Ref: string(f.Ref), Tracker: string(f.Tracker), Title: f.Title, Project: f.Project, Priority: string(f.Priority),
		Agent: f.Agent, State: string(f.State.Or("unknown")), Why: f.State.Why(), Ready: f.Ready.Or(false), BlockedBy: names(f.BlockedBy), Cycle: names(f.Cycle)}
	ref := f.Ref
	if own != nil {
		ref = own.Ref()
		v.Ref, v.Tracker, v.Title, v.Body, v.Project, v.Role, v.Labels = string(ref), string(fleet.TrackerOwn), own.Title, own.Body, own.Project, own.Role, own.Labels
		v.Priority, v.State, v.Why, v.Outcome, v.Agent = string(own.Priority), string(own.State), own.Why, own.Outcome, own.Agent
		v.By, v.At, v.Since = own.By, own.At.Wall.UTC(), own.Since.Wall.UTC()
	}
	for _, d := range all.Dependencies {
		if d.Needs == ref && d.State == fleet.DependencyWaits {
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

func (s *server) findWork(ctx context.Context, ref string) (api.Work, error) {
	all, facts, err := s.Records.Records(ctx)
	if err != nil {
		return api.Work{}, err
	}
	views := workViews(all, facts)
	if i := slices.IndexFunc(views, func(w api.Work) bool { return w.Ref == ref }); i >= 0 {
		return views[i], nil
	}
	hint := nearest.Hint(ref, each(views, func(w api.Work) string { return w.Ref }))
	return api.Work{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find work %q%s", fleet.Line(ref, 80), hint), Hint: "custos work list --all"}
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
	w := fleet.WorkItem{Head: fleet.Head{Key: r.Key}, Title: r.Title, Body: r.Body, Project: fleet.Line(r.Project, 200), Role: fleet.Line(r.Role, 80),
		Labels: r.Labels, Priority: fleet.Priority(r.Priority), Agent: fleet.Line(r.Agent, 200)}
	made, err := s.edit(req.Context(), func(fleet.Records) (fleet.Records, error) {
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
