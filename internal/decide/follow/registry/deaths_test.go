package registry

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A stop that is under way is who asked for the end that it brings about, though its
// result comes later: it is no failure, whoever had it stopped.
func TestAnEndDuringAStopWasAskedFor(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	reg := fleet.Registration{Name: "a", Desired: fleet.DesiredRunning, Instance: "i", Process: fleet.ProcessID{PID: 7, Start: 1}}
	stop := func(by string, stage fleet.ActionStage, agent string) []fleet.ActionRecord {
		return []fleet.ActionRecord{{Action: fleet.Action{Do: "stop", By: by, Subject: fleet.Subject{Kind: fleet.KindAgent, Name: agent}}, Stage: stage}}
	}
	for name, c := range map[string]struct {
		actions []fleet.ActionRecord
		desired fleet.Desired
		asked   string
	}{
		"nothing is under way":           {},
		"Custos stops it":                {actions: stop("", fleet.StageStarted, "a"), asked: fleet.ByCustos},
		"a person stops it":              {actions: stop("ann", fleet.StageStarted, "a"), asked: "ann"},
		"a stop that has not begun":      {actions: stop("ann", fleet.StagePlanned, "a")},
		"a stop that is over":            {actions: stop("ann", fleet.StageEnded, "a")},
		"another is stopped":             {actions: stop("ann", fleet.StageStarted, "b")},
		"a person wanted it stopped":     {desired: fleet.DesiredStopped, asked: "bob"},
		"a person wanted it to be quiet": {desired: fleet.DesiredPaused},
	} {
		r := reg
		if c.desired != "" {
			r.Desired, r.DesiredBy, r.DesiredAt = c.desired, "bob", now.Add(-time.Minute)
		}
		x := fleet.Exit{Instance: "i", Process: r.Process, At: now, Signal: fleet.Known(15), Source: "shim"}
		seen := []fleet.Agent{{Name: "a", Registered: true, State: fleet.StateCrashed, Exit: &x}}
		snap := fleet.Snapshot{At: now}
		snap.Agents.Status, snap.Agents.At, snap.Agents.Value = fleet.StatusOK, now, seen
		out, _ := Settle(fleet.Past{Registrations: []fleet.Registration{r}, Actions: c.actions}, snap, fleet.Plan{})
		if len(out) != 1 || out[0].Exit == nil || out[0].Exit.Asked != c.asked || out[0].Exit.Failed() != (c.asked == "") {
			t.Errorf("%s: %+v", name, out)
		}
		if seen[0].Exit.Asked != "" {
			t.Errorf("%s: it changed what was seen", name)
		}
	}
}
