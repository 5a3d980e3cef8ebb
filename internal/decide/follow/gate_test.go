package follow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// gate adds a gate, and returns its ID.
func (w *village) gate(g fleet.Gate, by string) string {
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		made, err := ledger.AddGate(all, g, by, w.at())
		return fleet.Records{Gates: []fleet.Gate{made}}, err
	})
	return w.past.Records.Gates[len(w.past.Records.Gates)-1].ID
}

func (w *village) gateNow(id string) fleet.Gate { return *ledger.Gate(w.past.Records, id) }

func (w *village) gateFacts(id string) fleet.GateFacts {
	list := ledger.Facts(w.past, w.snap).Value.Gates
	i := slices.IndexFunc(list, func(g fleet.GateFacts) bool { return g.ID == id })
	if i < 0 {
		return fleet.GateFacts{}
	}
	return list[i]
}

// elsewhere has forge, CI and commands be seen.
func (w *village) elsewhere() {
	for _, p := range []*fleet.Sight{&w.snap.CI.Sight, &w.snap.Checks.Sight} {
		p.Status, p.At = fleet.StatusOK, w.at()
	}
}

func (w *village) pipeline(state fleet.Leaf[string]) {
	w.snap.CI.Value.Pipelines = []fleet.Pipeline{{Name: "wp/shop#40", State: state}}
}

func (w *village) trigger(name string) {
	w.edit(func(fleet.Records) (fleet.Records, error) {
		t, err := ledger.AddTrigger(fleet.Trigger{Name: name}, "agent/ci", w.at())
		return fleet.Records{Triggers: []fleet.Trigger{t}}, err
	})
}

func (w *village) mail(m fleet.Mail) {
	w.now += time.Second
	m.ID, m.At = "m99", w.at()
	w.past.Records.Mails = append(slices.Clone(w.past.Records.Mails), m)
}

func (w *village) holds(l fleet.Leaf[bool]) {
	w.snap.Holds = []fleet.GateCheck{{Gate: "g1", Holds: l, At: w.at()}}
}

func (w *village) checked(l fleet.Leaf[bool]) {
	w.snap.Checks.Value = []fleet.GateCheck{{Gate: "g1", Holds: l, At: w.at()}}
}

// gateCase is a gate that is made, what happens then, and what it comes to.
type gateCase struct {
	name    string
	gate    fleet.Gate
	happens func(*village)
	want    string // outcome; "" while it waits, "blind" when that cannot be told
	why     string // part of it
}

