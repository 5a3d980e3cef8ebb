package registry

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Register returns the registrations of agents that configuration adopts and whose
// role another system gives them: with what that system has of them, they are recovered,
// reported and stopped like agents that Custos started. It keeps those it made up to
// date, and retires one that has ended and whose system says that its work is over.
// What the pass changes already is seen as it leaves it.
func Register(p fleet.Pass) (f fleet.Follows) {
	past, snap, changed := p.Past, p.Snapshot, p.Plan.Registrations
	if past.Blind != "" || past.Amnesia || !snap.Agents.Fresh() {
		return f
	}
	e := registering{snap: snap, was: make(map[string]*fleet.Registration, len(past.Registrations)), all: slices.Clone(past.Registrations)}
	for i, r := range past.Registrations {
		e.was[r.Name] = &past.Registrations[i]
		if j := slices.IndexFunc(changed, func(c fleet.Registration) bool { return c.Name == r.Name }); j >= 0 {
			e.all[i], e.was[r.Name] = changed[j], &changed[j]
		}
	}
	for i, c := range changed {
		if ledger.Registration(e.all, c.Name) == nil {
			e.all, e.was[c.Name] = append(e.all, c), &changed[i]
		}
	}
	for _, a := range snap.Agents.Value {
		if a.Origin != nil {
			e.see(a)
		}
	}
	for i := range snap.Agents.Value { // a parent may stand behind its child in the list
		e.parent(&snap.Agents.Value[i])
	}
	for _, r := range e.all {
		if was, known := e.was[r.Name]; !known || !reflect.DeepEqual(*was, r) {
			f.Registrations = append(f.Registrations, r)
		}
	}
	return f
}

type registering struct {
	snap fleet.Snapshot
	was  map[string]*fleet.Registration
	all  []fleet.Registration
}

// see notes what one agent's own system has of it.
func (e *registering) see(a fleet.Agent) {
	r := ledger.Registration(e.all, a.Name)
	switch {
	case r == nil || r.Owner == fleet.OwnerAdopted && r.Desired == fleet.DesiredRetired:
		e.register(a, r)
	case r.Owner != fleet.OwnerAdopted || r.Origin == "":
	case a.Process.PID == 0 && a.Origin.Over != "" && r.Desired == fleet.DesiredRunning && !fleet.IsPerson(r.DesiredBy):
		r.Desired, r.DesiredBy, r.DesiredAt, r.DesiredFor = fleet.DesiredRetired, fleet.ByCustos, e.snap.At, ""
	default:
		e.update(r, a.Origin)
	}
}

// register registers one that runs. A name that was retired is given anew: other
// systems use a name again.
func (e *registering) register(a fleet.Agent, retired *fleet.Registration) {
	if a.Owner != fleet.OwnerAdopted || a.Process.PID == 0 || a.OneShot || a.Orphan || a.Origin.Role == "" || ledger.CheckNewName(a.Name) != nil {
		return
	}
	o := a.Origin
	r := fleet.Registration{Name: a.Name, Origin: o.Name, Role: o.Role, Project: o.Project, Kind: a.Kind, Owner: fleet.OwnerAdopted, Where: fleet.WhereHeadless,
		Argv: o.Start, Set: o.Set, Env: o.Env, Account: o.Account, Standing: o.Standing, Dir: a.CWD.Or(""), Restart: cmp.Or(o.Restart, fleet.RestartOnFailure),
		Process: a.Process, SessionID: a.SessionID, StartedAt: e.snap.At}
	if a.Pane != nil {
		r.Where = fleet.WhereTmux
	}
	if len(o.Start) == 0 {
		r.Restart = fleet.RestartNever // nothing says how it is started
	}
	if age, known := a.Age.Get(); known {
		r.StartedAt = e.snap.At.Add(-time.Duration(age))
	}
	e.settleIn(&r)
	e.update(&r, o)
	r = ledger.WithDefaults(r, fleet.ByCustos, e.snap.At)
	if retired != nil {
		r.Revision = retired.Revision
		*retired = r
		return
	}
	e.all = append(e.all, r)
}

// settleIn says in which worktree it works.
func (e *registering) settleIn(r *fleet.Registration) {
	for _, w := range e.snap.Repos.Value.Worktrees {
		if r.Dir == w.Path || strings.HasPrefix(r.Dir, w.Path+"/") {
			r.Dir, r.Worktree, r.Repo, r.Branch = w.Path, w.Path, w.Repo, w.Branch.Or("")
		}
	}
}

// update takes over what changes while it works.
func (e *registering) update(r *fleet.Registration, o *fleet.Origin) {
	if task := e.task(o); task != "" {
		r.Task = task
	}
	if c := o.Checkpoint; c != nil && (r.Checkpoint == nil || r.Checkpoint.At.Wall.Before(c.At.Wall)) {
		kept := *c
		if r.Checkpoint != nil {
			kept.Ref, kept.Head = r.Checkpoint.Ref, r.Checkpoint.Head
		}
		r.Checkpoint = &kept
	}
}

// task is what it works on: as its system says, else the bead that it has. One that
// is a bead is called as beads are.
func (e *registering) task(o *fleet.Origin) string {
	for _, b := range e.snap.Beads.Value {
		if o.Task != "" && b.ID == o.Task || o.Task == "" && b.State == fleet.WorkTaken && b.Assignee == o.Name {
			return string(fleet.BeadRef(b.ID))
		}
	}
	return o.Task
}

// parent finds whom its system names as its parent, among those of the same system
// and project.
func (e *registering) parent(a *fleet.Agent) {
	if a.Origin == nil || a.Origin.Parent == "" {
		return
	}
	r := ledger.Registration(e.all, a.Name)
	if r == nil || r.Owner != fleet.OwnerAdopted || r.Parent != "" || a.Origin.Parent == r.Origin {
		return
	}
	if a.Origin.Parent == fleet.Overseer {
		r.Parent = fleet.Overseer
		return
	}
	for i := range e.all {
		p := &e.all[i]
		if p.Origin == a.Origin.Parent && (p.Project == r.Project || p.Project == "") && p.Name != r.Name && p.Desired != fleet.DesiredRetired && !e.isBelow(p, r.Name) {
			r.Parent, r.Depth = p.Name, p.Depth+1
			return
		}
	}
}

// isBelow says whether an agent works for another one, however far above it.
func (e *registering) isBelow(p *fleet.Registration, name string) bool {
	for n := 0; p != nil && p.Parent != "" && n <= len(e.all); n++ {
		if p.Parent == name {
			return true
		}
		p = ledger.Registration(e.all, p.Parent)
	}
	return false
}
