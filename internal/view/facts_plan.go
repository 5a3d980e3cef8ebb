package view

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// SubjectsOfPlan lists what no look shows: records that move or are held, and what
// custos.toml lets run by itself.
func SubjectsOfPlan(p *fleet.Pass) (out []fleet.Subject) {
	for _, m := range p.Plan.Moves {
		out = append(out, m.Record)
	}
	for _, m := range p.Plan.Held {
		out = append(out, m.Record)
	}
	for i := range p.Policy.Runs.Schedules {
		out = append(out, p.Policy.Runs.Schedules[i].Subject())
	}
	for _, pool := range p.Policy.Pools {
		out = append(out, fleet.Subject{Kind: fleet.KindPool, Name: pool.Name})
	}
	return out
}

// factsOfPass is what is known of a thing, by what was seen or by custos.toml.
func factsOfPass(p *fleet.Pass, of fleet.Subject) []string {
	switch of.Kind {
	case fleet.KindSchedule:
		for _, s := range p.Policy.Runs.Schedules {
			if s.Name == of.Name {
				return []string{fmt.Sprintf("Schedule %s: formula %s, %s", s.Name, s.Run.Formula, s.Words())}
			}
		}
		return nil
	case fleet.KindPool:
		return found(p.Policy.Pools, func(s fleet.Pool) string { return s.Name }, of.Name, func(s fleet.Pool) []string { return poolLines(s, p) })
	case fleet.KindRun:
		s := p.Snapshot
		s.Runs.Value = asRecorded(s.Runs.Value, p.Past.Runs)
		return facts(&s, of)
	case fleet.KindOrder, fleet.KindTrigger:
		return []string{}
	}
	return facts(&p.Snapshot, of)
}

// asRecorded are the runs as they were looked at, each where its record says that it stands:
// the look is older than what a pass made of it.
func asRecorded(seen []fleet.RunFacts, records []fleet.Run) []fleet.RunFacts {
	out := slices.Clone(seen)
	for i := range out {
		for _, r := range records {
			if r.ID == out[i].ID {
				out[i].State, out[i].Why = r.State, r.Why
			}
		}
	}
	return out
}

func poolLines(s fleet.Pool, p *fleet.Pass) []string {
	members := slices.DeleteFunc(slices.Clone(p.Past.Registrations), func(r fleet.Registration) bool { return r.Pool != s.Name || r.Desired == fleet.DesiredRetired })
	names := Each(members, func(r fleet.Registration) string { return r.Name })
	it := "it has"
	if s.Hosts == fleet.HostsOne && p.Snapshot.Hub.Value.Host != "" {
		it = "on all hosts; this one has"
	}
	lines := []string{strings.TrimSuffix(fmt.Sprintf("Pool %s: %d to %d workers of role %s; %s %d: %s", s.Name, s.Min, s.Max, s.Role, it, len(names), strings.Join(names, ", ")), ": ")}
	if by := startsWorkers(s, &p.Snapshot.Hub); by != "" {
		lines = append(lines, by+" its workers for all.")
	}
	for _, e := range p.Snapshot.Hub.Value.Elsewhere {
		if w := fleet.Find(e.Workers, func(w *fleet.PoolWorkers) bool { return w.Pool == s.Name }); w != nil && e.Why == "" && w.Why == "" {
			lines = append(lines, elsewhereLine(e, w.Present, s.LostAfter))
		}
	}
	return lines
}

// startsWorkers says which host does, for all that have the pool; "" where each does for itself, or it is not known.
func startsWorkers(s fleet.Pool, hub *fleet.Part[fleet.Hub]) string {
	l := hub.Value.LeaseOf(fleet.PoolKey(s.Name))
	switch {
	case s.Hosts != fleet.HostsOne || !hub.Fresh():
		return ""
	case l.Mine:
		return "This host starts"
	case l.Holder != "":
		return "Host " + l.Holder + " starts"
	}
	return ""
}

// elsewhereLine says how many workers of a pool another host has, or had when it was heard last.
func elsewhereLine(e fleet.Elsewhere, n int, lost fleet.Duration) string {
	silent, known := e.Silent.Get()
	switch {
	case !known:
		return fmt.Sprintf("Host %s had, or was about to start, %d; whether it is there is not known: %s.", e.Host, n, fleet.Line(e.Silent.Why(), 200))
	case silent == 0:
		return fmt.Sprintf("Host %s has, or is about to start, %d.", e.Host, n)
	case lost > 0 && silent >= lost:
		return fmt.Sprintf("Host %s had, or was about to start, %d; it has told nothing for %s, and they are given up.", e.Host, n, silent)
	}
	return fmt.Sprintf("Host %s had, or was about to start, %d, which count on; it has told nothing for %s.", e.Host, n, silent)
}
