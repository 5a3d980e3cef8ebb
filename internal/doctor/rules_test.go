package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// checking are rules that are checks, and two that are none.
func checking() []api.Rule {
	return []api.Rule{
		{Name: "disk-pressure", Category: "disk", Priority: "P1", Actions: []string{"rotate-log"}, Enabled: true},
		{Name: "landmark-open", Category: "security", Priority: "P3", Actions: []string{"close-landmark"}, Enabled: true},
		{Name: "lock-dead", Category: "locks", Priority: "P2", Actions: []string{"remove-lock"}, Enabled: true, Parts: []string{"locks", "processes"}},
		{Name: "self-clock", Category: "clock", Priority: "P3", Enabled: true},
		{Name: "self-mute", Category: "chat", Priority: "P1"},
		{Name: "agent-waiting", Priority: "P2", Enabled: true},
	}
}

// findings are one of each of their rules.
func findings() map[string]fleet.Finding {
	of := func(rule string, p fleet.Priority, kind fleet.Kind, name, summary string) fleet.Finding {
		return fleet.Finding{AlertKey: fleet.AlertKey{Rule: rule, Subject: fleet.Subject{Kind: kind, Name: name}}, Priority: p, Firing: true, Summary: summary}
	}
	return map[string]fleet.Finding{
		"disk-pressure": of("disk-pressure", fleet.P1, fleet.KindMount, "/", "/ is 95 % full"),
		"landmark-open": of("landmark-open", fleet.P3, fleet.KindLandmark, "/s", "others get at /s (state)"),
		"lock-dead":     of("lock-dead", fleet.P2, fleet.KindLock, "/l/lock", "/l/lock is held by a process that is gone"),
		"self-clock":    of("self-clock", fleet.P3, fleet.KindSelf, "custos", "the wall clock is behind"),
		"self-mute":     of("self-mute", fleet.P1, fleet.KindReceiver, "ops", "ops is not reached"),
		"agent-waiting": of("agent-waiting", fleet.P2, fleet.KindAgent, "a", "a waits"),
	}
}

// foundBy has a rule find something.
func foundBy(rule string) sick {
	return sick{spoil: func(x patient) { x.Pass.Assessment.Findings = append(x.Pass.Assessment.Findings, findings()[rule]) }}
}

// What a rule of a category finds is a check, as bad as its priority; what has actions is
// mended by the alert of that rule, and of no other.
func TestDoctorTellsWhatRulesFind(t *testing.T) {
	for _, k := range []struct{ rule, check, state, command, mends string }{
		{"disk-pressure", "disk disk-pressure", api.CheckBad, "custos why mount//", "disk-pressure mount//"},
		{"landmark-open", "security landmark-open", api.CheckWarn, "custos why landmark//s", "landmark-open landmark//s"},
		{"lock-dead", "locks lock-dead", api.CheckBad, "custos why lock//l/lock", "lock-dead lock//l/lock"},
		{"self-clock", "clock self-clock", api.CheckWarn, "custos why self/custos", ""},
	} {
		all := told(foundBy(k.rule).of())
		c := all[k.check]
		if c.State != k.state || c.Why != findings()[k.rule].Summary || c.Command != k.command {
			t.Errorf("%s is %s: %s → %s", k.check, c.State, c.Why, c.Command)
		}
		var mends []string
		for _, m := range c.Mends {
			mends = append(mends, m.Rule+" "+m.Subject)
		}
		if strings.Join(mends, ", ") != k.mends {
			t.Errorf("%s is mended by %v, want %s", k.check, mends, k.mends)
		}
		for name, other := range all {
			if name != k.check && other.State != api.CheckOK {
				t.Errorf("%s makes %s %s: %s", k.rule, name, other.State, other.Why)
			}
		}
	}
}

// A rule that is off, or is in no category, is no check.
func TestDoctorLeavesOtherRulesOut(t *testing.T) {
	for _, rule := range []string{"self-mute", "agent-waiting"} {
		for name, c := range told(foundBy(rule).of()) {
			if c.State != api.CheckOK || strings.HasSuffix(name, " "+rule) {
				t.Errorf("%s: %s is %s: %s", rule, name, c.State, c.Why)
			}
		}
	}
}

