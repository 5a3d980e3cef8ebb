package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// watch is what it takes to tell whether the gates' time has come.
type watch struct {
	past     fleet.Past
	snap     fleet.Snapshot
	alerts   []fleet.Alert
	trackers trackers
}

func (c *coordinate) watch() watch {
	return watch{past: c.past, snap: c.snap, alerts: slices.Concat(c.past.Alerts, c.found.Alerts), trackers: c.trackers}
}

// sighting is how a gate stands. With neither an outcome nor blindness it waits.
type sighting struct {
	outcome string
	why     string        // of the outcome; or what it waits for, or what hides that
	blind   bool          // what it waits for cannot be seen: it is never closed for that
	until   fleet.Instant // when to look again, if nothing happens before
}

func passed(format string, args ...any) sighting {
	return sighting{outcome: fleet.GatePassed, why: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) sighting {
	return sighting{outcome: fleet.GateFailed, why: fmt.Sprintf(format, args...)}
}

func waits(format string, args ...any) sighting { return sighting{why: fmt.Sprintf(format, args...)} }

func unseen(why string) sighting {
	return sighting{why: strings.TrimSuffix(strings.TrimSpace(why), ":"), blind: true}
}

// see tells how a gate that is open stands now.
func (w watch) see(g *fleet.Gate) sighting {
	switch g.Type {
	case fleet.GateTimer:
		return w.timer(g)
	case fleet.GateEvent:
		return w.event(g)
	case fleet.GateCondition:
		return w.condition(g)
	case fleet.GateRun:
		return w.pipeline(g)
	case fleet.GatePull:
		return w.pull(g)
	case fleet.GateMail:
		return w.mail(g)
	case fleet.GateHuman:
		return waits("it waits for a person's word")
	}
	return unseen(fmt.Sprintf("this Custos knows no gates of type %q", fleet.Line(string(g.Type), 40)))
}

// timer passes at its moment. Within a boot that is the boot clock's, which nobody
// sets; across boots only the wall clock is left, and one that lies behind the
// records says nothing.
func (w watch) timer(g *fleet.Gate) sighting {
	switch {
	case !w.past.Newest.IsZero() && w.snap.At.Before(w.past.Newest):
		return unseen("the clock is behind what is on record")
	case !w.snap.At.Before(g.Until):
		return passed("its time has come")
	}
	s := waits("it waits until %s", g.Until.Wall.UTC().Format("2006-01-02 15:04 UTC"))
	s.until = g.Until
	return s
}

// condition passes when its expression holds, or its command ended with 0.
func (w watch) condition(g *fleet.Gate) sighting {
	list, what := w.snap.Holds, "its expression"
	if len(g.Check) > 0 {
		list, what = w.snap.Checks.Value, "its command"
		if !w.snap.Checks.Fresh() {
			return unseen("commands of gates are not run now: " + w.snap.Checks.Why)
		}
	}
	i := slices.IndexFunc(list, func(c fleet.GateCheck) bool { return c.Gate == g.ID })
	if i < 0 {
		return unseen(what + " was not asked yet")
	}
	holds, known := list[i].Holds.Get()
	switch {
	case !known:
		return unseen(what + " cannot be told: " + list[i].Holds.Why())
	case holds:
		return passed("%s says so", what)
	}
	return waits("%s says no", what)
}

// pipeline follows a pipeline of any CI.
func (w watch) pipeline(g *fleet.Gate) sighting {
	if !w.snap.CI.Fresh() || w.snap.CI.Status == fleet.StatusAbsent {
		return unseen("its CI is not seen now: " + w.snap.CI.Why)
	}
	i := slices.IndexFunc(w.snap.CI.Value.Pipelines, func(p fleet.Pipeline) bool { return p.Name == g.Run })
	if i < 0 {
		return unseen(fmt.Sprintf("its CI does not show %s", g.Run))
	}
	state, known := w.snap.CI.Value.Pipelines[i].State.Get()
	switch {
	case !known:
		return unseen(w.snap.CI.Value.Pipelines[i].State.Why())
	case state == "success":
		return passed("%s succeeded", g.Run)
	case state == "failure", state == "cancelled":
		return failed("%s ended with %s", g.Run, state)
	}
	return waits("%s is %s", g.Run, state)
}

// mail passes when a mail as it is waited for was not written before the gate.
func (w watch) mail(g *fleet.Gate) sighting {
	for i := range w.past.Records.Mails {
		if m := &w.past.Records.Mails[i]; isAwaited(g, m) && !isLater(g.At, m.At, w.snap.At) {
			return passed("mail %s came from %s: %s", m.ID, m.From, fleet.Line(m.Subject, 120))
		}
	}
	return waits("it waits for a mail")
}

// isAwaited says whether a mail is as a gate waits for it. What Custos writes
// itself is meant only when it is named: news of one gate opens no other one.
func isAwaited(g *fleet.Gate, m *fleet.Mail) bool {
	from := strings.TrimPrefix(m.From, fleet.ByAgent(""))
	if g.From == "" && m.From == fleet.ByCustos || g.From != "" && g.From != from && g.From != m.From {
		return false
	}
	to := g.To == "" || slices.Contains(m.To, g.To) || slices.ContainsFunc(m.Copies, func(c fleet.MailCopy) bool { return c.To == g.To })
	return to && strings.HasPrefix(m.Subject, g.Subject)
}
