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

// The built-in rules that fire when agents died together, and go on firing for a
// while after.
const (
	ruleStorm  = "correlated-failure"
	ruleServer = "terminal-server-gone"
)

func isCommon(rule string) bool { return rule == ruleStorm || rule == ruleServer }

// gated says whether it is the gate that makes the request wait for a cause. The
// alert of a common death outlasts what there is to wait for: recoveries wait for
// the hold that is configured, and go on one by one while people are still told.
func gated(r *request, cause fleet.AlertKey) bool {
	exit := exitOf(r.reg, r.wish.Target.Agent)
	return isCommon(cause.Rule) && r.wish.Do == doRecover && exit != nil && !exit.At.IsZero()
}

// askStorm withholds recoveries after deaths with a common cause until no more
// follow, and then lets one through, and with each that helped more side by side:
// 1, 2, 4 and so on. One that did not help begins that anew, after a while. A
// person need not wait, but neither are theirs done all at once.
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
	var looked *refusal
	if hold := p.policy.Agents.Hold; !r.byPerson() && p.within(hold, s.last) {
		looked = &refusal{why: common + ", the last at " + clock(s.last) + ": a common cause is looked for first", until: p.leaves(hold, s.last)}
	}
	return ofOne(fleet.GuardGate, looked, p.askAfterStorm(s, common))
}

// askAfterStorm lets the agents of a storm through one by one, and more side by side while
// that helps.
func (p *pass) askAfterStorm(s *storm, common string) *refusal {
	ended := p.recoveredSince(s)
	wide, underWay := p.width(ended), 0
	for _, other := range p.known.starting {
		if other.action.Do != doRecover || !s.agents[other.action.Subject.Name] {
			continue
		}
		if underWay++; underWay >= wide {
			return &refusal{why: fmt.Sprintf("%s: they are recovered %s at a time, and %s", common, words(wide), other.action.Subject.String()+other.doing())}
		}
	}
	return p.askHelped(p.latest(ended), "after "+common)
}

// width is how many may be recovered side by side after these recoveries: one, and
// twice as many whenever all that may be have helped, in a row.
func (p *pass) width(ended []*fleet.ActionRecord) int {
	slices.SortFunc(ended, func(a, b *fleet.ActionRecord) int {
		return cmp.Compare(p.snap.At.Since(momentOf(a)), p.snap.At.Since(momentOf(b))) // the latest first
	})
	helped := slices.IndexFunc(ended, func(e *fleet.ActionRecord) bool { return !p.helped(e) })
	if helped < 0 {
		helped = len(ended)
	}
	wide := 1
	for 2*wide <= helped+1 {
		wide *= 2
	}
	return wide
}

func words(n int) string {
	if n == 1 {
		return "one"
	}
	return fmt.Sprint(n)
}

// helped says whether an action is seen to have helped: it says so itself, or it
// started an agent of which there is no sign that it is ready, and which lives.
func (p *pass) helped(e *fleet.ActionRecord) bool {
	switch {
	case e.Result == nil:
		return false
	case e.Result.Status == fleet.ResultDone:
		return true
	}
	return e.Result.Status == fleet.ResultUnverified && starts(e.Do) && isAlive(p.known.seen[e.Subject.Name])
}

// askBeside holds back an agent that ended while others' common death was still
// told, though by its own time it is none of them: it may become one.
func (p *pass) askBeside(r *request, exit *fleet.Exit) *refusal {
	hold := p.policy.Agents.Hold
	for _, cause := range r.finding.CausedBy {
		if isCommon(cause.Rule) && p.fires(cause) && !r.byPerson() && p.within(hold, exit.At) {
			return &refusal{why: "it ended at " + clock(exit.At) + ", while " + cause.String() + " was told: a common cause is looked for first",
				until: p.leaves(hold, exit.At)}
		}
	}
	return nil
}

// recoveredSince lists the recoveries of the storm's agents that ended after it.
func (p *pass) recoveredSince(s *storm) (list []*fleet.ActionRecord) {
	for _, e := range p.known.ended {
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
	return fleet.Find(p.storms, func(s *storm) bool { return s.newest <= age && age <= s.oldest })
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
		add(reg.Name, exitOf(reg, p.known.seen[reg.Name]))
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
