package doctor

import (
	"fmt"
	"strings"
	"time"

	"custos/internal/fleet"
)

// judgeRecords compares the records of agents with what is seen.
func judgeRecords(e *Examination) verdict {
	agents := e.Pass.Snapshot.Agents.Value
	seen := map[string]bool{}
	for _, a := range agents {
		seen[a.Name] = true
	}
	var list []verdict
	n := 0
	for _, r := range e.Pass.Past.Registrations {
		if r.Desired == fleet.DesiredRetired {
			continue
		}
		n++
		if r.Desired == fleet.DesiredRunning && r.Process.PID != 0 && r.Exit == nil && !seen[r.Name] {
			list = append(list, bad("%s is to run, and nothing is seen of it", r.Name).by("custos", "show", r.Name).
				healed("agent-crashed", fleet.Subject{Kind: fleet.KindAgent, Name: r.Name}))
		}
	}
	if e.Pass.Past.Amnesia && n == 0 {
		return cannot("what was on record of agents is lost: " + e.Pass.Past.Lost)
	}
	return worst(list, "%s of agents, and what is seen agrees", fleet.Counted(n, "record"))
}

func judgeParents(e *Examination) verdict {
	alive := map[string]bool{}
	for _, r := range e.Pass.Past.Registrations {
		alive[r.Name] = alive[r.Name] || r.Desired != fleet.DesiredRetired
	}
	var list []verdict
	for _, r := range e.Pass.Past.Registrations {
		if r.Parent != "" && r.Desired != fleet.DesiredRetired && !alive[r.Parent] {
			list = append(list, warn("%s works for %s, which is not registered", r.Name, r.Parent).by("custos", "show", r.Name))
		}
	}
	return worst(list, "every agent's parent is registered")
}

// judgeOpenRuns finds runs that are carried out, by their record, and of which
// nothing is seen.
func judgeOpenRuns(e *Examination) verdict {
	runs := e.Pass.Snapshot.Runs.Value
	seen := map[string]bool{}
	for _, r := range runs {
		seen[r.ID] = true
	}
	var list []verdict
	open := 0
	for _, r := range e.Pass.Past.Runs {
		if r.IsOver() {
			continue
		}
		if open++; !seen[r.ID] {
			list = append(list, bad("run %s is open, and nothing is seen of it", r.ID).by("custos", "formula", "show", r.Formula))
		}
	}
	return worst(list, "%s, each of them seen", fleet.Counted(open, "open run"))
}

// judgeKinds judges the CLIs of those kinds that agents are registered of; the
// others need not be there.
func judgeKinds(e *Examination) verdict {
	known := map[string]Program{}
	var there []string
	for _, p := range e.Installation.Kinds {
		if known[p.Name] = p; p.Path != "" {
			there = append(there, p.Name)
		}
	}
	var list []verdict
	done := map[string]bool{}
	for _, r := range e.Pass.Past.Registrations {
		if r.Desired == fleet.DesiredRetired || done[r.Kind] {
			continue
		}
		done[r.Kind] = true
		switch p, is := known[r.Kind]; {
		case !is:
			list = append(list, bad("%s is of kind %s, which is not known", r.Name, r.Kind).by("custos", "show", r.Name))
		case p.Path == "" && len(r.Argv) == 0:
			list = append(list, bad("%s needs the CLI of kind %s, which is not on PATH", r.Name, r.Kind))
		}
	}
	if len(there) == 0 {
		return worst(list, "no agent CLI is on PATH, and none is needed")
	}
	return worst(list, "on PATH: %s", strings.Join(there, ", "))
}

func judgeStates(e *Examination) verdict {
	agents := e.Pass.Snapshot.Agents.Value
	var list []verdict
	for _, a := range agents {
		if a.State == fleet.StateUnknown {
			list = append(list, cannot(fmt.Sprintf("%s (%s): %s", a.Name, a.Kind, a.Reason)).by("custos", "show", a.Name))
		}
	}
	return worst(list, "%s, and the state of each can be told", fleet.Counted(len(agents), "agent"))
}

// judgeOrders finds orders that should have expired: no pass was made that answers
// them. What is under way is not waited for.
func judgeOrders(e *Examination) verdict {
	var list []verdict
	for _, o := range e.Pass.Past.Orders {
		until := o.Expires
		if until.IsZero() {
			until = o.At.Add(max(time.Duration(e.Pass.Policy.Agents.OrderTTL), time.Hour))
		}
		if o.Action == "" && until.Before(e.At) {
			list = append(list, warn("the order to %s %s, given %s ago, was worth nothing any more %s ago and is still open", o.Do, o.Agent, ago(e.At, o.At), ago(e.At, until)).by("custos patrol"))
		}
	}
	return worst(list, "%s, none older than it may be", fleet.Counted(len(e.Pass.Past.Orders), "open order"))
}

func ago(now, then fleet.Instant) string {
	return fleet.Duration(now.Since(then).Round(time.Minute)).Short()
}
