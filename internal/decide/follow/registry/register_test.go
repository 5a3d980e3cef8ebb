package registry

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// seenOf is a look at agents that another system started, the builder before its parent.
func seenOf(change func(*fleet.Agent)) fleet.Snapshot {
	var s fleet.Snapshot
	s.At = fleet.Instant{Wall: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Boot: "b1", Up: fleet.Duration(time.Hour)}
	s.Agents.Status = fleet.StatusOK
	b := fleet.Agent{Name: "legio-shop-b", Kind: "claude", Owner: fleet.OwnerAdopted, Process: fleet.ProcessID{PID: 7, Start: 1, Boot: "b1"}, CWD: fleet.Known("/w/b"),
		Origin: &fleet.Origin{System: "legio", Name: "b", Role: "builder", Project: "shop", Parent: "lead", Task: "shop-2", Start: []string{"claude"}}}
	l := fleet.Agent{Name: "legio-shop-lead", Kind: "claude", Owner: fleet.OwnerAdopted, Process: fleet.ProcessID{PID: 8, Start: 1, Boot: "b1"}, CWD: fleet.Known("/w/l"),
		Origin: &fleet.Origin{System: "legio", Name: "lead", Role: "lead", Project: "shop"}}
	if change != nil {
		change(&b)
	}
	s.Agents.Value = []fleet.Agent{b, l}
	return s
}

func TestRegister(t *testing.T) {
	s := seenOf(nil)
	s.Beads.Status, s.Beads.Value = fleet.StatusOK, []fleet.Bead{{ID: "shop-2", State: fleet.WorkTaken}}
	got := Register(fleet.Pass{Snapshot: s}).Registrations
	b, l := ledger.Registration(got, "legio-shop-b"), ledger.Registration(got, "legio-shop-lead")
	if len(got) != 2 || b == nil || l == nil {
		t.Fatalf("%+v", got)
	}
	if b.Role != "builder" || b.Parent != "legio-shop-lead" || b.Depth != 1 || b.Task != "bd:shop-2" || b.Owner != fleet.OwnerAdopted || b.Restart != fleet.RestartOnFailure ||
		b.Desired != fleet.DesiredRunning || b.Origin != "b" {
		t.Errorf("builder %+v", b)
	}
	if l.Restart != fleet.RestartNever {
		t.Errorf("one that nobody says how to start is restarted %s", l.Restart)
	}
	if again := Register(fleet.Pass{Past: fleet.Past{Registrations: got}, Snapshot: s}).Registrations; len(again) != 0 {
		t.Errorf("the same look changes %+v", again)
	}
}

// What is not known to be lawful enlists nobody.
func TestRegisterHolds(t *testing.T) {
	for name, change := range map[string]func(*fleet.Agent){
		"foreign":    func(a *fleet.Agent) { a.Owner = fleet.OwnerForeign },
		"one shot":   func(a *fleet.Agent) { a.OneShot = true },
		"ended":      func(a *fleet.Agent) { a.Process = fleet.ProcessID{} },
		"no origin":  func(a *fleet.Agent) { a.Origin = nil },
		"no role":    func(a *fleet.Agent) { a.Origin.Role = "" },
		"the people": func(a *fleet.Agent) { a.Name = fleet.Overseer },
		"a bad name": func(a *fleet.Agent) { a.Name = "a\x1bb" },
	} {
		if got := Register(fleet.Pass{Snapshot: seenOf(change)}).Registrations; len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	blind := seenOf(nil)
	blind.Agents.Status = fleet.StatusStale
	if got := Register(fleet.Pass{Snapshot: blind}).Registrations; len(got) != 0 {
		t.Errorf("unseen: %+v", got)
	}
	if got := Register(fleet.Pass{Past: fleet.Past{Amnesia: true}, Snapshot: seenOf(nil)}).Registrations; len(got) != 0 {
		t.Errorf("in amnesia: %+v", got)
	}
	ours := []fleet.Registration{{Name: "legio-shop-b", Owner: fleet.OwnerCustos}, {Name: "legio-shop-lead", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRetired}}
	if got := Register(fleet.Pass{Past: fleet.Past{Registrations: ours}, Snapshot: seenOf(nil)}).Registrations; len(got) != 0 {
		t.Errorf("names of ours: %+v", got)
	}
}

// One whose system says that it is over is retired when it has ended, and its name
// is given again; never against a person's word.
func TestRegisterRetires(t *testing.T) {
	was := Register(fleet.Pass{Snapshot: seenOf(nil)}).Registrations
	over := seenOf(func(a *fleet.Agent) { a.Process, a.Origin.Over = fleet.ProcessID{}, "its phase is done" })
	got := Register(fleet.Pass{Past: fleet.Past{Registrations: was}, Snapshot: over}).Registrations
	if len(got) != 1 || got[0].Desired != fleet.DesiredRetired {
		t.Fatalf("%+v", got)
	}
	anew := Register(fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{got[0], *ledger.Registration(was, "legio-shop-lead")}}, Snapshot: seenOf(func(a *fleet.Agent) { a.Process.PID = 9 })}).Registrations
	if len(anew) != 1 || anew[0].Desired != fleet.DesiredRunning || anew[0].Process.PID != 9 {
		t.Errorf("its name is not given again: %+v", anew)
	}
	stopped := *ledger.Registration(was, "legio-shop-b")
	stopped.Desired, stopped.DesiredBy = fleet.DesiredStopped, "person:ann"
	if got := Register(fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{stopped}}, Snapshot: over}).Registrations; ledger.Registration(got, "legio-shop-b") != nil {
		t.Errorf("a person's stop is changed: %+v", got)
	}
}
