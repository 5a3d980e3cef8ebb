package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/nearest"
)

// work may be written down by anyone in their own name; what an agent may change says the ledger.
func work() Noun {
	return Noun{"work", []Verb{
		{Name: "list", Do: asks((*Control).workList)},
		{Name: "add", Access: Author, Do: given((*Control).addWork)},
		{Name: "show", Do: asks((*Control).workShown)},
		{Name: "change", Access: Author, Do: given((*Control).changeWork)},
	}}
}

// workList lists work, of every tracker: what is not closed; all of it; what is
// ready; what waits.
func (c *Control) workList(ctx context.Context, call Call) (api.WorkList, error) {
	chosen, err := workChoice(call.Ask("which"), call.Ask("tracker"))
	if err != nil {
		return api.WorkList{}, api.AsBadInput(err)
	}
	past, snap, err := c.Records.Seen(ctx)
	if err != nil {
		return api.WorkList{}, err
	}
	all, seen := past.Records, ledger.AllWork(past, snap)
	out := api.WorkList{At: c.Now().Wall.UTC(), Work: []api.Work{}, Next: []api.Hint{}}
	for _, w := range workViews(all, seen) {
		if chosen(w) && cmp.Or(call.Ask("project"), w.Project) == w.Project && cmp.Or(call.Ask("agent"), w.Agent) == w.Agent {
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
		State: string(f.State.Or("unknown")), Why: f.State.Why(), Ready: f.Ready.Or(false), BlockedBy: texts(f.BlockedBy), Unseen: texts(f.Unseen), Cycle: texts(f.Cycle), Held: f.Held}
	if own != nil {
		v.Tracker, v.Title, v.Body, v.Project, v.Role, v.Labels = string(fleet.TrackerOwn), own.Title, own.Body, own.Project, own.Role, own.Labels
		v.Priority, v.State, v.Why, v.Outcome, v.Agent = string(own.Priority), string(own.State), own.Why, own.Outcome, own.Agent
		v.By, v.At, v.Since = own.By, own.At.Wall.UTC(), own.Since.Wall.UTC()
		v.Part, v.Team, v.Files, v.Result, v.Tries, v.Left = string(own.Part), own.Team, own.Files, own.Result, own.Tries, own.Left
		if own.State != fleet.WorkOpen {
			v.Left = ""
		}
	}
	for _, d := range all.Dependencies {
		if d.Needs == f.Ref && d.State == fleet.DependencyWaits {
			v.Blocks = append(v.Blocks, string(d.Of))
		}
	}
	return v
}

func texts[T ~string](list []T) (out []string) {
	for _, n := range list {
		out = append(out, string(n))
	}
	return out
}

func (c *Control) workShown(ctx context.Context, call Call) (api.Work, error) {
	return c.findWork(ctx, call.ID)
}

// findWork is one piece of work of the ledger, or what its tracker shows of it.
func (c *Control) findWork(ctx context.Context, name string) (api.Work, error) {
	ref := fleet.Ref(name)
	past, snap, err := c.Records.Seen(ctx)
	if err != nil {
		return api.Work{}, err
	}
	all := past.Records
	own := ledger.Work(all, ref)
	if tracker := ref.Tracker(); tracker == fleet.TrackerUnknown || tracker == fleet.TrackerOwn && own == nil {
		return api.Work{}, missing("work", name, each(all.Work, func(w fleet.WorkItem) string { return w.ID }), "custos work list --all")
	}
	v := workView(all, own, ledger.WorkOf(past, snap, []fleet.Ref{ref})[0])
	for _, p := range all.Work {
		if p.Part == ref {
			v.Parts = append(v.Parts, p.ID)
		}
	}
	return v, nil
}

// addWork writes new work down.
func (c *Control) addWork(ctx context.Context, call Call, r api.WorkRequest) (api.Work, error) {
	w := fleet.WorkItem{Head: fleet.Head{Key: OwnKey(r.Key)}, Title: r.Title, Body: r.Body, Project: fleet.Line(r.Project, 200), Role: fleet.Line(r.Role, 80),
		Labels: r.Labels, Priority: fleet.Priority(r.Priority), Agent: fleet.Line(r.Agent, 200), Part: fleet.Ref(r.Part), Files: r.Files}
	if err := checkFiles(r.Files); err != nil {
		return api.Work{}, api.AsBadInput(fmt.Errorf("cannot add work: %w", err))
	}
	if r.Agent != "" {
		var err error
		if w.Agent, w.Person, err = c.taker(ctx, r.Agent, call.By); err != nil {
			return api.Work{}, err
		}
	}
	made, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		for _, need := range r.Needs { // before anything is written down
			if err := errors.Join(ledger.MayNeed(all, fleet.Ref(need)), ledger.MayWait(all, w.Part, fleet.Ref(need))); err != nil {
				return fleet.Records{}, err
			}
		}
		w, err := ledger.AddPart(all, w, call.By)
		if err == nil {
			err = c.mayHandOn(ctx, w, call.By)
		}
		if err == nil {
			w, err = ledger.AddWork(w, call.By, c.Now())
		}
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	})
	if err != nil {
		return api.Work{}, err
	}
	ref := made.Work[0].Ref()
	for _, need := range r.Needs {
		if err := c.depend(ctx, ref, fleet.Ref(need), call.By); err != nil {
			return api.Work{}, api.AsBadInput(fmt.Errorf("work %s is written down, but does not wait for %s: %w", ref, fleet.Line(need, 80), err))
		}
	}
	return c.findWork(ctx, string(ref))
}

