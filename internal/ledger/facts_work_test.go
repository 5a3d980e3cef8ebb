package ledger

import (
	"testing"

	"custos/internal/fleet"
)

func TestAlive(t *testing.T) {
	w := newSight()
	pid := fleet.ProcessID{PID: 1}
	w.snap.Agents.Value = []fleet.Agent{{Name: "lives", Process: pid}, {Name: "dead"}, {Name: "crispy"}, {Name: "gt-nux"}, {Name: "a-slit", Process: pid}, {Name: "b-slit"},
		{Name: "sh-toast", Origin: &fleet.Origin{Name: "shop/polecats/toast"}}, {Name: "ap-toast", Process: pid, Origin: &fleet.Origin{Name: "app/polecats/toast"}}}
	w.past.Registrations = []fleet.Registration{{Name: "sh-capable", Owner: fleet.OwnerAdopted, Origin: "shop/polecats/capable"}}
	for name, c := range map[string]struct {
		r     fleet.Ref
		agent string
		want  string
	}{
		"nobody":                {"w1", "", "true"},
		"lives":                 {"w1", "lives", "true"},
		"dead":                  {"w1", "dead", "false"},
		"never seen":            {"w1", "ghost", "unknown"},
		"of a bead, dead":       {"bd:x", "dead", "false"},
		"of a bead, a person":   {"bd:x", "ann", "unknown"},
		"of an issue, by forge": {"shop#1", "ghost", "false"},
		"with its role":         {"bd:x", "polecat-crispy", "false"},
		"with its rig":          {"bd:x", "gastown/polecats/nux", "false"},
		"of a role alone":       {"bd:x", "polecat-lives", "true"},
		"of two":                {"bd:x", "rig/polecats/slit", "unknown"},
		"an issue names it so":  {"shop#1", "polecat-lives", "false"},
		"of one rig, dead":      {"bd:x", "shop/polecats/toast", "false"},
		"of one rig, lives":     {"bd:x", "app/polecats/toast/", "true"},
		"of one rig, in short":  {"bd:x", "shop/toast", "false"},
		"of one rig, its crew":  {"bd:x", "shop/crew/toast", "unknown"},
		"of either rig":         {"bd:x", "polecat-toast", "unknown"},
		"on record alone":       {"bd:x", "shop/polecats/capable", "false"},
		"of a rig nobody knows": {"bd:x", "far/polecats/capable", "unknown"},
	} {
		f := newFacts(w.past, w.snap)
		if got := leafWord(f.alive(c.r, Seen{Agent: c.agent})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// A person's work is nobody's who could have ended, even where an agent is called so.
	for _, who := range []string{"root", "dead"} {
		f := newFacts(w.past, w.snap)
		if got := leafWord(f.alive("w1", OwnSeen(&fleet.WorkItem{State: fleet.WorkTaken, Agent: who, Person: true}))); got != "true" {
			t.Errorf("person %s: %s, want true", who, got)
		}
	}
}

// A bead that somebody has is a fact, whatever waits for it.
func TestBeadInProgressIsAFact(t *testing.T) {
	w := newSight()
	w.snap.Beads.Status = fleet.StatusOK
	w.snap.Beads.Value = []fleet.Bead{{ID: "gt-1", State: fleet.WorkTaken, Assignee: "polecat-crispy"}, {ID: "gt-2", State: fleet.WorkOpen}, {ID: "gt-3", State: fleet.WorkClosed}}
	w.snap.Agents.Status, w.snap.Agents.Value = fleet.StatusOK, []fleet.Agent{{Name: "crispy"}}
	work := Facts(w.past, w.snap).Value.Work
	if len(work) != 1 || work[0].Ref != "bd:gt-1" || work[0].Alive != fleet.Known(false) || work[0].State.Or("") != fleet.WorkTaken {
		t.Errorf("work %+v", work)
	}
}

// A bead in progress that nobody is assigned to is had by whoever has it as its task:
// so other systems keep it. Who was retired has nothing any more.
func TestWhoHasABeadByItsTask(t *testing.T) {
	bead := func(assignee string) fleet.Bead {
		return fleet.Bead{ID: "shop-2", Title: "parser", State: fleet.WorkTaken, Assignee: assignee}
	}
	on := func(name string, desired fleet.Desired) fleet.Registration {
		return fleet.Registration{Name: name, Owner: fleet.OwnerAdopted, Origin: name, Task: "bd:shop-2", Desired: desired}
	}
	for name, c := range map[string]struct {
		bead  fleet.Bead
		regs  []fleet.Registration
		lives string
		agent string
		alive string
	}{
		"nobody":              {bead: bead(""), alive: "true"},
		"one that is gone":    {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, agent: "b", alive: "false"},
		"one that lives":      {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, lives: "b", agent: "b", alive: "true"},
		"one of two lives":    {bead: bead(""), regs: []fleet.Registration{on("a", fleet.DesiredRunning), on("b", fleet.DesiredRunning)}, lives: "b", agent: "b", alive: "true"},
		"one that is retired": {bead: bead(""), regs: []fleet.Registration{on("b", fleet.DesiredRetired)}, alive: "true"},
		"another is assigned": {bead: bead("ann"), regs: []fleet.Registration{on("b", fleet.DesiredRunning)}, agent: "ann", alive: "unknown"},
	} {
		w := newSight()
		w.past.Registrations = c.regs
		w.snap.Beads.Status, w.snap.Beads.Value = fleet.StatusOK, []fleet.Bead{c.bead}
		w.snap.Agents.Status, w.snap.Agents.Value = fleet.StatusOK, nil
		if c.lives != "" {
			w.snap.Agents.Value = []fleet.Agent{{Name: c.lives, Process: fleet.ProcessID{PID: 1}}}
		}
		work := Facts(w.past, w.snap).Value.Work
		if len(work) != 1 || work[0].Agent != c.agent || leafWord(work[0].Alive) != c.alive {
			t.Errorf("%s: %+v", name, work)
		}
	}
}

func leafWord(l fleet.Leaf[bool]) string {
	switch yes, known := l.Get(); {
	case !known:
		return "unknown"
	case yes:
		return "true"
	}
	return "false"
}

// sight is what is remembered and seen: nothing, of trackers and agents that are seen.
type sight struct {
	past fleet.Past
	snap fleet.Snapshot
}

func newSight() *sight {
	w := &sight{}
	for _, p := range []*fleet.Sight{&w.snap.Forge.Sight, &w.snap.Beads.Sight, &w.snap.Agents.Sight} {
		p.Status = fleet.StatusOK
	}
	return w
}
