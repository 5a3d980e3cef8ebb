package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
)

// storm is a run of deaths so close together that they have a common cause.
type storm struct {
	newest, oldest time.Duration // how long ago
	agents         map[string]bool
	last           fleet.Instant // of the newest death
}

type death struct {
	agent string
	at    fleet.Instant
	age   time.Duration
}

// ruleStorm is the built-in rule that fires when agents died together, and goes
// on firing for a while after.
const ruleStorm = "correlated-failure"

// gated says whether it is the gate that makes the request wait for a cause. The
// alert of a common death outlasts what there is to wait for: recoveries wait for
// the hold that is configured, and go on one by one while people are still told.
func gated(r *request, cause fleet.AlertKey) bool {
	exit := exitOf(r.reg, r.wish.Target.Agent)
	return cause.Rule == ruleStorm && r.wish.Do == doRecover && exit != nil && !exit.At.IsZero()
}

// askStorm withholds recoveries after deaths with a common cause until no more
// follow, and then lets one at a time through, the next when the one before was
// verified. A person need not wait, but neither are theirs done all at once.
func (p *pass) askStorm(r *request) *refusal {
	exit := exitOf(r.reg, r.wish.Target.Agent)
	if r.wish.Do != doRecover || exit == nil || exit.Rebooted() {
		return nil
	}
	s := p.stormAt(p.snap.At.Since(exit.At))
	if s == nil {
		return p.askBeside(r, exit)
	}
	common := fmt.Sprintf("%d agents died within %s of each other", len(s.agents), p.policy.Agents.Deaths.In)
	if hold := p.policy.Agents.Hold; !r.byPerson() && p.within(hold, s.last) {
		return &refusal{why: common + ", the last at " + clock(s.last) + ": a common cause is looked for first", until: p.leaves(hold, s.last)}
	}
	for _, other := range p.crew.starting {
		if other.action.Do == doRecover && s.agents[other.action.Subject.Name] {
			return &refusal{why: common + ": they are recovered one at a time, and " + other.action.Subject.String() + " is under way"}
		}
	}
	return p.askHelped(p.latest(p.recoveredSince(s)), "after "+common)
}

// askBeside holds back an agent that ended while others' common death was still
// told, though by its own time it is none of them: it may become one.
func (p *pass) askBeside(r *request, exit *fleet.Exit) *refusal {
	hold := p.policy.Agents.Hold
	for _, cause := range r.finding.CausedBy {
		if cause.Rule == ruleStorm && p.fires(cause) && !r.byPerson() && p.within(hold, exit.At) {
			return &refusal{why: "it ended at " + clock(exit.At) + ", while " + cause.String() + " was told: a common cause is looked for first",
				until: p.leaves(hold, exit.At)}
		}
	}
	return nil
}

// recoveredSince lists the recoveries of the storm's agents that ended after it.
func (p *pass) recoveredSince(s *storm) (list []*fleet.ActionRecord) {
	for _, e := range p.crew.ended {
		if e.Do == doRecover && s.last.Before(momentOf(e)) && s.agents[e.Subject.Name] {
			list = append(list, e)
		}
	}
	return list
}

func (p *pass) stormAt(age time.Duration) *storm {
	if !p.stormy {
		p.storms, p.stormy = storms(p.deaths(), p.policy.Agents.Deaths), true
	}
	for i := range p.storms {
		if s := &p.storms[i]; s.newest <= age && age <= s.oldest {
			return s
		}
	}
	return nil
}

// deaths lists how registered agents ended without being asked to: those that
// are down now, and those that were recovered since. Agents of others are none
// of it, nor is the end of the machine, whose cause is known.
func (p *pass) deaths() []death {
	seen := map[string]bool{}
	var list []death
	add := func(agent string, e *fleet.Exit) {
		if e == nil || !e.Failed() || e.At.IsZero() || e.Rebooted() {
			return
		}
		key := fmt.Sprint(agent, "\x00", e.Instance, "\x00", e.Process)
		if !seen[key] {
			seen[key] = true
			list = append(list, death{agent, e.At, p.snap.At.Since(e.At)})
		}
	}
	for i := range p.past.Registrations {
		reg := &p.past.Registrations[i]
		add(reg.Name, exitOf(reg, p.crew.seen[reg.Name]))
	}
	for i := range p.past.Actions {
		if e := &p.past.Actions[i]; e.Do == doRecover {
			add(e.Subject.Name, exitOf(e.Target.Registration, e.Target.Agent))
		}
	}
	slices.SortFunc(list, func(a, b death) int {
		return cmp.Or(cmp.Compare(a.age, b.age), cmp.Compare(a.agent, b.agent))
	})
	return list
}

// storms groups deaths, which are sorted by age: wherever limit.Max of them lie
// within limit.In, they and those that overlap with them are one storm.
func storms(list []death, limit fleet.Attempts) (found []storm) {
	if limit.Max <= 0 {
		return nil
	}
	for i := 0; i+limit.Max <= len(list); i++ {
		last := i + limit.Max - 1
		if list[last].age-list[i].age > time.Duration(limit.In) {
			continue
		}
		if n := len(found); n == 0 || list[i].age > found[n-1].oldest {
			found = append(found, storm{newest: list[i].age, last: list[i].at})
		}
		found[len(found)-1].oldest = list[last].age
	}
	for n := range found {
		found[n].agents = map[string]bool{}
		for _, d := range list {
			if found[n].newest <= d.age && d.age <= found[n].oldest {
				found[n].agents[d.agent] = true
			}
		}
	}
	return found
}
