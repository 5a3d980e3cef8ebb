package server

import (
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
