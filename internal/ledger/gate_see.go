package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// GateWatch is what it takes to tell whether the gates' time has come.
type GateWatch struct {
	past     fleet.Past
	snap     fleet.Snapshot
	alerts   []fleet.Alert
	trackers Trackers
	mails    map[string][]int // author: places of the mails on record; nil while no gate waits for one
	holds    map[string]int   // gate: place of what its expression comes to
	pipes    map[string]int   // name: place of the pipeline
}

// WatchGates returns what tells how gates stand; alerts are those that gates may wait for.
func WatchGates(past fleet.Past, snap fleet.Snapshot, alerts []fleet.Alert, trackers Trackers) GateWatch {
	w := GateWatch{past: past, snap: snap, alerts: alerts, trackers: trackers,
		holds: places(snap.Holds, func(c *fleet.GateCheck) string { return c.Gate }),
		pipes: places(snap.CI.Value.Pipelines, func(p *fleet.Pipeline) string { return p.Name })}
	if slices.ContainsFunc(past.Records.Gates, func(g fleet.Gate) bool { return g.Type == fleet.GateMail && !g.Over() }) {
		w.mails = map[string][]int{}
		for i := range past.Records.Mails {
			by := past.Records.Mails[i].From
			w.mails[by] = append(w.mails[by], i)
		}
	}
	return w
}

// places is where the first of each name is.
func places[T any](list []T, name func(*T) string) map[string]int {
	out := make(map[string]int, len(list))
	for i := range list {
		if _, known := out[name(&list[i])]; !known {
			out[name(&list[i])] = i
		}
	}
	return out
}

// GateSight is how a gate stands. With neither an outcome nor blindness it waits.
type GateSight struct {
	Outcome string
	Why     string        // of the outcome; or what it waits for, or what hides that
	Blind   bool          // what it waits for cannot be seen: it is never closed for that
	Until   fleet.Instant // when to look again, if nothing happens before
}

func passed(format string, args ...any) GateSight {
	return GateSight{Outcome: fleet.GatePassed, Why: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) GateSight {
	return GateSight{Outcome: fleet.GateFailed, Why: fmt.Sprintf(format, args...)}
}

func waits(format string, args ...any) GateSight { return GateSight{Why: fmt.Sprintf(format, args...)} }

func unseen(why string) GateSight {
	return GateSight{Why: strings.TrimSuffix(strings.TrimSpace(why), ":"), Blind: true}
}

// See tells how a gate that is open stands now.
func (w GateWatch) See(g *fleet.Gate) GateSight {
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
func (w GateWatch) timer(g *fleet.Gate) GateSight {
	switch {
	case w.past.ClockBehind(w.snap.At):
		return unseen("the clock is behind what is on record")
	case !w.snap.At.Before(g.Until):
		return passed("its time has come")
	}
	s := waits("it waits until %s", g.Until.Wall.UTC().Format("2006-01-02 15:04 UTC"))
	s.Until = g.Until
	return s
}

// condition passes when its expression holds, or its command ended with 0.
func (w GateWatch) condition(g *fleet.Gate) GateSight {
	list, what := w.snap.Holds, "its expression"
	i, asked := w.holds[g.ID]
	if len(g.Check) > 0 {
		list, what = w.snap.Checks.Value, "its command"
		if !w.snap.Checks.Fresh() {
			return unseen("commands of gates are not run now: " + w.snap.Checks.Why)
		}
		i = slices.IndexFunc(list, func(c fleet.GateCheck) bool { return c.Gate == g.ID })
		asked = i >= 0
	}
	if !asked {
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
func (w GateWatch) pipeline(g *fleet.Gate) GateSight {
	if !w.snap.CI.Fresh() || w.snap.CI.Status == fleet.StatusAbsent {
		return unseen("its CI is not seen now: " + w.snap.CI.Why)
	}
	i, shown := w.pipes[g.Run]
	if !shown {
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
func (w GateWatch) mail(g *fleet.Gate) GateSight {
	first := -1
	for _, by := range w.writers(g) {
		places := w.mails[by]
		i := slices.IndexFunc(places, func(i int) bool { return w.isFor(g, &w.past.Records.Mails[i]) })
		if i >= 0 && (first < 0 || places[i] < first) {
			first = places[i]
		}
	}
	if first < 0 {
		return waits("it waits for a mail")
	}
	m := &w.past.Records.Mails[first]
	return passed("mail %s came from %s: %s", m.ID, m.From, fleet.Line(m.Subject, 120))
}

// writers lists the authors on record that a gate may mean (isWriter): one that is
// named is asked for by name.
func (w GateWatch) writers(g *fleet.Gate) (out []string) {
	named := g.From
	if named == ownName {
		return []string{fleet.ByCustos}
	}
	if named != "" && named != fleet.Overseer {
		if named == g.By {
			return []string{named}
		}
		return []string{named, fleet.ByAgent(named)}
	}
	for by := range w.mails {
		if isWriter(g, by) {
			out = append(out, by)
		}
	}
	return out
}

// isFor says whether a mail of an author whom a gate waits for is the one.
func (w GateWatch) isFor(g *fleet.Gate, m *fleet.Mail) bool {
	return isAwaited(g, m) && !IsLater(g.At, m.At, w.snap.At)
}

// isAwaited says whether a mail is as a gate waits for it. What Custos writes
// itself is meant only when it is named: news of one gate opens no other one.
func isAwaited(g *fleet.Gate, m *fleet.Mail) bool {
	if !isWriter(g, m.From) {
		return false
	}
	if !strings.HasPrefix(m.Subject, g.Subject) {
		return false
	}
	return g.To == "" || slices.Contains(m.To, g.To) || slices.ContainsFunc(m.Copies, func(c fleet.MailCopy) bool { return c.To == g.To })
}

// isWriter says whether a mail's author is whom a gate names: an agent or a person
// by name (who names itself means no agent of its own name), overseer for any person. Nobody named is everybody but Custos.
func isWriter(g *fleet.Gate, by string) bool {
	switch named := g.From; named {
	case "":
		return by != fleet.ByCustos
	case fleet.Overseer:
		return fleet.IsPerson(by)
	case ownName:
		return by == fleet.ByCustos
	}
	return g.From == by || g.From != g.By && g.From == strings.TrimPrefix(by, fleet.ByAgent(""))
}
