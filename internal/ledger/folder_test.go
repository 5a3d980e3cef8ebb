package ledger

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A folder is given up only by what is known: each unknown, each need and each doubt
// keeps it.
func TestAFolderIsKeptForWhatIsNotKnown(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Up: fleet.Duration(90 * 24 * time.Hour), Boot: "b"}
	const keep = 30 * 24 * time.Hour
	gone := func() (fleet.Past, InstanceFolder) {
		return fleet.Past{Registrations: []fleet.Registration{{Name: "dev", Instance: "i2", Desired: fleet.DesiredRunning}}},
			InstanceFolder{Agent: "dev", Instance: "i1", Ended: at.Add(-keep - time.Second), Ours: true}
	}
	if past, f := gone(); WhyKept(past, at, keep, f) != "" {
		t.Fatalf("an older instance: %s", WhyKept(past, at, keep, f))
	}
	newest := func(desired fleet.Desired, exit *fleet.Exit) func(*fleet.Past, *InstanceFolder) {
		return func(p *fleet.Past, f *InstanceFolder) {
			f.Instance, p.Registrations[0].Desired, p.Registrations[0].Exit = "i2", desired, exit
		}
	}
	for name, c := range map[string]struct {
		change func(*fleet.Past, *InstanceFolder)
		goes   bool
	}{
		"end not known":             {func(_ *fleet.Past, f *InstanceFolder) { f.Ended = fleet.Instant{} }, false},
		"mark not known":            {func(_ *fleet.Past, f *InstanceFolder) { f.Ours = false }, false},
		"lives":                     {func(_ *fleet.Past, f *InstanceFolder) { f.Lives = true }, false},
		"young":                     {func(_ *fleet.Past, f *InstanceFolder) { f.Ended = at.Add(time.Second - keep) }, false},
		"newest, wanted":            {newest(fleet.DesiredRunning, &fleet.Exit{Instance: "i2"}), false},
		"newest, stopped":           {newest(fleet.DesiredStopped, &fleet.Exit{Instance: "i2"}), false},
		"newest, retired, no end":   {newest(fleet.DesiredRetired, nil), false},
		"newest, retired and ended": {newest(fleet.DesiredRetired, &fleet.Exit{Instance: "i2"}), true},
		"no registration any more":  {func(p *fleet.Past, _ *InstanceFolder) { p.Registrations = nil }, true},
		"unreadable":                {func(p *fleet.Past, _ *InstanceFolder) { p.Blind = "torn" }, false},
		"amnesia":                   {func(p *fleet.Past, _ *InstanceFolder) { p.Amnesia = true }, false},
		"clock behind": {func(p *fleet.Past, _ *InstanceFolder) {
			p.Newest = fleet.Instant{Wall: at.Wall.Add(time.Hour), Boot: "a"}
		}, false},
		"being recovered": {func(p *fleet.Past, _ *InstanceFolder) {
			p.Actions = []fleet.ActionRecord{{Action: fleet.Action{Do: "recover", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "dev"}}, Stage: fleet.StageStarted}}
		}, false},
		"of another, being recovered": {func(p *fleet.Past, _ *InstanceFolder) {
			p.Actions = []fleet.ActionRecord{{Action: fleet.Action{Do: "recover", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "eve"}}, Stage: fleet.StageStarted}}
		}, true},
		"to be recovered": {func(p *fleet.Past, _ *InstanceFolder) {
			p.Orders = []fleet.Order{{Do: fleet.OrderRecover, Agent: "dev", State: fleet.OrderOpen}}
		}, false},
	} {
		past, f := gone()
		c.change(&past, &f)
		if why := WhyKept(past, at, keep, f); (why == "") != c.goes {
			t.Errorf("%s: %q", name, why)
		}
	}
}
