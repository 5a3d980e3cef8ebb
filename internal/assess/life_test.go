package assess

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// logRule fires for every log above a size, with keys to be added.
func logRule(extra string) string {
	return "[rule.big]\npriority='P3'\nover='log'\nexpr='log.bytes > 100'\n" + extra + "\n"
}

func worldWithLog(at time.Duration, size int64) fleet.Snapshot {
	s := healthy(start().Add(at))
	s.Logs.Value[0].Bytes = fleet.Known(size)
	return s
}

func TestFlappingIsDampedIntoOneAlert(t *testing.T) {
	set := parse(t, logRule(""))
	var past fleet.Past
	past.NextAlert = 40
	var last fleet.Alert
	for i := range 12 { // true and false every minute
		size := int64(1000)
		if i%2 == 1 {
			size = 1
		}
		got := Assess(set, worldWithLog(time.Duration(i)*time.Minute, size), past)
		past = after(past, got)
		if len(got.Alerts) != 1 {
			t.Fatalf("minute %d: %d alerts", i, len(got.Alerts))
		}
		last = got.Alerts[0]
		if last.Number != 40 {
			t.Fatalf("minute %d: it has number %d, want 40 as before", i, last.Number)
		}
	}
	if !last.Flapping || last.Status != fleet.AlertFiring || len(last.Changes) != flapChanges {
		t.Errorf("after twelve minutes: %+v, want it flapping and firing", last)
	}
	got := Assess(set, worldWithLog(30*time.Minute, 1), past)
	if got.Alerts[0].Status != fleet.AlertResolved {
		t.Errorf("false for long enough, it is %s", got.Alerts[0].Status)
	}
	got = Assess(set, worldWithLog(5*time.Hour, 1000), after(past, got))
	if a := got.Alerts[0]; a.Number != 41 || a.Flapping || len(a.Changes) != 1 {
		t.Errorf("hours later it is %+v, want a new alert", a)
	}
}

func TestAckIsCarriedAndSilencesAreRead(t *testing.T) {
	set := parse(t, logRule(""))
	past := after(fleet.Past{}, Assess(set, worldWithLog(0, 1000), fleet.Past{}))
	past.Alerts[0].AckedBy, past.Alerts[0].AckedAt = "ann", start()
	until := start().Add(time.Hour)
	past.Silences = []fleet.Silence{{Rule: "big", By: "bob", From: start(), Until: until}, {Rule: "other", By: "eve", From: start(), Until: start().Add(9 * time.Hour)}}
	got := Assess(set, worldWithLog(time.Minute, 1000), past)
	if a := got.Alerts[0]; a.AckedBy != "ann" || a.SilencedBy != "bob" || a.SilencedUntil != until {
		t.Errorf("alert is %+v", a)
	}
	past = after(past, got)
	if a := Assess(set, worldWithLog(2*time.Hour, 1000), past).Alerts[0]; a.SilencedBy != "" || a.AckedBy != "ann" {
		t.Errorf("after its end the silence is %q until %v, acked by %q", a.SilencedBy, a.SilencedUntil, a.AckedBy)
	}
	past.Silences = nil
	if a := Assess(set, worldWithLog(2*time.Minute, 1000), past).Alerts[0]; a.SilencedBy != "" {
		t.Errorf("a lifted silence still holds: %+v", a)
	}
}

func TestNumbersFollowTheOrderOfKeys(t *testing.T) {
	set := parse(t, logRule(""))
	s := worldWithLog(0, 1000)
	one := s.Logs.Value[0]
	b, a := one, one
	b.Path, a.Path = "/b", "/a"
	s.Logs.Value = []fleet.Log{b, a, b}
	got := Assess(set, s, fleet.Past{NextAlert: 7})
	if len(got.Findings) != 2 || len(got.Alerts) != 2 {
		t.Fatalf("%d findings and %d alerts, want two of each: one name is one subject", len(got.Findings), len(got.Alerts))
	}
	for i, want := range []string{"/a", "/b"} {
		if x := got.Alerts[i]; x.Subject.Name != want || x.Number != int64(7+i) {
			t.Errorf("alert %d is %s with number %d", i, x.Subject, x.Number)
		}
	}
}

func TestTwoThingsOfOneName(t *testing.T) {
	set := parse(t, logRule(""))
	s := worldWithLog(0, 1)
	big := s.Logs.Value[0]
	big.Bytes = fleet.Known(int64(1000))
	blind := s.Logs.Value[0]
	blind.Bytes = fleet.Unknown[int64]("gone")
	s.Logs.Value = append(s.Logs.Value, blind, big, s.Logs.Value[0])
	if got := Assess(set, s, fleet.Past{}); len(got.Findings) != 1 || len(got.Blind) != 0 {
		t.Errorf("true of one of four: %+v, blind %+v", got.Findings, got.Blind)
	}
}