// mayHandOn refuses work that is handed out by itself where custos.toml has not the role that it is for, or where the role
// of the agent that writes it down may not start such.
func (c *Control) mayHandOn(ctx context.Context, w fleet.WorkItem, by string) error {
	r := c.role(w.Role)
	switch {
	case w.Team != "" && r == nil:
		return ledger.Unfit("add work", "team %s has it, and custos.toml has no [role.%s]", w.Team, fleet.Line(w.Role, 60))
	case r == nil || w.Team == "" && r.Takes == "":
		return nil
	}
	return c.mayStart(ctx, by, r.Name)
}

// mayStart refuses what has agents of some roles started to an agent whose own role may not start one of them.
func (c *Control) mayStart(ctx context.Context, by string, roles ...string) error {
	self, isAgent := fleet.AgentOf(by)
	if !isAgent {
		return nil
	}
	all, err := c.Registry(ctx)
	reg := ledger.Registration(all, self)
	for _, name := range roles {
		if reg != nil && err == nil {
			err = ledger.RoleMaySpawn(c.role(reg.Role), name)
		}
	}
	return err
}

func (c *Control) depend(ctx context.Context, of, needs fleet.Ref, by string) error {
	_, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) {
		d, err := ledger.AddDependency(all, of, needs, by, c.Now())
		return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
	})
	return err
}

// changeWork changes one piece of work.
func (c *Control) changeWork(ctx context.Context, call Call, r api.WorkChange) (api.Work, error) {
	ref := fleet.Ref(call.ID)
	if isMove(ref, r.Do) {
		return c.moveWork(ctx, ref, r, call.By)
	}
	person := false
	if r.Do == "take" {
		var err error
		if r.Agent, person, err = c.taker(ctx, r.Agent, call.By); err != nil {
			return api.Work{}, err
		}
	}
	if err := c.mayTake(ctx, ref, r, person); err != nil {
		return api.Work{}, err
	}
	if _, err := c.edit(ctx, func(all fleet.Records) (fleet.Records, error) { return c.workEdit(all, ref, r, person, call.By) }); err != nil {
		return api.Work{}, err
	}
	return c.findWork(ctx, string(ref))
}

// mayTake refuses a review to whoever wrote what it is about.
func (c *Control) mayTake(ctx context.Context, ref fleet.Ref, r api.WorkChange, person bool) error {
	if r.Do != "take" || person {
		return nil
	}
	past, _, err := c.Records.Seen(ctx)
	if w := ledger.Work(past.Records, ref); err == nil && w != nil {
		err = Illegal(ledger.MayReview(*w, r.Agent, past.Registrations))
	}
	return err
}

// taker is who takes work up: who is named, else who asks; and whether that is a
// person. Whom a person names is known.
func (c *Control) taker(ctx context.Context, named, by string) (name string, person bool, err error) {
	named = fleet.Line(named, 200)
	switch self, isAgent := fleet.AgentOf(by); {
	case isAgent:
		return cmp.Or(named, self), false, nil
	case named == "":
		return by, fleet.IsPerson(by), nil
	}
	past, snap, err := c.Records.Seen(ctx)
	if err != nil {
		return "", false, err
	}
	people := append([]string{by}, c.People...)
	agents := each(snap.Agents.Value, func(a fleet.Agent) string { return a.Name })
	if err := ledger.AddressesOf(past.Registrations).CheckTaker(named, append(agents, people...)...); err != nil {
		return "", false, Reasoned(err)
	}
	return named, slices.Contains(people, named), nil
}

func (c *Control) workEdit(all fleet.Records, ref fleet.Ref, r api.WorkChange, person bool, by string) (out fleet.Records, err error) {
	var d fleet.Dependency
	switch r.Do {
	case "needs":
		d, err = ledger.AddDependency(all, ref, fleet.Ref(r.Needs), by, c.Now())
	case "needs-not":
		d, err = ledger.DropDependency(all, ref, fleet.Ref(r.Needs), by, c.Now())
	default:
		w, err := c.workChanged(all, ref, r, person, by)
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	}
	return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
}

func (c *Control) workChanged(all fleet.Records, ref fleet.Ref, r api.WorkChange, person bool, by string) (fleet.WorkItem, error) {
	found := ledger.Work(all, ref)
	if found == nil {
		return fleet.WorkItem{}, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find work %q in the ledger", fleet.Line(string(ref), 80)), Hint: "custos work list --all"}
	}
	switch r.Do {
	case "take":
		w, err := ledger.TakeWork(*found, r.Agent, by, c.Now())
		w.Person = person
		return w, err
	case "release":
		return ledger.ReleaseWork(*found, r.Why, by, c.Now())
	case "close":
		if err := c.endsOtherwise(*found, by); err != nil {
			return *found, err
		}
		w, err := ledger.CloseWork(*found, r.Outcome, r.Why, by, c.Now())
		if err == nil && r.Result != "" {
			w, err = ledger.WithResult(w, r.Result)
		}
		return w, err
	case "reopen":
		return ledger.ReopenWork(*found, r.Why, by, c.Now())
	}
	return *found, api.AsBadInput(fmt.Errorf("cannot change work: nothing is called %q", fleet.Line(r.Do, 40)))
}
