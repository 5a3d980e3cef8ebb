package decide

import (
	"fmt"
	"hash/fnv"
	"time"

	"custos/internal/fleet"
)

// askGate holds starts back: until the host has the memory, one after the other,
// and after a common cause or a rate limit only as fast as they are seen to help.
func askGate(p *pass, r *request) *refusal {
	if r.wish.Subject.Kind != fleet.KindAgent || !starts(r.wish.Do) && r.wish.Do != doNudge {
		return nil
	}
	if !starts(r.wish.Do) {
		return ofOne(fleet.GuardGate, p.askLimited(r), p.askLogin(r), p.askUntold(r), p.askTooLong(r))
	}
	no := ofOne(fleet.GuardGate, p.askLogin(r), p.askFamily(r), p.askMemoryLeft(r), p.askCount(r), p.askSettled(r), p.askStorm(r), p.askReboot(r), p.askLimited(r))
	if no == nil {
		no = p.askStagger(r) // a distance to whom it may follow
	}
	return no
}

// askFamily: the parent of a new agent is there, and the tree not too deep.
func (p *pass) askFamily(r *request) *refusal {
	spawn := r.wish.Target.Registration
	if r.wish.Do != doSpawn || r.reg != nil || spawn.Parent == "" {
		return nil
	}
	parent := p.known.registered[spawn.Parent]
	switch {
	case parent == nil || parent.Desired == fleet.DesiredRetired:
		return &refusal{why: "its parent " + word(spawn.Parent) + " is not registered", final: true}
	case parent.Depth+1 > p.policy.Agents.MaxDepth:
		return &refusal{why: fmt.Sprintf("its depth would be %d, and %d is the most", parent.Depth+1, p.policy.Agents.MaxDepth), final: true}
	}
	return nil
}

func (p *pass) askMemoryLeft(r *request) *refusal {
	least := p.policy.Agents.SpawnMemory
	if least <= 0 {
		return nil
	}
	if !p.snap.Host.Fresh() {
		return &refusal{why: "host is " + status(p.snap.Host.Status) + ": it is not known how much memory is left", hint: hintLook}
	}
	free := p.snap.Host.Value.Memory.Available
	switch left, known := free.Get(); {
	case !known:
		return &refusal{why: "it is not known how much memory is left: " + free.Why(), hint: hintLook}
	case left < least:
		return &refusal{why: fmt.Sprintf("less than %d MiB of memory are left", least>>20)}
	}
	return nil
}

// askCount caps the agents of ours that run, or are about to.
func (p *pass) askCount(r *request) *refusal {
	most, n := p.policy.Agents.MaxAgents, p.known.running
	for _, s := range p.known.starting {
		if !isAlive(p.known.seen[s.action.Subject.Name]) { // else it is among those that run
			n++
		}
	}
	if n < most {
		return nil
	}
	return &refusal{why: fmt.Sprintf("at most %d agents run at once", most)}
}

// askSettled gives a common cause the time to show.
func (p *pass) askSettled(r *request) *refusal {
	exit := exitOf(r.reg, r.wish.Target.Agent)
	settle := p.policy.Agents.Settle
	if r.wish.Do != doRecover || r.byPerson() || exit == nil || exit.At.IsZero() {
		return nil
	}
	if exit.ByKeys() && exit.Ender() == fleet.EnderUnknown && p.snap.Agents.At.Before(exit.At) {
		return &refusal{why: "it ended at " + clock(exit.At) + ", as keys at its terminal may end it, and neither that nor its hooks were looked at since", hint: hintLook}
	}
	if !p.within(settle, exit.At) {
		return nil
	}
	return &refusal{why: "it ended at " + clock(exit.At) + ", and is left for " + settle.String(), until: p.leaves(settle, exit.At)}
}

// askStagger keeps a distance between two starts, so that agents do not fall on
// a login, a registry or the memory together.
func (p *pass) askStagger(r *request) *refusal {
	gap := p.policy.Agents.Stagger
	if gap <= 0 {
		return nil
	}
	for _, s := range p.known.starting {
		if p.within(gap, s.at) {
			return &refusal{why: s.action.Subject.String() + s.doing() + ", and the next start waits " + gap.String(), until: p.leaves(gap, s.at)}
		}
	}
	for _, e := range p.known.ended {
		if !starts(e.Do) || !p.within(gap, momentOf(e)) {
			continue
		}
		return &refusal{why: e.Subject.String() + " was just started, and the next start waits " + gap.String(), until: p.leaves(gap, momentOf(e))}
	}
	return nil
}