func gateCases() []gateCase {
	nothing := func(*village) {}
	peoples := fleet.Gate{Type: fleet.GateMail, From: fleet.Overseer}
	reviewed := fleet.Mail{From: "agent/reviewer", To: []string{"builder"}, Subject: "review of !7"}
	list := []gateCase{
		{"timer passes", timerGate(time.Minute), nothing, fleet.GatePassed, "its time has come"},
		{"timer holds", timerGate(time.Minute + 1), nothing, "", "2026-07-01 10:01"},
		{"timer, the wall clock is set ahead", timerGate(2 * time.Minute), func(w *village) { w.ahead = 30 * 24 * time.Hour }, "", ""},
		{"timer, the wall clock is set back", timerGate(time.Minute), func(w *village) { w.ahead = -30 * 24 * time.Hour }, fleet.GatePassed, ""},
		{"timer, another boot, by the wall", timerGate(time.Minute), func(w *village) { w.boot = "c" }, fleet.GatePassed, ""},
		{"timer, another boot, before", timerGate(2 * time.Minute), func(w *village) { w.boot = "c" }, "", ""},
		{"timer, another boot, the clock is behind", timerGate(time.Minute), func(w *village) { w.boot, w.past.Newest = "c", at(time.Hour) }, "blind", "behind"},
		{"human holds", fleet.Gate{Type: fleet.GateHuman}, nothing, "", "person"},
		{"condition passes", whenGate(), func(w *village) { w.holds(fleet.Known(true)) }, fleet.GatePassed, "expression"},
		{"condition holds", whenGate(), func(w *village) { w.holds(fleet.Known(false)) }, "", "says no"},
		{"condition unknown", whenGate(), func(w *village) { w.holds(fleet.Unknown[bool]("the host is not seen")) }, "blind", "the host is not seen"},
		{"condition not asked", whenGate(), nothing, "blind", "not asked"},
		{"command passes", commandGate(), func(w *village) { w.checked(fleet.Known(true)) }, fleet.GatePassed, "command"},
		{"command holds", commandGate(), func(w *village) { w.checked(fleet.Known(false)) }, "", "says no"},
		{"command hangs", commandGate(), func(w *village) { w.checked(fleet.Unknown[bool]("it took longer than 10s")) }, "blind", "longer"},
		{"command of another gate", commandGate(), func(w *village) { w.checked(fleet.Known(true)); w.snap.Checks.Value[0].Gate = "g2" }, "blind", ""},
		{"command, stale", commandGate(), func(w *village) { w.checked(fleet.Known(true)); w.snap.Checks.Status = fleet.StatusStale }, "blind", "not run now"},
		{"run passes", runGate(), func(w *village) { w.pipeline(fleet.Known("success")) }, fleet.GatePassed, "succeeded"},
		{"run holds", runGate(), func(w *village) { w.pipeline(fleet.Known("running")) }, "", "running"},
		{"run blocked holds", runGate(), func(w *village) { w.pipeline(fleet.Known("blocked")) }, "", "blocked"},
		{"run fails", runGate(), func(w *village) { w.pipeline(fleet.Known("failure")) }, fleet.GateFailed, "failure"},
		{"run cancelled", runGate(), func(w *village) { w.pipeline(fleet.Known("cancelled")) }, fleet.GateFailed, "cancelled"},
		{"run unknown", runGate(), func(w *village) { w.pipeline(fleet.Unknown[string]("401")) }, "blind", "401"},
		{"run is not shown", runGate(), nothing, "blind", "does not show"},
		{"run, no CI", runGate(), func(w *village) { w.pipeline(fleet.Known("success")); w.snap.CI.Status = fleet.StatusAbsent }, "blind", ""},
		{"run, stale", runGate(), func(w *village) { w.pipeline(fleet.Known("success")); w.snap.CI.Status = fleet.StatusStale }, "blind", ""},
		{"mail passes", mailGate(), func(w *village) { w.mail(reviewed) }, fleet.GatePassed, "m99"},
		{"mail holds", mailGate(), nothing, "", ""},
		{"mail from another", mailGate(), func(w *village) { m := reviewed; m.From = "agent/other"; w.mail(m) }, "", ""},
		{"mail from a person of the name", mailGate(), func(w *village) { m := reviewed; m.From = "reviewer"; w.mail(m) }, fleet.GatePassed, ""},
		{"mail to another", mailGate(), func(w *village) { m := reviewed; m.To = []string{"x"}; w.mail(m) }, "", ""},
		{"mail to a group he is in", mailGate(), func(w *village) {
			m := reviewed
			m.To, m.Copies = []string{"@all"}, []fleet.MailCopy{{To: "builder"}}
			w.mail(m)
		}, fleet.GatePassed, ""},
		{"mail about something else", mailGate(), func(w *village) { m := reviewed; m.Subject = "lunch"; w.mail(m) }, "", ""},
		{"mail of a person", peoples, func(w *village) { m := reviewed; m.From = "ann"; w.mail(m) }, fleet.GatePassed, "ann"},
		{"mail of an agent for the people", peoples, func(w *village) { m := reviewed; m.From = fleet.ByAgent(fleet.Overseer); w.mail(m) }, "", ""},
		{"mail of a webhook for the people", peoples, func(w *village) { m := reviewed; m.From = fleet.ByWebhook; w.mail(m) }, "", ""},
		{"mail of Custos by its name", fleet.Gate{Type: fleet.GateMail, From: "custos"}, func(w *village) { m := reviewed; m.From = fleet.ByCustos; w.mail(m) }, fleet.GatePassed, ""},
		{"mail of Custos", fleet.Gate{Type: fleet.GateMail, To: "builder"}, func(w *village) { m := reviewed; m.From = fleet.ByCustos; w.mail(m) }, "", ""},
	}
	return slices.Concat(list, pullCases(), eventCases())
}