func TestBrokenRuleIsCannotTellAndAFinding(t *testing.T) {
	set := parse(t, "[rule.bad]\npriority='P1'\nover='log'\nexpr='1000 / log.bytes > 1'\nactions=[{do='rotate-log'}]\nmode='auto'\n")
	past := after(fleet.Past{}, Assess(set, worldWithLog(0, 1), fleet.Past{}))
	got := Assess(set, worldWithLog(time.Minute, 0), past)
	if len(got.Blind) != 1 || !strings.Contains(got.Blind[0].Why, "division by zero") {
		t.Errorf("blind: %+v", got.Blind)
	}
	if len(got.Findings) != 1 || got.Findings[0].Rule != "rule-broken" || got.Findings[0].Priority != fleet.P3 || got.Findings[0].Subject != (fleet.Subject{Kind: "self", Name: "bad"}) {
		t.Errorf("findings: %+v", got.Findings)
	}
	if a := got.Alerts[0]; a.Rule != "bad" || a.Status != fleet.AlertFiring || a.Blind == "" {
		t.Errorf("the alert of the broken rule: %+v", a)
	}
	past = after(past, got)
	blind := worldWithLog(2*time.Minute, 0)
	blind.Logs.Blind("lost")
	if got := Assess(set, blind, past); status(got, "rule-broken") != fleet.AlertFiring {
		t.Errorf("blindness ended rule-broken: %+v", got.Alerts)
	}
	if got := Assess(set, worldWithLog(3*time.Minute, 5), past); status(got, "rule-broken") != fleet.AlertResolved {
		t.Errorf("a rule that answers again still counts as broken: %+v", got.Alerts)
	}
	if got := Assess(parse(t, logRule("")), worldWithLog(3*time.Minute, 5), past); status(got, "rule-broken") != fleet.AlertResolved || status(got, "bad") != fleet.AlertResolved {
		t.Errorf("a rule that is gone left alerts: %+v", got.Alerts)
	}
}

func status(got fleet.Assessment, rule string) fleet.AlertStatus {
	for _, a := range got.Alerts {
		if a.Rule == rule {
			return a.Status
		}
	}
	return ""
}

func TestWishesAreOrderedAndLimited(t *testing.T) {
	s := sick(start())
	for i, rss := range []int64{5, 9, 0} {
		s.Agents.Value[i].RSS = fleet.Known(rss)
	}
	s.Agents.Value[2].RSS = fleet.Unknown[int64]("gone")
	for _, f := range Assess(builtin(t), s, fleet.Past{}).Findings {
		if f.Rule != "memory-crisis" {
			continue
		}
		var got []string
		for _, w := range f.Wishes {
			got = append(got, w.Subject.Name)
			if w.Limit != 3 || w.Target.Agent == nil {
				t.Errorf("wish %+v", w)
			}
		}
		if strings.Join(got, " ") != "rate_limited waiting zombie" {
			t.Errorf("order %v, want the biggest first and the unknown last", got)
		}
		return
	}
	t.Error("memory-crisis did not fire")
}

func TestEvidenceShowsWhatWasRead(t *testing.T) {
	for _, f := range Assess(builtin(t), sick(start()), fleet.Past{}).Findings {
		if f.Rule == "memory-crisis" {
			want := []fleet.Evidence{{Expr: "host.memory.available", Value: "100 B"}, {Expr: "host.swap.used", Value: "0 B"}}
			if len(f.Evidence) != 2 || f.Evidence[0] != want[0] || f.Evidence[1] != want[1] {
				t.Errorf("evidence %+v, want %+v", f.Evidence, want)
			}
			if f.Runbook == "" || f.Summary != "only 0 MiB of memory left" {
				t.Errorf("finding %+v", f)
			}
		}
	}
}

func TestWideCausesExplainAll(t *testing.T) {
	set := parse(t, "[rule.host-bad]\npriority='P1'\nover='host'\nexpr='host.cpus > 1'\n"+logRule("caused_by=['host-bad']\nfor='1h'"))
	got := Assess(set, worldWithLog(0, 1000), fleet.Past{})
	for _, f := range got.Findings {
		if f.Rule == "big" && (len(f.CausedBy) != 1 || f.CausedBy[0].Rule != "host-bad" || f.Firing) {
			t.Errorf("finding %+v", f)
		}
	}
	for _, a := range got.Alerts {
		if a.Rule == "big" && len(a.CausedBy) != 1 {
			t.Errorf("alert %+v", a)
		}
	}
}

