package fleet_test

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestClockBehind: the clock is behind when it shows an earlier moment than what was
// written in another boot, and never within one boot, where no clock goes back.
func TestClockBehind(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	in := func(boot string, wall, up time.Duration) fleet.Instant {
		return fleet.Instant{Wall: noon.Add(wall), Up: fleet.Duration(up), Boot: boot}
	}
	newest := in("b1", 0, time.Hour)
	for name, c := range map[string]struct {
		newest, at fleet.Instant
		behind     bool
	}{
		"nothing was written":                       {fleet.Instant{}, in("b2", -time.Hour, 0), false},
		"another boot, later":                       {newest, in("b2", time.Second, time.Minute), false},
		"another boot, the same moment":             {newest, in("b2", 0, time.Minute), false},
		"another boot, earlier":                     {newest, in("b2", -time.Second, 2*time.Hour), true},
		"another boot, a year earlier":              {newest, in("b2", -365*24*time.Hour, 0), true},
		"this boot, written while it was thought":   {newest, in("b1", -time.Second, time.Hour-time.Second), false},
		"this boot, the wall clock was set back":    {newest, in("b1", -5*time.Hour, time.Hour+time.Minute), false},
		"this boot, the wall clock was set forward": {newest, in("b1", 5*time.Hour, time.Hour+time.Minute), false},
		"no boot is known, earlier":                 {in("", 0, 0), in("", -time.Second, 0), true},
		"no boot is known, later":                   {in("", 0, 0), in("", time.Second, 0), false},
		"the boot is not known now, earlier":        {newest, in("", -time.Second, 0), true},
	} {
		past := fleet.Past{Newest: c.newest}
		if got := past.ClockBehind(c.at); got != c.behind {
			t.Errorf("%s: behind is %t", name, got)
		}
	}
}
