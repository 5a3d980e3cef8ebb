package report

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// told is the least priority of which a message tells what is done about it. Who
// is told what is for the routes to say, and goes by what is true when it is told.
const told = fleet.P2

// Draft returns what people are to be told of a pass, to be committed with it: a
// message for each alert that began or ended: when, and what was done about it.
// Deliver makes of them what is sent. AllClear says that the alert has
// ended. done are the results since the last pass. It is a pure function; a message
// has the same ID whenever it is drafted again.
func Draft(p fleet.Pass, done []fleet.Result) (out []fleet.Message) {
	began, ended := changes(p)
	status := statusLine + Status(p.Snapshot) + "\n"
	for _, a := range began {
		out = append(out, draft(p, a, doing(a, p.Plan, done)+status))
	}
	for _, a := range ended {
		m := draft(p, a, fixed(a, p.Past.Actions, done)+status)
		m.Subject, m.AllClear = fleet.Line("ended: "+m.Subject, maxSubject), true
		out = append(out, m)
	}
	return out
}

func draft(p fleet.Pass, a fleet.Alert, body string) fleet.Message {
	m := fleet.Message{ID: messageID(a), At: p.Snapshot.At, Priority: a.Priority, Alert: a.AlertKey, Body: body}
	m.Subject = line(a)
	return safe(m)
}

// changes lists the alerts worth telling that began or ended with this pass.
func changes(p fleet.Pass) (began, ended []fleet.Alert) {
	before := map[fleet.AlertKey]fleet.Alert{}
	for _, a := range p.Past.Alerts {
		before[a.AlertKey] = a
	}
	for _, a := range p.Assessment.Alerts {
		was, is := forPeople(before[a.AlertKey]), forPeople(a)
		if a.TellAfter > 0 {
			a.Priority = min(a.Priority, told)
		}
		switch {
		case !a.Priority.AtLeast(told) || was == is:
		case is && !muted(a, p.Snapshot.At):
			began = append(began, a)
		case a.Status == fleet.AlertResolved:
			ended = append(ended, a)
		}
	}
	return began, ended
}

// forPeople says whether an alert fires, and did in so many patrols that people
// are told.
func forPeople(a fleet.Alert) bool {
	return a.Status == fleet.AlertFiring && a.Patrols >= a.TellAfter
}

// doing says what is done about an alert, or why nothing is, and what a person
// can do.
func doing(a fleet.Alert, plan fleet.Plan, done []fleet.Result) string {
	out := answer(a.AlertKey, plan, done) + "\n"
	for _, s := range plan.Skipped {
		if s.For == a.AlertKey && s.Hint != "" {
			out += "to do: " + s.Hint + "\n"
			break
		}
	}
	if a.Runbook != "" {
		out += "see " + a.Runbook + "\n"
	}
	return out
}

// fixed lists what was done about an alert that ended, since it began to fire: what
// mended it may have ended passes ago, before it was seen that it had helped.
func fixed(a fleet.Alert, past []fleet.ActionRecord, done []fleet.Result) (out string) {
	said := map[string]bool{}
	say := func(r fleet.Result) {
		if r.For == a.AlertKey && r.Status == fleet.ResultDone && !said[r.ActionID] {
			said[r.ActionID] = true
			out += outcome(r) + "\n"
		}
	}
	for _, record := range past {
		if r := record.Result; r != nil && !r.Ended.Before(a.FiredAt) {
			say(*r)
		}
	}
	for _, r := range done {
		say(r)
	}
	return out
}

func line(a fleet.Alert) string {
	return fmt.Sprintf("[%s] %s: %s", a.Priority, a.Rule, fleet.Line(a.Summary, maxLine))
}

// summary is what the subject of a draft says of its alert.
func summary(m fleet.Message) string {
	return strings.TrimPrefix(m.Subject, fmt.Sprintf("[%s] %s: ", m.Priority, m.Alert.Rule))
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for i, l := range lines {
		if i == maxLines && len(lines) > maxLines+1 {
			fmt.Fprintf(b, "- … and %d more (custos alerts --all)\n", len(lines)-maxLines)
			return
		}
		b.WriteString("- " + fleet.Line(l, maxLine) + "\n")
	}
}

func each[T any](in []T, f func(T) string) []string {
	out := make([]string, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

// Status is the host in one line: RAM, disk, load; a ? for what was not seen.
func Status(s fleet.Snapshot) string {
	h := s.Host.Value
	return fmt.Sprintf("RAM=%s Disk=%s Load=%s", megabytes(h.Memory.Available), percent(fullest(h.Mounts)), number(h.Load.One))
}

// fullest returns how full the fullest mount is.
func fullest(mounts []fleet.Mount) fleet.Leaf[float64] {
	most := fleet.Unknown[float64]("no mount seen")
	for _, m := range mounts {
		if v, ok := m.UsedPercent.Get(); ok && v >= most.Or(-1) {
			most = fleet.Known(v)
		}
	}
	return most
}

func megabytes(l fleet.Leaf[int64]) string {
	if v, ok := l.Get(); ok {
		return fmt.Sprintf("%dMB", v>>20)
	}
	return "?"
}

func percent(l fleet.Leaf[float64]) string {
	if v, ok := l.Get(); ok {
		return fmt.Sprintf("%.0f%%", v)
	}
	return "?"
}

func number(l fleet.Leaf[float64]) string {
	if v, ok := l.Get(); ok {
		return fmt.Sprintf("%.2f", v)
	}
	return "?"
}

func messageID(a fleet.Alert) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%s|%s\n", a.AlertKey, a.Status, stamp(a.FiredAt), stamp(a.EndedAt))
	return fmt.Sprintf("m-%016x", h.Sum64())
}

func stamp(i fleet.Instant) string { return i.Wall.UTC().Format(time.RFC3339Nano) }