func TestKeepFiringDoesNotEndWhileTheClockIsBehind(t *testing.T) {
	set := parse(t, logRule("keep_firing_for='5m'"))
	past := after(fleet.Past{}, Assess(set, worldWithLog(0, 1000), fleet.Past{}))
	past.Newest = start().Add(10 * time.Hour)
	past.Newest.Boot = "earlier"
	if got := Assess(set, worldWithLog(time.Hour, 1), past); status(got, "big") != fleet.AlertFiring {
		t.Errorf("it ended by a clock that is behind: %+v", got.Alerts)
	}
	past.Newest = start()
	if got := Assess(set, worldWithLog(time.Hour, 1), past); status(got, "big") != fleet.AlertResolved {
		t.Errorf("it did not end: %+v", got.Alerts)
	}
}

func TestFindingsComeWorstThenOldestFirst(t *testing.T) {
	set := parse(t, logRule("")+"[rule.late]\npriority='P3'\nover='mount'\nexpr='mount.used_percent > 50'\n[rule.bad]\npriority='P0'\nover='self'\nexpr='self.amnesia'\n")
	past := after(fleet.Past{}, Assess(set, worldWithLog(0, 1000), fleet.Past{}))
	s := worldWithLog(time.Minute, 1000)
	s.Host.Value.Mounts[0].UsedPercent = fleet.Known(60.0)
	s.Self.Value.Amnesia = fleet.Known(true)
	var got []string
	for _, f := range Assess(set, s, past).Findings {
		got = append(got, f.Rule)
	}
	// Subjects alone would give the same order, so the second half turns the ages
	// round.
	if strings.Join(got, " ") != "bad big late" {
		t.Errorf("order %v", got)
	}
	past = fleet.Past{}
	s = worldWithLog(0, 1)
	s.Host.Value.Mounts[0].UsedPercent = fleet.Known(60.0)
	past = after(past, Assess(set, s, past))
	s = worldWithLog(time.Minute, 1000)
	s.Host.Value.Mounts[0].UsedPercent = fleet.Known(60.0)
	got = nil
	for _, f := range Assess(set, s, past).Findings {
		got = append(got, f.Rule)
	}
	if strings.Join(got, " ") != "late big" {
		t.Errorf("order %v, want the older first", got)
	}
}

// What fires on for a while after it ended was explained by what ended first: that stays so, also
// where it cannot be told meanwhile, and is over when it is true again.
func TestWhatFiresOnKeepsItsCause(t *testing.T) {
	set := parse(t, "[rule.host-bad]\npriority='P1'\nover='host'\nexpr='host.cpus > 1'\n"+logRule("caused_by=['host-bad']\nkeep_firing_for='1m'"))
	const blind = -1
	var past fleet.Past
	for i, c := range []struct {
		at         time.Duration
		size, cpus int
		caused     bool
	}{{0, 1000, 4, true}, {10 * time.Second, 1, 1, true}, {15 * time.Second, blind, 1, true}, {20 * time.Second, 1000, 1, false},
		{30 * time.Second, 1000, 4, true}, {35 * time.Second, blind, 1, true}, {40 * time.Second, 1000, 1, false}} {
		s := worldWithLog(c.at, int64(c.size))
		if c.size == blind {
			s.Logs.Blind("lost")
		}
		s.Host.Value.CPUs = c.cpus
		got := Assess(set, s, past)
		past = after(past, got)
		a := fleet.Find(got.Alerts, func(a *fleet.Alert) bool { return a.Rule == "big" })
		if a == nil || a.Status != fleet.AlertFiring || (len(a.CausedBy) == 1) != c.caused {
			t.Errorf("look %d: %+v, want it firing, and caused %v", i, a, c.caused)
		}
	}
}

// What an alert says stays where it cannot be worded anew: what it was found by is not seen just now.
func TestWordsStayWhereTheyCannotBeToldAnew(t *testing.T) {
	set := parse(t, logRule("summary = \"'it grows beside ' + string(size(agents)) + ' agents'\""))
	first := Assess(set, worldWithLog(0, 1000), fleet.Past{})
	blind := worldWithLog(time.Minute, 1000)
	blind.Agents.Blind("it took too long")
	over := after(after(fleet.Past{}, first), Assess(set, worldWithLog(time.Minute, 1), after(fleet.Past{}, first)))
	for what, c := range map[string]struct {
		past fleet.Past
		want string
	}{"it is another one": {over, "big (details not known)"}, "it was worded": {after(fleet.Past{}, first), first.Alerts[0].Summary}, "it is new": {fleet.Past{}, "big (details not known)"}} {
		got := Assess(set, blind, c.past)
		if len(got.Alerts) != 1 || got.Alerts[0].Summary != c.want || got.Findings[0].Summary != c.want {
			t.Errorf("%s: %q, want %q", what, got.Alerts[0].Summary, c.want)
		}
	}
}
