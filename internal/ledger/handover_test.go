package ledger

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestHandOverIsRefused(t *testing.T) {
	running := fleet.Registration{Name: "dev", Desired: fleet.DesiredRunning, Instance: "i1"}
	for name, c := range map[string]struct {
		text   string
		change func(*fleet.Registration)
	}{
		"empty":       {" \n", nil},
		"too long":    {strings.Repeat("x", fleet.LongestHandoff+1), nil},
		"no text":     {"\xff\xfe", nil},
		"not running": {"x", func(r *fleet.Registration) { r.Exit = &fleet.Exit{} }},
		"never began": {"x", func(r *fleet.Registration) { r.Instance = "" }},
		"carried out": {"x", func(r *fleet.Registration) { r.Handoff = &fleet.Handoff{Instance: "i1", Stage: fleet.HandoffStopping} }},
	} {
		r := running
		if c.change != nil {
			c.change(&r)
		}
		if got, err := HandOver(r, c.text, "ann", at(0)); err == nil || !strings.Contains(err.Error(), "cannot take the hand-off of agent \"dev\"") {
			t.Errorf("%s: %+v, %v", name, got.Handoff, err)
		}
	}
	if r, err := HandOver(running, strings.Repeat("x", fleet.LongestHandoff), "ann", at(0)); err != nil || len(r.Handoff.Text) != fleet.LongestHandoff {
		t.Errorf("%v", err)
	}
}
