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
