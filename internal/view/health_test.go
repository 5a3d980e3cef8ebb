package view

import (
	"slices"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func TestHealthOf(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(100 * time.Hour), Boot: "b"}
	ago := func(d time.Duration) fleet.Instant { return now.Add(-d) }
	well := Vitals{Daemon: true, Passed: ago(5 * time.Second), Patrolled: ago(10 * time.Minute), Every: 20 * time.Minute}
	for name, c := range map[string]struct {
		change func(*Vitals)
		maxAge time.Duration
		want   string
	}{
		"all is well":                      {func(*Vitals) {}, PassLate, api.HealthWell},
		"a patrol is a little late":        {func(v *Vitals) { v.Patrolled = ago(41 * time.Minute) }, PassLate, api.HealthWell},
		"a patrol was left out":            {func(v *Vitals) { v.Patrolled = ago(42 * time.Minute) }, PassLate, api.HealthLate},
		"patrols are nearer to each other": {func(v *Vitals) { v.Every = time.Minute }, PassLate, api.HealthLate},
		"no pass for three minutes":        {func(v *Vitals) { v.Passed = ago(3 * time.Minute) }, PassLate, api.HealthLate},
		"that may be so old":               {func(v *Vitals) { v.Passed = ago(3 * time.Minute) }, 5 * time.Minute, api.HealthWell},
		"younger than asked for":           {func(*Vitals) {}, time.Second, api.HealthLate},
		"passes fail":                      {func(v *Vitals) { v.Trouble = "disk full" }, PassLate, api.HealthFailing},
		"nothing can be written":           {func(v *Vitals) { v.Full = "the disk is full" }, PassLate, api.HealthFailing},
		"a probe hangs":                    {func(v *Vitals) { v.Hung = []string{"sessions (tmux)"} }, PassLate, api.HealthBlind},
		"no pass yet":                      {func(v *Vitals) { v.Passed = fleet.Instant{} }, PassLate, api.HealthStarting},
		"no patrol yet":                    {func(v *Vitals) { v.Patrolled = fleet.Instant{} }, PassLate, api.HealthStarting},
		"no daemon":                        {func(v *Vitals) { v.Daemon = false }, PassLate, api.HealthNone},
		"nothing is known":                 {func(v *Vitals) { *v = Vitals{} }, PassLate, api.HealthNone},
	} {
		v := well
		c.change(&v)
		if got := Health(v, now, c.maxAge); got.State != c.want || (got.Why == "") != (c.want == api.HealthWell) {
			t.Errorf("%s: %s because %q, want %s", name, got.State, got.Why, c.want)
		}
	}
}

// A pass that fails because the disk is full, and one that did not get that far yet, are told
// alike: by the cause, before what follows from it.
func TestHealthTellsTheCauseFirst(t *testing.T) {
	for _, c := range []struct{ full, trouble, want string }{
		{"the disk of /s is full", "", "the disk of /s is full"},
		{"the disk of /s is full", "cannot commit", "the disk of /s is full; passes cannot be finished: cannot commit"},
		{"", "cannot commit", "passes cannot be finished: cannot commit"},
	} {
		v := Vitals{Daemon: true, Passed: instant(-time.Second), Patrolled: instant(-time.Minute), Every: 20 * time.Minute, Full: c.full, Trouble: c.trouble}
		if h := Health(v, instant(0), PassLate); h.State != api.HealthFailing || h.Why != c.want {
			t.Errorf("%+v: %s, because %q, want %q", c, h.State, h.Why, c.want)
		}
	}
}

// Who cannot be told is named in the same breath, and the state stays what it is:
// to begin Custos anew would mend nothing.
func TestHealthNamesTheMute(t *testing.T) {
	v := Vitals{Daemon: true, Passed: instant(-time.Second), Patrolled: instant(-time.Minute), Every: 20 * time.Minute, Receivers: []fleet.Receiver{
		{Name: "phone", Barred: "no member"}, {Name: "mail", Waiting: fleet.Duration(3 * time.Minute), Why: "refused"}, {Name: "desk", Waiting: fleet.Duration(time.Minute)}}}
	h := Health(v, instant(0), PassLate)
	if want := []string{"phone: no member", "mail: nothing has arrived for 3m0s: refused"}; h.State != api.HealthWell || !slices.Equal(h.Mute, want) {
		t.Errorf("%+v", h)
	}
}
