package ledger

import (
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// Every death of the last hour is counted once, whoever notices it and how often;
// one that somebody turns out to have asked for is none.
func TestDeathsAreCounted(t *testing.T) {
	at := func(minute int) fleet.Instant {
		return fleet.Instant{Wall: time.Date(2026, 11, 20, 9, minute, 0, 0, time.UTC), Up: fleet.Duration(time.Duration(minute) * time.Minute), Boot: "b"}
	}
	r := fleet.Registration{Name: "a"}
	began := 0
	dies := func(minute int, e fleet.Exit, seconds ...int) {
		t.Helper()
		began++
		r.Instance, r.Process, r.Exit = string(rune('a'+began)), fleet.ProcessID{PID: began, Start: 1}, nil
		e.Instance, e.Process, e.At = r.Instance, r.Process, at(minute)
		for _, s := range seconds {
			e.At = e.At.Add(time.Duration(s) * time.Second)
		}
		for range 2 { // told twice
			var err error
			if r, err = Ended(r, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(minutes ...int) {
		t.Helper()
		var all []fleet.Instant
		for _, m := range minutes {
			all = append(all, at(m))
		}
		if !slices.Equal(r.Deaths, all) {
			t.Errorf("%v, want minutes %v", r.Deaths, minutes)
		}
	}
	dies(0, fleet.Exit{Signal: fleet.Known(9)})
	dies(2, fleet.Exit{Status: fleet.Known(1)})
	want(0, 2)
	dies(3, fleet.Exit{Status: fleet.Known(0)})
	dies(4, fleet.Exit{Source: fleet.ExitReboot})
	dies(5, fleet.Exit{Signal: fleet.Known(15), Asked: "ann"})
	want(0, 2)
	dies(6, fleet.Exit{Signal: fleet.Known(15)})
	want(0, 2, 6)
	before := slices.Clone(r.Deaths)
	late, err := Ended(r, fleet.Exit{Instance: r.Instance, Process: r.Process, At: at(6), Signal: fleet.Known(15), Asked: fleet.ByCustos})
	if err != nil || len(late.Deaths) != 2 || !slices.Equal(r.Deaths, before) {
		t.Errorf("after the word that Custos asked for it: %v, %v; and before %v", late.Deaths, err, r.Deaths)
	}
	dies(61, fleet.Exit{Signal: fleet.Known(9)})
	want(2, 6, 61)
	for i := range 50 {
		dies(62, fleet.Exit{Signal: fleet.Known(9)}, i)
	}
	if len(r.Deaths) != deathsAtMost {
		t.Errorf("%d are kept", len(r.Deaths))
	}
}

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