// askLimited holds back what would spend of an account that is at its limit. Once
// the limit is reset one goes first, and the others follow when it has helped.
func (p *pass) askLimited(r *request) *refusal {
	if no := p.askOwnLimit(r); no != nil {
		return no
	}
	account := p.known.account(fleet.Action{Subject: r.wish.Subject, Target: r.wish.Target})
	limit := p.limit(account)
	until := limit.Until
	if !limit.Limited {
		return nil
	}
	if !limit.Told && p.probesUntold(r, account) {
		return nil
	}
	if !limit.Told {
		return &refusal{why: "the account " + account + " is rate limited, and it is not told until when", hint: hintLift(account)}
	}
	if resume := until.Add(p.spread(r)); p.snap.At.Before(resume) {
		return &refusal{why: "the account " + account + " is rate limited until " + clock(until), until: resume, hint: hintLift(account)}
	}
	return p.askProbe(r, account, until)
}

// probesUntold says whether a rule tries, at its own pace, whether a limit still holds of
// which nobody tells when it is reset: by one of those that met it, the first by its name.
func (p *pass) probesUntold(r *request, account string) bool {
	a := r.wish.Target.Agent
	if r.order != nil || a == nil || a.State != fleet.StateRateLimited || a.Failure == "" {
		return false
	}
	for _, other := range p.known.accounts[account] {
		if other.State == fleet.StateRateLimited && other.Name < a.Name {
			return false
		}
	}
	return true
}

// hintLift is how a person says that the limit of an account holds no more.
func hintLift(account string) string { return "custos resume --account " + word(account) }

// askOwnLimit holds back an agent that was told until when it is limited, whatever
// account it is of.
func (p *pass) askOwnLimit(r *request) *refusal {
	a := r.wish.Target.Agent
	if a == nil || a.RateLimitedUntil.IsZero() || p.known.account(fleet.Action{Subject: r.wish.Subject, Target: r.wish.Target}) != "" {
		return nil
	}
	if r.reg != nil && a.LimitIsLifted(r.reg.LimitLifted, p.snap.Agents.At) {
		return nil
	}
	if resume := a.RateLimitedUntil.Add(p.spread(r)); p.snap.At.Before(resume) {
		return &refusal{why: "it is rate limited until " + clock(a.RateLimitedUntil), until: resume, hint: "custos resume " + word(r.wish.Subject.Name)}
	}
	return nil
}

// limit is the limit of an account, as its agents tell.
func (p *pass) limit(account string) fleet.AccountLimit {
	if account == "" {
		return fleet.AccountLimit{}
	}
	return fleet.LimitOf(account, p.known.accounts[account], p.past.Quotas, p.known.lifted(account), p.snap.Agents.At, p.snap.At)
}

// spread is how much later than the reset this agent goes on: always the same
// for one agent, different for each.
func (p *pass) spread(r *request) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(r.wish.Subject.String()))
	const steps, golden = 1000, 0x9E3779B97F4A7C15 // names that are alike must not come out alike
	return time.Duration(p.policy.Agents.Jitter) / steps * time.Duration((h.Sum64()*golden>>32)%(steps+1))
}

func (p *pass) askProbe(r *request, account string, reset fleet.Instant) *refusal {
	if a, ok := p.known.probing[account]; ok {
		return &refusal{why: "the limit of the account " + account + " was just reset, and " + a.Subject.String() + " goes first"}
	}
	var since []*fleet.ActionRecord
	for _, e := range p.known.ended {
		if reset.Before(momentOf(e)) && p.known.account(e.Action) == account {
			since = append(since, e)
		}
	}
	return p.askHelped(p.latest(since), "after the reset of the limit of the account "+account)
}

// askHelped refuses for a while after a start that was not seen to help.
func (p *pass) askHelped(e *fleet.ActionRecord, when string) *refusal {
	wait := p.policy.Agents.Probe
	if e == nil || p.helped(e) || !p.within(wait, momentOf(e)) {
		return nil
	}
	return &refusal{why: e.Do + " of " + e.Subject.String() + " did not help " + when + " (" + came(e) + "); the next one waits " + wait.String(),
		until: p.leaves(wait, momentOf(e))}
}