func pullCases() []gateCase {
	ended := func(merged bool, since fleet.Leaf[fleet.Duration]) func(*village) {
		return func(w *village) {
			w.snap.Forge.Value.Ended = []fleet.EndedPull{{Name: "shop!7", Merged: merged, Ended: since}}
		}
	}
	open := func(age fleet.Leaf[fleet.Duration]) func(*village) {
		return func(w *village) { w.snap.Forge.Value.Pulls = []fleet.PullRequest{{Name: "shop!7", Age: age}} }
	}
	then := fleet.Known(fleet.Duration(time.Second))
	return []gateCase{
		{"pull passes", pullGate(), ended(true, then), fleet.GatePassed, "merged"},
		{"pull fails", pullGate(), ended(false, then), fleet.GateFailed, "not merged"},
		{"pull holds", pullGate(), open(then), "", "open"},
		{"pull is not shown", pullGate(), func(*village) {}, "blind", "does not show"},
		{"pull, its forge does not answer", pullGate(), open(fleet.Unknown[fleet.Duration]("502")), "blind", "502"},
		{"pull ended, its forge does not answer", pullGate(), ended(true, fleet.Unknown[fleet.Duration]("502")), "blind", "502"},
		{"pull, no forge", pullGate(), func(w *village) { ended(true, then)(w); w.snap.Forge.Status = fleet.StatusAbsent }, "blind", ""},
		{"pull, stale", pullGate(), func(w *village) { ended(true, then)(w); w.snap.Forge.Status = fleet.StatusStale }, "blind", ""},
		{"pull, opened again", pullGate(), func(w *village) { ended(false, then)(w); open(then)(w) }, "", ""},
	}
}

func eventCases() []gateCase {
	alert := func(rule string, fired fleet.Instant) func(*village) {
		return func(w *village) {
			w.past.Alerts = []fleet.Alert{{AlertKey: fleet.AlertKey{Rule: rule}, FiredAt: fired}}
		}
	}
	run := func(state fleet.RunState, ended fleet.Instant) func(*village) {
		return func(w *village) {
			w.past.Runs = []fleet.Run{{ID: "n-1", Formula: "nightly", Project: "shop", State: state, EndedAt: ended}}
		}
	}
	issue := func(open bool) func(*village) { return func(w *village) { w.issue(12, open) } }
	later := at(30 * time.Second)
	return []gateCase{
		{"alert passes", eventGate("alert:disk-pressure"), alert("disk-pressure", later), fleet.GatePassed, "disk-pressure"},
		{"alert fired before", eventGate("alert:disk-pressure"), alert("disk-pressure", at(-time.Hour)), "", ""},
		{"alert pending", eventGate("alert:disk-pressure"), alert("disk-pressure", fleet.Instant{}), "", ""},
		{"alert of another rule", eventGate("alert:disk-pressure"), alert("oom-kill", later), "", ""},
		{"run event passes", eventGate("run:nightly:done"), run(fleet.RunDone, later), fleet.GatePassed, "n-1"},
		{"run event, another state", eventGate("run:nightly:done"), run(fleet.RunFailed, later), "", ""},
		{"run event, before", eventGate("run:nightly:done"), run(fleet.RunDone, at(-1)), "", ""},
		{"run event, another project", fleet.Gate{Type: fleet.GateEvent, On: "run:nightly:done", Project: "wiki"}, run(fleet.RunDone, later), "", ""},
		{"run event, while the wall clock jumped", eventGate("run:nightly:done"), func(w *village) {
			ended := later
			ended.Wall = ended.Wall.Add(-24 * time.Hour)
			run(fleet.RunDone, ended)(w)
		}, fleet.GatePassed, ""},
		{"run event, after a boot", eventGate("run:nightly:done"), func(w *village) {
			w.boot = "c"
			ended := w.at()
			ended.Wall = ended.Wall.Add(-24 * time.Hour)
			run(fleet.RunDone, ended)(w)
		}, fleet.GatePassed, ""},
		{"work passes", eventGate("work:shop#12:closed"), issue(false), fleet.GatePassed, "shop#12"},
		{"work holds", eventGate("work:shop#12:closed"), issue(true), "", "open"},
		{"work is not shown", eventGate("work:shop#12:closed"), func(*village) {}, "blind", ""},
		{"work, its tracker is down", eventGate("work:shop#12:closed"), func(w *village) { issue(false)(w); w.snap.Forge.Status = fleet.StatusUnknown }, "blind", ""},
		{"trigger passes", eventGate("trigger:deployed"), func(w *village) { w.now += time.Second; w.trigger("deployed") }, fleet.GatePassed, "agent/ci"},
		{"trigger of another name", eventGate("trigger:deployed"), func(w *village) { w.now += time.Second; w.trigger("built") }, "", ""},
		{"trigger from before", eventGate("trigger:deployed"), func(w *village) { w.trigger("deployed"); w.past.Records.Triggers[0].At = at(-time.Hour) }, "", ""},
	}
}

