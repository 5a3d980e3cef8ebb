package server

import (
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// A silence for nobody is taken, and says so; one for who is there, or who cannot be
// told to be missing, says nothing.
func TestASilenceForNobodySaysSo(t *testing.T) {
	w := newWorld()
	const there = "dev"
	w.pass.Snapshot.Agents.Value = []fleet.Agent{{Name: there}}
	for _, c := range []struct {
		subject string
		status  fleet.Status
		note    string
	}{
		{"agent/nosuch", fleet.StatusOK, "there is no agent/nosuch now"},
		{"agent/nosuch", fleet.StatusUnknown, ""},
		{"agent/nosuch", fleet.StatusStale, ""},
		{"agent/" + there, fleet.StatusOK, ""},
	} {
		w.pass.Snapshot.Agents.Status = c.status
		got, err := client(w).Silence(t.Context(), api.SilenceOrder{Subject: c.subject, For: "2h"})
		if err != nil || got.Note != c.note {
			t.Errorf("%s while agents are %s: %q, %v; want %q", c.subject, c.status, got.Note, err, c.note)
		}
	}
	if len(w.silences) != 4 {
		t.Errorf("%d silences were kept, want all 4", len(w.silences))
	}
}

// Two names that differ by capitals are one to people; a retired agent's is free.
func TestNamesThatDifferByCapitalsAreOne(t *testing.T) {
	for _, c := range []struct {
		there fleet.Registration
		taken bool
	}{
		{fleet.Registration{Name: "ann"}, true},
		{fleet.Registration{Name: "ann", Desired: fleet.DesiredRetired}, false},
		{fleet.Registration{Name: "anna"}, false},
	} {
		_, err := spawnOf(api.SpawnRequest{Kind: "claude", Dir: "/w"}, "Ann", []fleet.Registration{c.there}, nil)
		if refused := err != nil && strings.Contains(err.Error(), `there is an agent "ann"`); refused != c.taken {
			t.Errorf("Ann beside %s (%s): %v, want refused: %v", c.there.Name, c.there.Desired, err, c.taken)
		}
	}
}
