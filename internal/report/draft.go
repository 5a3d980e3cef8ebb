package report

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// told is the least priority that people are told about; the rest is for the
// journal and the first look.
const told = fleet.P2

// Draft returns what people should be told of a pass: at most one message that
// groups every alert which began or ended, and one all-clear when the last
// alert worth telling ends. done are the results since the last pass. It is a
// pure function; a message has the same ID whenever it is drafted again.
func Draft(p fleet.Pass, done []fleet.Result) []fleet.Message {
	began, ended, left := changes(p)
	if len(began) == 0 && len(ended) == 0 {
		return nil
	}
	m := fleet.Message{At: p.Snapshot.At, Priority: worst(append(began, ended...)), AllClear: len(left) == 0}
	if len(began)+len(ended) == 1 {
		m.Alert = append(began, ended...)[0].AlertKey
	}
	m.Subject = headline(p, began, ended, left)
	m.Body = body(p, began, ended, done)
	m.ID = messageID(began, ended)
	return []fleet.Message{m}
}

// changes lists the alerts worth telling that began or ended with this pass,
// and those that still fire.
func changes(p fleet.Pass) (began, ended, left []fleet.Alert) {
	before := map[fleet.AlertKey]fleet.Alert{}
	for _, a := range p.Past.Alerts {
		before[a.AlertKey] = a
	}
	for _, a := range p.Assessment.Alerts {
		if !a.Priority.AtLeast(told) {
			continue
		}
		was := before[a.AlertKey].Status == fleet.AlertFiring
		is := a.Status == fleet.AlertFiring
		if is {
			left = append(left, a)
		}
		switch {
		case quiet(a, p.Snapshot.At) || was == is || !is && len(before[a.AlertKey].CausedBy) > 0:
		case is:
			began = append(began, a)
		case a.Status == fleet.AlertResolved:
			ended = append(ended, a)
		}
	}
	return began, ended, left
}

// quiet says whether an alert is not to be told: silenced, flapping, or
// explained by another one.
func quiet(a fleet.Alert, now fleet.Instant) bool {
	silenced := !a.SilencedUntil.IsZero() && now.Before(a.SilencedUntil)
	return silenced || a.Flapping || len(a.CausedBy) > 0
}

func worst(alerts []fleet.Alert) fleet.Priority {
	return slices.MinFunc(alerts, func(a, b fleet.Alert) int { return strings.Compare(string(a.Priority), string(b.Priority)) }).Priority
}

func headline(p fleet.Pass, began, ended, left []fleet.Alert) string {
	on := "custos on " + p.Snapshot.From.Host + ": "
	switch {
	case len(began) == 0 && len(left) == 0:
		return on + "all clear"
	case len(began) == 1 && len(ended) == 0:
		return on + line(began[0])
	}
	return fmt.Sprintf("%s%d new, %d ended, %d open", on, len(began), len(ended), len(left))
}

func line(a fleet.Alert) string {
	return fmt.Sprintf("[%s] %s: %s", a.Priority, a.Rule, a.Summary)
}

func body(p fleet.Pass, began, ended []fleet.Alert, done []fleet.Result) string {
	var b strings.Builder
	section(&b, "Fixed", fixed(done))
	section(&b, "Alerts", each(began, func(a fleet.Alert) string {
		return fmt.Sprintf("%s (since %s; custos why %d)", line(a), a.Since.Wall.UTC().Format("15:04 MST"), a.Number)
	}))
	section(&b, "Ended", each(ended, line))
	b.WriteString("Status: " + Status(p.Snapshot) + "\n")
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for _, l := range lines {
		b.WriteString("- " + l + "\n")
	}
}

func fixed(done []fleet.Result) (lines []string) {
	for _, r := range done {
		if r.Status == fleet.ResultDone {
			lines = append(lines, outcome(r))
		}
	}
	return lines
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

func messageID(began, ended []fleet.Alert) string {
	h := fnv.New64a()
	for _, a := range append(slices.Clone(began), ended...) {
		fmt.Fprintf(h, "%s|%s|%s|%s\n", a.AlertKey, a.Status, stamp(a.FiredAt), stamp(a.EndedAt))
	}
	return fmt.Sprintf("m-%016x", h.Sum64())
}

func stamp(i fleet.Instant) string { return i.Wall.UTC().Format(time.RFC3339Nano) }
