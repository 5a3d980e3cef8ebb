package ledger

import (
	"strings"

	"custos/internal/fleet"
)

// know notes who is known by what name, who lives, and whose task is what.
func (f *facts) know() {
	f.lives, f.origins, f.tasked = make(map[string]bool, len(f.snap.Agents.Value)), map[string]string{}, map[fleet.Ref]string{}
	for i := range f.snap.Agents.Value {
		a := &f.snap.Agents.Value[i]
		f.lives[a.Name] = f.lives[a.Name] || a.Process.PID != 0
		if a.Origin != nil {
			f.origins[a.Name] = a.Origin.Name
		}
	}
	for i := range f.past.Registrations {
		f.record(&f.past.Registrations[i])
	}
}

// record notes one that is registered. A task that several have is whose who lives.
func (f *facts) record(r *fleet.Registration) {
	f.lives[r.Name] = f.lives[r.Name]
	if r.Origin != "" {
		f.origins[r.Name] = r.Origin
	}
	task := fleet.Ref(r.Task)
	if r.Desired != fleet.DesiredRetired && task.Tracker() == fleet.TrackerBeads && !f.lives[f.tasked[task]] {
		f.tasked[task] = r.Name
	}
}

// alive says whether the agent that has work lives: true when nobody has it, or a
// person. To a bead anybody may be assigned: only of agents that are known it can be
// told, and so of the ledger's own work.
func (f facts) alive(r fleet.Ref, seen Seen) fleet.Leaf[bool] {
	switch {
	case seen.Agent == "" || seen.Person:
		return fleet.Known(true)
	case !f.snap.Agents.Fresh():
		return fleet.Unknown[bool]("agents are not seen now")
	}
	living, gone := f.bearer(seen.Agent)
	if living+gone == 0 && r.Tracker() == fleet.TrackerBeads {
		living, gone = f.bearers(seen.Agent)
	}
	switch {
	case living > 0 && gone > 0:
		return fleet.Unknown[bool]("several agents may be meant by that name, and not all of them live")
	case living > 0:
		return fleet.Known(true)
	case gone > 0 || r.Tracker() != fleet.TrackerBeads && r.Tracker() != fleet.TrackerOwn:
		return fleet.Known(false)
	}
	return fleet.Unknown[bool]("no agent is known of this name")
}

// bearer is bearers of one name.
func (f facts) bearer(name string) (living, gone int) {
	lives, known := f.lives[name]
	switch {
	case lives:
		living = 1
	case known:
		gone = 1
	}
	return living, gone
}

// bearers counts the agents that a tracker may mean, those that live and those that
// do not.
func (f facts) bearers(written string) (living, gone int) {
	for name, lives := range f.lives {
		switch {
		case !f.means(written, name):
		case lives:
			living++
		default:
			gone++
		}
	}
	return living, gone
}

// means says whether a tracker that writes an agent so may mean the agent of a name.
// Where both it and the agent's own system name the rig too, that has to be the same.
func (f facts) means(written, name string) bool {
	written = strings.TrimSuffix(written, "/")
	own := f.origins[name]
	if strings.Contains(own, "/") && strings.Contains(written, "/") {
		return own == written || isShortOf(own, written)
	}
	return own == written || fleet.MeansAgent(written, name)
}

// isShortOf says whether one names the rig and the agent alone, and the other its role
// between the two.
func isShortOf(a, b string) bool {
	ends := func(s string) (first, last string) {
		return s[:strings.Index(s, "/")], s[strings.LastIndex(s, "/")+1:]
	}
	rig, agent := ends(a)
	otherRig, other := ends(b)
	return rig == otherRig && agent == other && strings.Count(a, "/") != strings.Count(b, "/")
}