// A rule that cannot be answered is never well.
func TestDoctorTellsWhatRulesCannot(t *testing.T) {
	e := wellInstalled()
	key := findings()["lock-dead"].AlertKey
	e.Pass.Assessment.Blind = []fleet.CannotTell{{AlertKey: key, Why: "its file cannot be read"}}
	if c := told(e)["locks lock-dead"]; c.State != api.CheckCannot || c.Why != "/l/lock: its file cannot be read" || len(c.Mends) != 0 {
		t.Errorf("%s: %s", c.State, c.Why)
	}
}

// A rule that found nothing in an old reading, or in half of what there is, is not well;
// what it did find is told.
func TestDoctorTellsWhatRulesReadThatIsHalfSeen(t *testing.T) {
	for way, half := range halves() {
		for _, name := range []fleet.PartName{fleet.PartLocks, fleet.PartProcesses} {
			e := wellInstalled()
			half(e.Pass.Snapshot.Sight(name))
			all := told(e)
			if c := all["locks lock-dead"]; c.State != api.CheckCannot || !strings.Contains(c.Why, "the server is stopped") || !strings.Contains(c.Why, string(name)) || c.Command != "custos status" {
				t.Errorf("%s is %s: %s: %s → %s", name, way, c.State, c.Why, c.Command)
			}
			if c := all["disk disk-pressure"]; c.State != api.CheckOK {
				t.Errorf("what does not read %s is %s: %s", name, c.State, c.Why)
			}
			e.Pass.Assessment.Findings = []fleet.Finding{findings()["lock-dead"]}
			if c := told(e)["locks lock-dead"]; c.State != api.CheckBad || c.Why != findings()["lock-dead"].Summary {
				t.Errorf("%s is %s, and a lock is dead: %s: %s", name, way, c.State, c.Why)
			}
		}
	}
}

// Every check stands in a category that there is, in their order.
func TestDoctorTellsByCategory(t *testing.T) {
	last := 0
	for _, c := range checked(*wellInstalled()) {
		at := slices.Index(fleet.Categories(), c.Category)
		if at < last {
			t.Errorf("%s %s is told out of turn", c.Category, c.Name)
		}
		last = at
	}
}

// What mends something once its alert fires is held back until then: at a known moment
// where a daemon counts.
func TestWhatIsPendingIsHeldBack(t *testing.T) {
	e := wellInstalled()
	e.Daemon = true
	e.Rules = []api.Rule{{Name: "lock-dead", Category: "locks", Actions: []string{"remove-lock"}, For: "30s", Enabled: true}}
	f := findings()["lock-dead"]
	f.Since = e.At.Add(-10 * time.Second)
	of := []fleet.AlertKey{f.AlertKey}
	for _, k := range []struct {
		firing, daemon bool
		want           string
	}{
		{true, true, ""},
		{false, true, "remove-lock lock//l/lock P2 lock-dead pending: its rule waits until it has been so for 30s; 20s"},
		{false, false, "remove-lock lock//l/lock P2 lock-dead pending: its rule waits until it has been so for 30s; "},
	} {
		f.Firing, e.Daemon = k.firing, k.daemon
		e.Pass.Assessment.Findings = []fleet.Finding{f}
		var got string
		for _, r := range e.NotFired(of) {
			got += r.Do + " " + r.Subject + " " + r.Priority + " " + r.Rule + " " + r.Guard + ": " + r.Why + "; "
			if r.Until != nil {
				got += r.Until.Sub(e.At.Wall).String()
			}
		}
		if got != k.want {
			t.Errorf("firing %t, daemon %t: %q, want %q", k.firing, k.daemon, got, k.want)
		}
	}
	if got := e.NotFired(nil); len(got) != 0 {
		t.Errorf("nothing is asked for: %v", got)
	}
}
