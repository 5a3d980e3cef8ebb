package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// The events that only gates wait for, beside those of schedules. Work and convoys
// are seen as they are: what is closed when the gate is made has happened.
const (
	onWork    = "work:"    // and REF:closed
	onConvoy  = "convoy:"  // and ID:done
	OnTrigger = "trigger:" // and a name
)

// event passes when what it names is on record. Alerts, runs and triggers count from
// when the gate was made, whether or not Custos was up.
func (w GateWatch) event(g *fleet.Gate) GateSight {
	rest := func(prefix string) (string, bool) { return strings.CutPrefix(g.On, prefix) }
	if rule, ok := rest(OnAlert); ok {
		return w.alert(g, rule)
	}
	if run, ok := rest(OnRun); ok {
		return w.run(g, run)
	}
	if work, ok := rest(onWork); ok {
		return w.work(fleet.Ref(strings.TrimSuffix(work, ":closed")))
	}
	if convoy, ok := rest(onConvoy); ok {
		return w.convoy(strings.TrimSuffix(convoy, ":done"))
	}
	if name, ok := rest(OnTrigger); ok {
		return w.trigger(g, name)
	}
	return unseen(fmt.Sprintf("there is no event %q", fleet.Line(g.On, 80)))
}

func (w GateWatch) since(g *fleet.Gate, t fleet.Instant) bool {
	return !t.IsZero() && IsLater(t, g.At, w.snap.At)
}

func (w GateWatch) alert(g *fleet.Gate, rule string) GateSight {
	for _, a := range w.alerts {
		if a.Rule == rule && w.since(g, a.FiredAt) {
			return passed("alert %s fired for %s", rule, a.Subject)
		}
	}
	return waits("it waits for an alert of rule %s", rule)
}

func (w GateWatch) run(g *fleet.Gate, of string) GateSight {
	formula, state, _ := CutLast(of, ":")
	for _, r := range w.past.Runs {
		if r.IsOver() && r.Formula == formula && string(r.State) == state && (g.Project == "" || g.Project == r.Project) && w.since(g, r.EndedAt) {
			return passed("run %s is %s", r.ID, state)
		}
	}
	return waits("it waits for a run of %s that is %s", formula, state)
}

func (w GateWatch) work(r fleet.Ref) GateSight {
	seen := w.trackers.Seen(r)
	switch {
	case seen.Why != "":
		return unseen(fmt.Sprintf("%s: %s", r, seen.Why))
	case seen.State != fleet.WorkClosed:
		return waits("%s is %s", r, seen.State)
	}
	return passed("%s", strings.TrimSuffix(fmt.Sprintf("%s is closed: %s", r, seen.Outcome), ": "))
}

func (w GateWatch) convoy(id string) GateSight {
	i := slices.IndexFunc(w.past.Records.Convoys, func(c fleet.Convoy) bool { return c.ID == id })
	if i < 0 {
		return unseen("there is no convoy " + id)
	}
	switch c := w.past.Records.Convoys[i]; {
	case c.State == fleet.ConvoyDone, c.State == fleet.ConvoyClosed && c.Times > 0:
		return passed("convoy %s is done", id)
	case c.State == fleet.ConvoyClosed:
		return failed("convoy %s was closed, and was never done", id)
	}
	return waits("convoy %s is open", id)
}

func (w GateWatch) trigger(g *fleet.Gate, name string) GateSight {
	for _, t := range w.past.Records.Triggers {
		if t.Name == name && !IsLater(g.At, t.At, w.snap.At) {
			return passed("trigger %s came from %s", name, t.By)
		}
	}
	return waits("it waits for trigger %s", name)
}

var (
	workEvent   = regexp.MustCompile(`^work:(\S+):closed$`)
	convoyEvent = regexp.MustCompile(`^convoy:(c[1-9][0-9]*):done$`)
)

// checkEvent refuses an event that a gate cannot wait for.
func checkEvent(on string) error {
	work, convoy := workEvent.FindStringSubmatch(on), convoyEvent.MatchString(on)
	rule, isAlert := strings.CutPrefix(on, OnAlert)
	name, isTrigger := strings.CutPrefix(on, OnTrigger)
	switch {
	case work != nil && fleet.Ref(work[1]).Tracker() == fleet.TrackerUnknown:
		return fmt.Errorf("%q names no work: it is w12, PROJECT#12, PROJECT!7 or bd:ID", fleet.Line(work[1], 80))
	case work != nil, convoy, isAlert && rule != "" && !strings.ContainsAny(rule, " \t"):
		return nil
	case isTrigger:
		return checkTriggerName(name)
	case strings.HasPrefix(on, OnRun):
		return checkOn(fleet.Schedule{On: on})
	}
	return fmt.Errorf("there is no event %q: it is alert:RULE, run:FORMULA:STATE, work:REF:closed, convoy:ID:done or trigger:NAME", fleet.Line(on, 80))
}

// AlertEvent is the rule whose alert an event is; false for another event.
func AlertEvent(on string) (rule string, ok bool) { return strings.CutPrefix(on, OnAlert) }
