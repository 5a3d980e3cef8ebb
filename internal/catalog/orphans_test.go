package catalog

import (
	"context"
	"errors"
	"testing"

	"custos/internal/fleet"
)

// A session of our own server is an orphan when no agent that is registered has it:
// the session of an instance that was exchanged, or of a retired agent, is one too. Of
// an agent that is being started that is not known, and of nobody when the ledger is lost.
func TestOrphans(t *testing.T) {
	w := &World{Own: &Own{Socket: "/s/run/tmux.sock"}}
	blind := func(why string) {
		if _, err := w.orphans(t.Context()); err == nil {
			t.Errorf("%s it is told who is an orphan", why)
		}
	}
	knows := func(p fleet.Past, err error) {
		w.Judged.Past = func(context.Context) (fleet.Past, error) { return p, err }
	}
	blind("without a ledger")
	knows(fleet.Past{}, errors.New("locked"))
	blind("with a ledger that cannot be read")
	knows(fleet.Past{Amnesia: true}, nil)
	blind("with a ledger that was lost")
	action := func(do, name string, stage fleet.ActionStage) fleet.ActionRecord {
		return fleet.ActionRecord{Stage: stage, Action: fleet.Action{Do: do, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name}}}
	}
	knows(fleet.Past{Registrations: []fleet.Registration{{Name: "dev one", Instance: "i2", Desired: fleet.DesiredStopped},
		{Name: "old", Instance: "i3", Desired: fleet.DesiredRetired}, {Name: "new"}, {Name: "back", Instance: "i4"}, {Name: "told", Instance: "i7"}},
		Actions: []fleet.ActionRecord{action("recover", "back", fleet.StageStarted), action("spawn", "first one", fleet.StageStarted),
			action("recover", "told", fleet.StageEnded), action("recover", "old", fleet.StagePlanned), action("nudge", "dev one", fleet.StageStarted)}}, nil)
	orphan, err := w.orphans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]string{"~custos": "no", "dev+20one~i2": "no", "dev+20one~i1": "yes", "old~i3": "yes", "new~": "yes", "by-hand": "yes",
		"back~i4": "no", "back~i5": "unknown", "back": "yes", "first+20one~i1": "unknown", "first~i1": "yes", "told~i7": "no", "told~i6": "yes"} {
		got := "unknown"
		if is, known := orphan(fleet.Pane{Session: session, ID: fleet.PaneID{Socket: "/s/run/tmux.sock"}}).Get(); known {
			got = map[bool]string{true: "yes", false: "no"}[is]
		}
		if got != want {
			t.Errorf("session %s is an orphan: %s, want %s", session, got, want)
		}
	}
	if is, known := orphan(fleet.Pane{Session: "back~i5", ID: fleet.PaneID{Socket: "/tmp/tmux-0/default"}}).Get(); is || !known {
		t.Error("a session of a person's server is an orphan, or may be one")
	}
}
