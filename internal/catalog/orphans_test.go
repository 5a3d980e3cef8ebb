package catalog

import (
	"context"
	"errors"
	"testing"

	"custos/internal/fleet"
)

// A session of our own server is an orphan when no agent that is registered has it:
// the session of an instance that was exchanged, or of a retired agent, is one too.
func TestOrphans(t *testing.T) {
	w := &World{Own: &Own{Socket: "/s/run/tmux.sock"}}
	if _, err := w.orphans(t.Context()); err == nil {
		t.Error("without a ledger it is told who is an orphan")
	}
	w.Registered = func(context.Context) ([]fleet.Registration, error) { return nil, errors.New("locked") }
	if _, err := w.orphans(t.Context()); err == nil {
		t.Error("with a ledger that cannot be read it is told who is an orphan")
	}
	w.Registered = func(context.Context) ([]fleet.Registration, error) {
		return []fleet.Registration{{Name: "dev one", Instance: "i2", Desired: fleet.DesiredStopped}, {Name: "old", Instance: "i3", Desired: fleet.DesiredRetired}, {Name: "new"}}, nil
	}
	orphan, err := w.orphans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]bool{"~custos": false, "dev+20one~i2": false, "dev+20one~i1": true, "old~i3": true, "new~": true, "by-hand": true} {
		if got := orphan(fleet.Pane{Session: session, ID: fleet.PaneID{Socket: "/s/run/tmux.sock"}}); got != want {
			t.Errorf("session %s is an orphan: %v, want %v", session, got, want)
		}
	}
	if orphan(fleet.Pane{Session: "by-hand", ID: fleet.PaneID{Socket: "/tmp/tmux-0/default"}}) {
		t.Error("a session of a person's server is an orphan")
	}
}