// TestGates: each type passes, holds, fails and cannot be told; what is closed is
// closed once, and told once.
func TestGates(t *testing.T) {
	for _, c := range gateCases() {
		t.Run(c.name, func(t *testing.T) {
			w := newVillage(t)
			c.gate.Title, c.gate.Waiters = "wait", []string{"builder", "reviewer"}
			id := w.gate(c.gate, "ann")
			w.elsewhere()
			c.happens(w)
			mails := w.pass()
			g, facts := w.gateNow(id), w.gateFacts(id)
			outcome := g.Outcome
			if facts.Blind {
				outcome = "blind"
			}
			if outcome != c.want || !strings.Contains(facts.Why, c.why) || g.Over() != (g.Outcome != "") {
				t.Fatalf("got %+v, %+v, want %q", g, facts, c.want)
			}
			wantTold(t, mails, g)
			if again := gateMails(w.again()); len(again) > 0 || w.gateNow(id).Revision != g.Revision {
				t.Errorf("the same pass again: %+v, %+v", w.gateNow(id), again)
			}
		})
	}
}

// gateMails are those that tell of gates: others follow from other records.
func gateMails(all []fleet.Mail) (out []fleet.Mail) {
	for _, m := range all {
		if m.Type == fleet.MailGate {
			out = append(out, m)
		}
	}
	return out
}

// wantTold wants one mail for each waiter of a gate that is closed, and one for the
// overseer of one that failed.
func wantTold(t *testing.T, mails []fleet.Mail, g fleet.Gate) {
	t.Helper()
	var told, want []string
	for _, m := range gateMails(mails) {
		told = append(told, m.To...)
		if m.About != g.ID || !strings.Contains(m.Subject, g.Title) || !strings.Contains(m.Body, g.Why) {
			t.Errorf("told %+v", m)
		}
	}
	if g.Over() {
		want = append(want, "builder", "reviewer")
	}
	if g.Outcome == fleet.GateFailed {
		want = append(want, fleet.Overseer)
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// TestGatesOfOnePass: two that close in one pass are told of apart.
func TestGatesOfOnePass(t *testing.T) {
	w := newVillage(t)
	for range 2 {
		g := timerGate(time.Minute)
		g.Title, g.Waiters = "wait", []string{"builder"}
		w.gate(g, "ann")
	}
	mails := gateMails(w.pass())
	if len(mails) != 2 || mails[0].About == mails[1].About || mails[0].Key == mails[1].Key {
		t.Errorf("told %+v", mails)
	}
}

// TestGateWakes: the pass after a timer's moment, or a due, is not left to chance.
func TestGateWakes(t *testing.T) {
	w := newVillage(t)
	g := timerGate(time.Hour)
	g.Title = "wait"
	w.gate(g, "ann")
	w.gate(fleet.Gate{Type: fleet.GateHuman, Title: "say", Due: at(30 * time.Minute)}, "ann")
	w.snap.At = w.at()
	if out := coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy}); out.Until != at(30*time.Minute) || out.Wake {
		t.Errorf("got %+v", out)
	}
	w.now = 40 * time.Minute
	w.pass()
	if f := w.gateFacts("g2"); f.Overdue != fleet.Duration(11*time.Minute) || f.Blind {
		t.Errorf("got %+v", f)
	}
}

func TestClosedGatesAreFactsForADay(t *testing.T) {
	w := newVillage(t)
	g := timerGate(time.Minute)
	g.Title = "wait"
	w.gate(g, "ann")
	w.pass()
	if f := w.gateFacts("g1"); f.State != fleet.GateClosed || f.Outcome != fleet.GatePassed {
		t.Errorf("got %+v", f)
	}
	w.now += 25 * time.Hour
	w.again()
	if f := w.gateFacts("g1"); f.ID != "" {
		t.Errorf("got %+v", f)
	}
}
