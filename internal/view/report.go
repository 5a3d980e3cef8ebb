package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// What a report reads of the event log, and how many subjects of commits it shows.
const (
	EventsAReport = 20000
	madeShown     = 3
)

// Report is what the pass and the event log say.
func Report(p fleet.Pass, from fleet.Instant, events []fleet.Event) api.Report {
	could, skipped := couldDo(p)
	out := api.Report{At: p.Snapshot.At.Wall.UTC(), Since: from.Wall.UTC(), From: fromView(p.Snapshot.From),
		Waits: needs(p, could, skipped), NotSeen: notSeen(&p.Snapshot), Did: []api.ReportDeed{}, Models: api.CostRow{Key: "total"}}
	out.Cut = len(events) == EventsAReport && events[0].At.Wall.After(from.Wall)
	t := tally{out: &out, abilities: p.Policy.Abilities, refused: map[string]*api.ReportRefusal{}, alerts: map[fleet.AlertKey]*api.ReportAlert{}}
	for _, e := range events {
		if !e.At.Wall.Before(from.Wall) {
			t.add(e)
		}
	}
	t.finish(p)
	return out
}

// tally sums the event log up.
type tally struct {
	out       *api.Report
	abilities map[string]fleet.Ability
	refused   map[string]*api.ReportRefusal
	alerts    map[fleet.AlertKey]*api.ReportAlert
}

func (t *tally) add(e fleet.Event) {
	at := e.At.Wall.UTC()
	switch e.Kind {
	case "patrol":
		t.out.Patrols++
	case "action.ended":
		do, result, text := inThree(e.Text)
		t.out.Did = append(t.out.Did, api.ReportDeed{At: at, ID: e.Action, Do: do, Subject: SubjectText(e.Subject), Rule: e.Alert.Rule, Result: result, Text: text})
	case "action.skipped":
		t.refuse(e)
	case "alert.firing", "alert.resolved":
		t.alert(e)
	}
}

// inThree parts what the log says of an action: "rotate-log: done: 41 MB freed".
func inThree(s string) (first, second, rest string) {
	first, s, _ = strings.Cut(s, ": ")
	second, rest, _ = strings.Cut(s, ": ")
	return first, second, rest
}

func (t *tally) refuse(e fleet.Event) {
	do, guard, why := inThree(e.Text)
	if t.abilities[do].Harmless { // a message that was not sent is no repair
		return
	}
	r := api.ReportRefusal{Do: do, Subject: SubjectText(e.Subject), Rule: e.Alert.Rule, Guard: guard}
	key := refusalKey(r)
	if t.refused[key] == nil {
		t.refused[key] = &r
	}
	known := t.refused[key]
	known.At, known.Why = e.At.Wall.UTC(), why
	known.Times++
}

func refusalKey(r api.ReportRefusal) string {
	return strings.Join([]string{r.Do, r.Subject, r.Rule, r.Guard}, "\x00")
}

func (t *tally) alert(e fleet.Event) {
	a := t.alerts[e.Alert]
	if a == nil {
		a = &api.ReportAlert{Rule: e.Alert.Rule, Subject: SubjectText(e.Alert.Subject)}
		t.alerts[e.Alert] = a
	}
	at := e.At.Wall.UTC()
	if e.Kind == "alert.resolved" {
		a.Ended = &at
		return
	}
	if a.Ended = nil; a.Times == 0 {
		a.Began = &at
	}
	a.Times++
}

// finish adds what is refused now, and puts everything in order.
func (t *tally) finish(p fleet.Pass) {
	for _, k := range p.Plan.Skipped {
		t.refusedNow(k, p)
	}
	t.out.Refused = make([]api.ReportRefusal, 0, len(t.refused))
	for _, r := range t.refused {
		t.out.Refused = append(t.out.Refused, *r)
	}
	slices.SortFunc(t.out.Refused, func(a, b api.ReportRefusal) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(refusalKey(a), refusalKey(b)))
	})
	t.out.Alerts = make([]api.ReportAlert, 0, len(t.alerts))
	for _, a := range t.alerts {
		t.out.Alerts = append(t.out.Alerts, *a)
	}
	slices.SortFunc(t.out.Alerts, func(a, b api.ReportAlert) int {
		return cmp.Or(firstOf(a).Compare(firstOf(b)), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
}

// firstOf is when an alert first occurs in the report.
func firstOf(a api.ReportAlert) time.Time {
	switch {
	case a.Began != nil:
		return *a.Began
	case a.Ended != nil:
		return *a.Ended
	}
	return time.Time{}
}

// refusedNow marks what still holds.
func (t *tally) refusedNow(k fleet.Skipped, p fleet.Pass) {
	if t.abilities[k.Do].Harmless {
		return
	}
	r := api.ReportRefusal{Do: k.Do, Subject: SubjectText(k.Subject), Rule: k.For.Rule, Guard: string(k.Guard)}
	key := refusalKey(r)
	if t.refused[key] == nil {
		r.At, r.Times = p.Snapshot.At.Wall.UTC(), 1
		t.refused[key] = &r
	}
	known := t.refused[key]
	known.Why, known.Hint, known.Now = k.Why, k.Hint, true
}

// AddFailures counts what went wrong with each agent since then.
func AddFailures(agents []api.ReportAgent, list []fleet.Failure, from fleet.Instant) {
	for _, f := range list {
		i := slices.IndexFunc(agents, func(a api.ReportAgent) bool { return a.Name == f.Agent })
		if i >= 0 && !f.At.Wall.Before(from.Wall) {
			agents[i].Failures++
		}
	}
}

func AfterReport(r api.Report) []api.Hint {
	out := []api.Hint{}
	if len(r.Waits) > 0 {
		out = append(out, api.Hint{Command: "custos why X", What: "the story of anything named above"})
	}
	out = append(out, api.Hint{Command: "custos journal", What: "the journal of the day"})
	if !r.Watched {
		out = append(out, api.Hint{Command: "custos up", What: "keep watching: no daemon runs now"})
	}
	return out
}
